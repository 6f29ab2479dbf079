"""Ratings from wins, draws and losses by maximum likelihood: Davidson's model, Bradley and Terry's with draws.

Of two players with strengths a and b the first wins in proportion to exp(a), the second to exp(b), and they draw in
proportion to exp(c + (a + b) / 2), with one c for all (Davidson, On extending the Bradley-Terry model to accommodate
ties in paired comparison experiments, 1970). Ratings are strengths on Elo's scale, 400 points for odds of ten to one,
with a mean of zero over the players.

A deal gives one outcome for each pair that met in it, by the sign of its margin, and these depend on each other, for
the cards are the same. The intervals allow for that: they come from the sandwich formula with the deals as clusters,
H^-1 (sum over deals of s s') H^-1, where H is the Hessian of the log-likelihood and s a deal's part of its gradient.
"""

import math
from collections.abc import Mapping

import numpy as np

from agents.intervals import Interval, around

ELO = 400 / math.log(10)  # points for a unit of strength
# Half a win, half a draw and half a loss for every pairing on top of what was played, so that who never lost is not
# infinitely good; the intervals count these as deals, so that they are wide where little else decides.
PRIOR = 0.5
STEPS = 100  # of Newton's method, which takes about ten


def outcomes(margins: np.ndarray) -> np.ndarray:
    """Which deals the first one won, drew and lost: bool [deals, 3]; none where the margin is NaN.

    Margins are means of whole numbers, so a difference of less than a millionth is a draw that was rounded.
    """
    return np.stack([margins > 1e-6, np.abs(margins) <= 1e-6, margins < -1e-6], axis=1)


def rate(margins: Mapping[tuple[int, int], np.ndarray], players: int) -> list[Interval]:
    """Rate players.

    Args:
        margins: for each pair of players that met, the margin of every deal, float [deals]; NaN where it did not meet.
            All have the same deals.
        players: how many.

    Returns:
        Each player's rating with its 95 % interval, as far as deals decide it: relative to the mean of the field.

    Raises:
        ValueError: fewer than two deals, or a pair that never met.
    """
    results = {pair: outcomes(values) for pair, values in margins.items()}
    deals = min((len(result) for result in results.values()), default=0)
    if deals < 2:
        raise ValueError(f"deals={deals} is not allowed; ratings with an interval take at least 2")
    counts = {pair: result.sum(0) for pair, result in results.items()}
    for (first, second), count in counts.items():
        if not count.sum():
            raise ValueError(f"players {first} and {second} never met")
    parameters, hessian = _fit(counts, players)
    scores = np.zeros((deals, players + 1))
    prior = np.zeros_like(hessian)
    for pair, result in results.items():
        features = _features(pair, players)
        surprise = features - _probabilities(features, parameters) @ features
        scores += result @ surprise
        prior += PRIOR * surprise.T @ surprise
    inverse = np.linalg.inv(_fixed(hessian))
    covariance = inverse @ (scores.T @ scores * deals / (deals - 1) + prior) @ inverse
    errors = np.sqrt(np.maximum(np.diag(covariance)[:players], 0))
    return [around(ELO * float(parameters[i]), ELO * float(errors[i]), deals) for i in range(players)]


def _features(pair: tuple[int, int], players: int) -> np.ndarray:
    """What win, draw and loss of a pair add to each parameter's weight: [3, players + 1], the last for draws."""
    features = np.zeros((3, players + 1))
    features[0, pair[0]] = features[2, pair[1]] = features[1, players] = 1
    features[1, list(pair)] = 0.5
    return features


def _probabilities(features: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Of win, draw and loss: [3]."""
    weights = features @ parameters
    weights = np.exp(weights - weights.max())
    return weights / weights.sum()


def _fit(counts: Mapping[tuple[int, int], np.ndarray], players: int) -> tuple[np.ndarray, np.ndarray]:
    """The parameters of the highest likelihood, strengths with a mean of zero and then draws, and minus the Hessian.

    The model is a multinomial logit, so the likelihood has one peak. Newton's steps are halved while they overshoot.
    """
    data = [(_features(pair, players), count + PRIOR) for pair, count in counts.items()]
    parameters = np.zeros(players + 1)
    value, gradient, hessian = _likelihood(data, parameters)
    for _ in range(STEPS):
        step = np.linalg.solve(_fixed(hessian), gradient)
        if np.abs(step).max() < 1e-10:
            break
        while (new := _likelihood(data, parameters + step))[0] < value and np.abs(step).max() > 1e-10:
            step = step / 2
        parameters = parameters + step
        value, gradient, hessian = new
    return parameters, hessian


def _fixed(hessian: np.ndarray) -> np.ndarray:
    """A Hessian that can be inverted: only differences of strengths matter, so something has to hold their mean."""
    strengths = np.ones(len(hessian))
    strengths[-1] = 0
    return hessian + np.outer(strengths, strengths)


def _likelihood(
    data: list[tuple[np.ndarray, np.ndarray]], parameters: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The log-likelihood, its gradient, and minus its Hessian."""
    value, gradient = 0.0, np.zeros(len(parameters))
    hessian = np.zeros((len(parameters), len(parameters)))
    for features, count in data:
        probabilities = _probabilities(features, parameters)
        expected = probabilities @ features
        value += float(count @ np.log(probabilities))
        gradient += count @ features - count.sum() * expected
        spread = features.T @ (probabilities[:, None] * features) - np.outer(expected, expected)
        hessian += count.sum() * spread
    return value, gradient, hessian
