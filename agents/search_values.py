"""What the actions of one view are worth, by playing them out on sampled deals: the middle of the search.

Every candidate is tried on the same deals, and what counts is by how much it does better or worse than the action of
the expert, the reference: so the luck of the deals cancels out. An action that differs from the reference must be
better beyond the chance of the sample (``doubt`` standard errors), for the reference is no bad guess. Candidates that
are clearly worse are tried no further, and the search ends when one is left.
"""

import numpy as np

from agents.expert import expert_action
from agents.search_deals import copy_state, expert_choice, sample_deal, take_action
from agents.solver import solve_value
from pitch_env.actions import NUM_ACTIONS, TRUMP
from pitch_env.cards import bit, count
from pitch_env.chance import mix, stream
from pitch_env.engine import nth_legal
from pitch_env.kernel import kernel
from pitch_env.state import NOBODY, Phase

VIEWER_TEAM = 0  # the viewer is seat 0

SETTINGS = np.dtype(
    [
        ("throws", "<i8"),  # cards that are considered for exchange and discard
        ("doubt", "<f8"),  # standard errors by which an action must be better than the reference
        ("clear", "<f8"),  # standard errors by which a candidate must be worse to be tried no further
        ("first_look", "<i8"),  # deals before anything is called clear
        ("solved_tricks", "<i8"),  # the last tricks of a deal, which are solved and not played out
    ],
    align=True,
)

TALLY = np.dtype(
    [
        ("action", "<i8"),  # the best so far
        ("reference", "<i8"),  # the expert's action
        ("cards", "<i8"),  # the candidates that are cards, a mask
        ("others", "<i8"),  # the other ones, bit a - 54
        ("samples", "<i8"),  # deals that have been tried
        ("done", "<i8"),  # 1: nothing is left to find out
        ("weight", "<f8"),  # of these deals together
        ("weight_squares", "<f8"),
        # By action, of its value minus the reference's, as sums over deals:
        ("gain", "<f8", (NUM_ACTIONS,)),  # weighted
        ("gain_once", "<f8", (NUM_ACTIONS,)),  # weighted by the squares of the weights
        ("gain_squares", "<f8", (NUM_ACTIONS,)),  # the squares, weighted so too
    ],
    align=True,
)


@kernel(inline=False)
def start_tally(rules, numbers, settings, public, hand, discards, cards, others, mind, tally):
    """The candidates and the reference for a decision; ``cards`` and ``others`` are what is legal."""
    tally.reference = expert_action(rules, numbers, public, hand, discards, cards, others, mind)
    tally.action, tally.samples = tally.reference, 0
    tally.weight, tally.weight_squares = 0.0, 0.0
    tally.gain[:] = 0.0
    tally.gain_once[:] = 0.0
    tally.gain_squares[:] = 0.0
    tally.done = count(cards) + count(others) == 1
    if public.phase == Phase.EXCHANGE or public.phase == Phase.DISCARD:
        cards = likely_throws(rules, numbers, settings, public, hand, discards, cards, mind)
    tally.cards, tally.others = cards, others


@kernel
def likely_throws(rules, numbers, settings, public, hand, discards, cards, mind):
    """The cards of a mask that the expert would put away first."""
    chosen = np.int64(0)
    for _ in range(settings.throws):
        if cards & ~chosen:
            card = expert_action(rules, numbers, public, hand, discards, cards & ~chosen, np.int64(0), mind)
            chosen |= bit(card)
    return chosen


@kernel(inline=False)
def try_deals(
    rules, numbers, settings, belief, public, hand, dealt, discards, seed, until, states, table, mind,
    tally,
):  # fmt: skip
    """Try the candidates on more deals, until so many have been tried in all or nothing is left to find out.

    Deal i of a seed is the same whatever was tried before. ``states`` are three ``STATE`` records to think in, and
    ``table`` is a solver's.
    """
    deal = states[0]
    while tally.samples < until and not tally.done:
        generator = mix(stream(seed, tally.samples))
        weight = sample_deal(
            rules, numbers, belief, public, hand, dealt, discards, generator, deal, states[1], states[2], mind
        )
        start_deal(tally, weight)
        standard = value_of(rules, numbers, settings, deal, tally.reference, states[1:2], table, mind)
        for i in range(count(tally.cards) + count(tally.others)):
            action = nth_legal(tally.cards, tally.others, i)
            if action != tally.reference:
                gain = value_of(rules, numbers, settings, deal, action, states[1:2], table, mind) - standard
                add_gain(tally, action, weight, gain)
        settle(settings, tally)


@kernel
def start_deal(tally, weight):
    """One more deal, of a weight."""
    tally.samples += 1
    tally.weight += weight
    tally.weight_squares += weight * weight


@kernel
def add_gain(tally, action, weight, gain):
    """What an action brought in a deal beyond the reference."""
    tally.gain[action] += weight * gain
    tally.gain_once[action] += weight * weight * gain
    tally.gain_squares[action] += weight * weight * gain * gain


@kernel(inline=False)
def settle(settings, tally):
    """After a deal: the best action, and what need not be tried further."""
    if tally.samples >= settings.first_look:
        weed(settings, tally)
    choose(settings, tally)


@kernel(inline=False)
def value_of(rules, numbers, settings, deal, action, scratch, table, mind):
    """What an action brings the viewer in a deal that the expert then plays out in all seats.

    Where the last tricks are solved, what winning the game is worth is not in it.
    """
    played = scratch[0]
    copy_state(deal, played)
    take_action(rules, played, action)
    while played.public.phase != Phase.OVER:
        if played.public.phase == Phase.PLAY and played.public.trick >= rules.keep - settings.solved_tricks:
            return solve_value(rules, scratch, VIEWER_TEAM, table) / (rules.teams - 1)
        take_action(rules, played, expert_choice(rules, numbers, played, mind))
    return outcome(rules, numbers, played.public, VIEWER_TEAM)


@kernel
def outcome(rules, numbers, public, team):
    """The points of a team in a finished deal, minus the mean of the others', and what winning the game is worth."""
    total = 0.0
    for other in range(rules.teams):
        total += public.change[other]
    share = 1.0 / (rules.teams - 1)
    value = public.change[team] - share * (total - public.change[team])
    if public.winner != NOBODY:
        value += numbers.going_out * (1.0 if public.winner == team else -share)
    return value


@kernel
def mean_and_error(tally, action):
    """By how much an action is better than the reference, and the standard error of that."""
    mean = tally.gain[action] / tally.weight
    spread = tally.gain_squares[action] - 2.0 * mean * tally.gain_once[action] + mean * mean * tally.weight_squares
    return mean, np.sqrt(max(spread, 0.0)) / tally.weight


@kernel
def choose(settings, tally):
    """Set the best action: of equals the reference, then the lowest."""
    best = 0.0
    tally.action = tally.reference
    for i in range(count(tally.cards) + count(tally.others)):
        action = nth_legal(tally.cards, tally.others, i)
        if action != tally.reference and tally.weight > 0.0:
            mean, error = mean_and_error(tally, action)
            if mean - settings.doubt * error > best:
                best, tally.action = mean - settings.doubt * error, action


@kernel
def weed(settings, tally):
    """Drop the candidates that are clearly worse than the best, and be done when none but the best is left."""
    if not tally.weight > 0.0:
        return
    bar = 0.0
    number = count(tally.cards) + count(tally.others)
    for i in range(number):
        action = nth_legal(tally.cards, tally.others, i)
        if action != tally.reference:
            mean, error = mean_and_error(tally, action)
            bar = max(bar, mean - settings.clear * error)
    left = np.int64(0)
    cards, others = tally.cards, tally.others
    for i in range(number):
        action = nth_legal(cards, others, i)
        if action == tally.reference:
            left += bar <= 0.0
            continue
        mean, error = mean_and_error(tally, action)
        if mean + settings.clear * error >= bar:
            left += 1
        elif action < TRUMP:
            tally.cards &= ~bit(action)
        else:
            tally.others &= ~bit(action - TRUMP)
    tally.done = left <= 1
