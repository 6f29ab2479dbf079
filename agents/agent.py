"""What an agent is, and how to get one by name."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

_INSTALLED = Path(__file__).parent / "checkpoints"  # within the package, or in a copy of the repository beside it
SHIPPED = _INSTALLED if _INSTALLED.is_dir() else Path(__file__).parent.parent / "checkpoints"


@runtime_checkable
class Agent(Protocol):
    """Anything that chooses actions for a batch of situations."""

    name: str

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose an action for each row.

        Args:
            observation: uint8 or float32 [N, D], what the seat to act sees; its first part tells the rules.
            mask: bool or int8 [N, 71], what it may do.
            rng: the chance of agents that need some.

        Returns:
            int64 [N], the ids of legal actions.
        """
        ...


def load(agent: str | Path) -> Agent:
    """An agent by the name of a baseline, a search (search.py) or a shipped agent, or from a path.

    A text that is a name means what it names, whatever lies in the current folder; ``./expert`` is a path.

    Raises:
        ValueError: neither; names what there is.
    """
    from agents import exported

    if not isinstance(agent, str | os.PathLike) or not str(agent):
        raise _unknown(agent)
    if not _may_be_a_name(agent) and exported.is_exported(Path(agent)):
        return exported.load(agent)  # before anything that needs more than it does
    from agents.baselines import BASELINES

    makers: dict[str, Callable[[], Agent]] = dict(BASELINES)
    if isinstance(agent, str) and is_name_of_player(agent):
        if agent in makers:
            return makers[agent]()
        from agents.search import search_agent

        return search_agent(agent)
    names = shipped()
    path = SHIPPED / agent if isinstance(agent, str) and agent in names else Path(agent)
    if exported.is_exported(path):
        return exported.load(path)
    if path.exists():
        from agents.checkpoint import load_agent  # torch is needed for networks only

        return load_agent(path)
    raise _unknown(agent)


def _unknown(agent: object) -> ValueError:
    """The error for what is no agent; names what there is."""
    from agents.baselines import BASELINES

    names = shipped()
    known = ", ".join([*BASELINES, "search", *names])
    where = "" if names else "; trained agents come with the repository, in its folder checkpoints"
    said = repr(str(agent)) if isinstance(agent, str | os.PathLike) else repr(agent)
    return ValueError(
        f"no agent {said}; it is the path of a checkpoint or of an exported policy, or one of {known}{where}"
    )


def _may_be_a_name(agent: str | Path) -> bool:
    return isinstance(agent, str) and re.fullmatch(r"\w+(:\w+)?", agent) is not None


def is_name_of_player(name: str) -> bool:
    """Whether a name is that of a baseline or of a search."""
    from agents.baselines import BASELINES

    return name in BASELINES or name.partition(":")[0] == "search"


def shipped() -> list[str]:
    """The names of the trained agents that come with the package."""
    return sorted(path.name for path in SHIPPED.glob("[!.]*") if path.is_dir() and path.name != "__pycache__")


def load_all(names: list[str]) -> list[Agent]:
    """Several agents, each with a name of its own; see ``load`` and ``named_apart``."""
    return named_apart([load(name) for name in names])


def named_apart(agents: list[Agent]) -> list[Agent]:
    """The same agents; those that are called as one before them are called by their number besides, ``expert#2``."""
    for index, agent in enumerate(agents):
        if any(agent.name == other.name for other in agents[:index]):
            agent.name = f"{agent.name}#{index + 1}"
    return agents
