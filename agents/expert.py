"""The expert: bids what its hand will make, by calibrated tables, and plays by counting cards. First version."""

from enum import IntEnum

import numpy as np

from pitch_env.actions import DONE, MOON_CALL, PASS, TRUMP
from pitch_env.cards import (
    ACE,
    CARD_POINTS,
    HIGH_JOKER,
    JACK,
    KING,
    SUIT_MASKS,
    TEN,
    THREE,
    bit,
    count,
    lowest,
    suit_of,
)
from pitch_env.kernel import kernel
from pitch_env.rules import MAX_PLAYERS, Auction, Follow, GamePoint, LowTo, Widow
from pitch_env.scoring import led_suit, power, team_of, trick_winner, trump_power
from pitch_env.state import NOBODY, Phase

NP = 16  # powers of trumps

VIEW = np.dtype(
    [
        ("hand", "<i8"), ("unseen", "<i8"), ("trumps", "<i8"), ("trump", "<i8"),
        ("me", "<i8"), ("team", "<i8"), ("first", "<i8"), ("after", "<i8"),
        ("holds", "<f8", (MAX_PLAYERS,)),
        ("opposed", "<f8"), ("in_play", "<f8"),
        ("num_unseen", "<i8"), ("num_trumps", "<i8"),
        ("above", "<i8", (NP,)), ("mine_above", "<i8", (NP,)),
        ("low_seen", "<i8"),
        ("points", "<f8", (MAX_PLAYERS,)), ("worth", "<f8", (MAX_PLAYERS,)), ("win", "<f8", (MAX_PLAYERS,)),
        ("plain", "<f8", (MAX_PLAYERS,)),
        ("led", "<i8"), ("best", "<i8"), ("best_team", "<i8"), ("table_items", "<f8"), ("table_points", "<i8"),
        ("game_scale", "<f8"), ("open", "<f8"), ("against", "<f8"), ("moon", "<f8"),
        ("features", "<f8", (16,)), ("score", "<f8"),
    ],
    align=True,
)  # fmt: skip


class W(IntEnum):
    BOSS, BOSS_DECAY, PLAIN_BOSS, LENGTH = range(4)
    HOME, HOME_BOSS, HOME_COVER, HOME_PLAIN = range(4, 8)
    RUFF, RUFF_STAKE, OVER, OVER_STAKE, PARTNER_OVER = range(8, 13)
    LEAD_P, LEAD_D, DRAW_P, DRAW_D = range(13, 17)
    SET_ME, SET_OPP, GAME_A, GAME_B = range(17, 21)
    PITCHER_LENGTH, CATCH, GIFT, LAST = range(21, 25)
    MOON, JUMP, BID_SHIFT = range(25, 28)
    S1, S2 = range(28, 30)
    SPREAD, FOLLOW_WILL = range(30, 32)


WEIGHTS = np.zeros(len(W))
for _name, _value in dict(
    BOSS=0.25, BOSS_DECAY=0.8, PLAIN_BOSS=0.1, LENGTH=0.05,
    HOME=0.35, HOME_BOSS=0.5, HOME_COVER=0.1, HOME_PLAIN=0.4,
    RUFF=0.3, RUFF_STAKE=0.6, OVER=0.5, OVER_STAKE=0.5, PARTNER_OVER=0.2,
    LEAD_P=0.05, LEAD_D=0.0, DRAW_P=0.05, DRAW_D=-0.03,
    SET_ME=0.6, SET_OPP=0.6, GAME_A=3.0, GAME_B=0.2,
    PITCHER_LENGTH=1.3, CATCH=1.0, GIFT=0.5, LAST=1.0,
    MOON=0.97, JUMP=0.8, BID_SHIFT=0.0,
    SPREAD=2.0, FOLLOW_WILL=0.9,
).items():  # fmt: skip
    WEIGHTS[W[_name]] = _value


TABLE = np.array(
    [
        [2.75, 1.43, 0.471, 0.411, -0.108, 1.15, 0.379, 0, -0.511, 0, -0.119, -0.879, 0.0921, -0.191, 0.197, -3.15, 1.28, 3.17, 4.75, 7.4, 99, 99, 99, 99, 99, 99, 3.36, -3.14, 0.746, 0.153, 0],
        [2.44, 0.505, 0.567, 0.421, 0.479, -0.473, 0.586, 0, -0.56, 0, -0.0171, -0.931, 0.101, 0.108, 0.279, -1.64, 1.42, 3.27, 5.08, 7.56, 99, 99, 99, 99, 99, 99, 3.43, -1.46, 0.493, -0.00272, 0],
        [2.52, -0.0323, 0.137, 0.51, 0.288, 0.172, 0.827, 0, -0.497, 0, 0.138, -0.936, 0.09, 0.278, 0.42, -0.0389, 1.69, 3.64, 5.6, 7.99, 99, 99, 99, 99, 99, 99, 3.52, -0.893, 0.357, -0.0227, 0],
        [2.62, -0.499, 0.214, 0.602, 0.474, -0.166, 0.672, 0, -0.543, 0, 0.164, -0.983, 0.089, 0.437, 0.455, 0.316, 2.12, 4.18, 6.33, 8.75, 99, 99, 99, 99, 99, 99, 3.61, -0.607, 0.28, -0.0302, 0],
        [3.04, -0.862, -0.489, 0.67, 0.543, 1.6, 1.05, 0, -0.419, 0, 0.192, -0.839, 0.0747, 0.547, 0.454, 1.14, 2.37, 4.56, 6.78, 9.31, 99, 99, 99, 99, 99, 99, 3.71, -0.465, 0.232, -0.0219, 0],
        [3.06, -0.925, -0.405, 0.777, 0.722, 1.92, 1, 0, -0.469, 0, 0.228, -0.876, 0.0801, 0.572, 0.429, 1.14, 2.81, 5.12, 7.44, 10.1, 99, 99, 99, 99, 99, 99, 3.81, -0.366, 0.187, -0.0143, 0],
        [2.96, -1.26, -0.0476, 0.873, 0.535, 0.709, 0.92, 0, -0.377, 0, 0.338, -0.835, 0.0701, 0.65, 0.507, 0.807, 2.95, 5.28, 7.73, 10.8, 99, 99, 99, 99, 99, 99, 3.91, -0.321, 0.161, -0.0052, 0],
        [1.67, 0.411, 0.668, 0.269, 0.462, -1.09, 0.273, 0, -0.339, 0, 0.0354, -0.464, 0.0532, 0.0384, 0.236, -1.09, 0.0572, 1.53, 2.79, 4.61, 99, 99, 99, 99, 99, 99, 3.54, -1.8, 0.624, 0.0132, 0],
        [0.441, 0.672, 0.801, 0.182, 0.832, -1.16, -0.188, 0.532, 0.177, 0, 0.0717, 0.0878, -0.00871, 0.0362, 0.0168, -0.194, -2.21, -0.336, 0.922, 1.94, 2.88, 3.95, 5.47, 99, 99, 99, 6.57, -2.79, 0.664, -0.0687, 0],
        [0.0335, 0.159, 0.821, 0.257, 0.557, -0.67, -0.241, 0.268, 0.106, 0.345, 0.074, 0.122, -0.0106, 0.0783, -0.0324, -0.15, -2.24, -0.669, 0.3, 0.969, 1.48, 2, 2.52, 3.14, 3.94, 5.29, 9.28, -2.54, 0.375, -0.0219, 0],
        [0.92, 0.803, 0.5, 0.275, 1.05, 0.397, 0.464, 0.586, 0.0742, 0, 0.00248, -0.0519, 0.00192, -0.00833, -0.037, 0.183, -1.97, -0.114, 1.04, 2.02, 2.94, 3.93, 5.42, 99, 99, 99, 6.99, -0.984, 0.169, -0.0433, 0],
        [0.497, 0.407, 0.697, 0.351, 0.832, 1.14, 0.362, 0.383, -0.0137, 0.399, -0.0371, -0.0824, 0.00371, 0.0035, -0.0847, 0.0978, -1.98, -0.451, 0.444, 1.05, 1.58, 2.08, 2.62, 3.2, 3.9, 5.28, 9.99, -1.18, 0.0785, 0.0149, 0],
    ]
)  # fmt: skip


@kernel
def expert_action(rules, public, hand, dealt, discards, legal_cards, legal_others, view):
    return choose(rules, public, hand, dealt, discards, legal_cards, legal_others, view, WEIGHTS, TABLE)


@kernel
def choose(rules, public, hand, dealt, discards, legal_cards, legal_others, view, w, table):
    if public.phase == Phase.BID:
        return choose_call(rules, public, hand, legal_others, view, w, table)
    if public.phase == Phase.TRUMP:
        return TRUMP + best_suit(rules, public, hand, legal_others, view, w, table)
    trump = np.int64(public.trump)
    if trump == NOBODY:
        trump = best_suit(rules, public, hand, rules.suit_set, view, w, table)
    study(rules, public, hand, discards, trump, view, w)
    if public.phase == Phase.PLAY:
        if public.trump == NOBODY and legal_cards & SUIT_MASKS[trump]:
            legal_cards &= SUIT_MASKS[trump]
        return choose_play(rules, public, legal_cards, view, w)
    return choose_throw(rules, public, legal_cards, legal_others, view, w)


# What a player works out before he decides.


@kernel
def study(rules, public, hand, discards, trump, view, w):
    me = np.int64(public.actor)
    view.me, view.team, view.hand, view.trump = me, team_of(rules, me), hand, trump
    deck = np.int64(0)
    for i in range(rules.deck_size):
        deck |= bit(rules.deck[i])
    view.unseen = deck & ~(public.played | hand | discards)
    view.trumps = rules.trumps[trump]
    view.num_unseen = count(view.unseen)
    view.num_trumps = count(view.unseen & view.trumps)
    rank_trumps(view)
    place_trumps(rules, public, view, w)
    look_at_table(rules, public, view)
    count_points(rules, public, view)
    weigh_points(rules, public, view, w)


@kernel
def rank_trumps(view):
    """How many unseen and own trumps lie above each power."""
    view.above[:] = 0
    view.mine_above[:] = 0
    rest = view.trumps & view.unseen
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        view.above[trump_power(card, view.trump)] += 1
    rest = view.trumps & view.hand
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        view.mine_above[trump_power(card, view.trump)] += 1
    unseen, mine = np.int64(0), np.int64(0)
    for p in range(NP - 1, -1, -1):
        here, own = view.above[p], view.mine_above[p]
        view.above[p], view.mine_above[p] = unseen, mine
        unseen += here
        mine += own


@kernel
def place_trumps(rules, public, view, w):
    """The chance that each other player holds a given unseen trump."""
    total, hidden = 0.0, np.int64(0)
    view.holds[:] = 0
    for seat in range(rules.players):
        if seat == view.me:
            continue
        hidden += public.cards[seat]
        if (public.voids[seat] >> view.trump) & 1:
            continue
        drawn = np.int64(0)
        if rules.widow == Widow.EXCHANGE:
            drawn = np.int64(public.exchanged[seat])
        elif rules.widow == Widow.PITCHER and seat == public.pitcher and public.phase != Phase.BID:
            drawn = rules.widow_size
        weight = min(np.int64(public.cards[seat]), rules.keep) * (rules.hand_size + drawn) / rules.keep
        if seat == public.pitcher and public.phase != Phase.BID:
            weight *= w[W.PITCHER_LENGTH]
        view.holds[seat] = weight
        total += weight
    out = np.int64(public.widow_left) if rules.widow != Widow.NONE else view.num_unseen - hidden
    if rules.widow == Widow.PITCHER and public.phase == Phase.BID:
        out = 0
    total += out
    view.in_play, view.opposed = 0.0, 0.0
    for seat in range(rules.players):
        if total > 0:
            view.holds[seat] = min(view.holds[seat] / total, 0.999)
        view.in_play += view.holds[seat]
        if team_of(rules, seat) != view.team:
            view.opposed += view.holds[seat]
    view.in_play, view.opposed = min(view.in_play, 1.0), min(view.opposed, 1.0)


@kernel
def look_at_table(rules, public, view):
    view.first = public.trick * rules.players
    view.after = rules.players - 1 - (public.num_played - view.first)
    view.led, view.best, view.best_team = NOBODY, -1, NOBODY
    view.low_seen = NP
    for i in range(public.num_played):
        card = np.int64(public.history[i])
        if bit(card) & view.trumps:
            view.low_seen = min(view.low_seen, trump_power(card, view.trump))
    view.table_items, view.table_points = 0.0, 0
    for i in range(view.first, public.num_played):
        card = np.int64(public.history[i])
        if i == view.first:
            view.led = led_suit(rules, card, view.trump)
        view.best = max(view.best, power(rules, card, view.trump, view.led))
        view.table_items += item_value(rules, view, card)
        view.table_points += CARD_POINTS[card]
    if view.led != NOBODY:
        view.best_team = team_of(rules, trick_winner(rules, public))


@kernel
def fixed_value(rules, trump, card):
    """What a trump's own point is worth (jack, off-jack, jokers, three, the ten)."""
    if card >= HIGH_JOKER or suit_of(card) != trump:
        return 1.0
    rank = card % 13
    if rank == JACK:
        return 1.0
    if rank == TEN and rules.game == GamePoint.TEN:
        return 1.0
    if rank == THREE and rules.three:
        return 3.0
    return 0.0


@kernel
def chance_low(view, here):
    """The chance that a trump of this power, on the table or mine, is the lowest in play."""
    if here > view.low_seen:
        return 0.0
    own = count(view.hand & view.trumps)
    lower_mine = own - view.mine_above[here] - 1
    lower = view.num_trumps - view.above[here]
    if lower_mine > 0:
        return 0.0
    return (1.0 - view.in_play) ** lower


@kernel
def table_low(view, here):
    """The same for a trump that is not mine any more."""
    if here > view.low_seen or count(view.hand & view.trumps) > view.mine_above[here]:
        return 0.0
    return (1.0 - view.in_play) ** (view.num_trumps - view.above[here])


@kernel
def item_value(rules, view, card):
    """What points a card brings to who wins it."""
    if not bit(card) & view.trumps:
        return 0.0
    value = fixed_value(rules, view.trump, card)
    if rules.low_to == LowTo.WINNER:
        here = trump_power(card, view.trump)
        value += chance_low(view, here) if bit(card) & view.hand else table_low(view, here)
    return value


@kernel
def count_points(rules, public, view):
    """Points that the finished tricks have given to each team, and what is still open."""
    view.points[:] = 0
    total = 1.0  # the game
    high, high_team = np.int64(-1), np.int64(NOBODY)
    low, low_team = np.int64(NP), np.int64(NOBODY)
    for i in range(view.first):
        card = np.int64(public.history[i])
        if not bit(card) & view.trumps:
            continue
        trick = i // rules.players
        taker = team_of(rules, public.leaders[trick + 1])
        here = trump_power(card, view.trump)
        value = fixed_value(rules, view.trump, card)
        view.points[taker] += value
        if here > high:
            high, high_team = here, taker
        if here < low:
            low = here
            low_team = taker
            if rules.low_to == LowTo.HOLDER:
                low_team = team_of(rules, (public.leaders[trick] + i) % rules.players)
    rest = view.trumps & (view.unseen | view.hand)
    for i in range(view.first, public.num_played):
        rest |= bit(public.history[i]) & view.trumps
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        view.open += 0.0
        total += fixed_value(rules, view.trump, card) * (view.in_play if bit(card) & view.unseen else 1.0)
    # The highest trump: mine, if none above it can be out.
    np.int64(-1)
    for p in range(NP - 1, -1, -1):
        if count(view.hand & view.trumps) > view.mine_above[p]:
            pass
    # mine is the lowest power with an own trump at or above it: now find the highest
    top = np.int64(-1)
    cards = view.hand & view.trumps
    while cards:
        card = lowest(cards)
        cards &= cards - 1
        top = max(top, trump_power(card, view.trump))
    settled = 0.0
    if top > high and top >= 0:
        chance = (1.0 - view.opposed) ** view.above[top]
        view.points[view.team] += chance
        settled += chance
    elif high_team != NOBODY:
        chance = (1.0 - view.in_play) ** view.above[high]
        view.points[high_team] += chance
        settled += chance
    total += 1.0 - settled
    settled = 0.0
    if low_team != NOBODY and low <= view.low_seen:
        chance = table_low(view, low)
        view.points[low_team] += chance
        settled = chance
    total += 1.0 - settled
    view.open = total


@kernel
def weigh_points(rules, public, view, w):
    """What a point for each team is worth to me, and the scale of the game point."""
    others = 1.0 / max(rules.teams - 1, 1)
    view.worth[:] = -others
    view.worth[view.team] = 1.0
    view.moon = 0.0
    if public.pitcher != NOBODY:
        team = team_of(rules, public.pitcher)
        moon = public.bid == MOON_CALL
        bid = 4.0 if moon else float(public.bid)
        need = bid - view.points[team]
        bonus = 0.0
        if need > 0.1:
            if need > view.open + 0.3:
                view.worth[team] *= 0.1
            else:
                bonus = bid / (0.5 + view.open)
        if team == view.team:
            view.worth[team] += bonus * w[W.SET_ME]
        else:
            view.worth[team] -= bonus * w[W.SET_OPP] * others
        if moon and public.tricks_won[team] == public.trick:
            view.moon = (bid + rules.moon_value) * (1.0 if team == view.team else -others)
    view.against = 0.0
    share = 0.0
    for seat in range(rules.players):
        team = team_of(rules, seat)
        if team != view.team:
            weight = view.holds[seat] + 0.05
            view.against += view.worth[team] * weight
            share += weight
    view.against /= max(share, 1e-9)
    left = 0.0
    cards = view.unseen | view.hand
    hidden = 0.0
    for seat in range(rules.players):
        if seat != view.me:
            hidden += public.cards[seat]
    fraction = hidden / max(view.num_unseen, 1)
    while cards:
        card = lowest(cards)
        cards &= cards - 1
        left += CARD_POINTS[card] * (1.0 if bit(card) & view.hand else fraction)
    view.game_scale = w[W.GAME_A] + w[W.GAME_B] * (left + view.table_points)


# Play.


@kernel
def game_chance(rules, public, view, team, taker, extra):
    """A team's chance of the game point after ``taker`` gets ``extra`` card points."""
    mine, best = 0.0, -100.0
    for t in range(rules.teams):
        have = public.card_points[t] + (extra if t == taker else 0.0)
        if t == team:
            mine = have
        else:
            best = max(best, have)
    return 1.0 / (1.0 + np.exp(-(mine - best) / view.game_scale))


@kernel
def game_value(rules, public, view, taker, extra):
    """The change of the game point's value to me when ``taker`` gets ``extra`` card points."""
    if rules.game == GamePoint.TEN or extra <= 0.0:
        return 0.0
    change = game_chance(rules, public, view, view.team, taker, extra) - game_chance(
        rules, public, view, view.team, taker, 0.0
    )
    value = change * (view.worth[view.team] - view.against)
    return value


@kernel
def choose_play(rules, public, legal_cards, view, w):
    best, best_value = lowest(legal_cards), -1e9
    if not legal_cards & (legal_cards - 1):
        return best
    rest = legal_cards
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        value = play_value(rules, public, view, card, w) - 1e-4 * (
            NP + trump_power(card, view.trump) if bit(card) & view.trumps else card % 13
        )
        if value > best_value:
            best, best_value = card, value
    return best


@kernel
def plain_share(rules, public, view, suit):
    """Fill ``plain``: the chance that each other player holds a given unseen card of a plain suit."""
    total = 1e-9 + view.num_unseen - view.num_trumps
    for seat in range(rules.players):
        view.plain[seat] = 0.0
        if seat == view.me:
            continue
        held = max(public.cards[seat] - view.num_trumps * view.holds[seat], 0.05)
        if (public.voids[seat] >> suit) & 1:
            total -= held
        else:
            view.plain[seat] = held
    for seat in range(rules.players):
        view.plain[seat] = min(view.plain[seat] / max(total, held_floor(view.plain[seat])), 0.95)


@kernel(inline=True)
def held_floor(held):
    return max(held, 0.5)


@kernel
def beats(rules, view, seat, led, best, stake, w):
    """The chance that a player who comes later beats what wins now."""
    t = view.holds[seat]
    if best >= NP:
        chance = 1.0 - (1.0 - t) ** view.above[best - NP]
        if led != view.trump:
            suit = view.unseen & SUIT_MASKS[led] & ~view.trumps
            if rules.follow == Follow.MUST_FOLLOW:
                chance *= (1.0 - view.plain[seat]) ** count(suit)
        return chance * min(1.0, w[W.OVER] + w[W.OVER_STAKE] * stake)
    suit = view.unseen & SUIT_MASKS[led] & ~view.trumps
    higher = suit & ~((bit(13 * led + best) << 1) - 1) if best >= 0 else suit
    follow = 1.0 - (1.0 - view.plain[seat]) ** count(higher)
    ruff = 1.0 - (1.0 - t) ** view.num_trumps
    if rules.follow == Follow.MUST_FOLLOW:
        ruff *= (1.0 - view.plain[seat]) ** count(suit)
    will = min(1.0, w[W.RUFF] + w[W.RUFF_STAKE] * stake)
    return 1.0 - (1.0 - follow * w[W.FOLLOW_WILL]) * (1.0 - ruff * will)


@kernel
def play_value(rules, public, view, card, w):
    trumps = view.trumps
    is_trump = bit(card) & trumps != 0
    leading = view.led == NOBODY
    led = view.led if not leading else led_suit(rules, card, view.trump)
    here = power(rules, card, view.trump, led)
    items = view.table_items + item_value(rules, view, card)
    points = float(view.table_points + CARD_POINTS[card])
    best, team = view.best, view.best_team
    mine = here > best
    if mine:
        best, team = here, view.team
    view.win[:] = 0
    view.win[team] = 1.0
    stake = items + 0.04 * points
    if led != view.trump:
        plain_share(rules, public, view, led)
    for i in range(view.after):
        seat = (view.me + 1 + i) % rules.players
        other = team_of(rules, seat)
        chance = beats(rules, view, seat, led, best, stake, w)
        if other == view.team:
            chance *= w[W.PARTNER_OVER] if team == view.team else 1.0
        elif other == team:
            chance *= w[W.PARTNER_OVER]
        for t in range(rules.teams):
            if t != other:
                moved = view.win[t] * chance
                view.win[t] -= moved
                view.win[other] += moved
    extra = coming_items(rules, view, team, w) if is_trump and led == view.trump else 0.0
    points += w[W.SPREAD] * view.after
    value = 0.0
    for t in range(rules.teams):
        if view.win[t] > 0.0:
            value += view.win[t] * (view.worth[t] * (items + extra) + game_value(rules, public, view, t, points))
    if view.moon != 0.0:
        value += view.moon * view.win[team_of(rules, public.pitcher)]
    pitching = public.pitcher != NOBODY and team_of(rules, public.pitcher) == view.team
    if mine:
        value += view.win[view.team] * (w[W.LEAD_P] if pitching else w[W.LEAD_D])
    if leading and is_trump:
        drawn = min(view.opposed * view.num_trumps, 3.0)
        value += drawn * (w[W.DRAW_P] if pitching else w[W.DRAW_D])
    return value - hold_value(rules, public, view, card, w)


@kernel
def coming_items(rules, view, team, w):
    """The points that later players are forced to add to a trick of trumps, or that a partner gives."""
    extra = 0.0
    rest = view.unseen & view.trumps
    loose = max(view.num_trumps - 1, 0)
    forced = 0.0
    for i in range(view.after):
        seat = (view.me + 1 + i) % rules.players
        t = view.holds[seat]
        if team_of(rules, seat) == view.team:
            forced += t * w[W.GIFT] if view.win[view.team] > 0.7 else t * (1.0 - t) ** loose
        else:
            forced += t * (1.0 - t) ** loose
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        value = fixed_value(rules, view.trump, card)
        if rules.low_to == LowTo.WINNER:
            value += table_low(view, trump_power(card, view.trump))
        extra += value * forced
    return extra * w[W.CATCH]


@kernel
def hold_value(rules, public, view, card, w):
    """What a card is worth to me if I keep it for a later trick."""
    left = count(view.hand) - 1
    if left == 0:
        return 0.0
    own = item_value(rules, view, card)
    points = float(CARD_POINTS[card])
    if bit(card) & view.trumps:
        here = trump_power(card, view.trump)
        boss = np.exp(-w[W.BOSS_DECAY] * view.above[here] * view.opposed)
        home = w[W.HOME] + w[W.HOME_BOSS] * boss + w[W.HOME_COVER] * min(view.mine_above[here], 2)
        value = w[W.BOSS] * boss + w[W.LENGTH]
    else:
        suit = suit_of(card)
        higher = count(view.unseen & SUIT_MASKS[suit] & ~view.trumps & ~((bit(card) << 1) - 1))
        boss = np.exp(-0.5 * higher - 0.3 * view.num_trumps * view.opposed)
        home = w[W.HOME_PLAIN]
        value = w[W.PLAIN_BOSS] * boss
    home = min(max(home, 0.02), 0.98)
    value += own * (home * view.worth[view.team] + (1.0 - home) * view.against)
    if points > 0:
        rival = (view.team + 1) % rules.teams
        value += home * game_value(rules, public, view, view.team, points)
        value += (1.0 - home) * game_value(rules, public, view, rival, points)
    return value * (w[W.LAST] if left == 1 else 1.0)


# Exchange and discards.


@kernel
def keep_rank(rules, view, card):
    if bit(card) & view.trumps:
        here = trump_power(card, view.trump)
        value = 100.0 + here
        if fixed_value(rules, view.trump, card) > 0:
            value += 50.0
        if count(view.hand & view.trumps) == view.mine_above[here] + 1 and here < 4:
            value += 40.0
        return value
    rank = card % 13
    value = 0.1 * rank
    if rank == ACE:
        value += 10.0
    elif rank == TEN:
        value += 4.0
    elif rank == KING:
        value += 3.0
    return value


@kernel
def choose_throw(rules, public, legal_cards, legal_others, view, w):
    worst, worst_value = lowest(legal_cards), 1e9
    rest = legal_cards
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        value = keep_rank(rules, view, card)
        if value < worst_value:
            worst, worst_value = card, value
    if public.phase == Phase.EXCHANGE and legal_others:
        if worst_value >= 100.0 or (count(view.hand) <= rules.keep and worst_value >= 3.0):
            return np.int64(DONE)
    return worst


# Bidding.

NUM_FEATURES = 16
COLUMNS = (
    NUM_FEATURES + 10 + 5
)  # weights, thresholds, total, pass: constant, by expected points, by standing bid, by speakers
TH, TOTAL, PASS_AT = NUM_FEATURES, NUM_FEATURES + 10, NUM_FEATURES + 11


@kernel
def table_row(rules):
    """The row of the table that these rules are nearest to."""
    if not rules.pairs:
        return rules.players - 2  # 0..6
    if rules.jokers == 0 and not rules.off_jack:
        return 7
    return 8 + (2 if rules.players > 4 else 0) + (1 if rules.three else 0)


@kernel
def measure(rules, view):
    """Fill ``features`` for the suit studied."""
    f = view.features
    f[:] = 0.0
    own = view.hand & view.trumps
    number = float(count(own))
    q, o = view.in_play, view.opposed
    top, low = np.int64(-1), np.int64(NP)
    strength = 0.0
    points = np.int64(0)
    rest = view.hand
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        points += CARD_POINTS[card]
        if not bit(card) & own:
            if card % 13 == ACE:
                f[10] += 1.0
            elif card % 13 == TEN:
                f[11] += 1.0
            continue
        here = trump_power(card, view.trump)
        top, low = max(top, here), min(low, here)
        clear = (1.0 - o) ** view.above[here]
        strength += clear
        if view.mine_above[here] == 1:
            f[6] = clear
        if card >= HIGH_JOKER or suit_of(card) != view.trump:
            f[7] += 1.0
        elif card % 13 == JACK:
            f[4], f[5] = 1.0, clear
        elif card % 13 == TEN:
            f[8] = 1.0
        elif card % 13 == THREE and rules.three:
            f[9] = 1.0
    if top >= 0:
        f[0] = (1.0 - o) ** view.above[top]
        f[1] = (1.0 - q) ** (view.num_trumps - view.above[low])
    f[2], f[3] = strength, number
    f[12] = points
    f[13] = f[1] * number
    f[14] = f[4] * number
    f[15] = (1.0 - f[4]) * strength * q


@kernel
def suit_score(rules, public, hand, suit, view, w, table):
    """The strength of a suit as trump, on the scale of the thresholds."""
    study(rules, public, hand, np.int64(0), suit, view, w)
    measure(rules, view)
    row = table_row(rules)
    score = 0.0
    for k in range(NUM_FEATURES):
        score += view.features[k] * table[row, k]
    return score


@kernel
def best_suit(rules, public, hand, suits, view, w, table):
    best, best_value = np.int64(-1), -1e9
    for suit in range(4):
        if (suits >> suit) & 1:
            if public.phase == Phase.PLAY and not hand & SUIT_MASKS[suit]:
                continue
            value = suit_score(rules, public, hand, suit, view, w, table)
            if value > best_value:
                best, best_value = np.int64(suit), value
    view.score = best_value
    return max(best, 0)


@kernel
def reach(rules, row, score, points, table):
    """The chance to win at least so many points."""
    if points <= 0:
        return 1.0
    if points > min(rules.max_bid, 10) and points > 4:
        return 0.0
    return 1.0 / (1.0 + np.exp(table[row, TH + points - 1] - score))


@kernel
def expected(rules, row, score, table):
    total = 0.0
    for k in range(1, 11):
        if table[row, TH + k - 1] < 50.0:
            total += reach(rules, row, score, k, table)
    return total


@kernel
def bid_value(rules, row, score, bid, table):
    """The relative points of pitching at a bid."""
    value, points = 0.0, 0.0
    for k in range(1, 11):
        if table[row, TH + k - 1] < 50.0:
            chance = reach(rules, row, score, k, table)
            points += chance
            if k > bid:
                value += chance
            elif k == bid:
                value += bid * chance - bid * (1.0 - chance)
    return value - max(table[row, TOTAL] - points, 0.0) / (rules.teams - 1)


@kernel
def pass_value(rules, public, row, score, table):
    points = expected(rules, row, score, table)
    value = table[row, PASS_AT] + table[row, PASS_AT + 1] * points
    return value + table[row, PASS_AT + 2] * public.bid


@kernel
def choose_call(rules, public, hand, legal_others, view, w, table):
    calls = legal_others >> (PASS - TRUMP)
    numbers = calls & ~1 & ~bit(MOON_CALL)
    row = table_row(rules)
    best_suit(rules, public, hand, rules.suit_set, view, w, table)
    if calls & bit(MOON_CALL) and reach(rules, row, view.score, 4, table) > w[W.MOON]:
        return np.int64(PASS + MOON_CALL)
    if not numbers:
        return np.int64(PASS) if calls & 1 else np.int64(PASS + MOON_CALL)
    low = lowest(numbers)
    floor = pass_value(rules, public, row, view.score, table) if calls & 1 else -1e9
    if bid_value(rules, row, view.score, low, table) <= floor + w[W.BID_SHIFT]:
        return np.int64(PASS)
    bid = low
    for k in range(low + 1, rules.max_bid + 1):
        if (numbers >> k) & 1 and public.actor != public.dealer and rules.auction == Auction.ONCE:
            if bid_value(rules, row, view.score, k, table) > floor + w[W.JUMP]:
                bid = k
    return PASS + bid
