"""A stand-in for the acquirer: says yes to everything, after a while."""

import argparse
import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Stub(BaseHTTPRequestHandler):
    delay = 0.0

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(self.delay)
        text = json.dumps({"result": "approved", "reference": f"ref-{body['payment']}"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=9200)
    parser.add_argument("--delay", type=float, default=0.4, help="seconds before each answer")
    options = parser.parse_args()
    Stub.delay = options.delay
    ThreadingHTTPServer(("127.0.0.1", options.port), Stub).serve_forever()
