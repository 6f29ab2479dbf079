"""The solver's memory: a transposition table of positions between tricks, and the room that a search needs.

A position between tricks is found by a 64-bit hash of the cards in hands, who leads, what of the points decided still
matters, and the deal: who held what, trump, the pitcher's bid, the team whose value is solved, and the rules of the
play. So a table may be used for one deal after another, of any rules; what is stored of others is never found.
"""

from typing import Any, NamedTuple

import numpy as np

from agents.solver_points import WORK
from pitch_env.chance import mix
from pitch_env.kernel import kernel, records

ENTRY = np.dtype(
    [
        ("key", "<u8"),
        ("low", "<i2"),  # the value is at least this ...
        ("high", "<i2"),  # ... and at most this, less what had been decided before, see ``solver_points.offset``
        ("best", "i1"),  # the card that was best, or NOBODY
        ("unused", "u1", (3,)),
    ],
    align=True,
)

MAX_BITS = 28


class Table(NamedTuple):
    """What ``new_table`` makes; one for each thread that solves."""

    entries: Any  # ENTRY [2**bits]
    work: Any  # WORK [1]


def new_table(bits: int = 16) -> Table:
    """A table of ``2**bits`` entries of 16 bytes, 0 to 28 bits. Raises ValueError."""
    if isinstance(bits, bool) or not isinstance(bits, int | np.integer) or not 0 <= bits <= MAX_BITS:
        raise ValueError(f"table_bits={bits!r} is not allowed; it is a whole number from 0 to {MAX_BITS}")
    return Table(records(1 << int(bits), ENTRY), records(1, WORK))


@kernel
def stir(key, number):
    """A hash that has taken in one more number."""
    return mix(key ^ np.uint64(number)) + np.uint64(0x9E3779B97F4A7C15)


@kernel
def hash_deal(rules, work, public):
    """The hash of all that stays the same in a deal and that the value of its positions depends on."""
    key = np.uint64(1)
    key = stir(key, (rules.players * 10 + rules.teams) * 100 + rules.keep)
    key = stir(key, (rules.follow * 10 + rules.first_lead) * 1000 + rules.moon_value)
    key = stir(key, ((rules.low_to * 10 + rules.game) * 10 + rules.three) * 10 + work.team)
    key = stir(key, rules.trumps[work.trump])
    for seat in range(rules.players):
        key = stir(key, work.owned[seat])
    return stir(key, (work.trump * 100 + public.pitcher) * 100 + public.bid)
