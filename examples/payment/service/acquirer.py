"""The client of the acquirer: the bank that moves the money. One request per payment, tried again if no answer came.

The acquirer knows our payment ids, so the same request twice moves the money once.
"""

import json
import logging
import time
import urllib.error
import urllib.request

from service.retry import attempts

log = logging.getLogger("acquirer")


class AcquirerError(Exception):
    """The acquirer did not do what it was asked to."""


class AcquirerTimeout(AcquirerError):
    """The acquirer gave no answer in time. What became of the payment is not known."""


class CardDeclined(AcquirerError):
    """The bank that issued the card said no."""


class AcquirerClient:
    def __init__(self, settings, opener=urllib.request.urlopen):
        self.base_url = settings["acquirer_url"].rstrip("/")
        self.deadline_ms = settings["acquirer_deadline"]
        self.attempts = settings["acquirer_attempts"]
        self.pause_ms = settings["retry_pause"]
        self._open = opener

    def authorize(self, payment_id, amount, card_token):
        """Asks for the money. Returns the acquirer's reference."""
        body = {
            "payment": payment_id,
            "amount": amount.minor,
            "currency": amount.currency.code,
            "card": card_token,
        }

        def once(attempt):
            log.info("authorize %s attempt %d of %d", payment_id, attempt, self.attempts)
            return self._post("/v2/authorizations", body)

        answer = attempts(once, self.attempts, self.pause_ms, AcquirerTimeout)
        if answer.get("result") == "declined":
            raise CardDeclined(answer.get("reason", "no reason given"))
        return answer["reference"]

    def _post(self, path, body):
        request = urllib.request.Request(
            self.base_url + path,
            data=json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method="POST",
        )
        begun = time.monotonic()
        try:
            with self._open(request, timeout=self.deadline_ms / 1000) as response:
                answer = json.load(response)
        except TimeoutError:
            raise AcquirerTimeout(f"no answer within {self.deadline_ms} ms") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise AcquirerTimeout(f"no answer within {self.deadline_ms} ms") from None
            raise AcquirerError(str(error.reason)) from error
        log.info("acquirer answered %s after %d ms", path, (time.monotonic() - begun) * 1000)
        return answer
