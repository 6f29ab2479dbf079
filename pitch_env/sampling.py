"""Hidden cards as they may lie: a deal drawn uniformly from all that are consistent with one player's view.

What binds the unseen cards is that each hand has its size and that a hand holds nothing of a suit that its plays have
shown it not to hold. Suits (trumps, and each plain suit without the cards that count as trumps) are the only thing
that matters about a card then, so consistent deals are counted by how many cards of each suit each bound hand gets,
and these numbers are drawn in proportion to the count; the cards follow uniformly. Nothing is drawn and rejected.
"""

import math

import numpy as np

from pitch_env.cards import NUM_CARDS, SUIT_MASKS, bit, count, nth
from pitch_env.chance import next_random, next_uniform
from pitch_env.kernel import kernel
from pitch_env.observation import played_by
from pitch_env.rules import MAX_PLAYERS, Widow
from pitch_env.state import NOBODY, Phase, copy_public

_CHOOSE = np.array([[math.comb(n, k) for k in range(NUM_CARDS + 1)] for n in range(NUM_CARDS + 1)], np.float64)


@kernel(allocates=True)
def sample_hidden(rules, public, seat, hand, dealt, discards, out):
    """Fill the ``STATE`` record ``out`` with a full deal that ``seat`` cannot tell from the true one.

    Takes a view of the game, as observation.py does, and its chance from ``out.rng``, which is left to deal what comes
    after. ``out.public`` becomes a copy of ``public``.
    """
    copy_public(public, out.public)
    out.hands[:] = 0
    out.dealt[:] = 0
    out.discards[:] = 0
    out.hands[seat], out.dealt[seat], out.discards[seat] = hand, dealt, discards
    unseen = np.int64(0)
    for i in range(rules.deck_size):
        unseen |= bit(rules.deck[i])
    unseen &= ~(public.played | hand | discards)

    bound = np.zeros(MAX_PLAYERS, np.int64)
    num_bound = 0
    for other in range(rules.players):
        if other != seat and public.voids[other] and public.cards[other]:
            bound[num_bound] = other
            num_bound += 1
    if num_bound:
        unseen = deal_bound_hands(rules, public, bound[:num_bound], unseen, out)
    for other in range(rules.players):
        if other != seat:
            if not out.hands[other]:
                out.hands[other] = take(out, unseen, public.cards[other])
                unseen &= ~out.hands[other]
            out.discards[other] = take(out, unseen, public.discarded[other])
            unseen &= ~out.discards[other]
    lay_widow(rules, public, seat, unseen, out)


@kernel
def take(out, mask, number):
    """A uniformly random choice of so many cards of a mask."""
    taken = np.int64(0)
    for _ in range(number):
        taken |= bit(nth(mask & ~taken, next_random(out, count(mask & ~taken))))
    return taken


@kernel(allocates=True)
def deal_bound_hands(rules, public, bound, unseen, out):
    """Deal the hands that have shown voids; returns the cards that are left."""
    trumps = rules.trumps[public.trump]
    suits = np.zeros(4, np.int64)
    left = np.zeros(4, np.int64)
    for suit in range(4):
        suits[suit] = unseen & (trumps if suit == public.trump else SUIT_MASKS[suit] & ~trumps)
        left[suit] = count(suits[suit])
    strides = np.ones(4, np.int64)
    for suit in range(2, -1, -1):
        strides[suit] = strides[suit + 1] * (left[suit + 1] + 1)
    size = strides[0] * (left[0] + 1)
    memo = np.full((len(bound), size if len(bound) > 2 else 1), -1.0)
    for i in range(len(bound)):
        target = next_uniform(out) * ways(public, bound, i, left[0], left[1], left[2], left[3], strides, memo)
        numbers = choose_numbers(public, bound, i, left, strides, memo, target)
        for suit in range(4):
            cards = take(out, suits[suit], numbers[suit])
            suits[suit] &= ~cards
            left[suit] -= numbers[suit]
            out.hands[bound[i]] |= cards
    return unseen & (suits[0] | suits[1] | suits[2] | suits[3])


@kernel
def most(public, seat, suit, left):
    """How many cards of a suit a bound hand can hold at most."""
    return np.int64(0) if (public.voids[seat] >> suit) & 1 else min(np.int64(public.cards[seat]), left)


@kernel(inline=False)  # it calls itself
def ways(public, bound, i, a, b, c, d, strides, memo):
    """In how many ways the bound hands from the i-th on can be dealt from (a, b, c, d) cards of the four suits."""
    if i == len(bound):
        return 1.0
    seat = bound[i]
    if i == len(bound) - 1:  # the last may have any of the cards that it is not void of
        free = np.int64(0)
        for suit, left in ((0, a), (1, b), (2, c), (3, d)):
            free += np.int64(0) if (public.voids[seat] >> suit) & 1 else left
        return _CHOOSE[free, public.cards[seat]]
    place = (a * strides[0] + b * strides[1] + c * strides[2] + d) % memo.shape[1]
    if memo.shape[1] > 1 and memo[i, place] >= 0:
        return memo[i, place]
    total = 0.0
    size = np.int64(public.cards[seat])
    for p in range(most(public, seat, 0, a) + 1):
        for q in range(min(most(public, seat, 1, b), size - p) + 1):
            for r in range(min(most(public, seat, 2, c), size - p - q) + 1):
                s = size - p - q - r
                if s <= most(public, seat, 3, d):
                    here = _CHOOSE[a, p] * _CHOOSE[b, q] * _CHOOSE[c, r] * _CHOOSE[d, s]
                    total += here * ways(public, bound, i + 1, a - p, b - q, c - r, d - s, strides, memo)
    memo[i, place] = total
    return total


@kernel(allocates=True)
def choose_numbers(public, bound, i, left, strides, memo, target):
    """The numbers of cards by suit of the i-th bound hand at which the running sum of ``ways`` passes ``target``."""
    a, b, c, d = left[0], left[1], left[2], left[3]
    seat = bound[i]
    size = np.int64(public.cards[seat])
    chosen = np.zeros(4, np.int64)
    for p in range(most(public, seat, 0, a) + 1):
        for q in range(min(most(public, seat, 1, b), size - p) + 1):
            for r in range(min(most(public, seat, 2, c), size - p - q) + 1):
                s = size - p - q - r
                if s > most(public, seat, 3, d):
                    continue
                here = _CHOOSE[a, p] * _CHOOSE[b, q] * _CHOOSE[c, r] * _CHOOSE[d, s]
                here *= ways(public, bound, i + 1, a - p, b - q, c - r, d - s, strides, memo)
                if here > 0:
                    chosen[0], chosen[1], chosen[2], chosen[3] = p, q, r, s
                    target -= here
                    if target < 0:
                        return chosen
    return chosen  # rounding left nothing over: the last that is possible


@kernel
def lay_widow(rules, public, seat, unseen, out):
    """Put the cards that nobody has into a random order, and say which cards of each player came from the widow."""
    top = np.int64(0)
    for i in range(rules.players):
        drawer = (max(np.int64(public.pitcher), 0) + i) % rules.players
        owned = out.hands[drawer] | out.discards[drawer] | played_by(rules, public, drawer)
        if drawer != seat:
            out.dealt[drawer] = owned & ~sample_drawn(rules, public, drawer, owned, out)
        drawn = owned & ~out.dealt[drawer]
        while drawn:
            card = nth(drawn, next_random(out, count(drawn)))
            drawn &= ~bit(card)
            out.deck[top] = card
            top += 1
    while unseen:
        card = nth(unseen, next_random(out, count(unseen)))
        unseen &= ~bit(card)
        out.deck[top] = card
        top += 1
    out.deck[top:] = NOBODY


@kernel
def sample_drawn(rules, public, seat, owned, out):
    """Which cards of another player he drew from the widow."""
    if rules.widow == Widow.PITCHER and seat == public.pitcher and public.phase != Phase.BID:
        return take(out, owned, rules.widow_size)
    number = np.int64(public.exchanged[seat])
    if number == 0 or (public.phase == Phase.EXCHANGE and seat == public.actor):
        return np.int64(0)
    # What he exchanged was put away before he drew, so it was not drawn.
    return take(out, owned & ~take(out, out.discards[seat], number), number)
