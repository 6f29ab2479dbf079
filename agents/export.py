"""Trained policies as files for other programs: ONNX, and PyTorch's own export format.

A file takes what the environment gives, ``observation`` and ``action_mask``, and answers with ``probabilities``,
``action`` and ``value``; all that the agent does to its inputs is inside. It tells what it is in its metadata. No file
is written before it has answered as the agent does on thousands of decisions of real games.
"""

import contextlib
import hashlib
import importlib
import json
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents import exported, model_card
from agents.checkpoint import FamilyAgent, NetworkAgent, file_of, load_agent, read
from agents.evaluation import EVALUATION, versions
from agents.exported import FORMAT, METADATA, SUFFIXES
from agents.networks import PlayingNetwork
from agents.opinions import values_are_chances
from agents.suits import SuitSorter, suit_digest, suit_rank
from pitch_env import Rules, VectorGame
from pitch_env.actions import ACTION_TEXT, NUM_ACTIONS, TRUMP
from pitch_env.files import replace_atomically
from pitch_env.observation import layout, part_slices, parts
from pitch_env.state import Phase

PACKAGES = {"onnx": ("onnx", "onnxscript", "onnxruntime"), "torch": ("torch",)}  # that each format needs
INPUTS, OUTPUTS = ["observation", "action_mask"], ["probabilities", "action", "value"]
DECISIONS = 10_000
BATCH_SIZES = (1, 7, 256)
STEPS = 160  # decisions of each game, some deals
TOLERANCE = 1e-5


class SuitOrder(nn.Module):
    """The order of the suits that a ``SuitSorter`` finds, in tensors; see ``suit_key``, ``sorted_suits``, ``alike``."""

    def __init__(self, sorter: SuitSorter) -> None:
        super().__init__()
        self.colours = sorter.colours
        self.weights: Tensor  # float64 [D, 12]
        self.order_of_code: Tensor  # int64 [256]
        self.register_buffer("weights", torch.from_numpy(_key_weights(sorter)))
        self.register_buffer("order_of_code", torch.from_numpy(sorter.order_of_code))

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        """The order of each row, int64 [B], of observations [B, D] of any type; and the suits alike, bool [B, 4, 4]."""
        keys = self._keys(observation)
        order = self.order_of_code[_code_within_colours(keys) if self.colours else _code(keys)]
        return order, _alike(keys, self.colours)

    def _keys(self, observation: Tensor) -> Tensor:
        """The keys int64 [B, 4] of the suits, less 2**63, which makes 64-bit words signed and keeps their order.

        A word is a sum modulo 2**64. Its halves, summed on their own, stay below 2**53, where float64 is exact.
        """
        head, high, low = (observation.double() @ self.weights).chunk(3, dim=1)
        carry = torch.floor(low * 2.0**-32)
        high = high + carry
        high = high - torch.floor(high * 2.0**-32) * 2.0**32
        digest = high * 2.0**13 + torch.floor((low - carry * 2.0**32) * 2.0**-19)
        return (head.long() - 2**18) * 2**45 + digest.long()


def _key_weights(sorter: SuitSorter) -> np.ndarray:
    """What a 1 in each entry of an observation adds to the keys: float64 [D, 12].

    For each suit the word above the digest, then for each the upper half of the digest, then for each the lower one:
    the kernel's own answers to observations that are zero but for one entry.
    """
    size = int(sorter.at[-1])
    weights = np.zeros((size, 3, 4))
    with np.errstate(over="ignore"):  # uncompiled, the kernel's words warn when they wrap
        for entry, observation in enumerate(np.eye(size, dtype=np.uint8)):
            for suit in range(4):
                digest = int(suit_digest(sorter.at, observation, suit))
                weights[entry, :, suit] = suit_rank(sorter.at, observation, suit), digest >> 32, digest & 2**32 - 1
    return weights.reshape(size, 12)


def _code(keys: Tensor) -> Tensor:
    """The code of the order by falling keys, int64 [B]; of equal ones the lower suit comes first."""
    suits = torch.arange(4, device=keys.device)
    mine, other = keys.unsqueeze(2), keys.unsqueeze(1)
    place = ((other > mine) | ((other == mine) & (suits < suits.unsqueeze(1)))).long().sum(2)
    return (suits * torch.tensor([64, 16, 4, 1], device=keys.device)[place]).sum(1)


def _code_within_colours(keys: Tensor) -> Tensor:
    """The same, the suits of a colour in places 0 and 3 or 1 and 2."""
    clubs, diamonds, hearts, spades = keys.unbind(1)
    black, red = torch.where(clubs >= spades, 0, 3), torch.where(diamonds >= hearts, 1, 2)
    best_black, best_red = torch.maximum(clubs, spades), torch.maximum(diamonds, hearts)
    black_first = (best_black > best_red) | (
        (best_black == best_red) & (torch.minimum(clubs, spades) >= torch.minimum(diamonds, hearts))
    )
    one, two = torch.where(black_first, black, red), torch.where(black_first, red, black)
    return one * 64 + two * 16 + (3 - two) * 4 + (3 - one)


def _alike(keys: Tensor, colours: bool) -> Tensor:
    """Which suits look alike, bool [B, 4, 4]; see ``suits.alike``."""
    same = keys.unsqueeze(2) == keys.unsqueeze(1)
    if not colours:
        return same
    one_colour = torch.eye(4, dtype=torch.bool, device=keys.device).flip(0)
    return same & (one_colour | same.flip(1, 2))


def _even(probability: Tensor, alike: Tensor) -> Tensor:
    """Probabilities [B, 71], those of suits alike made the same; see ``SuitSorter.even``."""
    share = alike.to(probability.dtype)
    share = share / share.sum(2, keepdim=True)
    suits = share @ probability[:, :52].unflatten(1, (4, 13))
    trumps = share @ probability[:, TRUMP : TRUMP + 4].unsqueeze(2)
    rest = probability[:, 52:TRUMP], probability[:, TRUMP + 4 :]
    return torch.cat([suits.flatten(1), rest[0], trumps.squeeze(2), rest[1]], 1)


class PolicyGraph(nn.Module):
    """All that a network agent does, from what the environment gives to what it wants to know.

    Args:
        rules, network: the agent's.
        scale: what its values are multiplied by; learners of points divide by the rules' ``max_points``.
    """

    def __init__(self, rules: Rules, network: PlayingNetwork, scale: float | None = None) -> None:
        super().__init__()
        sorter = SuitSorter(rules)
        self.order = SuitOrder(sorter)
        self.network = network
        self.scale = float(rules.max_points if scale is None else scale)
        self.sources: Tensor  # int64 [24, D]
        self.action_sources: Tensor  # int64 [24, 71]
        self.places: Tensor  # int64 [24, 71]
        self.register_buffer("sources", torch.from_numpy(sorter.sources))
        self.register_buffer("action_sources", torch.from_numpy(sorter.action_sources))
        self.register_buffer("places", torch.from_numpy(sorter.action_sources.argsort(1)))

    def forward(self, observation: Tensor, action_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Decide.

        Args:
            observation: float32 [B, D].
            action_mask: int8 [B, 71], not zero where an action is legal.

        Returns:
            Probabilities float32 [B, 71], exactly zero where illegal; the best legal action int64 [B], of equal ones
            the lowest; the value that the agent expects float32 [B], of what ``describe`` says. A row without a legal
            action, as the environment gives it to who is not to act, has zeros, the action -1, and a value that means
            nothing.
        """
        order, alike = self.order(observation)
        legal = action_mask.bool()
        allowed = legal.gather(1, self.action_sources[order])
        log_probability, value = self.network.decide(observation.gather(1, self.sources[order]), allowed)
        probability = _even(log_probability.exp().gather(1, self.places[order]), alike) * legal
        action = torch.where(legal.any(1), probability.argmax(1), -1)
        return probability, action, value * self.scale


def export(
    checkpoint: Path,
    out: Path,
    formats: Sequence[str] = ("onnx",),
    decisions: int = DECISIONS,
    license_name: str = "mit",
    tell: Callable[[str], None] = lambda step: None,
) -> dict[str, Any]:
    """Write a folder that can be uploaded as it is: the policy, its metadata for people, the results, a model card.

    Args:
        checkpoint: a checkpoint, or a folder with one.
        out: the folder; files of the same names are replaced.
        formats: "onnx", "torch" or both.
        decisions: on how many each file is compared with the agent before it is written.
        license_name: what the card says, as the Hugging Face hub spells it.
        tell: is told what is being done.

    Returns:
        What was written and how it was verified, ready for JSON.

    Raises:
        ValueError: no such checkpoint; a damaged evaluation beside it; a file does not play as the agent does; the
            folder holds another README or parts of another export; a package is missing.
        OSError: a file could not be written.
    """
    _refuse_missing_packages(formats)
    file = file_of(checkpoint)
    agent = load_agent(file)
    if isinstance(agent, FamilyAgent):
        raise ValueError(f"{file} plays several variants; only policies of one can be exported")
    facts = describe(agent, file, formats)
    evaluation = model_card.read_evaluation(file.with_name(EVALUATION), facts)
    names = [*(f"model{SUFFIXES[name]}" for name in formats), *([EVALUATION] if evaluation else [])]
    _refuse_mixing(out, names)
    graph = PolicyGraph(agent.rules, agent.network, agent.scale.item()).eval()
    tell(f"playing {decisions:,} decisions")
    expected = Expected.of(agent, decisions)
    contents, checks = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys(formats):
            path = Path(folder) / f"model{SUFFIXES[name]}"
            tell(f"writing {path.name}")
            WRITERS[name](graph, facts, path)
            tell(f"comparing {path.name} with {agent.name}")
            checks[name] = verify(path, expected)
            contents[path.name] = path.read_bytes()
    contents["metadata.json"] = _json(facts)
    if evaluation is not None:
        contents[EVALUATION] = _json(evaluation)
    contents["README.md"] = model_card.write(facts, evaluation, checks, license_name).encode()
    for name, content in contents.items():
        replace_atomically(out / name, content)
    return {"files": [str(out / name) for name in contents], "verified": checks, "checkpoint": facts["checkpoint"]}


def _refuse_mixing(out: Path, names: Sequence[str]) -> None:
    """Raises ValueError where a folder holds parts of an export that files of these names would not replace."""
    model_card.refuse_other(out / "README.md")
    for name in sorted({*(f"model{suffix}" for suffix in SUFFIXES.values()), EVALUATION} - {*names}):
        if (out / name).exists():
            raise ValueError(f"{out / name} is of another export and would lie beside this one; choose another folder")


def _refuse_missing_packages(formats: Sequence[str]) -> None:
    for name in formats:
        for package in PACKAGES[name]:
            try:
                importlib.import_module(package)
            except ImportError:
                raise ValueError(f"format {name!r} needs {package}: pip install 'pitch-env[export]'") from None


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, indent=1, allow_nan=False).encode() + b"\n"


def describe(agent: NetworkAgent, file: Path, formats: Sequence[str]) -> dict[str, Any]:
    """The metadata of a policy exported to some formats, ready for JSON."""
    rules, header = agent.rules, read(file).header
    tables = parts(rules)
    return {
        "format": FORMAT,
        "what": "a policy for the card game Pitch; it takes what pitch-env's environments give",
        "name": agent.name,
        "rules": rules.to_dict(),
        "rules_code": layout(rules)[0]["rules"].tolist(),  # with which every observation begins
        "actions": list(ACTION_TEXT),
        "observation": [
            {"name": name, "start": at.start, "stop": at.stop, "highest": tables[name][1], "meaning": tables[name][2]}
            for name, at in part_slices(rules).items()
        ],
        "value": f"{_valued(agent, header['config'])} that the seat to act may expect, less the mean of other teams",
        "checkpoint": {
            "fingerprint": agent.fingerprint,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "network": header["network"],
            "config": model_card.without_paths(header["config"]),
        },
        "versions": versions() | {name: version(name) for each in ("torch", *formats) for name in PACKAGES[each]},
    }


def _valued(agent: NetworkAgent, config: dict[str, Any]) -> str:
    """What an agent's values are of."""
    if values_are_chances(agent):
        return "chance to win the game (not points)"
    return "points of the deal" if config.get("deals", 1) == 1 else "points of the rest of the game"


def write_torch(graph: PolicyGraph, facts: dict[str, Any], path: Path) -> None:
    """A file for ``torch.export.load``."""
    program = torch.export.export(graph, _inputs(graph), dynamic_shapes=_shapes())
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)  # where the sources lie on this machine is nobody's business
    torch.export.save(program, path, extra_files={METADATA: json.dumps(facts)})


def write_onnx(graph: PolicyGraph, facts: dict[str, Any], path: Path) -> None:
    """A file for ONNX Runtime and others."""
    with _quiet():
        program = torch.onnx.export(
            graph, _inputs(graph), input_names=INPUTS, output_names=OUTPUTS, dynamic_shapes=_shapes(), dynamo=True,
            external_data=False, verbose=False,
        )  # fmt: skip
    assert program is not None
    for node in program.model.graph:
        node.metadata_props.clear()  # stack traces, as above
    program.model.metadata_props[METADATA] = json.dumps(facts)
    program.save(path, external_data=False)


WRITERS: dict[str, Callable[[PolicyGraph, dict[str, Any], Path], None]] = {"onnx": write_onnx, "torch": write_torch}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporter says about packages that are not needed and about its own deprecations."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            warnings.filterwarnings("ignore", ".*axis name: batch will not be used", UserWarning)  # it is, for both
            yield
    finally:
        logger.setLevel(level)


def _inputs(graph: PolicyGraph) -> tuple[Tensor, Tensor]:
    rows = 3  # any number but 0 and 1, which the exporter takes for constants
    return torch.zeros(rows, graph.sources.shape[1]), torch.ones(rows, NUM_ACTIONS, dtype=torch.int8)


def _shapes() -> dict[str, dict[int, Any]]:
    batch = torch.export.Dim("batch")
    return {name: {0: batch} for name in INPUTS}


@dataclass
class Expected:
    """Decisions of real games, and what the agent says to them."""

    name: str
    observation: np.ndarray  # uint8 [N, D]
    mask: np.ndarray  # bool [N, 71]
    phase: np.ndarray  # int8 [N]
    probability: np.ndarray  # float32 [N, 71]
    action: np.ndarray  # int64 [N]
    value: np.ndarray  # float32 [N]

    @classmethod
    def of(cls, agent: NetworkAgent, number: int, seed: int = 0) -> "Expected":
        """Decisions in games of three deals, half of them played by the agent and half by chance."""
        batch = VectorGame(agent.rules, -(-number // STEPS), seed, deals=3)
        rng = np.random.default_rng(seed)
        seen: list[tuple[np.ndarray, ...]] = []
        for _ in range(STEPS):
            seen.append((batch.observation.copy(), batch.mask.copy(), batch.phase.copy()))
            actions = batch.random_actions(rng)
            actions[::2] = agent.act(batch.observation[::2], batch.mask[::2], rng)
            batch.step(actions)
        observation, mask, phase = (np.concatenate(each)[:number] for each in zip(*seen, strict=True))
        greedy = NetworkAgent(agent.rules, agent.network, agent.name)
        return cls(
            agent.name,
            observation,
            mask,
            phase,
            agent.probabilities(observation, mask),
            greedy.act(observation, mask, rng),
            agent.values(observation, mask),
        )


def verify(path: Path, expected: Expected) -> dict[str, Any]:
    """Compare a file with the agent that it was made from, in batches of each of ``BATCH_SIZES``.

    Returns:
        How many decisions, of each phase, were compared, and the largest difference of probabilities and values. Where
        two actions are equally probable up to the tolerance, either is right; "ties" counts those that differ so.

    Raises:
        ValueError: it does something else; says where.
    """
    player = exported.load(path)
    largest, ties, rows = 0.0, 0, np.arange(len(expected.action))
    for size in BATCH_SIZES:
        answers = [
            player.answer(
                expected.observation[start : start + size].astype(np.float32), expected.mask[start : start + size]
            )
            for start in range(0, len(rows), size)
        ]
        probability, action, value = (np.concatenate(each) for each in zip(*answers, strict=True))
        differences = np.maximum(np.abs(probability - expected.probability).max(1), np.abs(value - expected.value))
        best = expected.probability[rows, expected.action]
        worse = best - expected.probability[rows, action] > TOLERANCE
        for what, wrong in (
            ("gives what is illegal a chance", ~expected.mask[rows, action] | (probability * ~expected.mask).any(1)),
            ("takes another action", worse),
            (f"has other probabilities or values, by up to {differences.max():.2g},", ~(differences <= TOLERANCE)),
        ):
            if wrong.any():
                raise ValueError(
                    f"{path.name} does not play as {expected.name} does: in batches of {size} it {what} in "
                    f"{wrong.sum():,} of {len(rows):,} decisions, first in number {wrong.argmax()}; nothing was written"
                )
        largest, ties = max(largest, float(differences.max())), ties + int((action != expected.action).sum())
    counts = np.bincount(expected.phase, minlength=len(Phase))
    return {
        "decisions": len(rows),
        "phases": {phase.name.lower(): int(counts[phase]) for phase in Phase if counts[phase]},
        "batch_sizes": list(BATCH_SIZES),
        "largest_difference": largest,
        "ties": ties,
    }
