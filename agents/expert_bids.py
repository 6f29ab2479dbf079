"""How the expert bids: what its hand will make, by calibrated tables, against what passing brings.

For each suit the hand is turned into a few numbers (``measure_hand``), such as the chance that its highest trump is
the highest in play, and the calls of the others into a few more (``hear_calls``). Their weighted sum is a score, and
from the score follow the chances to win 1, 2, 3 ... points as pitcher, calibrated on deals that this expert played out.
A bid is made where the points expected from pitching at it, the set-back included, are more than those expected from a
pass; so the dealer steals exactly when the hand is worth the standing bid, and nobody bids on the hope that the ace is
not out. All values are own points minus the mean of the other teams'.
"""

import numpy as np

from agents.expert_mind import NUM_POWERS, study
from agents.expert_numbers import MOST_POINTS, NUM_FEATURES, Feature
from pitch_env.actions import MOON_CALL, PASS, TRUMP
from pitch_env.cards import ACE, CARD_POINTS, HIGH_JOKER, JACK, SUIT_MASKS, TEN, THREE, bit, count, lowest, suit_of
from pitch_env.kernel import kernel
from pitch_env.rules import NO_TARGET, Auction
from pitch_env.scoring import team_of, trump_power
from pitch_env.state import NOBODY, Phase

DRAWS_ALL = 3.8  # so many sure trumps draw all others, and then the low ones are sure too
SURE_MISS = 0.5  # tricks that a moon hand may lack of all tricks, and still be called nearly sure


@kernel(inline=False)
def measure_hand(rules, mind):
    """Set the features of the hand for the suit studied."""
    features = mind.features
    features[:] = 0.0
    own = mind.hand & mind.trumps
    top, low = np.int64(-1), np.int64(NUM_POWERS)
    rest = mind.hand
    while rest:
        card = lowest(rest)
        rest &= rest - 1
        rank = card % 13
        features[Feature.CARD_POINTS] += CARD_POINTS[card]
        if not bit(card) & own:
            features[Feature.SIDE_ACES] += rank == ACE
            features[Feature.SIDE_TENS] += rank == TEN
            continue
        here = trump_power(card, mind.trump)
        top, low = max(top, here), min(low, here)
        clear = (1.0 - mind.opposed) ** mind.above[here]
        features[Feature.CLEAR] += clear
        if mind.mine_above[here] == 1:
            features[Feature.SECOND_CLEAR] = clear
        if card >= HIGH_JOKER or suit_of(card) != mind.trump:
            features[Feature.JOKERS] += 1.0
        elif rank == JACK:
            features[Feature.JACK], features[Feature.JACK_CLEAR] = 1.0, clear
        elif rank == TEN:
            features[Feature.TEN] = 1.0
        elif rank == THREE and rules.three:
            features[Feature.THREE] = 1.0
    if own:
        features[Feature.HIGH] = (1.0 - mind.opposed) ** mind.above[top]
        features[Feature.LOW] = (1.0 - mind.in_play) ** (mind.num_trumps - mind.above[low])
    features[Feature.TRUMPS] = count(own)
    features[Feature.LOW_TRUMPS] = features[Feature.LOW] * count(own)
    features[Feature.JACK_TRUMPS] = features[Feature.JACK] * count(own)
    features[Feature.JACK_PREY] = (1.0 - features[Feature.JACK]) * features[Feature.CLEAR] * mind.in_play


@kernel(inline=False)
def hear_calls(rules, public, features):
    """Set the features of the calls: bids and passes of opponents and partners."""
    mine = team_of(rules, public.actor)
    seat, passed = np.int64(public.dealer), np.int64(0)
    for i in range(public.num_calls):
        seat = (seat + 1) % rules.players
        while (passed >> seat) & 1:
            seat = (seat + 1) % rules.players
        call = np.float64(min(np.int64(public.calls[i]), 5))
        if call == 0.0:
            if rules.auction == Auction.UNTIL_PASSED:
                passed |= 1 << seat
            features[Feature.PARTNER_PASSES if team_of(rules, seat) == mine else Feature.OTHER_PASSES] += 1.0
        elif team_of(rules, seat) != mine:
            features[Feature.OTHER_BID] = max(features[Feature.OTHER_BID], call)
        elif seat != public.actor:
            features[Feature.PARTNER_BID] = max(features[Feature.PARTNER_BID], call)


@kernel(inline=False)
def suit_score(rules, numbers, public, hand, suit, mind):
    """How strong the hand is with a suit as trump."""
    study(rules, numbers, public, hand, np.int64(0), suit, mind)
    measure_hand(rules, mind)
    hear_calls(rules, public, mind.features)
    score = 0.0
    for i in range(NUM_FEATURES):
        score += mind.features[i] * numbers.hand_worth[i]
    return score


@kernel(inline=False)
def best_suit(rules, numbers, public, hand, suits, mind):
    """The suit, of a set of suits (bit s), in which the hand is strongest; sets ``score`` and ``tricks``."""
    best, best_score = np.int64(-1), -1e9
    for suit in range(4):
        if not (suits >> suit) & 1 or (public.phase == Phase.PLAY and not hand & SUIT_MASKS[suit]):
            continue
        score = suit_score(rules, numbers, public, hand, suit, mind)
        if score > best_score:
            best, best_score = np.int64(suit), score
            drawn = mind.features[Feature.CLEAR] > DRAWS_ALL
            trumps = mind.features[Feature.TRUMPS if drawn else Feature.CLEAR]
            mind.tricks = trumps + 0.9 * mind.features[Feature.SIDE_ACES]
    mind.score = best_score
    return best


@kernel
def chance_to_win(numbers, score, points):
    """The chance to win at least so many points as pitcher."""
    return 1.0 / (1.0 + np.exp(numbers.steps[points - 1] - score))


@kernel(inline=False)
def expected_points(numbers, score):
    """Points expected as pitcher."""
    total = 0.0
    for points in range(1, MOST_POINTS + 1):
        total += chance_to_win(numbers, score, points)
    return total


@kernel
def goes_out(rules, public, team, bid):
    """Whether a team that makes a bid wins the game with it, as far as its own score tells."""
    return rules.target != NO_TARGET and public.scores[team] + bid >= rules.target


@kernel(inline=False)
def bid_value(rules, numbers, public, score, bid):
    """What pitching at a bid brings: the points if it is made, the bid lost if not, and the others' points."""
    made = chance_to_win(numbers, score, bid)
    value = bid * made - bid * (1.0 - made)
    if goes_out(rules, public, team_of(rules, public.actor), bid):
        value += numbers.going_out * made
    for points in range(bid + 1, MOST_POINTS + 1):
        value += chance_to_win(numbers, score, points)
    others = max(numbers.deal_points - expected_points(numbers, score), 0.0)
    return value - others / (rules.teams - 1)


@kernel(inline=False)
def pass_value(rules, numbers, public, score):
    """What passing brings, as measured: a good hand is good in defence too, and a partner may hold the bid."""
    value = numbers.passing + numbers.passing_points * expected_points(numbers, score)
    if public.pitcher != NOBODY:
        if team_of(rules, public.pitcher) == team_of(rules, public.actor):
            value += numbers.passing_partner
        else:
            value += numbers.passing_bid * min(np.int64(public.bid), 6)
            if goes_out(rules, public, team_of(rules, public.pitcher), np.int64(public.bid)):
                value -= numbers.going_out / rules.teams
    return value + numbers.passing_passed * count(np.int64(public.passed))


@kernel(inline=False)
def choose_call(rules, numbers, public, hand, legal_others, mind):
    """A bid or a pass.

    The lowest bid will do where others may go on bidding and so may I; with one turn each, who is not the dealer bids
    the most that still pays, for the dealer may steal a low bid. The moon is bid when it is nearly sure.
    """
    calls = legal_others >> (PASS - TRUMP)
    bids = calls & ~bit(0) & ~bit(MOON_CALL)
    best_suit(rules, numbers, public, hand, rules.suit_set, mind)
    sure = mind.tricks >= rules.keep - SURE_MISS and chance_to_win(numbers, mind.score, 4) > numbers.moon
    if calls & bit(MOON_CALL) and sure:
        return np.int64(PASS + MOON_CALL)
    if not bids:
        return np.int64(PASS) if calls & 1 else np.int64(PASS + MOON_CALL)
    bid = lowest(bids)
    floor = pass_value(rules, numbers, public, mind.score) if calls & 1 else -1e9
    if bid_value(rules, numbers, public, mind.score, bid) <= floor + numbers.bid_margin:
        return np.int64(PASS)
    if rules.auction == Auction.ONCE and public.actor != public.dealer:
        for more in range(bid + 1, rules.max_bid + 1):
            if (bids >> more) & 1 and bid_value(rules, numbers, public, mind.score, more) > floor + numbers.jump_margin:
                bid = np.int64(more)
    return PASS + bid
