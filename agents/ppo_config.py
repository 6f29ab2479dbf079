"""The options of a PPO run. In a file of its own, so that they can be listed without waiting for torch."""

from dataclasses import dataclass
from typing import Literal

from agents.training_config import TrainingConfig


@dataclass
class Config(TrainingConfig):
    """A PPO run."""

    gamma: float = 1.0
    """Discount from one decision of a seat to its next."""
    lam: float = 0.95
    """The trace of the advantage: how far later surprises reach back, 0 to the last decision only, 1 to all."""
    clip: float = 0.2
    """How far the probability ratio may move before its gradient is cut."""
    value_weight: float = 0.5
    """The weight of the critic's squared error."""
    entropy_bids: float = 0.03
    """The entropy bonus of bids and of naming trump, which need exploring for longer."""
    entropy_cards: float = 0.01
    """The entropy bonus of exchanges, discards and plays."""
    entropy_final: float = 0.1
    """What is left of both at the end, as a share; they fall linearly."""
    reference_weight: float = 0.0
    """The weight of KL(policy, reference), the reference being a moving average of the policy's own weights, as in
    magnetic mirror descent; 0 is without."""
    reference_decay: float = 0.99
    """What is left of the reference after each update; the rest comes from the weights as they are then."""
    critic: Literal["own", "all"] = "own"
    """What the critic sees while training: what the actor does, or besides all hands. The policy never sees those."""
    advantage: Literal["gae", "sarsa"] = "gae"
    """How much better an action was than the policy's mean: generalised advantage estimation, by a critic of states, or
    expected SARSA(lambda) as in VRPO, by a critic of actions, which leaves out the noise of the actions that follow."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("value_weight", "entropy_bids", "entropy_cards", "entropy_final", "reference_weight"):
            self._check(name, getattr(self, name) >= 0, "at least 0")
        self._check("clip", self.clip > 0, "above 0")
        for name in ("gamma", "lam", "reference_decay"):
            self._check(name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
        self._check("critic", self.critic in ("own", "all"), "own or all")
        self._check("advantage", self.advantage in ("gae", "sarsa"), "gae or sarsa")
        learned = self.value_weight > 0 or (self.critic, self.advantage) == ("own", "gae")
        self._check("value_weight", learned, "above 0 with critic all or advantage sarsa, whose critic would not learn")
