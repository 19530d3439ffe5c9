# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
# What the tests of dzo table share.
load helper

# table ARGUMENTS...: dzo table, on the device DZO_DEVICE where that is set.
table() {
  if [ -n "${DZO_DEVICE:-}" ]; then
    dzo table "$@" --device "$DZO_DEVICE"
  else
    dzo table "$@"
  fi
}

# Lines of numbers on standard input, counted by sort and uniq: key,count.
reference_counts() {
  echo key,count
  sort -n | uniq -c | awk '{ print $2 "," $1 }'
}

# keys ARGUMENTS...: generated keys, one a line.
keys() { dzo generate keys --format csv -q "$@" | tail -n +2; }

# Does standard output hold the same as the file $1?
gives() {
  table "${@:2}" -q >given </dev/null
  cmp "$1" given
}
