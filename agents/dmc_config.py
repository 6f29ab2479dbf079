"""The options of a deep Monte Carlo run. In a file of its own, so that they can be listed without waiting for torch."""

from dataclasses import dataclass

from agents.training_config import TrainingConfig


@dataclass
class Config(TrainingConfig):
    """A deep Monte Carlo run."""

    learner: str = "dmc"
    num_games: int = 512
    steps: int = 64
    epsilon_bids: float = 0.1
    """The share of bids and of namings of trump that are drawn at random from the legal ones, so that they explore."""
    epsilon_cards: float = 0.02
    """The same of exchanges, discards and plays. It also spoils what bids seem to be worth, so it is small."""
    epsilon_final: float = 0.1
    """What is left of both at the end, as a share; they fall linearly."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("epsilon_bids", "epsilon_cards", "epsilon_final"):
            self._check(name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
