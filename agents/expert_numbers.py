"""The numbers of the expert: what things are worth to it, by the kind of game.

How they were measured. The numbers of the play were tuned one after the other by duplicate matches of the expert
against itself with one number changed: 2,500 to 6,000 deals in each preset of the kind, every team in every seat,
relative points (own score change minus the mean of the others'). A change was kept where it gained more than 1.3
standard errors, else the step was made smaller, until a pass over all numbers moved none or hardly any. ``going_out``
was chosen by the share of whole games won.

The tables of the bidding were fitted to deals that the expert played out: for each row 60,000 auctions were stopped at
a random call and its speaker was made pitcher. A proportional odds model (McCullagh, 1980) of the points that his team
won gives the weights of the hand and the steps; a least squares fit of relative points to as many calls that were made
passes gives what passing brings. Both depend on how the expert bids and plays, so they were fitted again, twice, with
the tuned play.
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
        ("going_out", "<f8"),  # of winning the game with the deal, in the bidding
        ("memory", "<i8"),  # 1: counts all that was played; 0: knows only the trick on the table, see forget_tricks
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
    "boss_prey": (0, 0.04, 0.04, 0.04),
    "boss_plain": (0.14, 0.14, 0.174, 0.044),
    "length": (0.074, 0.05, 0.0531, 0.09),
    "home": (0.49, 0.21, 0.266, 0.35),
    "home_boss": (0.95, 0.95, 1.17, 0.95),
    "home_cover": (0.184, 0.09, 0.231, -0.022),
    "home_plain": (0.694, 0.336, 0.531, 0.336),
    "last_two": (1.24, 1.06, 0.911, 1.06),
    "ruff": (0.937, 0.56, 0.197, 0.56),
    "ruff_stake": (1.18, 0.504, 0.84, 0.504),
    "over": (0.218, 0.7, 0.871, 0.7),
    "over_stake": (0.342, 0.5, 0.604, 0.38),
    "over_partner": (0.2, 0.2, 0.211, 0.2),
    "follow": (0.9, 0.9, 0.9, 0.54),
    "lead_pitching": (-0.03, 0.01, -0.0217, 0.01),
    "lead_other": (-0.04, -0.08, 0, -0.235),
    "draw_pitching": (0.196, 0.09, 0.201, 0.193),
    "draw_other": (0.01, 0.01, 0.114, -0.03),
    "set_mine": (0.84, 0.36, 0.36, 0.6),
    "set_other": (0.456, 0.6, 0.134, 0.274),
    "game_lead": (4.2, 5.21, 5.21, 5.88),
    "game_left": (0.12, 0.2, 0.28, 0.376),
    "coming_points": (1.68, 1.68, 0.72, 1.68),
    "pitcher_length": (2.86, 3.57, 2.26, 2.55),
    "pitcher_high": (1, 1, 0.6, 1),
    "catch": (2.46, 1, 1, 0.6),
    "gift": (0.5, 0.5, 0.459, 0.3),
    "moon": (0.97, 0.97, 0.97, 0.97),
    "bid_margin": (0, 0, 0.019, 0.024),
    "jump_margin": (-0.18, 0.8, 0.133, 0.8),
    "keep_ten": (4, 4, 4, 4),
    "keep_king": (3, 3, 3, 4.2),
    "going_out": (2, 5, 2, 0.7),
    "memory": (1, 1, 1, 1),
}

# Players who are the expert but for a few numbers: how these differ, by kind of game as above. The margins were chosen
# for style: the cautious is the pitcher about two thirds as often as the expert, the bold about a third more often.
STYLES: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "memoryless": {"memory": (0, 0, 0, 0)},
    "cautious": {"bid_margin": (1.0, 1.0, 1.3, 1.5), "jump_margin": (1.0, 1.6, 1.5, 2.0), "moon": (0.99,) * 4},
    "bold": {"bid_margin": (-1.0, -0.8, -1.2, -1.3), "jump_margin": (-0.8, 0.0, -0.8, -0.4), "moon": (0.9,) * 4},
    "expert": {},
}

# By kind and number of players: the worth of the features in their order.
# fmt: off
_HAND_WORTH: dict[str, tuple[float, ...]] = {
    "solo 2": (
        2.86, -0.161, 0.46, 0.723, -1.03, 1.99, 0.826, 0, -0.272, 0,
        0.0357, -0.533, 0.0664, -0.00299, 0.00716, -6.8, -0.0328, 0, 0, 0,
    ),
    "solo 3": (
        2.73, 0.237, 0.21, 0.458, 0.0957, 0.539, 1.04, 0, -0.143, 0,
        0.0392, -0.449, 0.0421, 0.108, 0.267, -1.1, -0.0896, 0, 0, 0.0931,
    ),
    "solo 4": (
        2.56, 0.0645, 0.305, 0.631, 0.346, 1.2, 0.693, 0, -0.192, 0,
        0.0331, -0.535, 0.0436, 0.13, 0.231, 0.00669, -0.124, 0, 0, 0.0952,
    ),
    "solo 5": (
        2.8, -0.0673, 0.0024, 0.728, 0.421, 2.18, 0.885, 0, -0.272, 0,
        -0.039, -0.652, 0.0564, 0.174, 0.286, 0.559, -0.14, 0, 0, 0.0754,
    ),
    "solo 6": (
        3.15, -0.13, -0.483, 0.829, 0.57, 4.73, 1.15, 0, -0.396, 0,
        -0.0482, -0.78, 0.0709, 0.214, 0.29, 1.13, -0.111, 0, 0, 0.0381,
    ),
    "solo 7": (
        3.01, -0.52, -0.139, 0.889, 0.757, 5.05, 0.775, 0, -0.516, 0,
        -0.0736, -0.928, 0.0816, 0.337, 0.296, 0.975, -0.0986, 0, 0, 0.0432,
    ),
    "solo 8": (
        3.32, -0.357, -0.46, 0.999, 0.416, 11.5, 0.881, 0, -0.953, 0,
        -0.134, -1.16, 0.108, 0.262, 0.445, 1.16, -0.0645, 0, 0, 0.0219,
    ),
    "pairs": (
        1.9, 0.15, 0.554, 0.304, 0.447, -0.531, 0.474, 0, -0.179, 0,
        0.078, -0.231, 0.0252, 0.074, 0.153, -1.08, -0.0752, -0.0187, -0.191, 0.246,
    ),
    "jokers 4": (
        0.861, 0.861, 0.567, 0.219, 0.321, 0.18, -0.00738, 0.324, 0.0731, 0,
        0.0271, 0.0755, -0.00542, 0.00164, -0.00897, -0.0308, -0.00359, -0.0108, -0.317, 0.204,
    ),
    "jokers 4 three": (
        0.365, 0.338, 0.586, 0.266, 0.167, 0.143, -0.168, 0.108, 0.0185, 0.093,
        0.0172, 0.0371, -0.00284, 0.0383, -0.0142, 0.0133, -0.00181, -0.0101, -0.195, 0.131,
    ),
    "jokers 6": (
        0.785, 0.766, 0.645, 0.333, 0.66, 0.747, 0.244, 0.29, -0.201, 0,
        -0.037, -0.215, 0.0225, -0.012, -0.039, 0.0666, -0.00509, -0.0329, -0.385, 0.148,
    ),
    "jokers 6 three": (
        0.419, 0.564, 0.775, 0.369, 0.503, 0.963, 0.237, 0.158, -0.256, 0.25,
        -0.0613, -0.231, 0.0242, -0.0506, -0.0333, 0.029, 0.025, -0.0581, -0.481, 0.196,
    ),
}
# fmt: on

# The steps, the points of a deal, and what a pass brings (the five numbers in their order).
_STEPS: dict[str, tuple[tuple[float, ...], float, tuple[float, ...]]] = {
    "solo 2": (
        (1.31, 2.67, 4.13, 6.72),
        3.39,
        (-3.3, 0.716, 0.236, 0, 0),
    ),
    "solo 3": (
        (1.2, 2.92, 4.56, 6.89),
        3.43,
        (-1.1, 0.275, 0.00401, 0, 0.0115),
    ),
    "solo 4": (
        (1.68, 3.48, 5.27, 7.41),
        3.52,
        (-0.724, 0.197, -0.01, 0, 0.021),
    ),
    "solo 5": (
        (2.17, 4.07, 5.98, 8.03),
        3.62,
        (-0.465, 0.139, -0.0228, 0, 0.0127),
    ),
    "solo 6": (
        (2.68, 4.72, 6.8, 8.86),
        3.72,
        (-0.352, 0.11, -0.0192, 0, 0.00686),
    ),
    "solo 7": (
        (3.03, 5.18, 7.34, 9.45),
        3.81,
        (-0.276, 0.072, -0.0079, 0, -0.000588),
    ),
    "solo 8": (
        (3.49, 5.83, 8.14, 10.2),
        3.91,
        (-0.223, 0.0408, -0.00607, 0, 0.00165),
    ),
    "pairs": (
        (-0.021, 1.39, 2.68, 4.53),
        3.57,
        (-1.78, 0.679, -0.108, 0.465, -0.172),
    ),
    "jokers 4": (
        (-2.44, -0.212, 1.11, 2.15, 3.17, 4.36, 6.12),
        6.56,
        (-1.72, 0.38, -0.176, 1.3, -0.185),
    ),
    "jokers 4 three": (
        (-2.58, -0.765, 0.281, 0.975, 1.53, 2.05, 2.61, 3.24, 4.1, 5.57),
        9.26,
        (-0.83, 0.0977, -0.101, 1.42, -0.419),
    ),
    "jokers 6": (
        (-1.69, 0.112, 1.22, 2.14, 3.04, 4, 5.54),
        6.99,
        (-0.751, 0.088, -0.013, 1.73, -0.185),
    ),
    "jokers 6 three": (
        (-1.76, -0.248, 0.586, 1.19, 1.72, 2.22, 2.72, 3.28, 3.95, 5.3),
        9.99,
        (-0.483, -0.00593, 0.0135, 1.32, -0.0685),
    ),
}


@functools.cache
def numbers_of(rules: Rules, style: str = "expert") -> np.ndarray:
    """The numbers for the kind of game that rules are nearest to, as one ``NUMBERS`` record (an array of length 1).

    Args:
        rules: what is played.
        style: one of ``STYLES``.
    """
    jokers = rules.pairs and (rules.jokers > 0 or rules.off_jack)
    family = 3 if jokers else 2 if rules.pairs else 1 if rules.players > 2 else 0
    row = "pairs" if rules.pairs else f"solo {rules.players}"
    if jokers:
        row = f"jokers {4 if rules.players == 4 else 6}{' three' if rules.three else ''}"
    steps, deal_points, passing = _STEPS[row]
    array = records(1, NUMBERS)
    for name, values in (_PLAY | STYLES[style]).items():
        array[0][name] = values[family]
    array[0]["hand_worth"] = _HAND_WORTH[row]
    array[0]["steps"] = [*steps, *[NEVER] * (MOST_POINTS - len(steps))]
    array[0]["deal_points"] = deal_points
    names = ("passing", "passing_points", "passing_bid", "passing_partner", "passing_passed")
    for name, value in zip(names, passing, strict=True):
        array[0][name] = value
    array.flags.writeable = False
    return array
