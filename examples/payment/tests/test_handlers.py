import json
import tempfile
import unittest
from pathlib import Path

from service.acquirer import AcquirerTimeout, CardDeclined
from service.handlers import PaymentHandlers
from service.idempotency import Memory
from service.ledger import Ledger
from service.money import Currency

BODY = json.dumps({"order": "A-1", "amount": 1999, "currency": "EUR", "card_token": "tok"}).encode()


class FakeAcquirer:
    def __init__(self, outcome):
        self.outcome = outcome
        self.asked = 0

    def authorize(self, payment_id, amount, card_token):
        self.asked += 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


class PaymentHandlersTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.ledger = Ledger(Path(directory.name) / "ledger.jsonl", sync=False)

    def handlers(self, acquirer):
        return PaymentHandlers(acquirer, self.ledger, Memory(24, 100), {"EUR": Currency("EUR", 2, 1000000)})

    def test_a_payment_is_taken_and_written_down(self):
        status, answer = self.handlers(FakeAcquirer("ref-1")).create("k", BODY)
        self.assertEqual((status, answer["amount"]), (201, "19.99 EUR"))
        self.assertEqual(self.ledger.balance("EUR"), 1999)

    def test_the_same_key_is_done_once(self):
        acquirer = FakeAcquirer("ref-1")
        handlers = self.handlers(acquirer)
        self.assertEqual(handlers.create("k", BODY), handlers.create("k", BODY))
        self.assertEqual(acquirer.asked, 1)

    def test_a_declined_card_is_402(self):
        self.assertEqual(self.handlers(FakeAcquirer(CardDeclined("stolen"))).create("k", BODY)[0], 402)

    def test_no_answer_is_502_and_may_be_tried_again(self):
        acquirer = FakeAcquirer(AcquirerTimeout("no answer"))
        handlers = self.handlers(acquirer)
        self.assertEqual([handlers.create("k", BODY)[0] for _ in range(2)], [502, 502])
        self.assertEqual(acquirer.asked, 2)

    def test_a_wrong_body_is_422(self):
        for body in [b"", b"[]", b'{"amount": 0, "currency": "EUR", "card_token": "t"}']:
            self.assertEqual(self.handlers(FakeAcquirer("ref-1")).create("k", body)[0], 422)


if __name__ == "__main__":
    unittest.main()
