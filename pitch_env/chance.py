"""The generator that lies in a game's record, so that a copied or restored game continues with the same deals.

It is SplitMix64 (Steele, Lea and Flood, 2014): the state is one number and every number is a good state, so a game's
seed is its state.
"""

import numpy as np

from pitch_env.kernel import kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S11, _S27, _S30, _S31, _S32 = (np.uint64(shift) for shift in (11, 27, 30, 31, 32))


@kernel
def mix(z):
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@kernel
def next_random(state, n):
    """A random integer below n, which is at most 64 (the bias is below 2**-26)."""
    state.rng = state.rng + _GOLDEN
    return np.int64(((mix(state.rng) >> _S32) * np.uint64(n)) >> _S32)


@kernel
def next_uniform(state):
    """A random float in [0, 1)."""
    state.rng = state.rng + _GOLDEN
    return np.float64(mix(state.rng) >> _S11) * 2.0**-53


@kernel
def stream(seed, index):
    """The generator of game ``index`` among the games of one seed."""
    return mix(mix(np.uint64(seed) + _GOLDEN) + np.uint64(index) * _GOLDEN)
