"""The HTTP side of the payment API, and where everything is put together."""

import argparse
import json
import logging
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from service.acquirer import AcquirerClient
from service.handlers import PaymentHandlers
from service.idempotency import Memory
from service.ledger import Ledger
from service.money import currencies
from service.settings import Settings

log = logging.getLogger("app")

SHOWN_AT_START = ["listen_port", "api_threads", "acquirer_deadline", "acquirer_attempts", "idempotency_hours"]


def build(settings, currency_sections):
    memory = Memory(settings["idempotency_hours"], settings["idempotency_keys_max"])
    ledger = Ledger(settings["ledger_path"], settings["ledger_sync"])
    return PaymentHandlers(AcquirerClient(settings), ledger, memory, currencies(currency_sections))


class Api(BaseHTTPRequestHandler):
    handlers = None
    body_bytes_max = 16384

    def do_POST(self):
        if self.path != "/api/payments":
            return self._answer(404, {"error": "there is nothing here"})
        length = int(self.headers.get("Content-Length") or 0)
        if length > self.body_bytes_max:
            return self._answer(413, {"error": "the body is too long"})
        body = self.rfile.read(length)
        self._answer(*self.handlers.create(self.headers.get("Idempotency-Key"), body))

    def do_GET(self):
        if self.path == "/health":
            return self._answer(200, {"status": "up"})
        if self.path.startswith("/api/payments/"):
            return self._answer(*self.handlers.show(self.path.rsplit("/", 1)[1]))
        self._answer(404, {"error": "there is nothing here"})

    def _answer(self, status, answer):
        text = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *args):
        log.info("%s %s", self.client_address[0], format % args)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, default=Path("config/service.toml"))
    options = parser.parse_args()
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")
    settings = Settings.read(options.config)
    with (options.config.parent / "currencies.toml").open("rb") as file:
        Api.handlers = build(settings, tomllib.load(file))
    Api.body_bytes_max = settings["body_bytes_max"]
    log.info("started: %s", settings.shown(SHOWN_AT_START))
    ThreadingHTTPServer((settings["listen_host"], settings["listen_port"]), Api).serve_forever()


if __name__ == "__main__":
    main()
