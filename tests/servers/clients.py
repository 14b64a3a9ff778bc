#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A load for a server, in which each response is checked.

    clients.py KIND ADDRESS CONNECTIONS OVER [PATH...]

KIND is redis, memcached or http.  ADDRESS is the path of a Unix socket, or a port of
127.0.0.1.  Each connection sends its requests in turn until the file OVER exists; http
opens a new connection after every 50 requests.  What redis and memcached must answer is
known; http learns the responses for the PATHs at first, before it prints "ready".

The last line is "right: N requests, slowest M ms"; otherwise the first wrong response or
error is printed, and the exit status is 1.
"""
import http.client
import os
import socket
import sys
import threading
import time

LIMIT = 60          # seconds for a response
REUSED = 50         # HTTP requests of a connection


class Wrong(Exception):
    """A response is not what it must be."""


def connect(address):
    if address.isdigit():
        s = socket.create_connection(("127.0.0.1", int(address)), LIMIT)
    else:
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(LIMIT)
        s.connect(address)
    return s


def brief(data):
    return "%d bytes %r" % (len(data), data[:60])


def exchange(s, request, want):
    """Send bytes, and receive exactly those that are wanted."""
    s.sendall(request)
    got = b""
    while len(got) < len(want):
        more = s.recv(len(want) - len(got))
        if not more:
            raise Wrong("the server has closed a connection after %s" % brief(got))
        got += more
    if got != want:
        raise Wrong("%s: %s, not %s" % (brief(request), brief(got), brief(want)))


def resp(*words):
    """A request of redis."""
    out = b"*%d\r\n" % len(words)
    for w in words:
        w = w if isinstance(w, bytes) else str(w).encode()
        out += b"$%d\r\n%s\r\n" % (len(w), w)
    return out


def value(name, n):
    """A value of up to 64 KiB for the n-th round."""
    return (b"%s-%d;" % (name.encode(), n)) * (1 << n % 13)


def redis(s, name, n):
    v = value(name, n)[:65536]
    bulk = b"$%d\r\n%s\r\n" % (len(v), v)
    yield resp("SET", name, v), b"+OK\r\n"
    yield resp("GET", name), bulk
    if not n:
        yield resp("SET", name + ".n", 0), b"+OK\r\n"
    yield resp("INCR", name + ".n"), b":%d\r\n" % (n + 1)
    yield resp("RPUSH", name + ".l", n, v), b":2\r\n"
    yield resp("LRANGE", name + ".l", 0, 0), b"*1\r\n$%d\r\n%d\r\n" % (len(str(n)), n)
    yield resp("DEL", name + ".l"), b":1\r\n"
    # A pipeline: one large write of the client, many small ones of the server.
    yield b"".join(resp("SET", name, i) + resp("GET", name) for i in range(100, 200)), \
        b"".join(b"+OK\r\n$3\r\n%d\r\n" % i for i in range(100, 200))


def memcached(s, name, n):
    k, v = name.encode(), value(name, n)[:65536]
    yield b"set %s 0 0 %d\r\n%s\r\n" % (k, len(v), v), b"STORED\r\n"
    yield b"get %s\r\n" % k, b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (k, len(v), v)
    if not n:
        yield b"set %s.n 0 0 1\r\n0\r\n" % k, b"STORED\r\n"
    yield b"incr %s.n 1\r\n" % k, b"%d\r\n" % (n + 1)
    yield b"delete %s\r\n" % k, b"DELETED\r\n"
    yield b"get %s\r\n" % k, b"END\r\n"


class Http(http.client.HTTPConnection):
    """Over a socket of either kind."""

    def __init__(self, address):
        super().__init__("localhost", timeout=LIMIT)
        self.address = address

    def connect(self):
        self.sock = connect(self.address)


def get(c, path):
    c.request("GET", path)
    r = c.getresponse()
    return r.status, r.read()


class Load:
    """All connections, and what they have found."""

    def __init__(self, kind, address, over, paths):
        self.kind, self.address, self.over, self.paths = kind, address, over, paths
        self.learned, self.requests, self.slowest = {}, 0, 0.0
        self.lock, self.bad = threading.Lock(), None

    def learn(self):
        c = Http(self.address)
        for path in self.paths:
            self.learned[path] = get(c, path)
            if self.learned[path][0] != 200:
                raise Wrong("%s: status %d" % (path, self.learned[path][0]))
        c.close()

    def ends(self):
        return self.bad or os.path.exists(self.over)

    def done(self, n, slowest):
        with self.lock:
            self.requests += n
            self.slowest = max(self.slowest, slowest)

    def bytes_of(self, name, protocol):
        n, count, slowest, s = 0, 0, 0.0, connect(self.address)
        while not self.ends():
            for request, want in protocol(s, name, n):
                begun = time.monotonic()
                exchange(s, request, want)
                slowest = max(slowest, time.monotonic() - begun)
                count += 1
            n += 1
        s.close()
        self.done(count, slowest)

    def pages(self, number):
        n, slowest, c = number, 0.0, Http(self.address)
        while not self.ends():
            path = self.paths[n % len(self.paths)]
            begun = time.monotonic()
            got = get(c, path)
            slowest = max(slowest, time.monotonic() - begun)
            if got != self.learned[path]:
                raise Wrong("%s: status %d, %s" % (path, got[0], brief(got[1])))
            n += 1
            if n % REUSED == 0:
                c.close()
        c.close()
        self.done(n - number, slowest)

    def connection(self, number):
        try:
            if self.kind == "http":
                self.pages(number)
            else:
                self.bytes_of("c%d" % number, globals()[self.kind])
        except (Wrong, OSError, http.client.HTTPException) as e:
            self.bad = self.bad or "connection %d: %s: %s" % (number, type(e).__name__, e)

    def run(self, connections):
        threads = [threading.Thread(target=self.connection, args=(i,))
                   for i in range(connections)]
        for t in threads:
            t.start()
        print("ready", flush=True)
        for t in threads:
            t.join()


def main():
    kind, address, connections, over = sys.argv[1:5]
    if kind not in ("redis", "memcached", "http"):
        return 2
    load = Load(kind, address, over, sys.argv[5:])
    if kind == "http":
        load.learn()
    load.run(int(connections))
    if load.bad:
        print(load.bad)
        return 1
    print("right: %d requests, slowest %.0f ms" % (load.requests, load.slowest * 1e3))
    return 0


if __name__ == "__main__":
    sys.exit(main())
