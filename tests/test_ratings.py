"""Ratings find what was put in, and their intervals hold what they promise; so do those of means."""

import itertools
import math

import numpy as np
import pytest

from agents.intervals import interval, t_quantile
from agents.ratings import ELO, rate

STRENGTHS = np.array([1.2, 0.3, -0.4, -1.1])


def drawn(rng, deals, strengths=STRENGTHS, draws=-0.5, shared=0.0):
    """Margins of a round robin by Davidson's model; a part of the deals is decided by one and the same luck."""
    margins = {}
    luck = rng.random(deals)
    for i, j in itertools.combinations(range(len(strengths)), 2):
        weights = np.exp([strengths[i], draws + (strengths[i] + strengths[j]) / 2, strengths[j]])
        own = np.where(rng.random(deals) < shared, luck, rng.random(deals))
        margins[i, j] = 1.0 - np.searchsorted(np.cumsum(weights) / weights.sum(), own)
    return margins


def test_ratings_are_the_strengths_that_made_the_outcomes():
    ratings = rate(drawn(np.random.default_rng(0), 20000), 4)
    assert [rating.mean for rating in ratings] == pytest.approx(ELO * STRENGTHS, abs=12)
    assert sum(rating.mean for rating in ratings) == pytest.approx(0, abs=1e-6)
    assert all(rating.low < rating.mean < rating.high for rating in ratings)


def test_two_players_without_draws_have_the_rating_in_closed_form():
    margins = np.array([1.0] * 300 + [-1.0] * 100)
    first, second = rate({(0, 1): margins}, 2)
    assert first.mean - second.mean == pytest.approx(400 * math.log10(300.5 / 100.5), abs=0.01)
    error = ELO * math.sqrt(400 / (300 * 100))  # of the difference, which each has half of
    assert first.half == pytest.approx(1.966 * error / 2, rel=0.01)


def test_the_likelihood_is_at_its_peak():
    margins = drawn(np.random.default_rng(1), 500)
    strengths = np.array([rating.mean for rating in rate(margins, 4)]) / ELO
    totals = {pair: [(values > 0).sum(), (values == 0).sum(), (values < 0).sum()] for pair, values in margins.items()}

    def value(strengths, draws):
        total = 0.0
        for (i, j), counts in totals.items():
            weights = np.array([strengths[i], draws + (strengths[i] + strengths[j]) / 2, strengths[j]])
            total += (np.array(counts) + 0.5) @ (weights - np.log(np.exp(weights).sum()))
        return total

    draws = max(np.linspace(-2, 1, 3001), key=lambda draws: value(strengths, draws))
    for player, change in itertools.product(range(4), (-0.02, 0.02)):
        assert value(strengths + change * (np.arange(4) == player), draws) < value(strengths, draws)


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_intervals_of_ratings_hold_the_truth_95_times_in_100_also_where_a_deal_decides_for_all(shared):
    rng, inside = np.random.default_rng(2), 0
    for _ in range(150):
        ratings = rate(drawn(rng, 200, shared=shared), 4)
        inside += sum(rating.low < truth < rating.high for rating, truth in zip(ratings, ELO * STRENGTHS, strict=True))
    assert 0.92 <= inside / 600 <= 0.98


def test_who_wins_everything_has_a_finite_rating_above_all_others():
    margins = {(0, 1): np.ones(50), (0, 2): np.ones(50), (1, 2): np.array([1.0, -1.0] * 25)}
    best, *others = rate(margins, 3)
    assert all(math.isfinite(bound) for bound in (best.low, best.mean, best.high))
    assert best.mean > 300 + max(other.mean for other in others)
    assert best.half > 100  # nothing says how much better


def test_nothing_but_draws_makes_all_equal():
    for rating in rate({(0, 1): np.zeros(20), (0, 2): np.zeros(20), (1, 2): np.zeros(20)}, 3):
        assert rating.mean == pytest.approx(0, abs=1e-6)
        assert rating.low < 0 < rating.high


def test_deals_in_which_two_did_not_meet_say_nothing_about_them():
    margins = drawn(np.random.default_rng(3), 400)
    alone = rate(margins, 4)
    apart = {pair: np.concatenate([values, np.full(400, np.nan)]) for pair, values in margins.items()}
    assert [r.mean for r in rate(apart, 4)] == pytest.approx([r.mean for r in alone])
    assert [r.half for r in rate(apart, 4)] == pytest.approx([r.half for r in alone], rel=0.01)


@pytest.mark.parametrize(
    ("margins", "says"),
    [({(0, 1): np.ones(1)}, "deals=1"), ({}, "deals=0"), ({(0, 1): np.full(5, np.nan)}, "players 0 and 1 never met")],
)
def test_what_cannot_be_rated_is_refused(margins, says):
    with pytest.raises(ValueError, match=says):
        rate(margins, 2)


# Tables of Student's t, 97.5 %.
@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (3, 3.1824), (5, 2.5706), (10, 2.2281), (30, 2.0423), (100, 1.9840), (1000, 1.9623)],
)
def test_the_quantiles_of_students_t(freedom, quantile):
    assert t_quantile(freedom) == pytest.approx(quantile, abs=2e-4)


def test_the_quantile_goes_over_smoothly_to_that_of_the_normal_distribution():
    assert t_quantile(1000) == pytest.approx(t_quantile(1001), abs=1e-4)
    assert t_quantile(10**9) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize("deals", [3, 10])
def test_intervals_of_few_normal_samples_hold_the_mean_95_times_in_100(deals):
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(1000):
        found = interval(rng.normal(3, 2, deals))
        inside += found.low < 3 < found.high
    assert 0.93 <= inside / 1000 <= 0.97


def test_one_sample_has_no_interval():
    with pytest.raises(ValueError, match="at least 2"):
        interval(np.ones(1))
