#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""memcached.py SOCKET REQUESTS: eight clients at once, of all kinds of requests."""
import random
import socket
import sys
import threading

wrong = []


def client(number):
    rng = random.Random(number)
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.settimeout(60)
    with s.makefile("rwb") as f:

        def ask(request):
            f.write(request + b"\r\n")
            f.flush()
            return f.readline()

        for i in range(int(sys.argv[2])):
            key = b"k%d" % rng.randrange(500)
            value = b"x" * rng.choice((10, 100, 1000, 8000))
            kind = rng.randrange(10)
            if kind < 4:
                line = ask(b"set %s 0 %d %d\r\n%s" % (key, rng.choice((0, 0, 1)), len(value),
                                                      value))
                if line != b"STORED\r\n":
                    wrong.append(line)
            elif kind < 7:
                line = ask(b"get %s k1 k2" % key)
                while line.startswith(b"VALUE"):
                    f.read(int(line.split()[3]) + 2)
                    line = f.readline()
                if line != b"END\r\n":
                    wrong.append(line)
            elif kind == 7:
                ask(b"delete " + key)
            elif kind == 8:
                ask(b"add n%d 0 0 1\r\n1" % (number % 3))
                ask(b"incr n%d 5" % (number % 3))
            elif i % 7:
                ask(b"append %s 0 0 3\r\nabc" % key)
            else:
                line = ask(b"stats")
                while line.startswith(b"STAT"):
                    line = f.readline()
    s.close()


threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(*wrong[:3] or ["good"])
