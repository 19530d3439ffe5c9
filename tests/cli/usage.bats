#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

COMMANDS="info msf table knapsack generate convert verify bench"

# DZO_UPDATE_GOLDEN=1 rewrites what is compared here.
golden() {
  [ -z "${DZO_UPDATE_GOLDEN:-}" ] || cp out "$HERE/golden/$1"
  diff -u "$HERE/golden/$1" out
}

@test "no command: usage on standard error, status 2" {
  expect 2 dzo
  [ ! -s out ]
  grep -q '^Usage: dzo COMMAND' err
}

@test "help of the program is as recorded" {
  expect 0 dzo --help
  golden dzo.txt
  [ ! -s err ]
  for words in -h help; do
    expect 0 dzo $words
    diff "$HERE/golden/dzo.txt" out
  done
}

@test "help of each command is as recorded" {
  for command in $COMMANDS; do
    expect 0 dzo $command --help
    golden $command.txt
    [ ! -s err ]
    expect 0 dzo help $command
    diff "$HERE/golden/$command.txt" out
    expect 0 dzo $command -h --threads 2
    diff "$HERE/golden/$command.txt" out
  done
}

@test "no line of help is wider than 110 columns or mentions an unset value" {
  for command in $COMMANDS; do
    expect 0 dzo $command --help
    ! grep -E '.{111}|\(null\)' out
  done
}

@test "version, everywhere" {
  expect 0 dzo --version
  grep -qxE 'dzo [0-9]+\.[0-9]+\.[0-9]+' out
  cp out version
  for command in $COMMANDS; do
    expect 0 dzo $command --version
    diff version out
  done
}

@test "wrong usage is one line and status 2" {
  small_graph >g.gr
  while IFS='|' read -r words text; do
    # shellcheck disable=SC2086
    expect 2 dzo $words
    one_error "$text"
  done <<'END'
frobnicate|there is no command 'frobnicate'
--json msf|the command comes first
msf|missing GRAPH
msf g.gr h.gr|too many operands: h.gr
msf --frobnicate g.gr|there is no option --frobnicate
msf -x g.gr|there is no option -x
msf g.gr -o|a value is missing after -o
msf g.gr --output|a value is missing after --output
msf --json=yes g.gr|no value is wanted: --json=yes
msf --format word g.gr|--format: 'word' is none of auto, mtx
msf --output-format word g.gr|--output-format: 'word' is none of edges, graphhpc, mtx, npy
msf --threads 0 g.gr|--threads: '0' is not a whole number from 1 to 1024
msf --threads 1025 g.gr|--threads: '1025'
msf --threads two g.gr|--threads: 'two'
msf --threads 2x g.gr|--threads: '2x'
msf --threads -1 g.gr|--threads: '-1'
msf --threads 99999999999999999999999 g.gr|--threads: '99999999999999999999999'
msf --memory 0 g.gr|--memory: '0'
msf --memory 4Q g.gr|--memory: '4Q' is not a number of bytes such as 800M or 16G
msf --memory 99999999999T g.gr|--memory: '99999999999T'
msf --gpu-memory -4 g.gr|--gpu-memory: '-4'
msf --seed 1.5 g.gr|--seed: '1.5'
msf --device gpu g.gr|--device: 'gpu' is none of auto, cpu, cuda, cuda:N, hybrid
msf --device cuda: g.gr|--device: 'cuda:'
msf --device cuda:1x g.gr|--device: 'cuda:1x'
msf -o - --json g.gr|only one of -o -, --components - and --json
msf -o - --components - g.gr|only one of -o -, --components - and --json
msf g.gr -o f.txt --components f.txt|-o and --components name the same file
msf g.gr -o ./g.gr|the output would replace GRAPH
msf g.gr --components g.gr|the output would replace GRAPH
msf --stream --sort g.gr|--sort needs the whole graph in memory
msf --stream --verify -|--verify reads the graph again
generate|missing KIND
generate word|KIND 'word' is none of rmat, ssca2, uniform, grid, keys, knapsack
generate rmat --scale 0|--scale: '0' is not a whole number from 1 to 31
generate rmat --scale 32|--scale: '32'
generate rmat --degree -1|--degree: '-1' is not a number from 0 to
generate rmat --degree nan|--degree: 'nan'
generate rmat --degree 1e400|--degree: '1e400'
generate rmat --keep 0.5|--keep is not for rmat
generate grid --degree 4|--degree is not for grid
generate uniform --max-clique 4|--max-clique is not for uniform
generate grid --inter-clique 0.1|--inter-clique is not for grid
generate grid --keep 1.5|--keep: '1.5' is not a number from 0 to 1
generate rmat --weights i64|--weights: 'i64' is none of f64, f32, u32, none
generate rmat --scale 4 -o graph.foo|does not say its format; give --format
generate rmat --scale 4 --json|--json needs the graph in a file
generate keys --scale 4|--scale is not for keys
generate keys --weights u32|--weights is not for keys
generate rmat --count 4|--count is not for rmat
generate grid --distribution zipf|--distribution is not for grid
generate rmat --format raw|--format: raw is for keys alone
generate keys --format mtx|--format: mtx is a format of graphs
generate keys --type i32|--type: 'i32' is none of u32, u64
generate keys --distribution normal|--distribution: 'normal' is none of unique, uniform, zipf
generate keys --range 0|--range: '0'
generate keys --range 4294967297|--range is more than u32 keys have
generate keys --count 11 --range 10|there are not as many different keys
generate keys --count 4294967297|there are not as many different keys
generate keys --distinct 5|--distinct is not for unique keys
generate keys --exponent 1|--exponent is for --distribution zipf alone
generate keys --distribution uniform --exponent 1|--exponent is for --distribution zipf alone
generate keys --distribution zipf --exponent 17|--exponent: '17' is not a number from 0 to 16
generate keys --distribution uniform --range 10 --distinct 11|--distinct is more than there are keys
generate keys --distribution zipf --type u64 --distinct 1099511627777|--distinct is at most 2^40
generate keys --json|--json needs the keys in a file
generate keys --verify|--verify needs the keys in a file
generate rmat --scale 4 --verify|--verify needs the graph in a file
convert g.gr|missing OUT
convert g.gr out.foo|does not say its format; give --output-format
convert g.gr - --json|--json needs the graph in a file
convert g.gr - --verify|--verify needs the graph in a file
verify|missing KIND
verify word a b|KIND 'word' is none of msf, knapsack
verify msf g.gr|missing CLAIM
verify msf g.gr f --capacity 4|--capacity and the columns are for knapsack
verify msf g.gr f --format pisinger|--format: that is one of knapsacks
verify knapsack - -|only one of INPUT and CLAIM
verify knapsack a b --maximum|--maximum is for msf
verify knapsack a b --format mtx|--format: that is a format of graphs
verify msf - -|only one of GRAPH and FOREST
table|missing OPERATION
table word g.gr|OPERATION 'word' is none of count, distinct, join, lookup
table count|missing FILE
table count a b|table count: there is one FILE too many
table join a|table join: FILE2 is missing
table lookup a|table lookup: FILE2 is missing
table join a b c|too many operands: c
table lookup - -|only one of FILE and FILE2 can be standard input
table count - --verify|--verify reads the input again
table count g.gr --type u16|--type: 'u16' is none of u32, i32, u64, i64
table count g.gr --format mtx|--format: 'mtx' is none of auto, raw, npy, csv
table count g.gr --aggregate sum|--aggregate needs --values
table count g.gr --values w|--values needs --aggregate sum, min or max
table count g.gr --aggregate mean|--aggregate: 'mean' is none of count, sum, min, max
table count g.gr --top 0|--top: '0'
table count g.gr --top 3 --sort none|--top needs an order
table count g.gr -o - --json|only one of -o - and --json
table count g.gr -o g.gr|the output would replace an input
table count g.gr --column2 b|--column2 is not for count
table distinct g.gr --top 3|--top is not for distinct
table distinct g.gr --values b|--values is not for distinct
table distinct g.gr --sort count|--sort count is for count
table distinct g.gr --aggregate sum|--aggregate is not for distinct
table join g.gr g.gr --sort key|--sort is not for join
table lookup g.gr g.gr --aggregate sum|--aggregate is not for lookup
table lookup g.gr h -o ./g.gr|the output would replace an input
table count g.gr --sort size|--sort: 'size' is none of key, count, none
knapsack|missing FILE...
knapsack - a -|only one FILE can be standard input
knapsack g.gr -o g.gr|the output would replace an input
knapsack g.gr -o - --json|only one of -o - and --json
knapsack g.gr --fixed 3|--fixed is for --algorithm hybrid
knapsack g.gr --algorithm hybrid --fixed 41|--fixed: '41' is not a whole number from 1 to 40
knapsack g.gr --algorithm magic|--algorithm: 'magic' is none of auto, brute-force
knapsack g.gr --format mtx|--format: 'mtx' is none of auto, pisinger
knapsack g.gr --time-limit -1|--time-limit: '-1' is not a number from 0 to
knapsack g.gr --capacity=|--capacity: is empty
generate rmat --class circle|--class is not for rmat
generate rmat --range 4|--range is not for rmat
generate keys --items 4|--items is not for keys
generate knapsack --count 4|--count is not for knapsack
generate knapsack --scale 4|--scale is not for knapsack
generate knapsack --class ring|--class: 'ring' is none of uncorrelated
generate knapsack --range 9|a range of 9 is not in 10..100000000000000000
generate knapsack --part 2 --parts 1|a capacity of 2/1 of the weights
generate knapsack --range 100000000000000000 --items 1000|does not fit 64 bits
generate knapsack --format mtx|--format: mtx is none of auto, pisinger, jooken, plain, csv
generate knapsack --json|--json needs the instance in a file
generate rmat --format plain|--format: plain is for knapsack alone
help frobnicate|there is no command 'frobnicate'
END
}

@test "options may stand anywhere, be shortened, and take = or a blank" {
  small_graph >g.gr
  for words in "g.gr --threads 2 --json" "--thr=2 g.gr --js" "--json -- g.gr"; do
    # shellcheck disable=SC2086
    expect 0 dzo msf $words
    grep -q '"weight": 10' out
  done
}

@test "a device that is missing is status 4 with the reason" {
  small_graph >g.gr
  dzo info | grep -q '^no gpu' || skip "there is a GPU"
  for device in cuda cuda:1 hybrid; do
    for words in "msf g.gr" "info" "table count g.gr" "generate keys" "generate rmat --scale 4" "convert g.gr x.mtx" "verify msf g.gr g.gr"; do
      # shellcheck disable=SC2086
      expect 4 dzo $words --device $device
      one_error "there is no GPU to use: "
    done
  done
  expect 0 dzo msf g.gr --device auto
  [ ! -s err ]
  expect 0 dzo msf g.gr --device cpu
  [ ! -s err ]
}

@test "completion is sound bash and knows every command and option" {
  dzo __completion >completion
  bash -n completion
  cat >try <<'END'
source ./completion
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dzo; printf '%s\n' "${COMPREPLY[@]}"; }
complete_words "$@"
END
  bash try dzo m >out
  [ "$(cat out)" = msf ]
  for command in $COMMANDS; do
    bash try dzo $command -- | sort >offered
    dzo $command --help | grep -oE '^  (-., )?--[a-z0-9-]+' | grep -oE -e '--[a-z0-9-]+' | sort >known
    diff known offered
  done
  bash try dzo msf --output-format g >out
  [ "$(cat out)" = graphhpc ]
  bash try dzo msf --device h >out
  [ "$(cat out)" = hybrid ]
  bash try dzo generate s >out
  [ "$(cat out)" = ssca2 ]
  touch graph.mtx
  bash try dzo msf gra >out
  [ "$(cat out)" = graph.mtx ]
  bash try dzo msf -o gra >out
  [ "$(cat out)" = graph.mtx ]
}

@test "manual pages hold every option and every exit status" {
  for command in $COMMANDS; do
    dzo __man "$HERE/../../docs/man/dzo-$command.txt" $command >page
    sed 's/\\-/-/g; s/\\f.//g' page >plain
    dzo $command --help | grep -oE '^  (-., )?--[a-z0-9-]+' | sed 's/^  //' >options
    while read -r option; do
      grep -qF -- "$option" plain
    done <options
    [ "$(grep -c '^\.SH' page)" -ge 6 ]
    for status in 0 1 2 3 4 5 128+N; do
      grep -qx "$status" plain
    done
  done
  dzo __man "$HERE/../../docs/man/dzo.txt" >page
  for command in $COMMANDS; do
    grep -qF "dzo $command" page
  done
}

@test "manual pages are sound roff" {
  command -v groff >/dev/null || skip "needs groff"
  for command in "" $COMMANDS; do
    dzo __man "$HERE/../../docs/man/dzo${command:+-}$command.txt" $command >page
    groff -man -Tascii -ww page 2>warnings >/dev/null
    grep -v 'break' warnings >serious || true
    [ ! -s serious ]
  done
}

@test "a page's prose that is missing is status 3" {
  expect 3 dzo __man missing.txt msf
  one_error "missing.txt: No such file"
}
