"""Which cards the solver tries, in which order: one of each kind of equivalent cards, the likeliest first."""

import numpy as np

from pitch_env.cards import bit, lowest
from pitch_env.kernel import kernel
from pitch_env.scoring import next_seat, team_of, trick_winner
from pitch_env.state import NOBODY

_CARD = 64  # a move is rank * 64 + card
_FIRST = 1000  # beyond any other rank


@kernel
def write_moves(rules, work, depth, legal, first):
    """Write the cards of a mask to ``work.moves[depth]``, of equivalent cards one, each with its rank.

    ``first``, the best card of an earlier search or NOBODY, gets the highest rank. Returns how many there are.
    """
    state, moves = work.stack[depth], work.moves[depth]
    public = state.public
    best = best_on_table(rules, public)
    between = cards_between(rules, work, state, best)
    enemies = cards_of_enemies(rules, work, state)
    ours = best != NOBODY and is_ours(rules, work, public) and work.above[best] & enemies == 0
    number = 0
    while legal:
        card = lowest(legal)
        legal &= legal - 1
        same = 0
        while same < number and not equivalent(work, card, moves[same] % _CARD, between):
            same += 1
        if same == number:
            rank = rank_lead(work, card, enemies) if best == NOBODY else rank_follow(work, card, best, enemies, ours)
            moves[same] = rank * _CARD + card
            number += 1
        if card == first:
            moves[same] += _FIRST * _CARD
    return number


@kernel
def take_best(moves, start, number):
    """Bring the move of highest rank to ``start`` and return its card."""
    best = start
    for i in range(start + 1, number):
        if moves[i] > moves[best]:
            best = i
    move = moves[best]
    moves[best] = moves[start]
    moves[start] = move
    return move % _CARD


@kernel
def equivalent(work, card, other, between):
    """Whether two cards of one hand do the same: alike in points and suit, and nothing lies between them."""
    return work.kind[card] == work.kind[other] and work.above[card] & between == work.above[other] & between


@kernel
def cards_between(rules, work, state, best):
    """What can lie between two cards of the actor: the hands of all others, and the card that is winning the trick."""
    cards = np.int64(0) if best == NOBODY else bit(best)
    for seat in range(rules.players):
        if seat != state.public.actor:
            cards |= state.hands[seat]
    return cards


@kernel
def best_on_table(rules, public):
    """The card that is winning the trick, or NOBODY before the lead."""
    winner = trick_winner(rules, public)
    if winner == NOBODY:
        return winner
    place = winner - public.leaders[public.trick]
    if place < 0:
        place += rules.players
    return np.int64(public.history[public.trick * rules.players + place])


@kernel
def is_ours(rules, work, public):
    """Whether the trick is being won by the actor's side: the team that maximises, or all others."""
    winner = trick_winner(rules, public)
    return (team_of(rules, winner) == work.team) == (team_of(rules, public.actor) == work.team)


@kernel
def cards_of_enemies(rules, work, state):
    """The hands of the other side, as far as they still play to this trick."""
    public = state.public
    ours = team_of(rules, public.actor) == work.team
    cards = np.int64(0)
    seat = np.int64(public.actor)
    for _ in range((public.trick + 1) * rules.players - public.num_played - 1):
        seat = next_seat(rules, seat)
        if (team_of(rules, seat) == work.team) != ours:
            cards |= state.hands[seat]
    return cards


# The ranks. ``cost`` is what goes to the other side with a card.


@kernel
def cost(work, card):
    return work.worth[card] * 8 + (work.kind[card] >> 3) % 16


@kernel
def rank_lead(work, card, enemies):
    """A card that cannot be beaten comes first, the most valuable before others; then the cheapest."""
    if work.above[card] & enemies == 0:
        return 200 + cost(work, card)
    return 100 - cost(work, card)


@kernel
def rank_follow(work, card, best, enemies, ours):
    """A card that wins for certain, or on a trick of ours, comes first, with the most on it; others cheaply."""
    wins = work.above[best] & bit(card) != 0
    if ours or (wins and work.above[card] & enemies == 0):
        return 200 + 2 * cost(work, card) - work.height[card]
    if wins:
        return 120 - cost(work, card) - work.height[card] // 2
    return 100 - 2 * cost(work, card) - work.height[card]
