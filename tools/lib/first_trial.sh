# Inside an image: first_trial.sh SPECIFICATION DATASETS runs the specification's first trial with a server and a worker of the image.
set -eu
locus serve --data /tmp/data --grpc-address 127.0.0.1:0 --http-address 127.0.0.1:0 >/tmp/server.log 2>&1 &
server_pid=$!
address=
for _ in $(seq 300); do
  address=$(sed -n 's/.*"grpc":"\([^"]*\)".*/\1/p' /tmp/data/server.json 2>/dev/null || true)
  if [ -n "$address" ]; then break; fi
  sleep 0.1
done
[ -n "$address" ] || { cat /tmp/server.log >&2; exit 1; }
locus worker --server "$address" --name image --slots 1 --data-root "$2" --work /tmp/work --exit-when-idle 10s >/tmp/worker.log 2>&1 &
worker_pid=$!
locus submit --server "$address" --watch --set 'matrix={prior: [none]}' --set 'replicates={seed: [0]}' --set baseline=null "$1" || { tail -n 20 /tmp/worker.log >&2; exit 1; }
wait $worker_pid
kill $server_pid
wait $server_pid
