"""What a deal of the money game costs and pays (rules.md, 8), in exact cents."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

from pitch_env.rules import Rules


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
