#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Run a command on a terminal of its own, and pass on what it writes to it.

    pty_run.py COLUMNS COMMAND...
"""
import fcntl
import os
import pty
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
    os.execvp(sys.argv[2], sys.argv[2:])
output = b""
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    output += data
sys.stdout.buffer.write(output.replace(b"\r\n", b"\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
