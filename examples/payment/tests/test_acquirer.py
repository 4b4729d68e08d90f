import io
import json
import unittest

from service.acquirer import AcquirerClient, AcquirerTimeout, CardDeclined
from service.money import Amount, Currency
from service.settings import Settings

TEN_EUROS = Amount(1000, Currency("EUR", 2, 1000000))


def client(opener, **changed):
    values = {
        "acquirer_url": "http://acquirer.test",
        "acquirer_deadline": 2500,
        "acquirer_attempts": 3,
        "retry_pause": 0,
    }
    return AcquirerClient(Settings({**values, **changed}), opener)


def answering(answer, seen):
    def opener(request, timeout):
        seen.append(timeout)
        return io.BytesIO(json.dumps(answer).encode())

    return opener


class AcquirerClientTest(unittest.TestCase):
    def test_an_approved_payment_has_a_reference(self):
        opener = answering({"result": "approved", "reference": "ref-1"}, [])
        self.assertEqual(client(opener).authorize("pay-1", TEN_EUROS, "tok"), "ref-1")

    def test_the_acquirer_gets_two_and_a_half_seconds(self):
        seen = []
        client(answering({"result": "approved", "reference": "ref-1"}, seen)).authorize("pay-1", TEN_EUROS, "tok")
        self.assertEqual(seen, [2.5])

    def test_a_declined_card_is_not_tried_again(self):
        seen = []
        with self.assertRaises(CardDeclined):
            client(answering({"result": "declined"}, seen)).authorize("pay-1", TEN_EUROS, "tok")
        self.assertEqual(len(seen), 1)

    def test_no_answer_is_tried_three_times(self):
        seen = []

        def silent(request, timeout):
            seen.append(timeout)
            raise TimeoutError

        with self.assertRaises(AcquirerTimeout):
            client(silent).authorize("pay-1", TEN_EUROS, "tok")
        self.assertEqual(len(seen), 3)


if __name__ == "__main__":
    unittest.main()
