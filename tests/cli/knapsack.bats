#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

# knapsack ARGUMENTS...: dzo knapsack, on the device DZO_DEVICE where that is set.
knapsack() {
  if [ -n "${DZO_DEVICE:-}" ]; then
    dzo knapsack "$@" --device "$DZO_DEVICE"
  else
    dzo knapsack "$@"
  fi
}

# What has nothing to do with the device is tested once.
once() { [ -z "${DZO_DEVICE:-}" ] || skip "as without DZO_DEVICE"; }

need_instances() {
  need_python
  [ -d "${DZO_TEST_DATA:-}/knapsack" ] || skip "needs the real inputs of DZO_TEST_DATA"
}

# Five items; of capacity 10 the best is 0, 2 and 3, worth 18, as trying all 32 sets shows.
five_items() { printf '%s\n' '5 10' '6 3' '5 4' '7 5' '5 2' '9 9'; }

# 60 random numbers up to 1e17 that are to fill half their sum: hours for anybody without a large GPU.
hard_instance() { dzo generate knapsack --class subset-sum --items 60 --range 100000000000000000 -q; }

# The best of all sets, by awk: value and weight are integers below 2^53, up to 20 items.
best_of_all() {
  awk 'NR == 1 { n = $1; c = $2; next }
    { v[NR - 2] = $1; w[NR - 2] = $2 }
    END {
      best = 0
      for (s = 0; s < 2 ^ n; s++) {
        value = 0; weight = 0; rest = s
        for (i = 0; i < n; i++) {
          if (rest % 2 == 1) { value += v[i]; weight += w[i] }
          rest = int(rest / 2)
        }
        if (weight <= c && value > best) best = value
      }
      print best
    }'
}

# ---- Answers ---------------------------------------------------------------------------------

@test "a small instance: report, JSON, solution" {
  need_python
  five_items >five.txt
  expect 0 knapsack five.txt --verify
  [ "$(field value)" = 18 ]
  [ "$(field weight)" = "10 of 10" ]
  [ "$(field proof)" = "optimal: no choice is worth more" ]
  [ "$(field taken)" = "3 of 5 items" ]
  [ -n "$(field verified)" ]
  [ ! -s err ]
  expect 0 knapsack five.txt --json -o chosen.txt
  [ "$(json "[d[k] for k in ('file', 'format', 'name', 'count', 'capacity', 'status')]")" = \
    "['five.txt', 'plain', None, 5, 10, 'optimal']" ]
  [ "$(json "[d[k] for k in ('value', 'weight', 'bound', 'gap', 'items', 'reason', 'verified')]")" = \
    "[18, 10, 18, 0, [0, 2, 3], None, None]" ]
  [ "$(json "sorted(d['seconds'])")" = "['read', 'solve', 'total', 'verify', 'write']" ]
  [ "$(json "'copies' in d or 'names' in d")" = False ]
  [ "$(json "all(k in d for k in ('algorithm', 'device', 'nodes', 'cells', 'threads', 'plan'))")" = True ]
  [ "$(grep -v '^#' chosen.txt | xargs)" = "0 2 3" ]
  grep -qx '# value 18' chosen.txt
  expect 0 dzo verify knapsack five.txt chosen.txt
  no_leftovers five.txt chosen.txt
}

@test "every class, and every algorithm, against all sets" {
  for class in uncorrelated weakly-correlated strongly-correlated inverse-strongly-correlated \
    almost-strongly-correlated subset-sum even-odd-subset-sum even-odd similar-weights \
    spanner-uncorrelated spanner-weakly-correlated spanner-strongly-correlated \
    multiple-strongly-correlated profit-ceiling circle finkelstein; do
    dzo generate knapsack --class $class --items 9 --seed 3 -q -o $class.txt
    wanted=$(best_of_all <$class.txt)
    for algorithm in auto brute-force horowitz-sahni hybrid core dense two-list; do
      case ${DZO_DEVICE:-}:$algorithm:$class in
        *:auto:*) ;;
        cuda:core:* | cuda:horowitz-sahni:*) continue ;;
        *:circle | *:subset-sum | *:uncorrelated) ;;
        *) continue ;;
      esac
      expect 0 knapsack $class.txt --algorithm $algorithm --verify
      [ "$(field value)" = "$wanted" ] || { echo "$class $algorithm: not $wanted"; cat out; return 1; }
    done
  done
}

@test "decimals are exact" {
  need_python
  cat >items.csv <<'END'
name,value,weight
"item, no. 1",23.00,2.875
"item, no. 2",14.25,3.875
"item, no. 3",12.25,3.625
"item, no. 4",17.00,5.500
"item, no. 5",15.00,6.625
"item, no. 6",10.75,4.750
"item, no. 7",16.75,7.875
"item, no. 8",21.00,10.625
"item, no. 9",21.75,11.125
"item, no. 10",18.00,10.250
END
  expect 0 knapsack items.csv --capacity 20.625 --verify
  [ "$(field value)" = 77.25 ]
  [ "$(field weight)" = "20.625 of 20.625" ]
  grep -q '5  item, no. 6$' out
  expect 0 knapsack items.csv --capacity 20.625 --json -o chosen.txt
  grep -q '"value": 77.25,' out
  grep -q '"capacity": 20.625,' out
  [ "$(json "d['names'][0]")" = "item, no. 1" ]
  expect 0 dzo verify knapsack items.csv chosen.txt --capacity 20.625
  expect 1 dzo verify knapsack items.csv chosen.txt --capacity 20.6249
  grep -q '^wrong: ' out
  # A tenth and two tenths are three tenths.
  printf 'value,weight\n1,0.1\n1,0.2\n' >tenths.csv
  expect 0 knapsack tenths.csv --capacity 0.3
  [ "$(field value)" = 2 ]
  expect 0 knapsack tenths.csv --capacity 0.29999999999
  [ "$(field value)" = 1 ]
}

@test "copies, negative numbers, nothing that fits, nothing at all" {
  need_python
  printf 'name,value,weight,count\na,5,3,4\nb,4,2,2\nc,7,100,9\n' >copies.csv
  expect 0 knapsack copies.csv --capacity 11 --json --verify -o chosen.txt
  [ "$(json "[d['value'], d['weight'], d['items'], d['copies'], d['names']]")" = \
    "[19, 11, [0, 1], [3, 1], ['a', 'b']]" ]
  [ "$(grep -v '^#' chosen.txt | xargs)" = "0 3 1" ]
  expect 0 dzo verify knapsack copies.csv chosen.txt --capacity 11
  printf '3 -2\n1 1\n-3 -4\n2 2\n' >negative.txt
  expect 0 knapsack negative.txt --json --verify
  [ "$(json "[d['value'], d['weight'], d['items']]")" = "[-1, -2, [1, 2]]" ]
  printf '2 -5\n1 1\n-3 -4\n' >infeasible.txt
  expect 0 knapsack infeasible.txt --json --verify -o chosen.txt
  [ "$(json "[d['status'], d['value'], d['weight'], d['bound'], d['items']]")" = \
    "['infeasible', None, None, None, []]" ]
  expect 0 knapsack infeasible.txt
  grep -q '^infeasible ' out
  printf '2 3\n9 4\n9 5\n' >heavy.txt
  expect 0 knapsack heavy.txt --json --verify
  [ "$(json "[d['status'], d['value'], d['items']]")" = "['optimal', 0, []]" ]
  printf '0 7\n' >none.txt
  expect 0 knapsack none.txt --json --verify
  [ "$(json "[d['status'], d['value'], d['items'], d['count']]")" = "['optimal', 0, [], 0]" ]
  printf '3 10\n9223372036854775807 1\n9223372036854775807 2\n-9223372036854775808 3\n' >large.txt
  expect 0 knapsack large.txt --json --verify
  [ "$(json "[d['value'], d['items']]")" = "[18446744073709551614, [0, 1]]" ]
}

@test "packed files, pipes, standard input, threads: the same answer" {
  five_items >five.txt
  gzip -k five.txt
  files=five.txt.gz
  if command -v zstd >/dev/null; then
    zstd -q five.txt
    files="$files five.txt.zst"
  fi
  for file in $files; do
    expect 0 knapsack $file --threads 1
    [ "$(field value)" = 18 ]
  done
  five_items | knapsack - >out
  [ "$(field value)" = 18 ]
  knapsack <(five_items) --threads 3 >out
  [ "$(field value)" = 18 ]
  five_items | knapsack - -o - --quiet >out
  [ "$(grep -v '^#' out | xargs)" = "0 2 3" ]
}

@test "several instances are a batch" {
  need_python
  { five_items; printf '1 -5\n1 1\n'; five_items; } >three.txt
  printf 'one\nn 1\nc 5\nz 3\ntime 0.00\n1,3,5,1\n-----\n\n' >one.csv
  expect 0 knapsack three.txt one.csv --json --verify -o chosen.txt
  [ "$(json "[d[k] for k in ('count', 'optimal', 'feasible', 'infeasible', 'verified', 'algorithm')]")" = \
    "[4, 3, 0, 1, True, 'auto']" ]
  [ "$(json "[(i['file'], i['status'], i['value'], i['items']) for i in d['instances']]")" = \
    "[('three.txt', 'optimal', 18, [0, 2, 3]), ('three.txt', 'infeasible', None, []), ('three.txt', 'optimal', 18, [0, 2, 3]), ('one.csv', 'optimal', 3, [0])]" ]
  [ "$(json "d['instances'][3]['name']")" = one ]
  [ "$(json "d['device'] in ('cpu', 'cuda', 'hybrid')")" = True ]
  expect 0 knapsack three.txt -o chosen.txt
  [ "$(grep -c optimal out)" -eq 2 ]
  expect 1 dzo verify knapsack three.txt chosen.txt
  grep -q '^wrong: instance 1: ' out # even the lightest choice is too heavy
  { five_items; five_items; } >two.txt
  expect 0 knapsack two.txt -o chosen.txt
  expect 0 dzo verify knapsack two.txt chosen.txt
  grep -q 'for 2 of 2 instances' out
  expect 0 dzo verify knapsack two.txt chosen.txt --json
  [ "$(json "[d['valid'], d['instances'], d['checked']]")" = "[True, 2, 2]" ]
}

@test "real instances: each has the known optimum" {
  need_instances
  python3 - "$DZO_TEST_DATA/knapsack" "${DZO_DEVICE:-cpu}" <<'END'
import csv, json, os, subprocess, sys
folder, device = sys.argv[1:]
rows = [r for r in csv.DictReader(open(folder + "/optima.csv"))
        if not r["file"].startswith("jooken") and "5000" not in r["file"]]
bad = 0
def solve(*words):
    out = subprocess.run([os.environ["DZO_PROGRAM"], "knapsack", *words, "--json", "--verify",
                          "--device", device], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(out, parse_float=str)
def check(row, answer):
    global bad
    if str(answer["value"]) != row["optimum"] or answer["status"] != "optimal":
        print(row["file"], answer["status"], answer["value"], "not", row["optimum"])
        bad += 1
    if answer["count"] != int(row["n"]) or str(answer["capacity"]) != row["capacity"]:
        print(row["file"], "is not read right")
        bad += 1
inside = [r for r in rows if not r["file"].startswith("csv")]
answers = solve(*[folder + "/" + r["file"] for r in inside])
for row, answer in zip(inside, answers["instances"]):
    check(row, answer)
for row in rows:
    if row["file"].startswith("csv"):
        check(row, solve(folder + "/" + row["file"], "--capacity", row["capacity"]))
print(len(rows), "instances")
sys.exit(bad)
END
  head -n 2 "$DZO_TEST_DATA"/knapsack/optima.csv | tail -n 1 | cut -d, -f1 >name
  sed 's/^z .*/z 186753/' "$DZO_TEST_DATA/knapsack/$(cat name)" >wrong.csv
  expect 1 knapsack wrong.csv --verify
  one_error "wrong.csv: the file tells an optimum of 186753, and 186754 was found"
}

# ---- Limits ----------------------------------------------------------------------------------

@test "--time-limit: the best found, its bound, status 5" {
  once
  need_python
  hard_instance >hard.txt
  expect 5 dzo knapsack hard.txt --device cpu --threads 1 --time-limit 0.3 --json --verify -o chosen.txt
  [ "$(cat err)" = "dzo: the time limit was reached" ]
  [ "$(json "d['status']")" = feasible ]
  [ "$(json "0 < d['value'] <= d['bound'] and d['weight'] <= d['capacity'] and len(d['items']) > 0")" = True ]
  [ "$(json "d['reason']")" = "the time limit was reached" ]
  expect 0 dzo verify knapsack hard.txt chosen.txt
  expect 5 dzo knapsack hard.txt --device cpu --threads 1 --time-limit 0.3
  [ -n "$(field value)" ]
  grep -q '^proof  *no choice is worth more than [0-9]* (' out
  { cat hard.txt; five_items; } >both.txt
  expect 5 dzo knapsack both.txt --device cpu --threads 1 --time-limit 0.3 --json --verify
  [ "$(json "[d['count'], d['feasible'] + d['optimal'], len(d['instances'])]")" = "[2, 2, 2]" ]
}

@test "--memory: the best found, its bound, status 5" {
  once
  need_python
  hard_instance >hard.txt
  expect 5 dzo knapsack hard.txt --device cpu --algorithm core --memory 1M --json --verify
  grep -q '^dzo: .*memory' err
  [ "$(json "[d['status'], 0 < d['value'] <= d['bound']]")" = "['feasible', True]" ]
}

@test "an algorithm that does not take the instance: status 2 and the reason" {
  once
  hard_instance >hard.txt
  expect 2 dzo knapsack hard.txt --device cpu --algorithm brute-force
  one_error "brute-force: "
}

@test "a line on a terminal tells what is known so far" {
  once
  need_python
  python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "needs pseudo-terminals"
  hard_instance >hard.txt
  python3 - "$DZO_PROGRAM" knapsack hard.txt --device cpu --algorithm horowitz-sahni --time-limit 1.4 <<'END'
import fcntl, os, pty, re, struct, subprocess, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
os.close(slave)
shown = b""
while True:
    try:
        data = os.read(master, 65536)
    except OSError:
        break
    if not data:
        break
    shown += data
assert child.wait() == 5
text = shown.decode()
assert re.search(r"\r\x1b\[K[a-z-]+  value \d+  bound \d+  gap [0-9.e-]+ %  [0-9.]+ s", text), repr(text)
assert text.endswith("\r\x1b[Kdzo: the time limit was reached\r\n"), repr(text)
END
}

@test "Ctrl-C: the best found is told, status 130" {
  once
  hard_instance >hard.txt
  for try in 1.2 2 3; do # after a second there would be a line on a terminal, and here is none
    "$DZO_PROGRAM" knapsack hard.txt --device cpu --threads 1 -o chosen.txt >out 2>err </dev/null &
    pid=$!
    sleep $try
    kill -INT $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 130 ]
    [ -s out ] && break # a busy machine may be slower than the grace that a signal gives
  done
  [ -s out ] || [ -z "${DZO_SANITIZE:-}" ] || skip "a sanitizer hands signals over late"
  [ -n "$(field value)" ]
  grep -q '^proof  *no choice is worth more than' out
  [ "$(cat err)" = "dzo: stopped" ]
  expect 0 dzo verify knapsack hard.txt chosen.txt
  no_leftovers hard.txt chosen.txt
}

@test "no GPU: status 4 where one is asked for" {
  dzo info | grep -q '^device *cuda:0 ' && skip "there is a GPU"
  five_items >five.txt
  for device in cuda hybrid; do
    expect 4 dzo knapsack five.txt --device $device
    one_error "there is no GPU to use"
  done
}

# ---- Errors ----------------------------------------------------------------------------------

@test "malformed files: status 3, file, line and reason" {
  once
  while IFS='|' read -r name where text; do
    printf '%b' "$text" >"$name"
    for words in "knapsack $name --capacity 5" "verify knapsack $name $name --capacity 5"; do
      # shellcheck disable=SC2086
      expect 3 dzo $words
      one_error "$name:$where"
    done
  done <<'END'
empty.txt|
rubbish.txt||no knapsack at all\n
line.txt||3 4 5 6 7 8 9\n
short.txt|3: the file ends after 2 of 3 items|3 10\n1 2\n3 4\n
word.txt|2: expected the weight of item 0, found 'x'|1 10\n1 x\n
huge.txt|2: the value of item 0, 99999999999999999999, does not fit 64 bits|1 10\n99999999999999999999 1\n
many.txt|1: 99999999999 items are over the limit|99999999999 10\n1 2\n
promise.txt|2: the file ends after 1 of 1000000000 items|1000000000 10\n1 2\n
test.in|3: expected item number 1, found '2'|2\n0 1 2\n2 3 4\n10\n
block.csv|6: the file ends after 1 of 2 items|k\nn 2\nc 10\nz 5\ntime 0\n1,1,2,0\n
header.csv|1: no column of the weights|value,name\n1,a\n
fine.csv|3: the value of item 1, 9223372036854775807, does not fit 64 bits with the 1 decimal|value,weight\n0.5,1\n9223372036854775807,1\n
endless.csv|2: item 0: 'inf' copies (the unbounded problem)|value,weight,count\n1,2,inf\n
groups.csv|1: column 'class': one item of each group|value,weight,class\n1,2,1\n
END
  head -c 4000 /dev/zero >zeros
  expect 3 dzo knapsack zeros
  one_error "zeros:"
  expect 3 dzo knapsack missing
  one_error "missing:"
  mkdir folder
  expect 3 dzo knapsack folder
  one_error "folder:"
  five_items | gzip | head -c 20 >cut.gz
  expect 3 dzo knapsack cut.gz
  one_error "cut.gz:"
}

@test "a capacity or a column that is missing: status 2" {
  once
  printf 'value,weight,alt\n1,2,3\n' >items.csv
  expect 2 dzo knapsack items.csv
  one_error "items.csv: this format holds no capacity; give one (--capacity)"
  expect 2 dzo knapsack items.csv --capacity much
  one_error "the capacity 'much' is no number"
  expect 2 dzo knapsack items.csv --capacity 3 --value-column cost
  one_error "there is no column 'cost'"
  expect 0 dzo knapsack items.csv --capacity 3 --value-column alt --weight-column 1
  [ "$(field value)" = 3 ]
  [ "$(field weight)" = "1 of 3" ]
}

@test "wrong solutions" {
  once
  five_items >five.txt
  while IFS='|' read -r reason text; do
    printf '%b' "$text" >chosen.txt
    expect 1 dzo verify knapsack five.txt chosen.txt
    [ ! -s err ]
    grep -q "^wrong: .*$reason" out || { cat out; return 1; }
  done <<'END'
capacity|0\n1\n2\n
item 0 is taken 2 times, of 1|0 2\n
the value is 18, not 19|# value 19\n0\n2\n3\n
the weight is 10, not 9|# value 18\n# weight 9\n0\n2\n3\n
END
  printf '1\n0\n1\n1\n0\n' >chosen.txt
  expect 0 dzo verify knapsack five.txt chosen.txt
  grep -q '^valid: .* worth 18, of weight 10 of 10' out
  printf '7\n' >chosen.txt
  expect 3 dzo verify knapsack five.txt chosen.txt
  one_error "chosen.txt:1: there is no item 7 among 5"
}

@test "a full disk, a closed pipe, an output that cannot be" {
  once
  five_items >five.txt
  expect 1 dzo knapsack five.txt -o nowhere/x
  one_error "nowhere/x"
  if [ -w /dev/full ]; then
    for words in "knapsack five.txt -o /dev/full" "generate knapsack -o /dev/full"; do
      # shellcheck disable=SC2086
      expect 1 dzo $words
      one_error "No space left on device"
    done
    for words in "knapsack five.txt" "knapsack five.txt --json" "generate knapsack"; do
      status=0
      # shellcheck disable=SC2086
      dzo $words >/dev/full 2>err || status=$?
      [ "$status" -eq 1 ]
      grep -q "No space left on device" err
    done
  fi
  {
    status=0
    dzo generate knapsack --items 300000 -q 2>err || status=$?
    echo "$status" >code
  } | head -n 1 >/dev/null
  [ "$(cat code)" -eq 141 ]
  [ ! -s err ]
}

# ---- Generating ------------------------------------------------------------------------------

@test "generated instances read back in every format" {
  once
  need_python
  for format in plain pisinger jooken csv; do
    expect 0 dzo generate knapsack --class circle --items 50 --range 1000000 --format $format --verify --json -o k.$format
    [ "$(json "[d['knapsack']['items'], d['class'], d['verified'], d['knapsack']['format']]")" = "[50, 'circle', True, '$format']" ]
  done
  expect 0 dzo generate knapsack --class even-odd --items 20 --part 1 --parts 3 --verify -o k.txt
  [ $(($(head -n 1 k.txt | cut -d' ' -f2) % 2)) -eq 1 ]
  dzo generate knapsack --items 40 --seed 7 -q >a
  dzo generate knapsack --items 40 --seed 7 -q --threads 1 >b
  dzo generate knapsack --items 40 --seed 8 -q >c
  cmp a b
  ! cmp -s a c
}
