#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""nginx.py SOCKET REQUESTS PATH SIZE...: four clients at once get files and look at their sizes."""
import http.client
import socket
import sys
import threading

wrong = []


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(sys.argv[1])


def client():
    for i in range(int(sys.argv[2])):
        files = list(zip(sys.argv[3::2], sys.argv[4::2]))
        path, size = files[i % len(files)]
        c = Connection("localhost")
        c.request("GET", path)
        r = c.getresponse()
        body = r.read()
        if r.status != 200 or len(body) != int(size):
            wrong.append("%s: status %d, %d bytes" % (path, r.status, len(body)))
        c.close()


threads = [threading.Thread(target=client) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(*wrong[:3] or ["good"])
