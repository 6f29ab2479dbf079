"""Means with 95 % intervals, by Student's t, over deals that are independent of each other."""

import functools
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

NORMAL = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Interval:
    """An estimate and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the interval's width."""
        return (self.high - self.low) / 2


@functools.cache
def t_quantile(freedom: int) -> float:
    """The 97.5 % point of Student's t with that many degrees of freedom, to four digits.

    With t = sqrt(freedom) tan(angle), the density of the angle is cos(angle) ** (freedom - 1), which is summed up here.
    Beyond 1000 degrees the first term of the expansion around the normal one is closer (Abramowitz and Stegun, 26.7.5).
    """
    if freedom > 1000:
        return NORMAL + (NORMAL**3 + NORMAL) / (4 * freedom)
    angle = np.linspace(0, math.pi / 2, 20001)
    density = np.cos(angle) ** (freedom - 1)
    below = np.concatenate([[0], np.cumsum(density[1:] + density[:-1])])
    return math.sqrt(freedom) * math.tan(np.interp(0.95, below / below[-1], angle))


def interval(samples: np.ndarray) -> Interval:
    """The mean of what the population has that the samples are drawn from, one sample a deal.

    Raises:
        ValueError: fewer than two samples, for which there is no interval.
    """
    if len(samples) < 2:
        raise ValueError(f"deals={len(samples)} is not allowed; an interval takes at least 2")
    return around(float(samples.mean()), float(samples.std(ddof=1)) / math.sqrt(len(samples)), len(samples))


def around(mean: float, error: float, samples: int) -> Interval:
    """The interval of an estimate with a standard error that has been taken from so many samples."""
    half = t_quantile(samples - 1) * error
    return Interval(mean, mean - half, mean + half)
