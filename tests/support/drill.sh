# What drills share; sourced. A drill changes a copy of the tree, builds the copy and looks at what follows.
#
# The copy is mounted over the tree in a mount namespace of its own, so that it builds on from what is built (and from the compiler cache) in minutes
# and the tree itself stays untouched. Where namespaces are not allowed the copy is built by itself, which takes as long as a first build.
step() { echo "drill: $*"; }
fail() { echo "drill: $*" >&2; exit 1; }

# drill_begin TREE BUILD SCRATCH: sets tree, build, scratch and copy, and copies the tree.
drill_begin() {
  tree=$(cd "$1" && pwd) build=$(cd "$2" && pwd) scratch=$3
  rm -rf "$scratch"
  mkdir -p "$scratch/tree"
  scratch=$(cd "$scratch" && pwd)
  copy=$scratch/tree
  case $build in "$tree"/*) ;; *) fail "the build folder lies outside the tree" ;; esac
  step "copying the tree"
  git -C "$tree" ls-files -co --exclude-standard -z | (cd "$tree" && xargs -0 cp -a --parents -t "$copy" 2>/dev/null || true)
}

# The files of the tree that the copy has otherwise, one a line.
drill_changed() {
  (cd "$tree" && git ls-files -co --exclude-standard | while read -r file; do cmp -s "$file" "$copy/$file" || echo "$file"; done)
}

# drill_enter SOURCE [OPTION...]: makes `inside COMMAND`, which runs in the copy as if it were the tree, and `at`, the build folder it sees. Where that
# cannot be, `at` is a build folder of the copy's own, configured from its folder SOURCE with these options of CMake.
drill_enter() {
  local source=$1 map=()
  shift
  [ "$(id -u)" = 0 ] || map=(-Ur)
  if unshare "${map[@]}" -m true 2>/dev/null && unshare "${map[@]}" -m mount --bind "$copy" "$tree" 2>/dev/null; then
    step "copying what is built"
    mkdir -p "$copy/${build#"$tree"/}"
    cp -a "$build/." "$copy/${build#"$tree"/}"
    drill_map=("${map[@]}")
    inside() { unshare "${drill_map[@]}" -m bash -euo pipefail -c 'mount --bind "$1" "$2" && cd "$2" && eval "$3"' _ "$copy" "$tree" "$1"; }
    at=$build
  else
    step "no mount namespaces here: building from the start"
    inside() { (cd "$copy" && bash -euo pipefail -c "$1"); }
    at=$scratch/build
    cmake -S "$copy/$source" -B "$at" -G Ninja -DCMAKE_BUILD_TYPE=Release "$@" >"$scratch/configure.log" 2>&1
  fi
}

# drill_build TARGET...: builds the copy; shows the end of the log and fails with what is said in $1 if it does not.
drill_build() {
  local said=$1
  shift
  step "building"
  inside "ninja -C '$at' ${JOBS:+-j$JOBS} $*" >"$scratch/build.log" 2>&1 || { tail -n 30 "$scratch/build.log" >&2; fail "$said"; }
}
find_program() { inside "find '$at' -type f -name '$1' -perm -u+x | head -n 1"; }

# drill_serve COMMAND...: starts a server in the background on $scratch/data; sets grpc and http to its addresses.
drill_serve() {
  "$@" --data "$scratch/data" --grpc-address 127.0.0.1:0 --http-address 127.0.0.1:0 >"$scratch/server.log" 2>&1 &
  server=$!
  trap 'kill "$server" 2>/dev/null || true' EXIT
  grpc='' http=''
  for _ in $(seq 200); do
    read -r grpc http < <(python3 -c 'import json,sys; a = json.load(open(sys.argv[1])); print(a["grpc"], a["http"])' "$scratch/data/server.json" 2>/dev/null) && return 0
    sleep 0.1
  done
  fail "the server did not start: $(cat "$scratch/server.log")"
}
