"""The 71 actions of every variant, and their text (rules.md, 10). What is legal when, only the engine knows.

==========  =============================================================
ids         meaning
==========  =============================================================
0 to 53     that card: exchange, discard or play it, by the phase
54 to 57    ``trump C`` ... ``trump S``: name trump
58          ``pass``
59 to 68    ``1`` ... ``10``: bid
69          ``moon``
70          ``done``: exchange no more cards
==========  =============================================================
"""

import operator
from typing import Any

from pitch_env.cards import CARD_TEXT, NUM_CARDS, SUITS

TRUMP = 54  # + suit
PASS = 58  # + the call: 0 pass, 1..10 bids, 11 the moon
MOON = 69
DONE = 70
NUM_ACTIONS = 71

MOON_CALL = MOON - PASS

ACTION_TEXT = (
    *CARD_TEXT,
    *(f"trump {suit}" for suit in SUITS),
    "pass",
    *(str(bid) for bid in range(1, 11)),
    "moon",
    "done",
)
_ACTION_ID = {text.lower(): action for action, text in enumerate(ACTION_TEXT)}


def action_text(action: int) -> str:
    return ACTION_TEXT[action]


def parse_action(action: Any) -> int:
    """The id of an action given as id or as text; case and extra spaces do not matter. Raises ValueError."""
    if isinstance(action, str):
        found = _ACTION_ID.get(" ".join(action.lower().split()))
        if found is not None:
            return found
    elif not isinstance(action, bool):
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if 0 <= number < NUM_ACTIONS:
            return number
    raise ValueError(
        f"{action!r} is not an action; actions are the ids 0 to {NUM_ACTIONS - 1} or their texts: a card such as 'AS' "
        f"or '+J', 'trump C' to 'trump S', 'pass', '1' to '10', 'moon', 'done'"
    )


assert len(ACTION_TEXT) == NUM_ACTIONS
assert NUM_CARDS == TRUMP
