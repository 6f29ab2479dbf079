"""What came of a deal, read off the public record for people."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pitch_env.actions import MOON_CALL
from pitch_env.cards import SUITS, card_text
from pitch_env.rules import Rules
from pitch_env.state import NOBODY, Item

Trick = tuple[int, list[tuple[int, str]]]  # the winner, and (seat, card) in the order of play


@dataclass(frozen=True)
class DealResult:
    """What came of a deal."""

    dealer: int
    pitcher: int | None  # None: the deal was thrown in
    bid: int | str | None  # a number, "moon" or None
    trump: str | None
    made: bool | None  # None: the deal was thrown in
    moon: bool | None  # whether the moon was made; None where none was bid
    items: dict[str, int]  # who took what: high low jack game off_jack high_joker low_joker three -> team
    points: list[int]  # by team
    card_points: list[int]  # by team, towards the game point
    score_change: list[int]  # by team
    tricks: list[Trick]


def deal_result(rules: Rules, public: np.ndarray) -> DealResult:
    """The result of the deal that a ``PUBLIC`` record shows the end of."""
    teams = rules.teams
    thrown_in = public["pitcher"] == NOBODY
    made = None if thrown_in else bool(public["made"])
    return DealResult(
        dealer=int(public["dealer"]),
        pitcher=or_none(public["pitcher"]),
        bid=call_value(public["bid"]),
        trump=None if public["trump"] == NOBODY else SUITS[public["trump"]],
        made=made,
        moon=made if public["bid"] == MOON_CALL else None,
        items={item.name.lower(): int(public["items"][item]) for item in Item if public["items"][item] != NOBODY},
        points=public["points"][:teams].tolist(),
        card_points=public["card_points"][:teams].tolist(),
        score_change=public["change"][:teams].tolist(),
        tricks=finished_tricks(rules, public),
    )


def finished_tricks(rules: Rules, public: np.ndarray) -> list[Trick]:
    """The tricks that are complete, first to last."""
    tricks = range(int(public["trick"]))
    return [(int(public["leaders"][trick + 1]), trick_cards(rules, public, trick)) for trick in tricks]


def trick_cards(rules: Rules, public: np.ndarray, trick: int) -> list[tuple[int, str]]:
    """The cards of one trick, as (seat, card) in the order of play."""
    players = rules.players
    cards = public["history"][trick * players : min((trick + 1) * players, int(public["num_played"]))]
    leader = int(public["leaders"][trick])
    return [((leader + i) % players, card_text(card)) for i, card in enumerate(cards)]


def or_none(value: Any) -> int | None:
    return None if value == NOBODY else int(value)


def call_value(call: Any) -> int | str | None:
    return "moon" if call == MOON_CALL else int(call) or None
