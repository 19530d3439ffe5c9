# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# What the tests of the command line share. $DZO_PROGRAM is the program under test.

setup() {
  : "${DZO_PROGRAM:?is to name the program under test}"
  cd "$BATS_TEST_TMPDIR" || return 1
  HERE=$BATS_TEST_DIRNAME
  ROADS=$HERE/../../data/coquimbo.gr.gz
}

# DZO_DEVICE, where it is set, is the device that forests are found on.
dzo() {
  if [ "${1:-}" = msf ] && [ -n "${DZO_DEVICE:-}" ]; then
    shift
    "$DZO_PROGRAM" msf --device "$DZO_DEVICE" "$@"
  else
    "$DZO_PROGRAM" "$@"
  fi
}

# run_split COMMAND...: like run, with $status, the file out (standard output) and the file err.
run_split() {
  status=0
  "$@" >out 2>err </dev/null || status=$?
}

# expect STATUS COMMAND...
expect() {
  local wanted=$1
  shift
  run_split "$@"
  if [ "$status" -ne "$wanted" ]; then
    echo "exit status $status instead of $wanted: $*"
    cat out err
    return 1
  fi
}

# Exactly one line on standard error, which contains $1; nothing on standard output.
one_error() {
  if [ "$(wc -l <err)" -ne 1 ] || [ -s out ] || ! grep -qF -- "$1" err || ! grep -q '^dzo: ' err; then
    echo "wanted one line on standard error with: $1"
    cat out err
    return 1
  fi
}

# The value of a line "name   value" of a report in the file out.
field() { sed -n "s/^$1  *//p" "${2:-out}"; }

# json EXPRESSION [FILE]: evaluate a Python expression on the JSON document `d`, integers exact.
json() {
  python3 - "$1" "${2:-out}" <<'END'
import json, sys
d = json.load(open(sys.argv[2], encoding="utf-8"))
print(eval(sys.argv[1]))
END
}

need_python() { command -v python3 >/dev/null || skip "needs python3"; }
need_data() { [ -d "${DZO_TEST_DATA:-}/mst" ] || skip "needs the real inputs of DZO_TEST_DATA"; }

# Six vertices, two components and an isolated vertex; edge 3 is a loop, 1 and 4 are parallel.
# Minimum forest: edges 0, 2 and 5, weight 1 + 2 + 7; maximum: 1, 2 and 5, weight 5 + 2 + 7.
small_graph() {
  cat <<'END'
c a small graph
p sp 6 6
a 1 2 1
a 2 3 5
a 1 3 2
a 3 3 -9
a 3 2 4
a 4 5 7
END
}

no_leftovers() { # only the named files are in this folder
  local found wanted
  found=$(ls -A | grep -v -x -e out -e err | sort | xargs)
  wanted=$(printf '%s\n' "$@" | sort | xargs)
  if [ "$found" != "$wanted" ]; then
    echo "files left: $found"
    return 1
  fi
}
