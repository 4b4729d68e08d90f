import unittest

from service.money import Amount, WrongAmount, Currency

EUR = Currency("EUR", 2, 1000000)
JPY = Currency("JPY", 0, 15000000)


class AmountTest(unittest.TestCase):
    def test_amounts_are_shown_with_their_digits(self):
        self.assertEqual(str(Amount(1905, EUR)), "19.05 EUR")
        self.assertEqual(str(Amount(1905, JPY)), "1905 JPY")

    def test_what_is_no_amount_is_refused(self):
        for minor in [0, -1, 1000001, 1.5, True, "7"]:
            with self.assertRaises(WrongAmount):
                Amount(minor, EUR)


if __name__ == "__main__":
    unittest.main()
