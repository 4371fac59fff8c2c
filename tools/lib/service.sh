# A server and a worker on loopback for the tools that run an experiment here: source it after setting
#   bin   folder of the programs        home  folder for data and logs        tool  the name that messages carry
# It leaves server and worker to their owner's `trap`: call stop_service at the end.
server_pid='' worker_pid='' server=''

stop() { # pid: ask to stop and wait
  [ -n "$1" ] && kill -TERM "$1" 2>/dev/null && wait "$1" 2>/dev/null
  return 0
}
stop_service() {
  stop "$worker_pid"
  stop "$server_pid"
  worker_pid='' server_pid=''
}

field() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], ""))' "$home/data/server.json" "$1" 2>/dev/null || true; }
answers() { "$bin/locus" workers --server "$1" --json >/dev/null 2>&1; }

try_server() { # grpc address, http address: true once it answers
  rm -f "$home/data/server.json"
  "$bin/locus" serve --data "$home/data" --grpc-address "$1" --http-address "$2" >"$home/server.log" 2>&1 &
  server_pid=$!
  for _ in $(seq 150); do
    server=$(field grpc)
    [ -n "$server" ] && answers "$server" && return 0
    kill -0 "$server_pid" 2>/dev/null || { server_pid=''; return 1; }
    sleep 0.1
  done
  return 1
}

start_server() { # sets `server`: the one that runs already, else a new one at the usual ports, else at free ones
  mkdir -p "$home"
  server=$(field grpc)
  if [ -n "$server" ] && answers "$server"; then
    echo "$tool: using the server that is already running"
  elif ! try_server 127.0.0.1:7171 127.0.0.1:7172 && ! try_server 127.0.0.1:0 127.0.0.1:0; then
    tail -n 20 "$home/server.log" >&2
    echo "$tool: the server did not start; its log is $home/server.log" >&2
    return 1
  fi
}

start_worker() { # slots, folder of datasets (the worker's own choice without it)
  "$bin/locus" worker --server "$server" --name "$tool" --slots "$1" ${2:+--data-root "$2"} --work "$home/worker" >"$home/worker.log" 2>&1 &
  worker_pid=$!
}

value_of() { python3 -c 'import json,sys; print(json.loads(sys.argv[1]).get(sys.argv[2], 0))' "$1" "$2"; } # JSON object, key
