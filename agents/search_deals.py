"""Deals as they may lie, for search: drawn from one player's view, as likely as what the others did makes them.

``sampling.sample_hidden`` draws uniformly from all deals that fit a view. Players do not act at random, though: who bid
has something to bid on, and nobody puts a trump away who has a worse card. So here each other player first parts the
hidden cards that he has held into hand and discards as the expert would. Then the deal is replayed from the auction on,
the expert is asked at each decision what he would have done, and the deal weighs the less the more often he disagrees
with what was done. Of a few such deals one is taken with chances by these weights; its own weight is their mean, which
keeps averages over weighted deals true to the belief whatever the number of deals to choose from.
"""

import numpy as np

from agents.expert import expert_action
from pitch_env.actions import DONE, PASS, TRUMP
from pitch_env.cards import SUIT_MASKS, bit, count, lowest
from pitch_env.chance import next_uniform
from pitch_env.engine import apply, clear_deal, legal
from pitch_env.kernel import kernel
from pitch_env.observation import played_by
from pitch_env.sampling import lay_widow, sample_hidden
from pitch_env.state import NOBODY, Phase, copy_entries, copy_public

VIEWER = 0  # the seat of the viewer in a record that ``read_observation`` has filled

BELIEF = np.dtype(
    [
        ("proposals", "<i8"),  # deals to choose one from; 0: any deal that fits, all alike
        ("odd_call", "<f8"),  # how likely a call or a trump is not the expert's
        ("odd_play", "<f8"),  # ... a card played
    ],
    align=True,
)


@kernel(inline=False)
def copy_state(source, target):
    """Copy a ``STATE`` record."""
    target.rng = source.rng
    copy_entries(source.hands, target.hands)
    copy_entries(source.dealt, target.dealt)
    copy_entries(source.discards, target.discards)
    copy_entries(source.deck, target.deck)
    copy_public(source.public, target.public)


@kernel(inline=False)
def take_action(rules, state, action):
    """``engine.apply`` as a function of its own, which the kernels here call from many places."""
    apply(rules, state, action)


@kernel(inline=False)
def expert_choice(rules, numbers, state, mind):
    """The expert's action for the actor of a deal, from what the actor knows."""
    public = state.public
    seat = public.actor
    cards, others = legal(rules, public, state.hands[seat])
    return expert_action(rules, numbers, public, state.hands[seat], state.discards[seat], cards, others, mind)


@kernel(inline=False)
def sample_deal(rules, numbers, belief, public, hand, dealt, discards, generator, deal, drawn, replayed, mind):
    """Fill ``deal`` with a full deal that the viewer at seat 0 holds possible; returns its weight.

    Args:
        rules, numbers: the packed rules and the expert's numbers.
        belief: a ``BELIEF`` record.
        public, hand, dealt, discards: the view, as ``read_observation`` gives it.
        generator: the chance, a seed.
        deal: ``STATE``, the result.
        drawn, replayed: ``STATE`` records to think in.
        mind: a ``MIND`` record to think in.
    """
    deal.rng = generator
    if belief.proposals == 0:
        sample_hidden(rules, public, VIEWER, hand, dealt, discards, deal)
        return 1.0
    total = 0.0
    drawn.rng = generator
    for i in range(belief.proposals):
        sample_hidden(rules, public, VIEWER, hand, dealt, discards, drawn)
        part_discards(rules, numbers, drawn, replayed, mind)
        weight = likelihood(rules, numbers, belief, drawn, replayed, mind)
        total += weight
        if i == 0 or next_uniform(drawn) * total < weight:
            copy_state(drawn, deal)
    return total / belief.proposals


@kernel(inline=False)
def part_discards(rules, numbers, deal, thought, mind):
    """Let each other player put away of his hidden cards those that the expert would."""
    public = deal.public
    parted = False
    for seat in range(rules.players):
        if seat != VIEWER and deal.discards[seat]:
            part_hidden_cards(rules, numbers, deal, seat, thought, mind)
            parted = True
    if parted:
        hidden = np.int64(0)
        for seat in range(rules.players):
            hidden |= deal.hands[seat] | deal.discards[seat]
        deck = np.int64(0)
        for i in range(rules.deck_size):
            deck |= bit(rules.deck[i])
        lay_widow(rules, public, VIEWER, deck & ~(hidden | public.played), deal)


@kernel
def part_hidden_cards(rules, numbers, deal, seat, thought, mind):
    """Part the hidden cards of one seat anew; those of a suit that he has shown not to hold stay put away."""
    public = deal.public
    copy_state(deal, thought)
    table = thought.public
    table.phase, table.actor = Phase.DISCARD, seat
    table.num_played, table.trick, table.played = 0, 0, 0
    away = deal.discards[seat]
    kept = deal.hands[seat] | played_by(rules, public, seat)
    fixed = np.int64(0)
    for suit in range(4):
        if (public.voids[seat] >> suit) & 1:
            trumps = rules.trumps[public.trump]
            fixed |= away & (trumps if suit == public.trump else SUIT_MASKS[suit] & ~trumps)
    number = count(away & ~fixed)
    hand, free, gone = (kept | away) & ~fixed, (deal.hands[seat] | away) & ~fixed, fixed
    for _ in range(number):
        table.cards[seat] = count(hand)
        card = expert_action(rules, numbers, table, hand, gone, free, np.int64(0), mind)
        hand &= ~bit(card)
        free &= ~bit(card)
        gone |= bit(card)
    deal.hands[seat], deal.discards[seat] = free, gone


# How likely it is that what was done would have been done.


@kernel(inline=False)
def likelihood(rules, numbers, belief, deal, replayed, mind):
    """How likely the expert, if he errs now and then, would have made all calls, trumps and plays seen in a deal."""
    public = deal.public
    start_replay(rules, deal, replayed)
    table = replayed.public
    chance = 1.0
    for i in range(public.num_calls):
        chance *= agreement(rules, numbers, belief.odd_call, replayed, PASS + public.calls[i], mind)
        take_action(rules, replayed, PASS + public.calls[i])
    if table.phase == Phase.TRUMP and public.trump != NOBODY:
        chance *= agreement(rules, numbers, belief.odd_call, replayed, TRUMP + public.trump, mind)
        take_action(rules, replayed, TRUMP + public.trump)
    chance *= replay_discards(rules, numbers, belief, deal, replayed, mind)
    for i in range(public.num_played):
        chance *= agreement(rules, numbers, belief.odd_play, replayed, np.int64(public.history[i]), mind)
        take_action(rules, replayed, np.int64(public.history[i]))
    return chance


@kernel
def start_replay(rules, deal, replayed):
    """The same deal before the first call."""
    copy_state(deal, replayed)
    clear_deal(rules, replayed)
    copy_entries(deal.dealt, replayed.hands)


@kernel
def replay_discards(rules, numbers, belief, deal, replayed, mind):
    """Exchange and discard as in the deal, as far as it has come; returns how likely the numbers exchanged are."""
    table = replayed.public
    chance = 1.0
    while table.phase == Phase.EXCHANGE or table.phase == Phase.DISCARD:
        seat = np.int64(table.actor)
        action = next_throw(deal, replayed, seat)
        if seat == VIEWER and deal.public.phase == table.phase and deal.public.actor == VIEWER:
            return chance  # he is at it
        if table.phase == Phase.EXCHANGE and seat != VIEWER:
            done = expert_choice(rules, numbers, replayed, mind) == DONE
            chance *= 1.0 - belief.odd_call if done == (action == DONE) else belief.odd_call
        take_action(rules, replayed, action)
    return chance


@kernel
def next_throw(deal, replayed, seat):
    """The next card that a seat puts away in the replay, or that it is done with exchanging."""
    table = replayed.public
    if table.phase == Phase.EXCHANGE and table.exchanged[seat] == deal.public.exchanged[seat]:
        return np.int64(DONE)
    return lowest(deal.discards[seat] & replayed.hands[seat])


@kernel(inline=False)
def agreement(rules, numbers, odd, state, action, mind):
    """How likely the actor would have taken an action; nothing is asked of the viewer and of who has no choice."""
    public = state.public
    if public.actor == VIEWER:
        return 1.0
    cards, others = legal(rules, public, state.hands[public.actor])
    number = count(cards) + count(others)
    if number == 1:
        return 1.0
    same = expert_choice(rules, numbers, state, mind) == action
    return 1.0 - odd if same else odd / (number - 1)
