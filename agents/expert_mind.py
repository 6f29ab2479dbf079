"""What the expert works out from a view before it decides: where the trumps lie, what is won, what a point is worth.

All of it goes into one ``MIND`` record, which the caller provides so that nothing is allocated. Chances are simple
card-counting ones: an unseen card is in a hand in proportion to the room that the hand has for it, a hand that has
shown a void has none, and the pitcher, who chose the trump, has more of them than others.
"""

import numpy as np

from agents.expert_numbers import NUM_FEATURES
from pitch_env.actions import MOON_CALL
from pitch_env.cards import CARD_POINTS, HIGH_JOKER, JACK, TEN, THREE, bit, count, lowest, suit_of
from pitch_env.kernel import kernel
from pitch_env.rules import MAX_PLAYERS, GamePoint, LowTo, Widow
from pitch_env.scoring import led_suit, power, team_of, trick_winner, trump_power
from pitch_env.state import ITEM_WORTH, NOBODY, Item, Phase

NUM_POWERS = 16  # of trumps among trumps; ``scoring.power`` puts every trump from here on
HIGH_POWER = 13  # queen, king and ace: with these the pitcher chose his trump

MIND = np.dtype(
    [
        ("me", "<i8"),  # my seat
        ("team", "<i8"),
        ("hand", "<i8"),  # mask
        ("unseen", "<i8"),  # mask: all that is not played, not in my hand and not put away by me
        ("trump", "<i8"),  # the suit that is trump, or that I think of as trump
        ("trumps", "<i8"),  # mask
        ("num_unseen", "<i8"),
        ("num_trumps", "<i8"),  # unseen ones
        ("above", "<i8", (NUM_POWERS,)),  # by power: unseen trumps above it
        ("high_above", "<i8", (NUM_POWERS,)),  # by power: those of them that are queen, king or ace
        ("mine_above", "<i8", (NUM_POWERS,)),  # by power: trumps above it in my hand
        ("holds", "<f8", (MAX_PLAYERS,)),  # by seat: the chance that it holds a given unseen trump
        ("holds_high", "<f8", (MAX_PLAYERS,)),  # the same for a queen, king or ace
        ("plain", "<f8", (MAX_PLAYERS,)),  # by seat: the chance that it holds a given unseen card of the suit led
        ("in_play", "<f8"),  # the chance that a given unseen trump is in any hand
        ("opposed", "<f8"),  # ... in the hand of an opponent
        ("opposed_high", "<f8"),  # the same for a queen, king or ace
        ("first", "<i8"),  # where the trick on the table begins in the history
        ("after", "<i8"),  # players who play to it after me
        ("led", "<i8"),  # the suit that it asks for, NOBODY when I lead
        ("best", "<i8"),  # the power of the card that is winning it, -1 when I lead
        ("best_team", "<i8"),  # whose that is
        ("low_seen", "<i8"),  # the lowest power of a trump played so far
        ("table_items", "<f8"),  # points that lie in the trick
        ("table_points", "<i8"),  # card points that lie in it
        ("points", "<f8", (MAX_PLAYERS,)),  # by team: points that it has as good as won
        ("open", "<f8"),  # points that are still to be won
        ("prey", "<f8"),  # points on unseen trumps, which a high trump may catch
        ("worth", "<f8", (MAX_PLAYERS,)),  # by team: what a point of it is worth to me
        ("against", "<f8"),  # what a point that I lose is worth to me, a mean over the opponents
        ("moon", "<f8"),  # what a trick of the pitcher is worth to me while he may make his moon
        ("game_scale", "<f8"),  # the lead in card points that makes the game point likely
        ("win", "<f8", (MAX_PLAYERS,)),  # by team: the chance to win the trick if I play the card that I think of
        ("features", "<f8", (NUM_FEATURES,)),  # of my hand for the trump that I think of
        ("score", "<f8"),  # of my best suit
        ("tricks", "<f8"),  # tricks that my hand is sure of in it
    ],
    align=True,
)


@kernel(inline=False)
def study(rules, numbers, public, hand, discards, trump, mind):
    """Fill all of ``mind`` but ``plain``, ``win`` and what belongs to the bidding, with ``trump`` as trump."""
    me = np.int64(public.actor)
    mind.me, mind.team, mind.hand, mind.trump = me, team_of(rules, me), hand, trump
    mind.trumps = rules.trumps[trump]
    deck = rules.trumps[0] | rules.trumps[1] | rules.trumps[2] | rules.trumps[3]  # every card is a trump of some suit
    mind.unseen = deck & ~(public.played | hand | discards)
    mind.num_unseen = count(mind.unseen)
    mind.num_trumps = count(mind.unseen & mind.trumps)
    rank_trumps(mind)
    place_trumps(rules, numbers, public, mind)
    look_at_table(rules, public, mind)
    count_points(rules, public, mind)
    weigh_points(rules, numbers, public, mind)


@kernel(inline=False)
def forget_tricks(rules, public):
    """Leave of a view what a player knows who remembers no finished trick: the trick on the table becomes the first.

    Bids, trump, scores and the sizes of the hands stay; what was played, won or shown before is gone.
    """
    first = public.trick * rules.players
    on_table = np.int64(public.num_played) - first
    public.leaders[0] = public.leaders[public.trick]
    public.leaders[1:] = NOBODY
    public.played = 0
    for i in range(on_table):
        public.history[i] = public.history[first + i]
        public.played |= bit(public.history[i])
    public.history[on_table:] = NOBODY
    public.num_played, public.trick = on_table, 0
    public.voids[:] = 0
    public.tricks_won[:] = 0
    public.card_points[:] = 0


# Where the trumps lie.


@kernel(inline=False)
def rank_trumps(mind):
    """Which trump is the highest still out, and how many are above each: the club player's count."""
    mind.above[:] = 0
    mind.mine_above[:] = 0
    rest = mind.trumps & (mind.unseen | mind.hand)
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        if bit(card) & mind.hand:
            mind.mine_above[trump_power(card, mind.trump)] += 1
        else:
            mind.above[trump_power(card, mind.trump)] += 1
    unseen, mine, high = np.int64(0), np.int64(0), np.int64(0)
    for here in range(NUM_POWERS - 1, -1, -1):
        more, own = mind.above[here], mind.mine_above[here]
        mind.above[here], mind.mine_above[here], mind.high_above[here] = unseen, mine, high
        unseen += more
        mine += own
        high += more if here >= HIGH_POWER else 0


@kernel
def room_for_trumps(rules, numbers, public, seat, pitcher):
    """How many cards of a hand may be trumps: those it holds, more if they were chosen from many, or by the pitcher."""
    seen = rules.hand_size
    if rules.widow == Widow.EXCHANGE:
        seen += public.exchanged[seat]
    elif rules.widow == Widow.PITCHER and seat == pitcher:
        seen += rules.widow_size
    room = min(np.int64(public.cards[seat]), rules.keep) * seen / rules.keep
    return room * numbers.pitcher_length if seat == pitcher else room


@kernel(inline=False)
def place_trumps(rules, numbers, public, mind):
    """The chances that each other player holds a given unseen trump."""
    pitcher = np.int64(public.pitcher) if public.phase != Phase.BID else np.int64(NOBODY)
    total, hidden = 0.0, np.int64(0)
    mind.holds[:] = 0
    for seat in range(rules.players):
        if seat != mind.me:
            hidden += public.cards[seat]
            if not (public.voids[seat] >> mind.trump) & 1:
                mind.holds[seat] = room_for_trumps(rules, numbers, public, seat, pitcher)
                total += mind.holds[seat]
    if rules.widow == Widow.NONE:
        total += mind.num_unseen - hidden
    elif rules.widow != Widow.PITCHER or public.phase != Phase.BID:
        total += public.widow_left  # what was seen and put away is hardly ever a trump
    more = mind.holds[pitcher] * (numbers.pitcher_high - 1.0) if pitcher != NOBODY else 0.0
    mind.in_play, mind.opposed, mind.opposed_high = 0.0, 0.0, 0.0
    for seat in range(rules.players):
        mind.holds_high[seat] = 0.0
        if total > 0.0:
            high = mind.holds[seat] + (more if seat == pitcher else 0.0)
            mind.holds_high[seat] = min(high / (total + more), 0.999)
            mind.holds[seat] = min(mind.holds[seat] / total, 0.999)
        mind.in_play += mind.holds[seat]
        if team_of(rules, seat) != mind.team:
            mind.opposed += mind.holds[seat]
            mind.opposed_high += mind.holds_high[seat]
    mind.in_play, mind.opposed = min(mind.in_play, 1.0), min(mind.opposed, 1.0)


# What has been won and what is on the table.


@kernel(inline=False)
def look_at_table(rules, public, mind):
    """The trick on the table: what it asks for, who is winning it, and what is in it."""
    mind.first = public.trick * rules.players
    mind.after = rules.players - 1 - (public.num_played - mind.first)
    mind.led, mind.best, mind.best_team = NOBODY, -1, NOBODY
    mind.low_seen = NUM_POWERS
    for i in range(public.num_played):
        if bit(public.history[i]) & mind.trumps:
            mind.low_seen = min(mind.low_seen, trump_power(public.history[i], mind.trump))
    mind.table_items, mind.table_points = 0.0, 0
    for i in range(mind.first, public.num_played):
        card = np.int64(public.history[i])
        if i == mind.first:
            mind.led = led_suit(rules, card, mind.trump)
        mind.best = max(mind.best, power(rules, card, mind.trump, mind.led))
        mind.table_items += item_value(rules, mind, card)
        mind.table_points += CARD_POINTS[card]
    if mind.led != NOBODY:
        mind.best_team = team_of(rules, trick_winner(rules, public))


@kernel
def fixed_value(rules, trump, card):
    """What winning a trump brings, whatever else is in play: jack, off-jack, jokers, and by option ten and three."""
    if card >= HIGH_JOKER or suit_of(card) != trump:
        return np.float64(ITEM_WORTH[Item.OFF_JACK])
    rank = card % 13
    if rank == JACK:
        return np.float64(ITEM_WORTH[Item.JACK])
    if rank == TEN and rules.game == GamePoint.TEN:
        return np.float64(ITEM_WORTH[Item.GAME])
    if rank == THREE and rules.three:
        return np.float64(ITEM_WORTH[Item.THREE])
    return 0.0


@kernel
def chance_of_low(mind, here, mine):
    """The chance that a trump of this power is the lowest in play; ``mine``: whether it is in my hand."""
    own_below = count(mind.hand & mind.trumps) - mind.mine_above[here] - mine
    if here > mind.low_seen or own_below > 0:
        return 0.0
    return (1.0 - mind.in_play) ** (mind.num_trumps - mind.above[here])


@kernel(inline=False)
def item_value(rules, mind, card):
    """The points, in expectation, that a card brings to who wins it."""
    if not bit(card) & mind.trumps:
        return 0.0
    value = fixed_value(rules, mind.trump, card)
    if rules.low_to == LowTo.WINNER:
        value += chance_of_low(mind, trump_power(card, mind.trump), bit(card) & mind.hand != 0)
    return value


@kernel(inline=False)
def count_points(rules, public, mind):
    """The points that each team has as good as won, in expectation, and how many are still open."""
    mind.points[:] = 0
    high, high_team = np.int64(-1), np.int64(NOBODY)
    low, low_team = np.int64(NUM_POWERS), np.int64(NOBODY)
    for i in range(mind.first):
        card = np.int64(public.history[i])
        if not bit(card) & mind.trumps:
            continue
        trick = i // rules.players
        taker = team_of(rules, public.leaders[trick + 1])
        here = trump_power(card, mind.trump)
        mind.points[taker] += fixed_value(rules, mind.trump, card)
        if here > high:
            high, high_team = here, taker
        if here < low:
            holder = team_of(rules, (public.leaders[trick] + i) % rules.players)
            low, low_team = here, holder if rules.low_to == LowTo.HOLDER else taker
    mind.open = 1.0 + count_loose_points(rules, public, mind)  # 1: the game
    mind.open += 2.0 - count_high(mind, high, high_team) - count_low(mind, low, low_team)


@kernel
def count_loose_points(rules, public, mind):
    """Points on trumps that are on the table, in my hand or unseen; sets ``prey``."""
    rest = mind.trumps & (mind.unseen | mind.hand)
    for i in range(mind.first, public.num_played):
        rest |= bit(public.history[i]) & mind.trumps
    total = 0.0
    mind.prey = 0.0
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        worth = fixed_value(rules, mind.trump, card)
        if bit(card) & mind.unseen:
            worth *= mind.in_play
            mind.prey += worth
        total += worth
    return total


@kernel
def count_high(mind, high, high_team):
    """Give the high to who holds the highest trump known, as far as it is sure; returns how far."""
    top = np.int64(-1)
    rest = mind.hand & mind.trumps
    while rest:
        top = max(top, trump_power(lowest(rest), mind.trump))
        rest &= rest - 1
    chance = 0.0
    if top > high:
        chance = (1.0 - mind.opposed) ** mind.above[top]
        mind.points[mind.team] += chance
    elif high_team != NOBODY:
        chance = (1.0 - mind.in_play) ** mind.above[high]
        mind.points[high_team] += chance
    return chance


@kernel
def count_low(mind, low, low_team):
    """Give the low to who has it from the finished tricks, as far as it is sure; returns how far."""
    if low_team == NOBODY:
        return 0.0
    chance = chance_of_low(mind, low, False)
    mind.points[low_team] += chance
    return chance


# What a point is worth.


@kernel(inline=False)
def weigh_points(rules, numbers, public, mind):
    """What a point of each team is worth to me: mine 1, another's a share against me.

    A point that the pitcher still needs counts for more than itself, to him and against him, for with it he makes or
    misses his bid; once he cannot make it his points count for little. So all gang up on a pitcher who may be set, and
    let the points of one who is down go by.
    """
    share = 1.0 / max(rules.teams - 1, 1)
    mind.worth[:] = -share
    mind.worth[mind.team] = 1.0
    mind.moon = 0.0
    if public.pitcher != NOBODY:
        weigh_bid(rules, numbers, public, mind, share)
    total, weight = 0.0, 1e-9
    hidden = np.int64(0)
    for seat in range(rules.players):
        team = team_of(rules, seat)
        if team != mind.team:
            total += mind.worth[team] * (mind.holds[seat] + 0.05)
            weight += mind.holds[seat] + 0.05
        if seat != mind.me:
            hidden += public.cards[seat]
    mind.against = total / weight
    mind.game_scale = numbers.game_lead + numbers.game_left * card_points_left(mind, hidden)


@kernel
def weigh_bid(rules, numbers, public, mind, share):
    """The part of ``worth`` that comes from the bid."""
    team = team_of(rules, public.pitcher)
    moon = public.bid == MOON_CALL
    bid = 4.0 if moon else np.float64(public.bid)
    need = bid - mind.points[team]
    if need > mind.open + 0.3:
        mind.worth[team] *= 0.1
    elif need > 0.1:
        stake = bid / (0.5 + mind.open)
        mind.worth[team] += stake * numbers.set_mine if team == mind.team else -stake * numbers.set_other * share
    if moon and public.tricks_won[team] == public.trick:
        mind.moon = (bid + rules.moon_value) * (1.0 if team == mind.team else -share)


@kernel
def card_points_left(mind, hidden):
    """Card points on the table, in my hand, and as far as they are in play, unseen."""
    left = np.float64(mind.table_points)
    fraction = hidden / max(mind.num_unseen, 1)
    rest = mind.unseen | mind.hand
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        left += CARD_POINTS[card] * (1.0 if bit(card) & mind.hand else fraction)
    return left
