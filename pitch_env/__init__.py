"""The card game Pitch for reinforcement learning: an exact, fast engine of the whole family, and its environments."""

import importlib
from typing import TYPE_CHECKING, Any

from pitch_env.game import DealResult, Game, IllegalAction
from pitch_env.rules import Rules
from pitch_env.vector import VectorGame

if TYPE_CHECKING:
    from pitch_env import pitch_v0

__version__ = "0.1.0"
__all__ = ["DealResult", "Game", "IllegalAction", "Rules", "VectorGame", "pitch_v0"]


def __getattr__(name: str) -> Any:
    # The environment is imported when it is asked for: pettingzoo takes longer to import than all of this package.
    if name == "pitch_v0":
        return importlib.import_module("pitch_env.pitch_v0")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
