"""Checkpoints: one safetensors file each, whose header holds everything that is not a tensor as JSON. No pickle.

``model.safetensors`` is an agent: the weights, the rules, the layout of its observations. ``resume.safetensors`` holds
besides what training needs to go on: the optimiser, the games in flight, the generators, the counters.
``failed.safetensors`` is the same at the moment at which a run could not go on. A digest tells whether a file is whole.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from agents.evaluation import versions
from agents.family import FamilySorter, common_highs, common_parts
from agents.networks import ActionValueNetwork, PlayingNetwork, PolicyValueNetwork
from agents.suits import SuitSorter
from pitch_env import Rules
from pitch_env.actions import NUM_ACTIONS
from pitch_env.files import replace_atomically
from pitch_env.observation import RULES_BYTES, Part, highs, layout, part_slices, width

FORMAT = 2  # 1 had no digest
NETWORKS: dict[str, Callable[..., PlayingNetwork]] = {"policy": PolicyValueNetwork, "action_values": ActionValueNetwork}
MODEL, RESUME, FAILED = "model.safetensors", "resume.safetensors", "failed.safetensors"


@dataclass
class Checkpoint:
    """What a file holds: tensors by name, and the header."""

    tensors: dict[str, Tensor]
    header: dict[str, Any]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors whose names begin with ``prefix.``, without it."""
        start = f"{prefix}."
        return {name[len(start) :]: tensor for name, tensor in self.tensors.items() if name.startswith(start)}


def header_for(rules: Rules | Sequence[Rules], network: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """What every checkpoint says of itself; rules and layout are a list where there are several variants."""
    variants = [rules] if isinstance(rules, Rules) else rules
    every, layouts = [each.to_dict() for each in variants], [_layout(each) for each in variants]
    return {
        "format": FORMAT,
        "rules": every if len(every) > 1 else every[0],
        "network": network,
        "observation": layouts if len(every) > 1 else layouts[0],
        "actions": NUM_ACTIONS,
        "config": config,
        "versions": versions() | {"torch": torch.__version__},
    }


def _layout(rules: Rules) -> dict[str, list[int]]:
    return {name: [part.start, part.stop] for name, part in part_slices(rules).items()}


def write(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all. Raises OSError; an older file is then as it was."""
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(header)
    content = save(whole, metadata={"pitch-env": text, "sha256": _digest(whole, text)})
    try:
        replace_atomically(path, content)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(f"{path} could not be written: {reason}; if there was one before, it is as it was") from None


def _digest(tensors: dict[str, Tensor], header: str) -> str:
    """A hash of all that a checkpoint holds."""
    digest = hashlib.sha256(header.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def read(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Raises:
        ValueError: there is none, it is damaged, of something else, or of another version; the message says which.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is not a dict)
    except FileNotFoundError:
        raise ValueError(f"there is no checkpoint {path}") from None
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is not a checkpoint, or a damaged one: {error}") from None
    if "pitch-env" not in metadata:
        raise ValueError(f"{path} is not a checkpoint of pitch-env, though a safetensors file")
    return Checkpoint(tensors, _checked_header(path, metadata, tensors))


def _checked_header(path: Path, metadata: dict[str, str], tensors: dict[str, Tensor]) -> dict[str, Any]:
    text = metadata["pitch-env"]
    try:
        header = json.loads(text)
    except ValueError:
        raise ValueError(f"{path} is a damaged checkpoint: its header cannot be read") from None
    version = header.get("format") if isinstance(header, dict) else None
    if version not in (1, FORMAT):
        raise ValueError(f"{path} is a checkpoint of format {version!r}; this version reads 1 and {FORMAT}")
    missing = [name for name in ("config", "network", "versions") if not isinstance(header.get(name), dict)]
    missing += [name for name in ("rules", "observation") if not isinstance(header.get(name), dict | list)]
    if missing:
        raise ValueError(f"{path} is a damaged checkpoint: it does not tell its {' and '.join(missing)}")
    if version != 1 and metadata.get("sha256") != _digest(tensors, text):
        raise ValueError(f"{path} is a damaged checkpoint: what it holds is not what was written")
    header["config"].setdefault("learner", "ppo")  # when there was one only, it was not said
    return header


def remove_leftovers(folder: Path) -> None:
    """Remove the halves of checkpoints that were being written when their process was killed."""
    for name in (MODEL, RESUME, FAILED):
        for file in folder.glob(f".{name}.*"):
            file.unlink(missing_ok=True)


def build_network(header: dict[str, Any], path: Path) -> tuple[tuple[Rules, ...], PlayingNetwork]:
    """The variants of a checkpoint, and a network of its shape with fresh weights.

    Raises:
        ValueError: its observations are laid out differently from this version's, or its network is of another kind.
    """
    rules, layouts = header["rules"], header["observation"]
    variants = tuple(Rules.from_dict(each) for each in (rules if isinstance(rules, list) else [rules]))
    here = [_layout(each) for each in variants]
    if layouts != (here if isinstance(rules, list) else here[0]) or header.get("actions") != NUM_ACTIONS:
        raise ValueError(f"{path} was made for other observations than this version of pitch-env writes")
    shape = {"kind": "policy"} | header["network"]  # which older ones do not say
    kind = shape.pop("kind")
    if kind not in NETWORKS:
        raise ValueError(
            f"{path} holds a network of kind {kind!r}; this version of pitch-env has {', '.join(NETWORKS)}"
        )
    try:
        return variants, NETWORKS[kind](input_highs(variants, header["config"].get("deals", 1)), **shape)
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(f"{path} is a damaged checkpoint: there is no network of shape {shape}") from None


def input_highs(variants: Sequence[Rules], deals: int | None = 1) -> np.ndarray:
    """The highest value of each input of a network for these variants, uint8 [D].

    Where games have more than one deal, scores count from 0 to the target, for 255 would make them all but invisible.
    """
    alone = len(variants) == 1
    high = (highs(variants[0]) if alone else common_highs(variants)).copy()
    if deals != 1:
        starts = layout(variants[0])["at"][0] if alone else common_parts(variants)
        high[starts[Part.SCORE_ABOVE] : starts[Part.TO_GO + 1]] = max(rules.target or 20 for rules in variants)
    return high


class NetworkAgent:
    """A trained policy as an agent.

    Args:
        rules: the rules it was trained for; others are refused.
        network: its network.
        name: what it is called.
        greedy: takes the most probable action; otherwise one drawn from the policy.
        fingerprint: a hash of its weights.

    Attributes:
        spent: the decisions it learned from and the seconds that took, those of what its run began with among them.
    """

    def __init__(
        self, rules: Rules, network: PlayingNetwork, name: str, greedy: bool = True, fingerprint: str | None = None
    ) -> None:
        self.rules, self.network, self.name, self.greedy, self.fingerprint = rules, network, name, greedy, fingerprint
        self.sorter = SuitSorter(rules)
        self.spent = total_spent({})
        self.scale = np.array([rules.max_points])  # of the values, by variant; 1 for one that learned to win games

    @property
    def stochastic(self) -> bool:
        """Whether its policy gives several actions a chance."""
        return self.network.stochastic

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``agents.agent.Agent``. Raises ValueError for observations of other rules."""
        log_probability = self.log_policy(observation, mask)
        if not self.greedy:
            log_probability += rng.gumbel(size=log_probability.shape)
        return log_probability.argmax(-1)

    def log_policy(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The logarithms of the probabilities of all actions, float32 [N, 71]; see ``act`` for the rest."""
        return self._think(observation, mask)[0]

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The probabilities of all actions, float32 [N, 71], 0 for illegal ones; see ``act`` for the rest."""
        return np.exp(self.log_policy(observation, mask))

    def values(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """What the seat to act may expect, float32 [N], relative to the others; see ``act`` for the rest.

        Points of the deal; of an agent that was trained to win games, the chance to win.
        """
        return self._think(observation, mask)[1] * self._scales(observation)

    def _scales(self, observation: np.ndarray) -> np.ndarray:
        return self.scale.astype(np.float32)

    @torch.no_grad()
    def _think(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The logarithms of the policy [N, 71], and the values [N] as the learner scales them."""
        rows = self._checked(observation)
        inputs, allowed, order = self.sorter.sort(rows, np.ascontiguousarray(mask, bool))
        device = self.network.scale.device
        chosen, value = self.network.decide(*(torch.from_numpy(each).to(device) for each in (inputs, allowed)))
        log_probability = self.sorter.unsort(chosen.cpu().numpy(), order)
        self.sorter.even(rows, log_probability)
        return log_probability, value.cpu().numpy()

    def _checked(self, observation: np.ndarray) -> np.ndarray:
        """The observations as the sorter takes them. Raises ValueError where they are of other rules."""
        size = width(self.rules)
        if observation.ndim != 2 or observation.shape[1] < size:
            raise ValueError(
                f"observations of shape {observation.shape} are not allowed; {self.name} needs [N, {size}], those of "
                "the rules it was trained for"
            )
        if (observation[:, :RULES_BYTES] != layout(self.rules)[0]["rules"]).any():
            raise ValueError(f"{self.name} was trained for other rules than these observations were made under")
        return np.ascontiguousarray(observation[:, :size], np.uint8)


class FamilyAgent(NetworkAgent):
    """A policy that was trained for several variants; it sees from an observation which one it is of.

    Args:
        variants: those it was trained for; others are refused.
        network, name, greedy, fingerprint: as for ``NetworkAgent``.
    """

    def __init__(
        self,
        variants: Sequence[Rules],
        network: PlayingNetwork,
        name: str,
        greedy: bool = True,
        fingerprint: str | None = None,
    ) -> None:
        self.variants, self.network, self.name, self.greedy = tuple(variants), network, name, greedy
        self.fingerprint = fingerprint
        self.sorter: FamilySorter = FamilySorter(variants)
        self.spent = total_spent({})
        self.scale = np.array([rules.max_points for rules in variants])

    def _scales(self, observation: np.ndarray) -> np.ndarray:
        return self.scale.astype(np.float32)[self.sorter.kinds(observation)]

    def _checked(self, observation: np.ndarray) -> np.ndarray:
        narrow = observation.ndim != 2 or observation.shape[1] < self.sorter.narrowest
        if narrow or (self.sorter.kinds(observation) < 0).any():
            raise ValueError(f"{self.name} was trained for other rules than these observations were made under")
        return np.ascontiguousarray(observation, np.uint8)


def make_agent(variants: Sequence[Rules], network: PlayingNetwork, name: str, *options: Any) -> NetworkAgent:
    """The agent of a network, for one variant or several; ``options`` are the rest of ``NetworkAgent``'s arguments."""
    if len(variants) == 1:
        return NetworkAgent(variants[0], network, name, *options)
    return FamilyAgent(variants, network, name, *options)


def weights_hash(weights: dict[str, Tensor]) -> str:
    """A hash of weights, by which agents are told apart."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        digest.update(name.encode() + weights[name].cpu().numpy().tobytes())
    return digest.hexdigest()[:16]


def file_of(path: Path) -> Path:
    """The file that holds the agent of a path: of a run's folder the finished agent, else what it goes on with."""
    path = path.resolve()
    if not path.is_dir():
        return path
    return path / MODEL if (path / MODEL).exists() else path / RESUME


def total_spent(header: dict[str, Any]) -> dict[str, float]:
    """The decisions and seconds of a checkpoint's run and of those before it, from which it had its first weights."""
    before = header.get("before", {})  # of which older ones do not tell
    return {name: header.get(name, 0) + before.get(name, 0) for name in ("decisions", "seconds")}


def load_agent(path: Path, greedy: bool = True) -> NetworkAgent:
    """An agent from a checkpoint, or from the folder of a run. Raises ValueError that says why it cannot be."""
    path = file_of(path)
    checkpoint = read(path)
    variants, network = build_network(checkpoint.header, path)
    weights = checkpoint.part("network")
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise ValueError(f"{path} does not hold the weights that it says: {error}") from None
    network.eval()
    name = path.parent.name if path.stem in ("model", "resume") else path.stem
    agent = make_agent(variants, network, name, greedy, weights_hash(weights))
    agent.spent = total_spent(checkpoint.header)
    if checkpoint.header["config"].get("reward") == "win":
        agent.scale = np.ones_like(agent.scale)
    return agent
