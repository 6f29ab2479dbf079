"""The model card of an exported policy: a README in the form of the Hugging Face hub, a YAML header and Markdown."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from pitch_env import Rules
from pitch_env.actions import DONE, MOON, PASS, TRUMP

LIBRARY = "pitch-env"
PATHS = ("out", "against", "start")  # options of a run that say where things lie on its maker's machine


def refuse_other(readme: Path) -> None:
    """Raises ValueError where a README is there that is no model card of ours, which must not be overwritten."""
    if readme.exists() and f"library_name: {LIBRARY}" not in readme.read_text(encoding="utf-8", errors="replace"):
        raise ValueError(f"{readme} is no model card of {LIBRARY} and stays as it is; choose another folder")


def without_paths(config: dict[str, Any]) -> dict[str, Any]:
    """The options of a run that everybody may know."""
    return {name: value for name, value in config.items() if name not in PATHS}


def read_evaluation(file: Path, facts: dict[str, Any]) -> dict[str, Any] | None:
    """The evaluation beside a checkpoint, where it is of the same weights as the policy that ``facts`` tell of.

    Raises:
        ValueError: it is damaged.
        OSError: it cannot be read.
    """
    if not file.exists():
        return None
    try:
        evaluation = json.loads(file.read_bytes(), parse_constant=_refuse_constant)
        if facts["checkpoint"]["fingerprint"] not in evaluation.get("agents", {}).values():
            return None
        _results(facts, evaluation)  # all that the card tells of it is there
    except (ValueError, LookupError, TypeError, AttributeError):
        raise ValueError(f"{file} is damaged: it is not what a run or evaluate writes") from None
    return evaluation


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def write(facts: dict[str, Any], evaluation: dict[str, Any] | None, checks: dict[str, Any], license_name: str) -> str:
    """The card as text.

    Args:
        facts: the metadata of the exported policy.
        evaluation: ``evaluation.json`` of the checkpoint, if there is one.
        checks: what the verification of each format found.
        license_name: as the hub spells it.
    """
    sections = (
        _introduction(facts),
        _rules(facts),
        _results(facts, evaluation),
        _use(facts, list(checks)),
        _interface(facts),
        _limits(facts, evaluation),
        _provenance(facts, checks),
    )
    header = yaml.safe_dump(_header(facts, evaluation, list(checks), license_name), sort_keys=False)
    return f"---\n{header}---\n\n" + "\n\n".join(sections) + "\n"


def preset_of(rules: Rules) -> tuple[str, dict[str, Any]]:
    """The preset that is nearest to some rules, and the fewest fields that have to be named besides."""
    found = [(name, _overrides(rules, name)) for name in Rules.presets()]
    return min(found, key=lambda each: len(each[1]))


def _overrides(rules: Rules, preset: str) -> dict[str, Any]:
    """Fields with which a preset becomes these rules, none of which follows from the others."""
    usual = asdict(Rules.preset(preset))
    needed = {name: value for name, value in asdict(rules).items() if value != usual[name]}
    for name in list(needed)[::-1]:
        fewer = {other: value for other, value in needed.items() if other != name}
        if _makes(preset, fewer) == rules:
            needed = fewer
    return needed


def _makes(preset: str, overrides: dict[str, Any]) -> Rules | None:
    try:
        return Rules.preset(preset, **overrides)
    except ValueError:
        return None


def _header(
    facts: dict[str, Any], evaluation: dict[str, Any] | None, formats: list[str], license_name: str
) -> dict[str, Any]:
    preset, _ = preset_of(Rules.from_dict(facts["rules"]))
    header: dict[str, Any] = {
        "license": license_name,
        "library_name": LIBRARY,
        "pipeline_tag": "reinforcement-learning",
        "tags": ["reinforcement-learning", "self-play", "multi-agent", "card-game", "pitch", "pettingzoo"],
    }
    header["tags"] += [{"torch": "pytorch"}.get(name, name) for name in formats]
    if evaluation is not None:
        metrics = [
            {
                "type": "mean_reward",
                "value": f"{match['mean']:+.2f} ({match['low']:+.2f} to {match['high']:+.2f})",
                "name": f"points per deal against {match['opponent']}, 95 % interval",
            }
            for match in _matches(facts, evaluation)
        ]
        task = {"type": "reinforcement-learning", "name": "reinforcement-learning"}
        dataset = {"type": "pitch_v0", "name": f"pitch_v0, {preset}"}
        header["model-index"] = [
            {"name": facts["name"], "results": [{"task": task, "dataset": dataset, "metrics": metrics}]}
        ]
    return header


def _introduction(facts: dict[str, Any]) -> str:
    return (
        f"# {facts['name']}\n\nA policy for the card game Pitch, trained with {LIBRARY}, which has the game as a "
        "PettingZoo environment."
    )


def _rules(facts: dict[str, Any]) -> str:
    rules = Rules.from_dict(facts["rules"])
    preset, overrides = preset_of(rules)
    named = ", ".join([f"Preset `{preset}`", *(f"`{name}={value!r}`" for name, value in overrides.items())])
    fields = yaml.safe_dump(facts["rules"], sort_keys=False)
    return (
        f"## Rules\n\n{named}: {rules.players} players, {rules.teams} teams. The policy knows no other rules.\n\n"
        f"```yaml\n{fields}```"
    )


def _matches(facts: dict[str, Any], evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """The matches that were the policy's own, not its opponents' against it."""
    prints = evaluation["agents"]
    mine = [name for name in prints if prints[name] == facts["checkpoint"]["fingerprint"]]
    return [match for match in evaluation["matches"] if match["agent"] in mine]


def _results(facts: dict[str, Any], evaluation: dict[str, Any] | None) -> str:
    if evaluation is None:
        return "## Results\n\nThere was no evaluation beside the checkpoint."
    head = ["against", "deals", "points per deal", "95 % interval"]
    lines = [head, ["---", "---:", "---:", "---:"]]
    lines += [
        [
            match["opponent"],
            f"{match['deals']:,}",
            f"{match['mean']:+.3f}",
            f"{match['low']:+.3f} to {match['high']:+.3f}",
        ]
        for match in _matches(facts, evaluation)
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return (
        "## Results\n\nPoints per deal relative to the opponents, on duplicate deals: each deal is played with the "
        f"policy in the seats of every team in turn.\n\n{table}{_games_won(facts, evaluation)}"
    )


def _games_won(facts: dict[str, Any], evaluation: dict[str, Any]) -> str:
    """The whole games that it won, where it learned to play those."""
    if "games_won" not in evaluation:
        return ""
    rows = "".join(
        f"\n| {opponent} | {share['mean']:.1%} | {share['low']:.1%} to {share['high']:.1%} |"
        for opponent, share in evaluation["games_won"].items()
    )
    even = 1 / Rules.from_dict(facts["rules"]).teams
    return (
        f"\n\nWhole games won, of which an even share is {even:.0%}:\n\n"
        f"| against | games won | 95 % interval |\n| --- | ---: | ---: |{rows}"
    )


def _use(facts: dict[str, Any], formats: list[str]) -> str:
    preset, overrides = preset_of(Rules.from_dict(facts["rules"]))
    arguments = "".join(f", {name}={value!r}" for name, value in overrides.items())
    blocks = [f"## How to use it\n\nObservations come from the environment:\n\n{_ENVIRONMENT}"]
    blocks += [_ONNX] if "onnx" in formats else []
    blocks += [_TORCH] if "torch" in formats else []
    return (
        "\n\n".join([*blocks, _AGENT])
        .replace("RULES", f'"{preset}"{arguments}')
        .replace("FILE", "model.onnx" if "onnx" in formats else "model.pt2")
    )


_ENVIRONMENT = """```python
from pitch_env import pitch_v0

env = pitch_v0.env(rules=RULES)
env.reset(seed=1)
seen, reward, termination, truncation, info = env.last()
```"""

_ONNX = """With ONNX Runtime alone:

```python
import onnxruntime

session = onnxruntime.InferenceSession("model.onnx")
inputs = {name: array[None] for name, array in seen.items()}  # a batch of one
probabilities, action, value = session.run(None, inputs)
```"""

_TORCH = """With PyTorch alone:

```python
import torch

policy = torch.export.load("model.pt2").module()
probabilities, action, value = policy(*(torch.from_numpy(seen[name][None]) for name in ("observation", "action_mask")))
```"""

_AGENT = """As an agent of pitch-env, which refuses observations of other rules:

```python
import numpy as np
from agents import load

agent = load("FILE")
action = agent.act(seen["observation"][None], seen["action_mask"][None], np.random.default_rng())
```"""


def _interface(facts: dict[str, Any]) -> str:
    width = facts["observation"][-1]["stop"]
    actions = len(facts["actions"])
    rows = "\n".join(
        f"| `{part['name']}` | {part['start']} to {part['stop'] - 1} | {part['highest']} | {part['meaning']} |"
        for part in facts["observation"]
        if part["stop"] > part["start"]
    )
    return f"""## Inputs and outputs

| input | type | |
| --- | --- | --- |
| `observation` | float32 [batch, {width}] | what the seat to act sees, seats counted from it |
| `action_mask` | int8 [batch, {actions}] | 1 for what it may do |

| output | type | |
| --- | --- | --- |
| `probabilities` | float32 [batch, {actions}] | of each action; exactly 0 for what the mask forbids |
| `action` | int64 [batch] | the most probable one, of equal ones the lowest; -1 where the mask forbids all |
| `value` | float32 [batch] | {facts["value"]} |

Any batch size will do. Where the mask forbids all, as the environment's does for seats that are not to act, the
probabilities are all 0.

| actions | |
| --- | --- |
| 0 to {TRUMP - 1} | a card: clubs from the two to the ace, then diamonds, hearts, spades, the high and the low joker |
| {TRUMP} to {PASS - 1} | name clubs, diamonds, hearts or spades trump |
| {PASS} | pass |
| {PASS + 1} to {MOON - 1} | bid 1 to {MOON - 1 - PASS} |
| {MOON} | bid the moon |
| {DONE} | exchange no more cards |

| part of the observation | places | highest | |
| --- | --- | ---: | --- |
{rows}"""


def _limits(facts: dict[str, Any], evaluation: dict[str, Any] | None) -> str:
    config = facts["checkpoint"]["config"]
    measured = (
        "It was measured as the results say: points per deal on single deals, each from scores of zero, against "
        "programs."
        if evaluation
        else "How strong it is has not been measured here."
    )
    if config.get("reward") == "win":
        aim = "It learned to win whole games, not to make points, and its values are chances to win, not points."
    elif config.get("deals", 1) == 1:
        aim = "It need not play well for the score of a whole game."
    else:
        aim = "It learned to make points over several deals."
    return (
        f"## Limits\n\n{measured} {aim} It has not been measured against people. It does not learn while it plays and "
        "does not adapt to its opponents."
    )


def _ties(number: int) -> str:
    return f", but for {number} between actions that are equally probable" if number else ""


def _provenance(facts: dict[str, Any], checks: dict[str, Any]) -> str:
    checkpoint = facts["checkpoint"]
    verified = "\n".join(
        f"- {name}: {check['decisions']:,} decisions of real games in batches of "
        f"{', '.join(map(str, check['batch_sizes']))}; none illegal, probabilities and values within "
        f"{check['largest_difference']:.1g}, the same actions as the checkpoint{_ties(check['ties'])}"
        for name, check in checks.items()
    )
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"## Where it comes from\n\nCheckpoint `{checkpoint['fingerprint']}`, SHA-256 of the file "
        f"`{checkpoint['sha256']}`. Made with {versions}. Before it was written it was compared:\n\n{verified}\n\n"
        "The file itself carries all of this in its metadata, under the key `pitch-env`, as does `metadata.json`.\n\n"
        f"The training:\n\n```yaml\n{yaml.safe_dump(checkpoint['config'], sort_keys=False)}```"
    )
