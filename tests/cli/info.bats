#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

@test "info names version, compiler and the CPU" {
  expect 0 dzo info
  [ "dzo $(field version)" = "$(dzo --version)" ]
  [ -n "$(field compiler)" ]
  field device | grep -q '^cpu:0 '
  [ ! -s err ]
}

@test "info --json has the agreed fields" {
  need_python
  expect 0 dzo info --json
  [ "dzo $(json 'd["version"]')" = "$(dzo --version)" ]
  [ "$(json 'sorted(d["cuda"])')" = "['built', 'driver', 'reason', 'runtime']" ]
  [ "$(json 'd["devices"][0]["kind"]')" = cpu ]
  [ "$(json 'd["devices"][0]["memory"] > 2**20 and d["devices"][0]["processors"] >= 1')" = True ]
  [ "$(json 'bool(d["cuda"]["reason"]) != any(x["kind"] == "cuda" for x in d["devices"])')" = True ]
  [ "$(json 'isinstance(d["cuda"]["built"], bool)')" = True ]
}
