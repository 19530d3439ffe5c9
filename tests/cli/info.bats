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

@test "info says what of CUDA is there, and why there is no GPU" {
  need_python
  expect 0 dzo info --json
  cp out info.json
  expect 0 dzo info
  if [ "$(json 'd["cuda"]["built"]' info.json)" = True ]; then
    [ "$(json 'd["cuda"]["runtime"]' info.json) built in" = "$(field cuda | cut -d, -f1)" ]
    driver=$(json 'd["cuda"]["driver"] or ""' info.json)
    field cuda | grep -qE ", (no driver|driver for ${driver:-none})\$"
  else
    [ "$(field cuda)" = "not built in" ]
    [ "$(json 'd["cuda"]["runtime"], d["cuda"]["driver"]' info.json)" = "(None, None)" ]
  fi
  if field device | grep -q '^cuda:'; then
    field device | grep -qE '^cuda:0  .*, [0-9]+ multiprocessors, [0-9.]+ [MGT]iB$'
    [ -z "$(field 'no gpu')" ]
  else
    [ "$(field 'no gpu')" = "$(json 'd["cuda"]["reason"]' info.json)" ]
  fi
}
