#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

# stopped SIGNAL STATUS DELAY COMMAND...: the command is still at work after DELAY seconds, and ends
# within a second of the signal with the status, leaving nothing but the named file.
stopped() {
  local signal=$1 wanted=$2 delay=$3
  shift 3
  "$DZO_PROGRAM" "$@" >out 2>err </dev/null &
  local pid=$! code=0 begun ended
  sleep "$delay"
  begun=$(date +%s%N)
  kill -s "$signal" "$pid" || {
    echo "it had ended before the signal: $*"
    cat err
    return 1
  }
  wait "$pid" || code=$?
  ended=$(date +%s%N)
  echo "status $code after $(((ended - begun) / 1000000)) ms: $*"
  cat err
  [ "$code" -eq "$wanted" ]
  [ $((ended - begun)) -lt "${DZO_STOP_NS:-1000000000}" ]
  [ "$(cat err)" = "dzo: stopped" ]
}

@test "Ctrl-C while generating" {
  for delay in 0.2 1; do
    stopped INT 130 $delay generate rmat --scale 22 -o g.mtx
    no_leftovers
  done
}

@test "SIGTERM while writing" {
  dzo generate uniform --scale 18 -q -o g.dzo
  for delay in 0.3 0.6; do
    "$DZO_PROGRAM" convert g.dzo big.mtx >out 2>err &
    pid=$!
    sleep $delay
    kill -TERM $pid || break
    code=0
    wait $pid || code=$?
    [ "$code" -eq 143 ] || [ "$code" -eq 0 ]
    [ "$code" -eq 0 ] || no_leftovers g.dzo
  done
}

@test "Ctrl-C while solving" {
  dzo generate rmat --scale 19 --weights f32 -q -o g.dzo
  for words in "" --stream; do
    "$DZO_PROGRAM" msf g.dzo $words -o forest --threads 1 >out 2>err &
    pid=$!
    sleep 0.3
    begun=$(date +%s%N)
    kill -INT $pid 2>/dev/null || true
    code=0
    wait $pid || code=$?
    [ $(($(date +%s%N) - begun)) -lt "${DZO_STOP_NS:-1000000000}" ]
    [ "$code" -eq 130 ] || [ "$code" -eq 0 ]
    [ "$code" -eq 0 ] || no_leftovers g.dzo
    rm -f forest
  done
}

@test "a signal while standard input is silent" {
  mkfifo pipe
  sleep 20 >pipe &
  sleeper=$!
  "$DZO_PROGRAM" msf - <pipe >out 2>err &
  pid=$!
  sleep 0.3
  begun=$(date +%s)
  kill -TERM $pid
  code=0
  wait $pid || code=$?
  kill $sleeper
  [ "$code" -eq 143 ]
  [ $(($(date +%s) - begun)) -lt 5 ]
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
