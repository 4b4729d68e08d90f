"""Amounts of money: whole numbers of minor units, with a currency. No floats."""

from dataclasses import dataclass


class WrongAmount(ValueError):
    """Something is no amount that we take."""


@dataclass(frozen=True)
class Currency:
    code: str
    digits: int
    amount_max: int


@dataclass(frozen=True)
class Amount:
    minor: int
    currency: Currency

    def __post_init__(self):
        if isinstance(self.minor, bool) or not isinstance(self.minor, int):
            raise WrongAmount("the amount is no whole number")
        if not 0 < self.minor <= self.currency.amount_max:
            raise WrongAmount(f"the amount is not between 1 and {self.currency.amount_max}")

    def __str__(self):
        digits = self.currency.digits
        if digits == 0:
            return f"{self.minor} {self.currency.code}"
        whole, rest = divmod(self.minor, 10**digits)
        return f"{whole}.{rest:0{digits}} {self.currency.code}"


def currencies(sections):
    """Takes the sections of currencies.toml."""
    return {code: Currency(code, entry["digits"], entry["amount_max"]) for code, entry in sections.items()}
