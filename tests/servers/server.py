# SPDX-License-Identifier: GPL-2.0-or-later
"""server.py FILE: GET /N computes a sum of N terms, and sends it with N more bytes.

There is a thread for each connection.  The port goes to FILE.
"""
import http.server
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        n = int(self.path[1:])
        body = b"sum %d\n" % sum(i * i % 7 for i in range(n)) + b"x" * n
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(sys.argv[1], "w", encoding="ascii") as f:
    f.write("%d\n" % server.server_address[1])
server.serve_forever()
