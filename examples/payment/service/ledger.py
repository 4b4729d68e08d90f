"""The ledger: one line per thing that happened, never changed afterwards."""

import json
import os
import threading
from pathlib import Path


class Ledger:
    def __init__(self, path, sync=True):
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._sync = sync
        self._lock = threading.Lock()

    def append(self, kind, payment_id, **details):
        """Writes an entry and returns when it is on the disk."""
        line = json.dumps({"kind": kind, "payment": payment_id, **details}, sort_keys=True)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            if self._sync:
                os.fsync(file.fileno())

    def entries(self):
        if not self._path.exists():
            return []
        with self._path.open(encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()]

    def balance(self, currency):
        """What was authorized in a currency, in minor units."""
        return sum(
            entry["amount"]
            for entry in self.entries()
            if entry["kind"] == "authorized" and entry["currency"] == currency
        )
