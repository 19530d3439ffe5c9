#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Copyright The dzo authors
load helper

# A container may have none.
need_terminals() {
  need_python
  python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "needs pseudo-terminals"
}

# on_terminal COMMAND...: run with standard error on a terminal of 80 columns; what it shows goes to
# the file screen, standard output to the file out. Standard input is a graph that comes slowly.
on_terminal() {
  python3 - "$@" <<'END'
import fcntl, os, pty, struct, subprocess, sys, termios, threading, time
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
shown = open("screen", "wb")
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=open("out", "wb"), stderr=slave)
os.close(slave)
def feed():
    try:
        with child.stdin as pipe:
            for i in range(int(os.environ.get("TENTHS", "18"))):
                pipe.write(b"".join(b"%d %d 1\n" % (i * 20000 + k, i * 20000 + k + 1) for k in range(20000)))
                pipe.flush()
                time.sleep(0.1)
    except BrokenPipeError:
        pass
threading.Thread(target=feed).start()
while True:
    try:
        data = os.read(master, 65536)
    except OSError:
        break
    if not data:
        break
    shown.write(data)
shown.close()
sys.exit(child.wait())
END
}

@test "a bar appears on a terminal after a second and is wiped" {
  need_terminals
  on_terminal "$DZO_PROGRAM" msf -
  grep -q 'read' screen
  grep -q 'MB/s' screen
  [ "$(tail -c 4 screen | od -An -c | tr -d ' ')" = '\r033[K' ]
  [ "$(field components)" = 1 ]
  # No line is wider than the terminal.
  [ "$(tr '\r' '\n' <screen | sed 's/\x1b\[K//' | awk '{ if (length($0) > most) most = length($0) } END { print most + 0 }')" -lt 80 ]
}

@test "a bar while keys are counted" {
  need_terminals
  on_terminal "$DZO_PROGRAM" table count - --column 2 --sort none
  grep -q 'read' screen
  [ "$(tail -c 4 screen | od -An -c | tr -d ' ')" = '\r033[K' ] || grep -q records screen
  [ "$(grep -c ',1$' out)" -eq 360000 ]
}

@test "no bar for what is quick, with --quiet, or with --no-progress" {
  need_terminals
  TENTHS=2 on_terminal "$DZO_PROGRAM" msf -
  [ ! -s screen ]
  on_terminal "$DZO_PROGRAM" msf - --quiet
  [ ! -s screen ]
  on_terminal "$DZO_PROGRAM" msf - --no-progress
  [ ! -s screen ]
}

@test "no bar where standard error is no terminal" {
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13; do
    echo "$i $((i + 1)) 1"
    sleep 0.1
  done | dzo msf - >out 2>err
  [ ! -s err ]
}

@test "binary data is not written to a terminal" {
  need_terminals
  status=0
  python3 - "$DZO_PROGRAM" <<'END' >shown || status=$?
import pty, sys
sys.exit(pty.spawn([sys.argv[1], "generate", "rmat", "--scale", "4", "--format", "egr"]) >> 8)
END
  [ "$status" -eq 2 ]
  grep -q 'not for a terminal' shown
}
