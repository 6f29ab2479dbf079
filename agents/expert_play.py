"""How the expert plays a card, exchanges and discards.

Every legal card is valued by one formula, and the best is played: what the trick brings if I play it, minus what the
card would bring if I kept it. So a high card is not wasted on an empty trick, for it is worth more later; the ten goes
to a partner's sure trick, the jack and the low go home when the trick is mine, the highest trump out is led when there
is something to catch, and a card that brings nothing either way is thrown away before one that does.
"""

import numpy as np

from agents.expert_mind import NUM_POWERS, chance_of_low, fixed_value, item_value
from pitch_env.actions import DONE
from pitch_env.cards import ACE, CARD_POINTS, KING, SUIT_MASKS, TEN, bit, count, lowest, suit_of
from pitch_env.kernel import kernel
from pitch_env.rules import Follow, GamePoint, LowTo
from pitch_env.scoring import led_suit, power, team_of, trump_power
from pitch_env.state import NOBODY, Phase


@kernel(inline=False)
def choose_play(rules, numbers, public, legal_cards, mind):
    """The card with the highest value; of equals the lower one."""
    best, best_value = lowest(legal_cards), -1e9
    if not legal_cards & (legal_cards - 1):
        return best
    while legal_cards:
        card = lowest(legal_cards)
        legal_cards &= legal_cards - 1
        rank = NUM_POWERS + trump_power(card, mind.trump) if bit(card) & mind.trumps else card % 13
        value = trick_value(rules, numbers, public, mind, card) - hold_value(rules, numbers, public, mind, card)
        value -= 1e-4 * rank
        if value > best_value:
            best, best_value = card, value
    return best


@kernel(inline=False)
def trick_value(rules, numbers, public, mind, card):
    """What the trick brings me in expectation if I play this card to it."""
    led = mind.led if mind.led != NOBODY else led_suit(rules, card, mind.trump)
    here = power(rules, card, mind.trump, led)
    items = mind.table_items + item_value(rules, mind, card)
    points = np.float64(mind.table_points + CARD_POINTS[card])
    takes = here > mind.best
    foresee_winner(rules, numbers, public, mind, led, max(here, mind.best), takes, items + 0.04 * points)
    if led == mind.trump and bit(card) & mind.trumps:
        items += coming_items(rules, numbers, mind)
    points += numbers.coming_points * mind.after
    value = 0.0
    for team in range(rules.teams):
        if mind.win[team] > 0.0:
            brings = mind.worth[team] * items + game_value(rules, public, mind, team, points)
            value += mind.win[team] * brings
    pitching = public.pitcher != NOBODY and team_of(rules, public.pitcher) == mind.team
    if mind.moon != 0.0:
        value += mind.moon * mind.win[team_of(rules, public.pitcher)]
    if takes:
        value += mind.win[mind.team] * (numbers.lead_pitching if pitching else numbers.lead_other)
    if mind.led == NOBODY and bit(card) & mind.trumps:
        drawn = min(mind.opposed * mind.num_trumps, 3.0)
        value += drawn * (numbers.draw_pitching if pitching else numbers.draw_other)
    return value


@kernel(inline=False)
def foresee_winner(rules, numbers, public, mind, led, best, takes, stake):
    """Fill ``win``, the chances of the teams, going through the players who come after me.

    ``best`` is the power to beat once my card lies there, ``takes`` whether it is mine, ``stake`` what is in the trick.
    """
    team = mind.team if takes else mind.best_team
    mind.win[:] = 0
    mind.win[team] = 1.0
    if led != mind.trump:
        place_plain(rules, public, mind, led)
    for i in range(mind.after):
        seat = (mind.me + 1 + i) % rules.players
        other = team_of(rules, seat)
        chance = chance_to_beat(rules, numbers, mind, seat, led, best, stake)
        if other == team:
            chance *= numbers.over_partner
        for loser in range(rules.teams):
            if loser != other:
                moved = mind.win[loser] * chance
                mind.win[loser] -= moved
                mind.win[other] += moved


@kernel(inline=False)
def place_plain(rules, public, mind, suit):
    """Fill ``plain`` for a suit that is not trump: room for plain cards is what trumps leave of a hand."""
    total = 1e-9 + mind.num_unseen - mind.num_trumps
    mind.plain[:] = 0
    for seat in range(rules.players):
        if seat == mind.me:
            continue
        room = max(public.cards[seat] - mind.num_trumps * mind.holds[seat], 0.05)
        if (public.voids[seat] >> suit) & 1:
            total -= room
        else:
            mind.plain[seat] = room
    for seat in range(rules.players):
        mind.plain[seat] = min(mind.plain[seat] / max(total, mind.plain[seat], 0.5), 0.95)


@kernel(inline=False)
def chance_to_beat(rules, numbers, mind, seat, led, best, stake):
    """The chance that a later player can and will beat a power; the more is in the trick, the more he will."""
    without_trump = 1.0 - mind.holds[seat]
    without_plain = 1.0 - mind.plain[seat]
    suit = mind.unseen & SUIT_MASKS[led] & ~mind.trumps
    may_ruff = 1.0
    if led != mind.trump and rules.follow == Follow.MUST_FOLLOW:
        may_ruff = without_plain ** count(suit)
    if best >= NUM_POWERS:
        high = mind.high_above[best - NUM_POWERS]
        can = 1.0 - without_trump ** (mind.above[best - NUM_POWERS] - high) * (1.0 - mind.holds_high[seat]) ** high
        return can * may_ruff * min(1.0, numbers.over + numbers.over_stake * stake)
    higher = suit & ~((bit(13 * led + best) << 1) - 1) if best >= 0 else suit
    follows = 1.0 - without_plain ** count(higher)
    ruffs = (1.0 - without_trump**mind.num_trumps) * may_ruff * min(1.0, numbers.ruff + numbers.ruff_stake * stake)
    return 1.0 - (1.0 - follows * numbers.follow) * (1.0 - ruffs)


@kernel(inline=False)
def coming_items(rules, numbers, mind):
    """The points on trumps that later players are forced to add to a trick of trumps, or that a partner gives."""
    forced = 0.0
    for i in range(mind.after):
        seat = (mind.me + 1 + i) % rules.players
        holds = mind.holds[seat]
        if team_of(rules, seat) == mind.team and mind.win[mind.team] > 0.7:
            forced += holds * numbers.gift
        else:
            forced += holds * (1.0 - holds) ** max(mind.num_trumps - 1, 0)  # it is his only trump
    value = 0.0
    rest = mind.unseen & mind.trumps
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        value += fixed_value(rules, mind.trump, card)
        if rules.low_to == LowTo.WINNER:
            value += chance_of_low(mind, trump_power(card, mind.trump), False)
    return value * forced * numbers.catch


@kernel
def game_chance(rules, public, mind, taker, extra):
    """My team's chance of the game point after ``taker`` gets so many more card points."""
    mine, other = 0.0, -100.0
    for team in range(rules.teams):
        points = public.card_points[team] + (extra if team == taker else 0.0)
        if team == mind.team:
            mine = points
        else:
            other = max(other, points)
    return 1.0 / (1.0 + np.exp((other - mine) / mind.game_scale))


@kernel(inline=False)
def game_value(rules, public, mind, taker, extra):
    """What it is worth to me that ``taker`` gets so many card points, for the game point."""
    if rules.game == GamePoint.TEN or extra <= 0.0:
        return 0.0
    change = game_chance(rules, public, mind, taker, extra) - game_chance(rules, public, mind, taker, 0.0)
    return change * (mind.worth[mind.team] - mind.against)


@kernel(inline=False)
def hold_value(rules, numbers, public, mind, card):
    """What a card is worth if I keep it: the tricks that it may win later, and the points that it may bring home."""
    left = count(mind.hand) - 1
    if left == 0:
        return 0.0
    if bit(card) & mind.trumps:
        here = trump_power(card, mind.trump)
        high = mind.high_above[here]
        rivals = (mind.above[here] - high) * mind.opposed + high * mind.opposed_high
        boss = np.exp(-numbers.boss_decay * rivals)
        covered = numbers.home + numbers.home_cover * min(mind.mine_above[here], 2)
        home = numbers.home_boss * boss + (1.0 - boss) * covered
        value = (numbers.boss + numbers.boss_prey * mind.prey) * boss + numbers.length
    else:
        higher = count(mind.unseen & SUIT_MASKS[suit_of(card)] & ~mind.trumps & ~((bit(card) << 1) - 1))
        home = numbers.home_plain
        value = numbers.boss_plain * np.exp(-0.5 * higher - 0.3 * mind.num_trumps * mind.opposed)
    home = min(max(home, 0.02), 0.98)
    value += item_value(rules, mind, card) * (home * mind.worth[mind.team] + (1.0 - home) * mind.against)
    if CARD_POINTS[card] > 0:
        points = np.float64(CARD_POINTS[card])
        value += home * game_value(rules, public, mind, mind.team, points)
        value += (1.0 - home) * game_value(rules, public, mind, (mind.team + 1) % rules.teams, points)
    return value * (numbers.last_two if left == 1 else 1.0)


# Exchange and discards.


@kernel
def keep_rank(rules, numbers, mind, card):
    """How much I want to keep a card: trumps with a point, the lowest trump, other trumps, then plain aces, tens."""
    rank = card % 13
    if bit(card) & mind.trumps:
        here = trump_power(card, mind.trump)
        lowest_own = count(mind.hand & mind.trumps) == mind.mine_above[here] + 1
        point = fixed_value(rules, mind.trump, card) > 0.0
        return 100.0 + here + (50.0 if point else 0.0) + (40.0 if lowest_own and here < 4 else 0.0)
    if rank == ACE:
        return 11.2
    if rank == TEN:
        return 0.8 + numbers.keep_ten
    return 0.1 * rank + (numbers.keep_king if rank == KING else 0.0)


@kernel(inline=False)
def choose_throw(rules, numbers, public, legal_cards, legal_others, mind):
    """Put away the card that I want least; exchange no trumps, and beyond what must go anyway only worthless cards."""
    worst, worst_rank = lowest(legal_cards), 1e9
    while legal_cards:
        card = lowest(legal_cards)
        legal_cards &= legal_cards - 1
        rank = keep_rank(rules, numbers, mind, card)
        if rank < worst_rank:
            worst, worst_rank = card, rank
    if public.phase == Phase.EXCHANGE and legal_others:
        limit = 100.0 if count(mind.hand) > rules.keep else 3.0
        if worst_rank >= limit:
            return np.int64(DONE)
    return worst
