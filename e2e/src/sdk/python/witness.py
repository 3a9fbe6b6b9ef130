"""Runs inside a sandbox, started by the tests of both languages.

It counts in memory, keeps one file open from its start, and answers on port 8000 with what only this process can know: a
secret of its start, its count and its pid.
"""

import http.server
import json
import os
import secrets
import threading
import time

count, secret = 0, secrets.token_hex(16)
log = open("/tmp/open.log", "w", buffering=1)
ballast = bytearray(os.urandom(1024)) * (16 * 1024)


def run():
    global count
    while True:
        count += 1
        log.write(f"{count}\n")
        time.sleep(0.02)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"secret": secret, "count": count, "pid": os.getpid(), "bytes": len(ballast)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


threading.Thread(target=run, daemon=True).start()
http.server.ThreadingHTTPServer(("0.0.0.0", 8000), Handler).serve_forever()
