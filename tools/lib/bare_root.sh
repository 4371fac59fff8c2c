# A Debian 12 with nothing in it but what is asked for, to install into: source it after setting `tool`, the name that messages carry.
# Needs root. Packages come from where this machine's apt has them.

mirror() { # the first address that apt would ask for packages
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1
}

bare_root() { # FOLDER, packages beside the essential ones (a comma between them); the unpacked one is kept beside and used again
  local root=$1 packages=$2 kept
  [ "$(id -u)" = 0 ] || { echo "$tool: needs root, to make a root folder of Debian" >&2; return 1; }
  command -v debootstrap >/dev/null || { echo "$tool: debootstrap is missing: apt-get install debootstrap" >&2; return 1; }
  kept=$root.$(printf '%s' "$packages" | sha256sum | cut -c1-12).tar
  rm -rf --one-file-system "$root"
  mkdir -p "$root"
  if [ ! -e "$kept" ]; then
    echo "$tool: making a bare Debian 12 with ${packages//,/, }"
    rm -f "$root".*.tar
    debootstrap --variant=minbase ${packages:+--include="$packages"} bookworm "$root" "$(mirror)" >"$root.log" 2>&1 ||
      { tail -n 20 "$root.log" >&2; echo "$tool: debootstrap failed; all it said is in $root.log" >&2; return 1; }
    rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
    tar -C "$root" -cf "$kept.part" . && mv "$kept.part" "$kept"
  else
    tar -C "$root" -xf "$kept"
  fi
}

# What packages depend on beside one another, by name and with a comma between; of alternatives the smallest, and in place of a name that
# others provide the one of them that is installed here.
needed_by() { # FILE.deb...
  local file name other
  for file; do dpkg-deb -f "$file" Depends; done | tr ',' '\n' | sed 's/([^)]*)//g; s/systemd | //; s/|.*//; s/ //g' | grep -v '^locus' | sort -u |
    while read -r name; do
      other=$(dpkg-query -W -f='${Package} ${Provides}\n' |
        awk -v name="$name" '{gsub(/[(][^)]*[)]|,/, " "); for (i = 2; i <= NF; i++) if ($i == name) {print $1; exit}}')
      echo "${other:-$name}"
    done | sort -u | paste -sd,
}

# Into a folder, what the Python of such a root installs: it has no network.
fetch() { # folder, what `pip download` is to get
  local platform platforms=() # best first, as pip on glibc 2.36 ranks them
  for platform in $(seq -f manylinux_2_%g 36 -1 5) manylinux2014 manylinux2010 manylinux1; do platforms+=(--platform "${platform}_x86_64"); done
  python3 -m pip download --quiet --disable-pip-version-check --only-binary :all: --python-version 3.11 --dest "$1" "${platforms[@]}" "${@:2}"
}

# Runs a shell line in the root, with processes and a network of its own that has loopback alone: nothing can be fetched there,
# and nothing that it starts outlives it.
inside() { # FOLDER, line
  unshare --net --mount --pid --fork --kill-child bash -euc '
    ip link set lo up 2>/dev/null || true
    mount -t proc proc "$0/proc"
    mount --bind /sys "$0/sys"
    mount -t tmpfs tmpfs "$0/dev/shm" 2>/dev/null || { mkdir -p "$0/dev/shm"; mount -t tmpfs tmpfs "$0/dev/shm"; }
    for device in null zero urandom; do [ -e "$0/dev/$device" ] || { touch "$0/dev/$device"; mount --bind "/dev/$device" "$0/dev/$device"; }; done
    exec chroot "$0" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 bash -euo pipefail -c "$1"' "$1" "$2"
}

no_compiler() { # FOLDER: false where one is in it
  ! inside "$1" 'command -v gcc g++ cc c++ clang cmake ninja node'
}

megabytes() { du -sm --apparent-size "$@" | awk '{sum += $1} END {print sum}'; }
