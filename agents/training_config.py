"""The options that a run of any learner has. In a file without torch, so that they can be listed at once."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from pitch_env import Rules

_RULES = "a preset or a list of at least one"
# Options that change nothing of what is learned when a run goes on, but where it is, and what is told of it.
TELLING = {"out", "against", "start", "device", "seed", "evaluate_seconds", "evaluate_deals", "final_deals", "record"}


@dataclass
class TrainingConfig:
    """A training run."""

    learner: str = "ppo"
    """How it is learned: ppo, by proximal policy optimisation, or dmc, by deep Monte Carlo. Each has options of its own
    beside these; with the name before it --help shows them."""
    rules: list[str] | str = "auction"
    """The preset that is learned, or a list of several, which one network learns at once."""
    rule_options: list[dict[str, Any]] | dict[str, Any] = field(default_factory=dict)
    """Fields of the preset that are different, such as {players: 6}; of several presets for all, or a list for each."""
    deals: int | None = 1
    """Deals of a game, each game beginning with scores of zero; null plays whole games, to the target."""
    reward: Literal["points", "win"] = "points"
    """What is learned for: points of each deal, or to win whole games (deals is null then); of either, what the own
    team has less the mean over the others."""
    out: str = ""
    """The folder for checkpoints, TensorBoard and the report; if empty runs/ and the preset, or runs/family for
    several. If another run is in it already, a number is added."""
    device: str = "cpu"
    """Where the network is: cpu, cuda, or one GPU of several as cuda:1. Games are always played on the processor."""
    seed: int = 1
    """Of the deals, the weights and the policy's chance."""
    total_decisions: int = 27_000_000
    """Decisions to learn from; forced ones, which are played by themselves, do not count."""
    minutes: float = 0.0
    """The run ends after so many minutes of training, if total_decisions do not end it before; 0 is without a limit."""
    num_games: int = 1024
    """Games that are played side by side, by each rank where torchrun starts several."""
    steps: int = 32
    """Decisions of each game between updates; num_games * steps is the batch of an update."""
    minibatch: int = 2048
    """Decisions of a gradient step."""
    epochs: int = 2
    """How often an update goes through its batch."""
    learning_rate: float = 1e-3
    """Adam's step at the beginning; it falls linearly to a twentieth."""
    pass_limit: float = 0.999
    """Bidding has collapsed, and the run stops, when in 20 updates on end more than this share of the calls were
    passes, where passing was a choice; 1 turns it off."""
    start: str = ""
    """A checkpoint, by name or path, whose weights the network begins with, to be tuned further: of the same rules and
    width; with more depth it plays the same at first. Empty for fresh ones."""
    against: str = ""
    """An agent, by name or path, that plays all seats but one team's in every deal and does not learn: what is trained
    is an exploiter of it. Empty for self-play."""
    pool_share: float = 0.0
    """The share of deals in which an earlier self has all seats but one team's; 0 is without."""
    pool_pick: Literal["uniform", "recent"] = "uniform"
    """Which earlier self: any of the pool, or each half as likely as the next newer one."""
    pool_every: int = 20
    """Updates from one snapshot that enters the pool to the next."""
    pool_size: int = 10
    """Snapshots in the pool; the oldest gives way."""
    max_grad_norm: float = 0.5
    """Gradients longer than this are shortened."""
    loss_limit: float = 100.0
    """A loss beyond this has exploded, and the run stops; it is about 1 where rewards are scaled as here."""
    width: int = 256
    """Units of the network's hidden layers."""
    depth: int = 1
    """Residual blocks of the network."""
    bfloat16: bool | None = None
    """Compute matrix products in bfloat16: twice as fast on processors made for it, far slower on others; null asks
    the processor."""
    evaluate_seconds: float = 30.0
    """Seconds between duplicate matches against the baselines while training."""
    evaluate_deals: int = 250
    """Deals of each of these matches."""
    final_deals: int = 2000
    """Deals of each match at the end."""
    record: bool = False
    """Keep the deals of the matches at the end as game records, in records.jsonl."""

    def __post_init__(self) -> None:
        self.rule_options = {} if self.rule_options is None else self.rule_options  # as a YAML file may have it
        self._check_types()
        own = type(self).learner
        self._check("learner", self.learner == own, f"{own!r} in a config of this learner")
        variants = self.variants()
        self.out = self.out or f"runs/{self.presets[0] if len(variants) == 1 else 'family'}"
        for name in (
            "total_decisions",
            "num_games",
            "steps",
            "minibatch",
            "epochs",
            "width",
            "pool_every",
            "pool_size",
        ):
            self._check(name, getattr(self, name) >= 1, "at least 1")
        for name in ("evaluate_deals", "final_deals"):
            self._check(name, getattr(self, name) >= 2, "at least 2")
        for name in ("depth", "evaluate_seconds", "minutes"):
            self._check(name, getattr(self, name) >= 0, "at least 0")
        for name in ("learning_rate", "max_grad_norm", "loss_limit"):
            self._check(name, getattr(self, name) > 0, "above 0")
        for name in ("pass_limit", "pool_share"):
            self._check(name, 0 <= getattr(self, name) <= 1, "from 0 to 1")
        self._check("seed", 0 <= self.seed < 2**63, "from 0 to 2**63 - 1")
        self._check("pool_pick", self.pool_pick in ("uniform", "recent"), "uniform or recent")
        self._check(
            "device", re.fullmatch(r"cpu|cuda(:\d+)?", self.device) is not None, "cpu, cuda or cuda:0, cuda:1 ..."
        )
        self._check("reward", self.reward in ("points", "win"), "points or win")
        self._check("deals", self.deals is None or self.deals >= 1, "at least 1, or null")
        if self.deals is None:
            untold = [name for name, rules in variants.items() if rules.target is None]
            self._check("deals", not untold, f"a number with rules that have no target, as {' and '.join(untold)}")
        self._check("deals", self.reward == "points" or self.deals is None, "null where reward is win")
        self._check("pool_share", not (self.pool_share and self.against), "0 beside against")
        self._check("num_games", self.num_games >= len(variants), f"at least {len(variants)}, one for each of rules")
        self._check("minibatch", self.minibatch <= self.num_games * self.steps, "at most num_games * steps")

    def _check(self, name: str, holds: bool, allowed: str) -> None:
        if not holds:
            raise ValueError(f"{name}={getattr(self, name)!r} is not allowed; it is {allowed}")

    def _check_types(self) -> None:
        """Raises ValueError for values of another type, which a file may hold, or a caller may give."""
        names = [self.rules] if isinstance(self.rules, str) else self.rules
        self._check("rules", isinstance(names, list) and all(isinstance(each, str) for each in names), _RULES)
        options = self.rule_options if isinstance(self.rule_options, list) else [self.rule_options]
        named = all(isinstance(each, dict) and all(isinstance(name, str) for name in each) for each in options)
        self._check("rule_options", named, "a mapping of names of fields, or a list of such")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is int:
                self._check(each.name, isinstance(value, int) and not isinstance(value, bool), "a whole number")
            elif each.type is float:
                number = isinstance(value, int | float) and not isinstance(value, bool)
                self._check(each.name, number and math.isfinite(value), "a number, and not without end")
            elif each.type in (str, bool):
                kind = "text" if each.type is str else "true or false"
                self._check(each.name, isinstance(value, each.type), kind)

    @property
    def presets(self) -> list[str]:
        """The presets that are learned."""
        return [self.rules] if isinstance(self.rules, str) else list(self.rules)

    def variants(self) -> dict[str, Rules]:
        """The rules that are learned, by a name for each: the preset's, or of several with the number of players.

        Raises:
            ValueError: for rules that do not exist, are none, or not as many as their options.
        """
        self._check("rules", len(self.presets) > 0, _RULES)
        options = self.rule_options
        if not isinstance(options, list):
            options = [options] * len(self.presets)
        allowed = f"a mapping, or a list of {len(self.presets)}, one for each of rules"
        self._check("rule_options", len(options) == len(self.presets), allowed)
        rules = [Rules.preset(name, **each) for name, each in zip(self.presets, options, strict=True)]
        if len(rules) == 1:
            return {self.presets[0]: rules[0]}
        names = [f"{name}-{each.players}" for name, each in zip(self.presets, rules, strict=True)]
        counted = [f"{name}{f'-{names[:i].count(name) + 1}' * (name in names[:i])}" for i, name in enumerate(names)]
        return dict(zip(counted, rules, strict=True))


def changed_options(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The options that a run had, where they matter to what is learned and it went on with other ones."""
    return {name: value for name, value in before.items() if name not in TELLING and value != now.get(name, value)}
