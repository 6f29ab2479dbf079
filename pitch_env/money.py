"""The money game's table (rules.md, 8): what a deal costs and pays, in exact cents, and ``Ledger``, who owes what.

ledger = Ledger()
for name in ("Ann", "Bob", "Cem"):
    ledger.join(name)
ledger.deal(("Ann", "Bob", "Cem"), score_change=(3, 0, 1), pitcher=0)
ledger.leave("Cem")  # [Payment(payer='Cem', payee='Ann', cents=4)]
ledger.settlement()  # what is still to be paid, in the fewest payments
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from pitch_env.files import replace_atomically
from pitch_env.rules import Rules

FORMAT = "pitch-ledger 1"
EXACT = 16  # players with open balances up to whom the fewest payments are found for certain


def whole_cents(amounts: Sequence[Fraction]) -> list[int]:
    """Exact amounts that sum to zero as whole cents that still do: rounded down, and up where most is missing.

    Raises:
        ValueError: the amounts do not sum to zero.
    """
    if sum(amounts) != 0:
        raise ValueError(f"amounts that sum to {sum(amounts)} are not allowed; a settlement sums to zero")
    cents = [floor(amount) for amount in amounts]
    missing = sorted(range(len(cents)), key=lambda place: cents[place] - amounts[place])
    for place in missing[: -sum(cents)]:
        cents[place] += 1
    return cents


def settle(rules: Rules, score_change: Sequence[int], pitcher: int | None, moon: bool | None) -> list[Fraction]:
    """What each player gets for one deal, or pays where it is negative.

    Args:
        rules: ``stake_cents`` for each point above or below the average of the players, ``moon_cents`` from or to every
            other player for a moon.
        score_change: of the deal, one for each player; partners both have what their team has.
        pitcher: the seat that won the auction, None where nobody did.
        moon: whether the moon was made, None where none was bid.

    Returns:
        Cents by player. They sum to zero exactly.

    Raises:
        ValueError: not one score change for each player, or a moon that nobody bid.
    """
    if len(score_change) != rules.players:
        raise ValueError(f"{len(score_change)} score changes are not allowed; {rules.players} players need one each")
    average = Fraction(sum(score_change), rules.players)
    cents = [rules.stake_cents * (change - average) for change in score_change]
    if moon is None:
        return cents
    if pitcher is None:
        raise ValueError(f"pitcher=None is not allowed with moon={moon}; somebody bid it")
    rules.team_of(pitcher)  # refuses a seat that is not there
    each = rules.moon_cents if moon else -rules.moon_cents
    others = rules.players - 1
    return [amount + (each * others if seat == pitcher else -each) for seat, amount in enumerate(cents)]


@dataclass(frozen=True)
class Payment:
    """Whole cents, at least one, from one player to another."""

    payer: str
    payee: str
    cents: int


@dataclass(frozen=True)
class Settlement:
    """Payments after which nobody owes anything.

    ``fewest``: no other settlement has fewer payments. With more than 16 players who owe or get something that is not
    looked for, and there is at most one payment fewer than such players.
    """

    payments: tuple[Payment, ...]
    fewest: bool


class Ledger:
    """Who has won and lost how much at a table where players come and go.

    Balances are exact and sum to zero, always. What is paid is whole cents; the part of a cent that a leaving player's
    payment was rounded by goes over to one who stays.

    Args:
        stake_cents: for each point above or below the average of the players.
        moon_cents: from or to every other player for a moon.

    Attributes:
        balances: exact cents by name, of all who have something open or are at the table; to look at.
        present: who is at the table, in the order of coming.
        payments: all that has been paid.
        deals: how many deals have been settled.

    Raises:
        ValueError: a stake that ``Rules`` would refuse.
    """

    def __init__(self, stake_cents: int = 10, moon_cents: int = 100) -> None:
        rules = Rules.preset("money", stake_cents=stake_cents, moon_cents=moon_cents)
        self.stake_cents, self.moon_cents = rules.stake_cents, rules.moon_cents
        self.balances: dict[str, Fraction] = {}
        self.present: list[str] = []
        self.payments: list[Payment] = []
        self.deals = 0

    def join(self, name: str) -> None:
        """A player comes to the table; who left without being paid goes on from his balance.

        Raises:
            ValueError: an empty name, or one that is there already.
        """
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"name={name!r} is not allowed; it is a text that is not empty")
        if name in self.present:
            raise ValueError(f"{name!r} is at the table already")
        self.present.append(name)
        self.balances.setdefault(name, Fraction(0))

    def leave(self, name: str, pay: bool = True) -> list[Payment]:
        """A player leaves the table between deals.

        Args:
            name: who leaves.
            pay: he is paid, or pays, now; else his balance stays open until ``settle_up``, or until he is back.

        Returns:
            The payments, none where nothing is paid. Those come from, or go to, the players with the largest open
            balances, those at the table before those who have left.

        Raises:
            ValueError: he is not there.
        """
        self._check_present(name)
        payments = self._payments_of(name) if pay else []
        for payment in payments:
            self.balances[payment.payer] += payment.cents
            self.balances[payment.payee] -= payment.cents
        self.payments += payments
        if pay:
            self._hand_over_fraction(name)
        self.present.remove(name)
        if not self.balances[name]:
            del self.balances[name]
        return payments

    def _payments_of(self, name: str) -> list[Payment]:
        cents = self.whole_balances()
        own = cents[name]
        sign = 1 if own > 0 else -1
        others = [other for other in cents if cents[other] * sign < 0]  # they sum to at least as much
        others.sort(key=lambda other: (other not in self.present, -abs(cents[other])))
        payments = []
        for other in others:
            part = min(abs(own), abs(cents[other]))
            if part:
                payments.append(Payment(other, name, part) if sign > 0 else Payment(name, other, part))
                own -= sign * part
        return payments

    def _hand_over_fraction(self, name: str) -> None:
        """What rounding has left of a player's balance goes to the one whose own rounding it cancels best."""
        left = self.balances[name]
        if left:
            whole = self.whole_balances()
            errors = {other: whole[other] - self.balances[other] for other in self.balances if other != name}
            other = min(errors, key=lambda each: (each not in self.present, abs(errors[each] - left)))
            self.balances[other] += left
            self.balances[name] = Fraction(0)

    def deal(
        self, seats: Sequence[str], score_change: Sequence[int], pitcher: int | None = None, moon: bool | None = None
    ) -> dict[str, Fraction]:
        """Settle a deal.

        Args:
            seats: the names of the players who were dealt in, by seat.
            score_change, pitcher, moon: see ``settle``.

        Returns:
            Exact cents by name: what each gets, or pays where it is negative.

        Raises:
            ValueError: a name twice or not at the table, fewer than 2 or more than 8, or what ``settle`` refuses.
        """
        for name in seats:
            self._check_present(name)
        if len(set(seats)) != len(seats):
            raise ValueError(f"seats={tuple(seats)!r} is not allowed; each player has one seat")
        rules = Rules.preset("money", players=len(seats), stake_cents=self.stake_cents, moon_cents=self.moon_cents)
        amounts = dict(zip(seats, settle(rules, score_change, pitcher, moon), strict=True))
        for name, amount in amounts.items():
            self.balances[name] += amount
        self.deals += 1
        return amounts

    def _check_present(self, name: str) -> None:
        if name not in self.present:
            there = ", ".join(map(repr, self.present)) or "nobody"
            raise ValueError(f"{name!r} is not at the table; there is {there}")

    def whole_balances(self) -> dict[str, int]:
        """The balances in whole cents, which sum to zero too."""
        return dict(zip(self.balances, whole_cents(list(self.balances.values())), strict=True))

    def settlement(self) -> Settlement:
        """The fewest payments that settle all open balances; nothing is changed."""
        return fewest_payments(self.whole_balances())

    def settle_up(self) -> Settlement:
        """The end of the session: everything is paid, and all balances are zero."""
        settlement = self.settlement()
        self.payments += settlement.payments
        self.balances = {name: Fraction(0) for name in self.present}
        return settlement

    # Files.

    def save(self, path: str | Path) -> None:
        """Write the ledger, whole or not at all. Raises OSError; an older file is then as it was."""
        replace_atomically(Path(path), json.dumps(self.to_dict(), indent=1).encode() + b"\n")

    def to_dict(self) -> dict[str, Any]:
        """The ledger, ready for JSON."""
        return {
            "format": FORMAT,
            "stake_cents": self.stake_cents,
            "moon_cents": self.moon_cents,
            "deals": self.deals,
            "present": self.present,
            "balances": {name: str(amount) for name, amount in self.balances.items()},
            "payments": [asdict(payment) for payment in self.payments],
        }

    @classmethod
    def load(cls, path: str | Path) -> "Ledger":
        """The ledger that ``save`` wrote.

        Raises:
            ValueError: the file is no ledger, of another format, or damaged; the message says which.
            OSError: it cannot be read.
        """
        try:
            return cls.from_dict(json.loads(Path(path).read_bytes()))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not a ledger, or a damaged one: {error}") from None

    @classmethod
    def from_dict(cls, fields: Any) -> "Ledger":
        """The ledger that ``to_dict`` gave. Raises ValueError for what is none."""
        form = fields.get("format") if isinstance(fields, dict) else None
        if form != FORMAT:
            raise ValueError(f"its format is {form!r}; this version reads {FORMAT!r}")
        names = {"format", "stake_cents", "moon_cents", "deals", "present", "balances", "payments"}
        if fields.keys() != names:
            raise ValueError(f"its fields are {', '.join(sorted(fields))}")
        ledger = cls(fields["stake_cents"], fields["moon_cents"])
        if not isinstance(fields["balances"], dict) or not isinstance(fields["present"], list):
            raise ValueError("it has no balances by name, or no list of who is present")
        for name in fields["present"]:
            ledger.join(name)
        ledger.balances = {name: _fraction(text) for name, text in fields["balances"].items()}
        if sum(ledger.balances.values()) or not ledger.balances.keys() >= set(ledger.present):
            raise ValueError("its balances do not sum to zero, or lack a player who is present")
        if not isinstance(fields["payments"], list) or not _is_count(fields["deals"]):
            raise ValueError("it has no list of payments, or no number of deals")
        ledger.payments = [_payment(each) for each in fields["payments"]]
        ledger.deals = fields["deals"]
        return ledger


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _fraction(text: Any) -> Fraction:
    if not isinstance(text, str) or not re.fullmatch(r"-?[0-9]{1,15}(/[1-9][0-9]{0,8})?", text):
        raise ValueError(f"the balance {text!r} is no fraction such as '-20/3'")
    return Fraction(text)


def _payment(fields: Any) -> Payment:
    if not isinstance(fields, dict) or fields.keys() != {"payer", "payee", "cents"}:
        raise ValueError(f"{fields!r} is no payment")
    payment = Payment(**fields)
    if not isinstance(payment.payer, str) or not isinstance(payment.payee, str) or not _is_count(payment.cents):
        raise ValueError(f"{fields!r} is no payment")
    return payment


# The fewest payments.


def fewest_payments(cents: Mapping[str, int]) -> Settlement:
    """Payments that bring all balances to zero.

    A group of k players whose balances sum to zero settles in k - 1 payments, so the fewest payments are those of the
    partition into the most such groups.

    Args:
        cents: what each gets, or owes where it is negative.

    Raises:
        ValueError: they do not sum to zero.
    """
    if sum(cents.values()) != 0:
        raise ValueError(f"balances that sum to {sum(cents.values())} are not allowed; they sum to zero")
    names = [name for name in cents if cents[name]]
    fewest = len(names) <= EXACT
    groups = _zero_groups([cents[name] for name in names]) if fewest else [list(range(len(names)))]
    payments: list[Payment] = []
    for group in groups:
        payments += _group_payments({names[place]: cents[names[place]] for place in group})
    return Settlement(tuple(payments), fewest)


def _group_payments(open_cents: dict[str, int]) -> list[Payment]:
    """The largest debt to the largest credit, until nothing is open; each payment ends at least one of the two."""
    payments = []
    while open_cents:
        payer, payee = min(open_cents, key=open_cents.__getitem__), max(open_cents, key=open_cents.__getitem__)
        paid = min(-open_cents[payer], open_cents[payee])
        payments.append(Payment(payer, payee, paid))
        open_cents[payer] += paid
        open_cents[payee] -= paid
        open_cents = {name: rest for name, rest in open_cents.items() if rest}
    return payments


def _zero_groups(amounts: Sequence[int]) -> list[list[int]]:
    """The places of some amounts, none zero, partitioned into the most groups that sum to zero.

    Over all sets of places: the most sets that sum to zero which one meets on the way from the empty set up to it, one
    place at a time. The differences of those on a best way to the whole are the groups.
    """
    size = len(amounts)
    sets = np.arange(1 << size)
    sums = np.zeros(1 << size, np.int64)
    for place, amount in enumerate(amounts):
        sums[sets >> place & 1 == 1] += amount
    sizes = np.bitwise_count(sets)
    most = np.zeros(1 << size, np.int64)
    for number in range(1, size + 1):
        layer = sets[sizes == number]
        for place in range(size):
            inside = layer[layer >> place & 1 == 1]
            most[inside] = np.maximum(most[inside], most[inside ^ (1 << place)])
        most[layer] += sums[layer] == 0
    groups: list[list[int]] = [[]] if size else []
    here = (1 << size) - 1
    while here:
        before = most[here] - int(sums[here] == 0)
        place = next(p for p in range(size) if here >> p & 1 and most[here ^ (1 << p)] == before)
        groups[-1].append(place)
        here ^= 1 << place
        if here and sums[here] == 0:
            groups.append([])
    return groups
