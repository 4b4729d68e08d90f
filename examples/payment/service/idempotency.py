"""Remembers answers by the key that came with the request, so that a request that is sent twice is done once."""

import hashlib
import threading
import time
from collections import OrderedDict


class ReusedKey(Exception):
    """The same key came with another body."""


class Memory:
    def __init__(self, hours, keys_max, clock=time.time):
        self._seconds = hours * 3600
        self._keys_max = keys_max
        self._clock = clock
        self._known = OrderedDict()
        self._lock = threading.Lock()

    def recall(self, key, body):
        """Returns the answer given before, or None."""
        with self._lock:
            known = self._known.get(key)
            if known is None or known["until"] < self._clock():
                return None
            if known["digest"] != digest(body):
                raise ReusedKey(key)
            return known["answer"]

    def keep(self, key, body, answer):
        with self._lock:
            self._known[key] = {
                "digest": digest(body),
                "answer": answer,
                "until": self._clock() + self._seconds,
            }
            while len(self._known) > self._keys_max:
                self._known.popitem(last=False)


def digest(body):
    return hashlib.sha256(body).hexdigest()
