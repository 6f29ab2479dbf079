"""The expert: a rule-based player for every variant, as a good club player would play; the yardstick for what learns.

It bids what its hand will make (expert_bids.py), plays by counting cards and weighing what each trick and each card is
worth (expert_play.py), and thinks about nothing but what the player may know (expert_mind.py). Its numbers were tuned
by playing duplicate deals (expert_numbers.py).
"""

import numpy as np

from agents.expert_bids import best_suit, choose_call
from agents.expert_mind import study
from agents.expert_play import choose_play, choose_throw
from pitch_env.actions import TRUMP
from pitch_env.cards import SUIT_MASKS, count
from pitch_env.engine import nth_legal
from pitch_env.kernel import kernel
from pitch_env.state import NOBODY, Phase


@kernel(inline=False)
def expert_action(rules, numbers, public, hand, discards, legal_cards, legal_others, mind):
    """The expert's action for the actor of a ``PUBLIC`` record.

    Args:
        rules: the packed rules.
        numbers: the ``NUMBERS`` record for these rules.
        public: what everyone knows.
        hand: the actor's cards, a mask.
        discards: what the actor put away, a mask.
        legal_cards, legal_others: as ``engine.legal`` gives them; not both empty.
        mind: a ``MIND`` record to think in; what it held does not matter.
    """
    if count(legal_cards) + count(legal_others) == 1:
        return nth_legal(legal_cards, legal_others, 0)
    if public.phase == Phase.BID:
        return choose_call(rules, numbers, public, hand, legal_others, mind)
    if public.phase == Phase.TRUMP:
        return TRUMP + best_suit(rules, numbers, public, hand, legal_others, mind)
    trump = np.int64(public.trump)
    if trump == NOBODY:  # the pitch names trump, or there are discards before it
        trump = best_suit(rules, numbers, public, hand, rules.suit_set, mind)
        if public.phase == Phase.PLAY and legal_cards & SUIT_MASKS[trump]:
            legal_cards &= SUIT_MASKS[trump]
    study(rules, numbers, public, hand, discards, trump, mind)
    if public.phase == Phase.PLAY:
        return choose_play(rules, numbers, public, legal_cards, mind)
    return choose_throw(rules, numbers, public, legal_cards, legal_others, mind)
