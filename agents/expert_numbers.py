"""The numbers of the expert: what things are worth to it, by the kind of game.

How they were measured. The numbers of the play were tuned one after the other by duplicate matches of the expert
against itself with one number changed: 4,000 deals a preset, every team in every seat, relative points (own score
change minus the mean of the others'), a change kept where it gained more than 1.3 standard errors. The tables of the
bidding were fitted to deals that the expert played out: for each row 30,000 auctions were stopped at a random call
and its speaker made pitcher. A proportional odds model (McCullagh, 1980) of the points that his team won gives the
weights of the hand and the steps; a least squares fit to as many calls that were made passes gives what passing brings.
The two were repeated in turn until neither gained.
"""

import functools
from enum import IntEnum

import numpy as np

from pitch_env.kernel import records
from pitch_env.rules import MAX_BID, Rules

MOST_POINTS = MAX_BID
NEVER = 99.0  # the step of points that a deal does not have


class Feature(IntEnum):
    """What the bidding looks at: the hand with some suit as trump, and the calls so far."""

    HIGH = 0  # the chance that my highest trump is the highest in play
    LOW = 1  # the chance that my lowest trump is the lowest in play
    CLEAR = 2  # my trumps, each counted by the chance that no opponent has a higher one
    TRUMPS = 3  # my trumps
    JACK = 4  # 1 for the jack
    JACK_CLEAR = 5  # the chance that no opponent has a higher trump than my jack
    SECOND_CLEAR = 6  # ... than my second highest
    JOKERS = 7  # jokers and the off-jack in my hand
    TEN = 8  # 1 for the ten of trumps
    THREE = 9  # 1 for the three of trumps where it has points
    SIDE_ACES = 10  # plain aces
    SIDE_TENS = 11  # plain tens
    CARD_POINTS = 12  # card points in my hand
    LOW_TRUMPS = 13  # LOW times TRUMPS
    JACK_TRUMPS = 14  # JACK times TRUMPS
    JACK_PREY = 15  # CLEAR, without the jack: what may catch it
    OTHER_BID = 16  # the highest bid of an opponent, up to 5
    PARTNER_BID = 17  # the highest bid of a partner, up to 5
    PARTNER_PASSES = 18  # passes of partners
    OTHER_PASSES = 19  # passes of opponents


NUM_FEATURES = len(Feature)

NUMBERS = np.dtype(
    [
        # The play, in points.
        ("boss", "<f8"),  # of a trump that no unseen one beats, kept for a later trick
        ("boss_decay", "<f8"),  # how fast that falls with the number of higher trumps that opponents hold
        ("boss_prey", "<f8"),  # more of it for each point on unseen trumps, which it may catch
        ("boss_plain", "<f8"),  # of a plain card that wins unless trumped
        ("length", "<f8"),  # of any trump
        ("home", "<f8"),  # the chance that a point card that is not the highest is brought home
        ("home_boss", "<f8"),  # ... that is the highest
        ("home_cover", "<f8"),  # ... more for each of two own trumps above it
        ("home_plain", "<f8"),  # ... that is no trump, for its card points
        ("last_two", "<f8"),  # factor on all this with two cards left
        ("ruff", "<f8"),  # how likely a player trumps a plain trick when he can
        ("ruff_stake", "<f8"),  # ... more for each point in it
        ("over", "<f8"),  # how likely he beats a trump when he can
        ("over_stake", "<f8"),  # ... more for each point in the trick
        ("over_partner", "<f8"),  # factor on these when his partner is winning
        ("follow", "<f8"),  # how likely he beats a plain card with a higher one of its suit
        ("lead_pitching", "<f8"),  # of having the next lead, on the pitcher's side
        ("lead_other", "<f8"),  # ... on another side
        ("draw_pitching", "<f8"),  # of each opposing trump that a trump lead may draw, on the pitcher's side
        ("draw_other", "<f8"),  # ... on another side
        ("set_mine", "<f8"),  # how much more a point is worth that my side needs for its bid
        ("set_other", "<f8"),  # ... that another pitcher needs
        ("game_lead", "<f8"),  # the lead in card points that makes the game point likely, at the end
        ("game_left", "<f8"),  # ... more for each card point still to come
        ("coming_points", "<f8"),  # card points that each player after me adds to a trick
        ("pitcher_length", "<f8"),  # how much likelier an unseen trump is with the pitcher
        ("pitcher_high", "<f8"),  # ... a queen, king or ace, beyond that
        ("catch", "<f8"),  # factor on the points that a trump lead is seen to catch
        ("gift", "<f8"),  # how likely a partner adds his point to a sure trick
        ("moon", "<f8"),  # the chance of all four points from which the moon is bid
        ("bid_margin", "<f8"),  # by how much a bid must be better than a pass
        ("jump_margin", "<f8"),  # ... for a bid higher than need be
        ("keep_ten", "<f8"),  # of a plain ten when discarding; an ace is 11
        ("keep_king", "<f8"),  # of a plain king when discarding, beyond its rank
        # The bidding.
        ("hand_worth", "<f8", (NUM_FEATURES,)),  # weight of each feature in the score of a hand
        ("steps", "<f8", (MOST_POINTS,)),  # the score from which 1, 2, 3 ... points are more likely than not
        ("deal_points", "<f8"),  # points of all teams in a deal
        ("passing", "<f8"),  # what a pass brings
        ("passing_points", "<f8"),  # ... more for each point that I expect as pitcher
        ("passing_bid", "<f8"),  # ... for each point of an opponent's standing bid
        ("passing_partner", "<f8"),  # ... when a partner holds the bid
        ("passing_passed", "<f8"),  # ... for each player who has passed
    ],
    align=True,
)

# By kind of game: two players; three and more, each for himself; pairs; pairs with jokers.
_PLAY: dict[str, tuple[float, float, float, float]] = {
    "boss": (0.35, 0.49, 0.35, 0.49),
    "boss_decay": (0.25, 0.48, 0.869, 0.672),
    "boss_prey": (0, 0, 0, 0.04),
    "boss_plain": (0.14, 0.14, 0.14, 0.084),
    "length": (0.074, 0.05, 0.0531, 0.05),
    "home": (0.49, 0.21, 0.258, 0.35),
    "home_boss": (0.95, 0.95, 1.17, 0.95),
    "home_cover": (0.184, 0.09, 0.172, 0.002),
    "home_plain": (0.694, 0.336, 0.531, 0.336),
    "last_two": (1.24, 1.4, 0.911, 1.06),
    "ruff": (0.937, 0.56, 0.197, 0.56),
    "ruff_stake": (1.18, 0.84, 0.84, 0.504),
    "over": (0.218, 0.7, 0.722, 0.7),
    "over_stake": (0.342, 0.5, 0.574, 0.38),
    "over_partner": (0.2, 0.2, 0.217, 0.2),
    "follow": (0.9, 0.9, 0.9, 0.9),
    "lead_pitching": (-0.03, 0.01, -0.0217, 0.01),
    "lead_other": (-0.04, -0.04, 0, -0.168),
    "draw_pitching": (0.196, 0.09, 0.201, 0.138),
    "draw_other": (0.01, 0.01, 0.074, -0.03),
    "set_mine": (0.84, 0.36, 0.36, 0.6),
    "set_other": (0.456, 0.6, 0.43, 0.36),
    "game_lead": (4.2, 4.2, 5.21, 5.88),
    "game_left": (0.12, 0.2, 0.28, 0.376),
    "coming_points": (1.68, 1.68, 0.72, 1.2),
    "pitcher_length": (2.86, 3.57, 2.26, 2.55),
    "pitcher_high": (1, 1, 0.6, 1),
    "catch": (2.46, 1, 1, 0.6),
    "gift": (0.5, 0.5, 0.5, 0.3),
    "moon": (0.97, 0.97, 0.97, 0.97),
    "bid_margin": (0, 0, 0.019, 0),
    "jump_margin": (-0.18, 0.8, 0.101, 0.8),
    "keep_ten": (4, 4, 4, 4),
    "keep_king": (3, 3, 3, 4.2),
}

# By kind and number of players: the worth of the features in their order.
# fmt: off
_HAND_WORTH: dict[str, tuple[float, ...]] = {
    "solo 2": (
        3.01, 0.999, -0.00794, 0.445, -1.42, 3.04, 0.767, 0, -0.313, 0,
        0, -0.605, 0.0667, -0.189, 0.322, -1.14, -0.0334, 0, 0, 0,
    ),
    "solo 3": (
        2.38, 0.71, 0.412, 0.55, 0.0631, 1.09, 0.719, 0, -0.352, 0,
        -0.0342, -0.706, 0.0686, -0.0155, 0.226, -1.04, -0.0812, 0, 0, 0.129,
    ),
    "solo 4": (
        2.64, 0.443, -0.0369, 0.673, 0.104, 2.3, 0.894, 0, -0.207, 0,
        0.075, -0.669, 0.0573, 0.0953, 0.33, 0.61, -0.0918, 0, 0, 0.0943,
    ),
    "solo 5": (
        2.83, -0.113, -0.049, 0.725, 0.445, 1.75, 0.907, 0, -0.174, 0,
        0.172, -0.61, 0.0469, 0.249, 0.374, 0.633, -0.0967, 0, 0, 0.0643,
    ),
    "solo 6": (
        2.78, -0.524, -0.258, 0.789, 0.436, 4.13, 0.824, 0, -0.216, 0,
        0.0136, -0.723, 0.0614, 0.351, 0.423, 1.22, -0.0486, 0, 0, 0.0389,
    ),
    "solo 7": (
        3.33, -0.66, -0.74, 0.878, 0.586, 5.48, 1.19, 0, -0.239, 0,
        0.0723, -0.796, 0.0648, 0.413, 0.517, 1.45, -0.074, 0, 0, 0.0357,
    ),
    "solo 8": (
        3.22, -0.636, -0.473, 1.03, 0.648, 7.85, 0.731, 0, -0.583, 0,
        -0.0823, -1.07, 0.0955, 0.369, 0.609, 1.51, -0.051, 0, 0, 0.0213,
    ),
    "pairs": (
        1.81, 0.305, 0.616, 0.262, 0.259, -0.823, 0.394, 0, -0.335, 0,
        0.0114, -0.396, 0.0414, 0.0483, 0.26, -1.16, -0.0447, -0.00762, -0.28, 0.263,
    ),
    "jokers 4": (
        0.66, 0.816, 0.602, 0.219, 0.618, -0.578, 0.0115, 0.525, 0.0994, 0,
        0.0325, 0.0265, -0.00368, 0.00785, 0.0235, -0.136, -0.00264, -0.0165, -0.421, 0.275,
    ),
    "jokers 4 three": (
        0.356, 0.151, 0.656, 0.291, 0.538, -0.785, 0.0314, 0.248, 0.0808, 0.299,
        0.0414, 0.0482, -0.00631, 0.0672, -0.0379, -0.297, -0.0056, -0.0166, -0.302, 0.161,
    ),
    "jokers 6": (
        0.568, 0.759, 0.78, 0.297, 0.909, -0.324, 0.151, 0.493, -0.106, 0,
        -0.0241, -0.112, 0.0102, 0.00115, -0.0183, 0.0769, 0.00385, -0.0278, -0.416, 0.158,
    ),
    "jokers 6 three": (
        0.206, 0.461, 0.815, 0.353, 0.791, 1.09, 0.14, 0.332, -0.17, 0.308,
        -0.0309, -0.163, 0.0153, -0.00672, -0.0598, 0.124, 0.0178, -0.0319, -0.362, 0.171,
    ),
}
# fmt: on

# The steps, the points of a deal, and what a pass brings (the five numbers in their order).
_STEPS: dict[str, tuple[tuple[float, ...], float, tuple[float, ...]]] = {
    "solo 2": (
        (1.08, 2.92, 4.49, 7.07),
        3.38,
        (-2.8, 0.613, 0.105, 0, 0),
    ),
    "solo 3": (
        (1.31, 3.25, 4.92, 7.27),
        3.44,
        (-1.22, 0.334, 0, 0, 0.0157),
    ),
    "solo 4": (
        (1.86, 3.9, 5.77, 7.88),
        3.53,
        (-0.719, 0.218, -0.0172, 0, 0.0133),
    ),
    "solo 5": (
        (2.13, 4.18, 6.21, 8.3),
        3.62,
        (-0.507, 0.179, -0.0283, 0, 0.0138),
    ),
    "solo 6": (
        (2.52, 4.67, 6.81, 8.86),
        3.72,
        (-0.391, 0.141, -0.0206, 0, 0.00959),
    ),
    "solo 7": (
        (3.02, 5.29, 7.55, 9.76),
        3.82,
        (-0.287, 0.101, -0.00807, 0, 0.00129),
    ),
    "solo 8": (
        (3.77, 6.26, 8.64, 10.8),
        3.92,
        (-0.227, 0.0593, 0, 0, 0),
    ),
    "pairs": (
        (-0.2, 1.36, 2.67, 4.51),
        3.56,
        (-1.28, 0.472, -0.17, 0.868, -0.375),
    ),
    "jokers 4": (
        (-2.08, -0.203, 1.03, 2.02, 2.99, 4.15, 5.75),
        6.56,
        (-3.04, 0.721, -0.205, 1.08, -0.2),
    ),
    "jokers 4 three": (
        (-2.15, -0.563, 0.377, 1.01, 1.54, 2.05, 2.57, 3.18, 4.04, 5.42),
        9.28,
        (-2.84, 0.41, -0.031, 1.93, -0.617),
    ),
    "jokers 6": (
        (-1.99, -0.12, 1.04, 1.97, 2.91, 3.89, 5.34),
        6.99,
        (-1.12, 0.182, -0.0407, 1.75, -0.158),
    ),
    "jokers 6 three": (
        (-1.86, -0.376, 0.483, 1.1, 1.61, 2.09, 2.62, 3.22, 3.92, 5.27),
        9.99,
        (-0.836, 0.052, 0.0061, 1, -0.121),
    ),
}


@functools.cache
def numbers_of(rules: Rules) -> np.ndarray:
    """The numbers for the kind of game that rules are nearest to, as one ``NUMBERS`` record (an array of length 1)."""
    jokers = rules.pairs and (rules.jokers > 0 or rules.off_jack)
    family = 3 if jokers else 2 if rules.pairs else 1 if rules.players > 2 else 0
    row = "pairs" if rules.pairs else f"solo {rules.players}"
    if jokers:
        row = f"jokers {4 if rules.players == 4 else 6}{' three' if rules.three else ''}"
    steps, deal_points, passing = _STEPS[row]
    array = records(1, NUMBERS)
    for name, values in _PLAY.items():
        array[0][name] = values[family]
    array[0]["hand_worth"] = _HAND_WORTH[row]
    array[0]["steps"] = [*steps, *[NEVER] * (MOST_POINTS - len(steps))]
    array[0]["deal_points"] = deal_points
    names = ("passing", "passing_points", "passing_bid", "passing_partner", "passing_passed")
    for name, value in zip(names, passing, strict=True):
        array[0][name] = value
    array.flags.writeable = False
    return array
