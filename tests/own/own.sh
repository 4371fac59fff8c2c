# What the tests of plugins share: source it with the arguments of the test, the program `locus` and the folder of examples. `options` is what
# CMake is told; where it is empty, what `locus plugin prefix` says.
here=$(dirname "${BASH_SOURCE[0]}") locus=$(cd "$(dirname "$1")" && pwd)/${1##*/} examples=$(cd "$2" && pwd)
bin=${locus%/*} tool=own home=$(mktemp -d) options=()
. "$here/../../tools/lib/service.sh"
say() { echo "own: $*"; }
fail() { echo "own: $*" >&2; exit 1; }
finish() { local status=$?; stop_service; rm -rf "$home"; exit $status; }
trap finish EXIT
trap 'exit 130' INT TERM

compile() { # folder of sources, build folder, what CMake is told beside the options
  [ ${#options[@]} -gt 0 ] || options=(-DCMAKE_PREFIX_PATH="$("$locus" plugin prefix)")
  cmake -S "$1" -B "$2" "${options[@]}" "${@:3}" >"$2.log" 2>&1 && cmake --build "$2" -j "$(nproc)" >>"$2.log" 2>&1 ||
    { tail -n 20 "$2.log" >&2; fail "it does not compile"; }
}
