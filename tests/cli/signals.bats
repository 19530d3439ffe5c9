#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

SLOW=75

# interrupt SIGNAL DELAY COMMAND...: start the command, send the signal after DELAY seconds, and
# wait. Sets $code; returns SLOW if that took longer than a second.
interrupt() {
  local signal=$1 delay=$2 begun
  shift 2
  "$DZO_PROGRAM" "$@" >out 2>err </dev/null &
  local pid=$!
  sleep "$delay"
  begun=$(date +%s%N)
  kill -s "$signal" "$pid" 2>/dev/null || true
  code=0
  wait "$pid" || code=$?
  taken=$((($(date +%s%N) - begun) / 1000000))
  echo "status $code after $taken ms: $*"
  cat err
  [ $((taken * 1000000)) -lt "${DZO_STOP_NS:-1000000000}" ] || return $SLOW
}

# A machine that is busy with other things may need another try; a command that never stops within a
# second fails three times.
soon() {
  local try result
  for try in 1 2 3; do
    result=0
    "$@" || result=$?
    [ $result -eq $SLOW ] || return $result
  done
  return $SLOW
}

@test "Ctrl-C while generating" {
  for delay in 0.2 1; do
    soon interrupt INT $delay generate rmat --scale 22 -o g.mtx
    [ "$code" -eq 130 ]
    [ "$(cat err)" = "dzo: stopped" ]
    no_leftovers
  done
}

# The Matrix Market file g.mtx is alone and has as many entries as it says; or there is no file, since a
# signal may come when the file is complete and the program not yet at its end.
whole_or_nothing() {
  local entries
  [ -e g.mtx ] || { no_leftovers; return; }
  no_leftovers g.mtx
  entries=$(grep -v '^%' g.mtx | head -n 1 | cut -d' ' -f3)
  [ "$(grep -vc '^%' g.mtx)" -eq $((entries + 1)) ]
}

@test "SIGTERM and SIGHUP while writing" {
  soon interrupt TERM 2 generate uniform --scale 20 --weights none -o g.mtx
  [ "$code" -eq 143 ] || [ "$code" -eq 0 ]
  whole_or_nothing
  rm -f g.mtx
  soon interrupt HUP 1.5 generate uniform --scale 20 --weights none -o g.mtx
  [ "$code" -eq 129 ] || [ "$code" -eq 0 ]
  whole_or_nothing
}

@test "Ctrl-C while reading, building, solving, verifying" {
  dzo generate rmat --scale 19 --weights f32 -q -o g.dzo
  dzo convert g.dzo g.el -q
  for words in "msf g.dzo --threads 1" "msf g.dzo --stream" "msf g.el --verify" "convert g.el x.dzo --compress"; do
    for delay in 0.1 0.4 0.8; do
      # shellcheck disable=SC2086
      soon interrupt INT $delay $words
      [ "$code" -eq 130 ] || [ "$code" -eq 0 ]
      [ "$code" -eq 0 ] || no_leftovers g.dzo g.el
      rm -f x.dzo
    done
  done
}

@test "Ctrl-C while making keys, counting, joining, looking up, verifying" {
  dzo generate keys --count 30000000 --distribution zipf -o k.raw -q
  dzo generate keys --count 6000000 --range 40000000 -o u.raw -q
  for words in "generate keys --count 2000000000 -o x.raw" "table count k.raw --type u32 -o x.csv" \
    "table join k.raw u.raw --type u32 -o x.csv" "table lookup k.raw k.raw --type u32 -o x.csv" \
    "table count k.raw --type u32 --verify --json" "table join k.raw k.raw --type u32 --json --verify"; do
    for delay in 0.2 1.2; do
      # shellcheck disable=SC2086
      soon interrupt INT $delay $words
      [ "$code" -eq 130 ] || [ "$code" -eq 0 ]
      [ "$code" -eq 0 ] || no_leftovers k.raw u.raw
      rm -f x.csv x.raw
    done
  done
}

@test "nohup protects from SIGHUP" {
  (
    trap '' HUP
    interrupt HUP 0.2 generate uniform --scale 18 --format mtx -o g.mtx || [ $? -eq $SLOW ]
    [ "$code" -eq 0 ]
  )
  [ -s g.mtx ]
}

@test "an older file survives a signal" {
  echo old >g.mtx
  soon interrupt INT 0.3 generate rmat --scale 22 -o g.mtx
  [ "$code" -eq 130 ]
  [ "$(cat g.mtx)" = old ]
  no_leftovers g.mtx
}

@test "--quiet is silent even then" {
  soon interrupt INT 0.2 generate rmat --scale 22 -o g.mtx --quiet
  [ "$code" -eq 130 ]
  [ ! -s err ]
}

@test "a signal while standard input is silent" {
  mkfifo pipe
  sleep 20 >pipe &
  sleeper=$!
  for words in "msf -" "table count -" "table lookup - old -o x.csv"; do
    echo 1 >old
    # shellcheck disable=SC2086
    "$DZO_PROGRAM" $words <pipe >out 2>err &
    pid=$!
    sleep 0.3
    begun=$(date +%s)
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 143 ]
    [ $(($(date +%s) - begun)) -lt 5 ]
    no_leftovers old pipe
  done
  kill $sleeper
}

@test "a second signal stops at once" {
  mkfifo pipe
  sleep 20 >pipe &
  sleeper=$!
  "$DZO_PROGRAM" msf - <pipe >out 2>err &
  pid=$!
  sleep 0.3
  kill -INT $pid
  sleep 0.1
  kill -INT $pid 2>/dev/null || true
  code=0
  wait $pid || code=$?
  kill $sleeper
  [ "$code" -eq 130 ]
}
