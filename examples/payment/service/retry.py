"""Tries again what may be tried again."""

import time


def attempts(action, count, pause_ms, again, sleep=time.sleep):
    """Calls `action` up to `count` times, as long as it raises one of `again`. The pause is doubled each time.

    Returns what the action returns; after the last attempt its exception is raised.
    """
    for attempt in range(1, count + 1):
        try:
            return action(attempt)
        except again:
            if attempt == count:
                raise
            sleep(pause_ms * 2 ** (attempt - 1) / 1000)
    raise ValueError("there must be at least one attempt")
