"""What the API does with a request, apart from HTTP."""

import itertools
import json
import logging

from service.acquirer import AcquirerError, AcquirerTimeout, CardDeclined
from service.idempotency import ReusedKey
from service.money import Amount, WrongAmount

log = logging.getLogger("handlers")


class PaymentHandlers:
    def __init__(self, acquirer, ledger, memory, currencies, first_number=1):
        self._acquirer = acquirer
        self._ledger = ledger
        self._memory = memory
        self._currencies = currencies
        self._numbers = itertools.count(first_number)
        self._payments = {}

    def create(self, key, body):
        """POST /api/payments. Returns a status and an answer."""
        if not key:
            return 422, {"error": "the header Idempotency-Key is missing"}
        try:
            known = self._memory.recall(key, body)
        except ReusedKey:
            return 409, {"error": "this key came with another body before"}
        if known is not None:
            return known
        try:
            wanted = json.loads(body)
            amount = Amount(wanted["amount"], self._currencies[wanted["currency"]])
            card_token = wanted["card_token"]
        except (ValueError, KeyError, TypeError, WrongAmount) as error:
            return 422, {"error": str(error)}
        status, answer = self._take(f"pay-{next(self._numbers)}", amount, card_token)
        if status != 502:
            self._memory.keep(key, body, (status, answer))
        return status, answer

    def _take(self, payment_id, amount, card_token):
        self._ledger.append("begun", payment_id, amount=amount.minor, currency=amount.currency.code)
        try:
            reference = self._acquirer.authorize(payment_id, amount, card_token)
        except CardDeclined as error:
            self._ledger.append("declined", payment_id)
            log.info("%s declined: %s", payment_id, error)
            return 402, {"payment": payment_id, "status": "declined"}
        except AcquirerTimeout as error:
            self._ledger.append("unknown", payment_id)
            log.error("%s failed: AcquirerTimeout: %s", payment_id, error)
            return 502, {"error": "the acquirer gave no answer in time"}
        except AcquirerError as error:
            self._ledger.append("unknown", payment_id)
            log.error("%s failed: %s", payment_id, error)
            return 502, {"error": "the acquirer can't be reached"}
        self._ledger.append(
            "authorized", payment_id, amount=amount.minor, currency=amount.currency.code, reference=reference
        )
        self._payments[payment_id] = {"payment": payment_id, "status": "authorized", "amount": str(amount)}
        return 201, self._payments[payment_id]

    def show(self, payment_id):
        """GET /api/payments/{payment}."""
        payment = self._payments.get(payment_id)
        return (200, payment) if payment else (404, {"error": "there is no such payment"})
