"""Playing an exported policy. Needs NumPy and ONNX Runtime, and neither torch nor, to load and to ask it, the engine.

from agents.exported import load

agent = load("model.onnx")
actions = agent.act(observation, mask, rng)
"""

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = 1
METADATA = "pitch-env"  # under which key a file tells what it is
SUFFIXES = {"onnx": ".onnx", "torch": ".pt2"}
BATCH = 4096  # rows that are computed at once

Run = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class ExportedAgent:
    """An exported policy as an agent.

    Args:
        run: computes probabilities, actions and values of observations (float32 [N, D]) and masks (int8 [N, 71]).
        metadata: what the file tells of itself; the keys are described in the model card beside it.
        name: what it is called.
        greedy: takes the most probable action; otherwise one drawn from the policy.
    """

    def __init__(self, run: Run, metadata: dict[str, Any], name: str, greedy: bool = True) -> None:
        self.run, self.metadata, self.name, self.greedy = run, metadata, name, greedy
        self.fingerprint = str(metadata["checkpoint"]["fingerprint"])
        self._code = np.array(metadata["rules_code"])
        self._width = max(part["stop"] for part in metadata["observation"])

    def act(self, observation: np.ndarray, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``agents.agent.Agent``. Raises ValueError for observations of other rules and rows without a choice."""
        probability, action, _ = self.answer(observation, mask)
        if (action < 0).any():
            raise ValueError(f"row {int(action.argmin())} of the mask allows no action, so {self.name} cannot act")
        if self.greedy:
            return action
        with np.errstate(divide="ignore"):
            return (np.log(probability) + rng.gumbel(size=probability.shape)).argmax(1)

    def probabilities(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """The probabilities of all actions, float32 [N, 71]; see ``answer``."""
        return self.answer(observation, mask)[0]

    def values(self, observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """What the seat to act may expect, relative to the others, float32 [N]; see ``answer``."""
        return self.answer(observation, mask)[2]

    def answer(self, observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All that the policy says.

        Args:
            observation: uint8 or float32 [N, D]; what is beyond the width that the policy knows is not looked at.
            mask: bool or int8 [N, 71].

        Returns:
            Probabilities float32 [N, 71], zero where illegal; the best actions int64 [N], -1 in rows without a legal
            one; what the seat to act may expect, relative to the others, float32 [N]; ``metadata["value"]``
            says what: points of the deal, or the chance to win for a policy that learned to win games.

        Raises:
            ValueError: another shape, or observations that were made under other rules.
        """
        observation, mask = np.asarray(observation), np.asarray(mask)
        actions = len(self.metadata["actions"])
        if observation.ndim != 2 or observation.shape[1] < self._width:
            raise ValueError(
                f"observations of shape {observation.shape} are not allowed; {self.name} needs [N, {self._width}]"
            )
        if mask.shape != (len(observation), actions):
            raise ValueError(f"a mask of shape {mask.shape} is not allowed; it is ({len(observation)}, {actions})")
        if (observation[:, : len(self._code)] != self._code).any():
            raise ValueError(f"{self.name} was trained for other rules than these observations were made under")
        rows = observation[:, : self._width].astype(np.float32)
        legal = (mask != 0).astype(np.int8)
        parts = [self.run(rows[i : i + BATCH], legal[i : i + BATCH]) for i in range(0, max(len(rows), 1), BATCH)]
        probability, action, value = (np.concatenate(each) for each in zip(*parts, strict=True))
        return probability, action, value


def is_exported(path: Path) -> bool:
    """Whether there is an exported policy at a path, or one and no checkpoint in that folder."""
    return any(file.is_file() for file in _files(path)) and not any(path.glob("*.safetensors"))


def load(path: str | Path, greedy: bool = True) -> ExportedAgent:
    """An agent from an exported file, or from a folder in which there is one; of several the ONNX file.

    Raises:
        ValueError: there is none, it is damaged, of something else, or of another version; the message says which.
    """
    file = next(_files(Path(path)), None)
    if file is None or not file.is_file():
        raise ValueError(f"there is no exported policy {path}; it is a file that ends in {_endings()}")
    file = file.resolve()
    text, run = (_open_onnx if file.suffix == SUFFIXES["onnx"] else _open_torch)(file)
    name = file.parent.name if file.stem == "model" else file.stem
    return ExportedAgent(run, _checked(text, file), name, greedy)


def _files(path: Path) -> Iterator[Path]:
    for suffix in SUFFIXES.values():
        if path.is_dir():
            yield from sorted(path.glob(f"*{suffix}"))
        elif path.suffix == suffix:
            yield path


def _endings() -> str:
    return " or ".join(SUFFIXES.values())


def _open_onnx(file: Path) -> tuple[str | None, Run]:
    """The metadata of an ONNX file, and what runs it."""
    try:
        import onnxruntime
    except ImportError:
        raise ValueError(f"{file} needs ONNX Runtime: pip install onnxruntime") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("PITCH_THREADS") or 0)  # 0: as many as there are cores
    try:
        session = onnxruntime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its errors have no class in common
        raise ValueError(f"{file} is not an ONNX model, or a damaged one: {_one_line(error)}") from None

    def run(observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        inputs = {"observation": observation, "action_mask": mask}
        return tuple(session.run(["probabilities", "action", "value"], inputs))

    return session.get_modelmeta().custom_metadata_map.get(METADATA), run


def _open_torch(file: Path) -> tuple[str | None, Run]:
    """The same of a file that torch.export wrote."""
    try:
        import torch
    except ImportError:
        raise ValueError(f"{file} needs PyTorch: pip install torch; an ONNX file does without") from None
    if not zipfile.is_zipfile(file):  # torch would say so in twenty lines
        raise ValueError(f"{file} is not a torch.export file, or a damaged one")
    found = {METADATA: ""}
    try:
        module = torch.export.load(file, extra_files=found).module()
    except Exception as error:  # so many things can be wrong with it
        raise ValueError(f"{file} is not a torch.export file, or a damaged one: {_one_line(error)}") from None

    def run(observation: np.ndarray, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        with torch.no_grad():
            return tuple(each.numpy() for each in module(torch.from_numpy(observation), torch.from_numpy(mask)))

    return found[METADATA] or None, run


def _one_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _checked(text: str | None, file: Path) -> dict[str, Any]:
    """A file's metadata. Raises ValueError where it is missing, of another format, or of other observations."""
    if text is None:
        raise ValueError(f"{file} is not a policy of pitch-env: it has no metadata {METADATA!r}")
    try:
        metadata = json.loads(text)
        _refuse_other(metadata, file)
        dict(metadata["checkpoint"]["config"])
        str(metadata["checkpoint"]["fingerprint"])
    except (LookupError, TypeError, AttributeError, json.JSONDecodeError):
        raise ValueError(f"{file} is damaged: its metadata are not those of a policy") from None
    return metadata


def _refuse_other(metadata: dict[str, Any], file: Path) -> None:
    """Raises ValueError where this version cannot play by the metadata, and various errors where some are not there."""
    if metadata.get("format") != FORMAT:
        raise ValueError(f"{file} is an export of format {metadata.get('format')!r}; this version reads {FORMAT}")
    try:
        from pitch_env import Rules
        from pitch_env.observation import layout, part_slices
    except ImportError:
        return  # without the engine there is no other layout to compare with
    try:
        rules = Rules.from_dict(metadata["rules"])
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    here = [(name, part.start, part.stop) for name, part in part_slices(rules).items()]
    there = [(part["name"], part["start"], part["stop"]) for part in metadata["observation"]]
    if here != there or metadata["rules_code"] != layout(rules)[0]["rules"].tolist():
        raise ValueError(f"{file} was made for other observations than this version of pitch-env writes")
