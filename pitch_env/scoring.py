"""Who wins a trick, who takes each point, what it does to the scores, and who wins the game (rules.md, 5 to 7)."""

import numpy as np

from pitch_env.actions import MOON_CALL
from pitch_env.cards import (
    HIGH_JOKER,
    JACK,
    LOW_JOKER,
    TEN,
    THREE,
    bit,
    suit_of,
)
from pitch_env.kernel import entry, kernel
from pitch_env.rules import NO_TARGET, BothOut, GamePoint, LowTo, Winner
from pitch_env.state import ITEM_WORTH, NOBODY, Item

# The order of trumps: 2..T, low joker, high joker, off-jack, J, Q, K, A (rules.md, 1). The off-jack has its power from
# ``trump_power``, for it depends on the suit.
_TRUMP_POWER = np.array([*[*range(9), 12, 13, 14, 15] * 4, 10, 9], np.int8)
_OFF_JACK_POWER = 11
_NUM_POWERS = 16


@kernel
def wrap(number, size):
    """A number from ``-size`` to ``size - 1``, brought into 0 to ``size - 1`` by adding ``size`` where it is negative.

    Whether it is depends on who sits where: without a branch there is nothing for the processor to guess wrong.
    """
    number = np.int64(number)
    return number + ((number >> 63) & size)


@kernel
def next_seat(rules, seat):
    """The seat to the left."""
    return wrap(np.int64(seat) + 1 - rules.players, rules.players)


@kernel
def team_of(rules, seat):
    """The team of a seat: seat % teams, and there are at most two seats a team."""
    return wrap(np.int64(seat) - rules.teams, rules.teams)


@kernel
def trump_power(card, trump):
    """The rank of a trump among trumps, 0..15."""
    if card < HIGH_JOKER and suit_of(card) != trump:
        return np.int64(_OFF_JACK_POWER)
    return entry(_TRUMP_POWER, card)


@kernel
def power(rules, card, trump, led):
    """What a card is worth in a trick whose led suit is ``led``: a trump above every plain card, others below all."""
    if bit(card) & entry(rules.trumps, trump):
        return _NUM_POWERS + trump_power(card, trump)
    return np.int64(card) % 13 if suit_of(card) == led else np.int64(-1)


@kernel
def led_suit(rules, card, trump):
    """The suit that a led card asks for: its own, or trump for the off-jack and the jokers."""
    return np.int64(trump) if bit(card) & entry(rules.trumps, trump) else suit_of(card)


@kernel
def trick_winner(rules, public):
    """The seat that is winning the last trick on the table, finished or not; NOBODY where no card lies."""
    first = public.trick * rules.players
    trump = np.int64(public.trump)
    if first >= public.num_played:
        return np.int64(NOBODY)
    led = led_suit(rules, entry(public.history, first), trump)
    best, best_power = np.int64(0), np.int64(-1)
    for i in range(public.num_played - first):
        here = power(rules, entry(public.history, first + i), trump, led)
        if here > best_power:
            best, best_power = np.int64(i), here
    return wrap(entry(public.leaders, public.trick) + best - rules.players, rules.players)


@kernel
def point_card(rules, card, trump):
    """The item that a trump is worth to who wins it, or NOBODY."""
    if card == HIGH_JOKER:
        return np.int64(Item.HIGH_JOKER)
    if card == LOW_JOKER:
        return np.int64(Item.LOW_JOKER)
    if suit_of(card) != trump:
        return np.int64(Item.OFF_JACK)
    rank = card % 13
    if rank == JACK:
        return np.int64(Item.JACK)
    if rank == TEN and rules.game == GamePoint.TEN:
        return np.int64(Item.GAME)
    if rank == THREE and rules.three:
        return np.int64(Item.THREE)
    return np.int64(NOBODY)


@kernel
def score_items(rules, public):
    """Set ``items``: the team that each point of the finished deal goes to."""
    trump = np.int64(public.trump)
    high, low = np.int64(-1), np.int64(_NUM_POWERS)
    items = public.items
    items[:] = NOBODY
    for trick in range(rules.keep):
        taker = team_of(rules, entry(public.leaders, trick + 1))
        seat = entry(public.leaders, trick)
        for i in range(trick * rules.players, (trick + 1) * rules.players):
            card = entry(public.history, i)
            if bit(card) & entry(rules.trumps, trump):
                here = trump_power(card, trump)
                if here > high:
                    high = here
                    items[Item.HIGH] = taker
                if here < low:
                    low = here
                    items[Item.LOW] = team_of(rules, seat) if rules.low_to == LowTo.HOLDER else taker
                item = point_card(rules, card, trump)
                if item != NOBODY:
                    items[item] = taker
            seat = next_seat(rules, seat)
    if rules.game == GamePoint.COUNT:
        items[Item.GAME] = sole_leader(rules, public.card_points)


@kernel
def sole_leader(rules, values):
    """The team with the highest of the values by team, or NOBODY where two share it."""
    best = np.int64(0)
    tied = False
    for team in range(1, rules.teams):
        if values[team] > values[best]:
            best, tied = np.int64(team), False
        elif values[team] == values[best]:
            tied = True
    return np.int64(NOBODY) if tied else best


@kernel
def bid_made(rules, public):
    """Whether the pitcher's team made its bid, from ``items``, ``points`` and the tricks."""
    team = team_of(rules, public.pitcher)
    if public.bid != MOON_CALL:
        return public.points[team] >= public.bid
    for item in (Item.HIGH, Item.LOW, Item.JACK, Item.GAME):
        if public.items[item] != team:
            return False
    return public.tricks_won[team] == rules.keep


@kernel
def score_deal(rules, public):
    """Set the results of the deal that has just been played, and add them to the scores."""
    score_items(rules, public)
    for item in range(len(ITEM_WORTH)):
        if public.items[item] != NOBODY:
            public.points[public.items[item]] += ITEM_WORTH[item]
    public.made = bid_made(rules, public)
    for team in range(rules.teams):
        change = np.int64(public.points[team])
        if team == team_of(rules, public.pitcher) and not public.made:
            change = -(rules.moon_value if public.bid == MOON_CALL else np.int64(public.bid))
        public.change[team] = change
        # A score that no real game comes near stops at the edge of its 16 bits instead of turning over.
        public.scores[team] = min(max(public.scores[team] + change, -32000), 32000)


@kernel
def game_winner(rules, public):
    """The team that has won the game with the deal that is over, or NOBODY (rules.md, 7)."""
    if rules.target == NO_TARGET or public.pitcher == NOBODY:
        return np.int64(NOBODY)
    team = team_of(rules, public.pitcher)
    reached = public.scores[team] >= rules.target
    if rules.winner == Winner.PITCHER:
        return team if reached else np.int64(NOBODY)
    if rules.winner == Winner.MAKER:
        return team if reached and public.made == 1 else np.int64(NOBODY)
    if rules.both_out == BothOut.PITCHER and reached:
        return team
    best = sole_leader(rules, public.scores)
    return best if best != NOBODY and public.scores[best] >= rules.target else np.int64(NOBODY)
