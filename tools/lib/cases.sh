#!/bin/sh
# cases.sh BUILD: how many cases CTest's last run there had, and how many of them were skipped, which a program of many does not show by its end.
sed -nE 's/^\[=+\] ([0-9]+) tests? from .* ran\..*/ran \1/p; s/^\[  SKIPPED \] ([0-9]+) tests?[.,].*/skipped \1/p' "$1/Testing/Temporary/LastTest.log" |
  awk '{ sum[$1] += $2 } END { printf "%d cases, %d of them skipped\n", sum["ran"], sum["skipped"] }'
