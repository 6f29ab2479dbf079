"""Shipped agents: a folder with the weights, and a card that says what the agent is worth and how that is known.

``card.json`` holds all that is on the card; equal runs, options and versions give an equal file:

===========  ==========================================================================================================
format       2
name         of the folder, by which ``agents.load`` knows the agent
fingerprint  of the weights; ``sha256`` and ``bytes`` of model.safetensors
rules        all options, ``preset`` the nearest preset and ``changed`` what differs from it; ``teams``
network      its shape; ``config`` the options of the run, without paths; ``former``, where it went on with other ones:
             until how many decisions, ``options`` that were changed then
decisions    it learned from, in ``hours`` of training; ``earlier``: those of them of which the curve and the options
             are not known, for they were of runs before the one that began with what they had made;
             ``trained_with``: the versions of the last run
curve        what ``card_curve.read`` gives, and ``deals``, of the matches on the way; null where it is not known
seed         of all that was measured, with ``versions``
matches      duplicate matches of the agent against each opponent (``evaluation.Match``)
as_opponent  the same with the roles exchanged: each opponent alone among agents like it
opponents    the fingerprint of each, by name
kinds        what it gains when another one takes its bids, discards or cards (``card_measures.measure_kinds``)
puzzles      on which it was tried: how many, the score, by theme, those it failed, another agent's score on the same
exploiters   of each agent that was trained against it: decisions, hours, seed, match, and as what it began in start
weaknesses   sentences, drawn from these figures
note         what its maker says
===========  ==========================================================================================================

All folders beside each other are told of in a table in the README above them.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from agents import card_curve, card_exploiters, card_history, card_measures, card_text, checkpoint
from agents.agent import Agent, is_name_of_player, load_all
from agents.card_weaknesses import weaknesses
from agents.evaluation import EVALUATION, fingerprint, report, trained_for, versions, write_json
from agents.model_card import PATHS, preset_of, without_paths
from agents.puzzles import PUZZLES, load_puzzles
from pitch_env import Rules
from pitch_env.files import replace_atomically

FORMAT = 2
CARD, TEXT, CURVE = "card.json", "card.md", "curve.png"
FILES = (checkpoint.MODEL, "model.json", EVALUATION, CARD, TEXT, CURVE)
PARTS: dict[str, type | tuple[type, ...]] = {  # of every card; each as it is in JSON
    **dict.fromkeys(("name", "fingerprint", "sha256", "preset", "note"), str),
    **dict.fromkeys(("bytes", "teams", "decisions", "seed"), int),
    **dict.fromkeys(
        ("rules", "changed", "network", "config", "trained_with", "versions", "opponents", "puzzles"), dict
    ),
    **dict.fromkeys(("matches", "as_opponent", "kinds", "weaknesses", "exploiters"), list),
    "curve": (dict, type(None)),
    "hours": (int, float),
}
LIMIT = 2_000_000  # bytes of a shipped model
OPPONENTS = ("random", "greedy", "memoryless", "cautious", "bold", "expert", "search")


@dataclass(frozen=True)
class Measures:
    """How an agent is measured.

    Args:
        opponents: names, the strongest last: its bids and cards are tried in place of the agent's, too.
        deals: of each match; ``slow_deals`` of those with agents that think for long.
        seed: of the deals and of all chance. Not one on which the run was judged, for who is chosen by some deals is
            flattered by them.
    """

    opponents: Sequence[str] = OPPONENTS
    deals: int = 2000
    slow_deals: int = 300
    seed: int = 1000
    puzzles: Path = PUZZLES


@dataclass
class _Source:
    """What a finished run gives."""

    agent: checkpoint.NetworkAgent
    tensors: dict[str, Tensor]
    history: card_history.History
    exploiters: list[dict[str, Any]]
    note: str

    @property
    def rules(self) -> Rules:
        return self.agent.rules


def make(
    run: Path, out: Path, measures: Measures, *, exploiters: Sequence[Path] = (), note: str | None = None,
    tell: card_measures.Tell = lambda step: None,
) -> dict[str, Any]:  # fmt: skip
    """Measure the agent of a run, and write its folder, whole or not at all, in the place of one that was there.

    Args:
        run: the folder of a finished run, or a shipped one that is to be measured anew.
        out: the folder; its name is the agent's.
        measures: how it is measured.
        exploiters: the folders of finished runs that were trained against it.
        note: what its maker has to say.
        tell: is told what is being done.

    The curve, the exploiters and the note of a card of the same weights, in ``run`` or ``out``, are kept where there is
    nothing new; and where ``out`` has the agent that the run began with, its curve and options are told with the run's.

    Returns:
        The card.

    Raises:
        ValueError: the run is not finished, damaged, of several variants or too large; the folder holds other things or
            has a name that is taken; an opponent or an exploiter does not fit.
        OSError: something cannot be read or written.
    """
    run, out = run.resolve(), out.resolve()
    _refuse_place(out)
    source = _read_run(run, out, exploiters, note)
    opponents = _opponents(measures.opponents, source)
    puzzles = load_puzzles(measures.puzzles)
    measured = _measure(source, opponents, puzzles, measures, tell)
    with _replaced(out) as folder:
        card = _identity(source, folder / checkpoint.MODEL) | measured | {"exploiters": source.exploiters}
        card["weaknesses"] = weaknesses(card)
        card["note"] = source.note
        evaluation = report(source.rules, [], measures.seed, [source.agent, *opponents])
        write_json(folder / EVALUATION, evaluation | {"matches": card["matches"]} | source.agent.spent)
        write_json(folder / CARD, card)
        if card["curve"] is not None:
            replace_atomically(folder / CURVE, card_curve.picture(card["curve"]))
        replace_atomically(folder / TEXT, card_text.write(card).encode())
    card_text.update_table(out.parent)
    return card


def _refuse_place(out: Path) -> None:
    """Raises ValueError where a shipped folder cannot be."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]*", out.name) or is_name_of_player(out.name):
        raise ValueError(
            f"{out.name!r} cannot be an agent's name; it is letters, digits, _, - or ., and no baseline's name"
        )
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; the agent takes a folder")
    others = sorted(file.name for file in out.iterdir() if file.name not in FILES) if out.exists() else []
    if others:
        raise ValueError(f"{out} holds {others[0]}, which is no part of a shipped agent; choose another folder")


def _read_run(run: Path, out: Path, exploiters: Sequence[Path], note: str | None) -> _Source:
    file = run / checkpoint.MODEL
    if not run.is_dir():
        raise ValueError(f"{run} is no folder of a run")
    if not file.exists() and (run / checkpoint.RESUME).exists():
        raise ValueError(f"{run} is a run that is not finished; go on with it by train --resume {run}")
    saved = checkpoint.read(file)
    if file.stat().st_size > LIMIT:
        raise ValueError(
            f"{file} has {file.stat().st_size:,} bytes; a shipped agent has at most {LIMIT:,}, "
            "so train one of a smaller width or depth"
        )
    agent = checkpoint.load_agent(file)
    if isinstance(agent, checkpoint.FamilyAgent):
        raise ValueError(f"{file} plays several variants; a card is of an agent of one")
    if missing := [name for name in ("decisions", "seconds") if name not in saved.header]:
        raise ValueError(f"{file} does not say its {' and '.join(missing)}, so it is not of a training run")
    agent.name = out.name
    history = card_history.read(run, saved.header)
    before: dict[str, Any] = {}
    mine = fingerprint(agent)
    for folder in (folder for folder in {run: None, out: None} if (folder / CARD).exists()):  # one, where it is both
        card = read_card(folder)
        history = card_history.with_shipped(history, mine, folder, card)
        before = card if card["fingerprint"] == mine else before
    found = [card_exploiters.read(folder, agent) for folder in exploiters] or before.get("exploiters", [])
    return _Source(agent, saved.tensors, history, found, before.get("note", "") if note is None else note.strip())


def read_card(folder: Path) -> dict[str, Any]:
    """The card of a shipped folder. Raises ValueError for one that is damaged or of another version, OSError."""
    try:
        card = json.loads((folder / CARD).read_bytes())
    except ValueError:
        raise ValueError(f"{folder / CARD} is damaged: it is not JSON") from None
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise ValueError(f"{folder / CARD} is not a card of format {FORMAT}")
    if missing := [name for name, kinds in PARTS.items() if not isinstance(card.get(name), kinds)]:
        raise ValueError(f"{folder / CARD} is damaged: it does not tell its {', '.join(missing)}")
    try:
        _tell_again(card)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        what = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{folder / CARD} is damaged: {what}") from None
    return card


def _tell_again(card: dict[str, Any]) -> None:
    """All that is told of a card's figures, which takes all of them. Raises various errors where some are not there."""
    card_text.chapters(card)
    card_text.table([card])
    weaknesses(card)
    for figures in ("points_per_deal", "training") if card["curve"] else ():
        dict(card["curve"][figures])


def _opponents(names: Sequence[str], source: _Source) -> list[Agent]:
    opponents = load_all(list(names))
    for opponent in opponents:
        if opponent.name == source.agent.name:
            raise ValueError(f"{opponent.name} cannot be its own opponent")
        if (trained_for(opponent) or source.rules) != source.rules:
            raise ValueError(f"{opponent.name} plays other rules than the agent")
    return opponents


def _measure(
    source: _Source, opponents: list[Agent], puzzles: Sequence[Any], measures: Measures, tell: card_measures.Tell
) -> dict[str, Any]:
    """The part of the card that is measured."""
    rules, agent, seed = source.rules, source.agent, measures.seed

    def deals(opponent: Agent) -> int:
        return measures.slow_deals if card_measures.is_slow(opponent) else measures.deals

    matches, as_opponent = card_measures.play_both_roles(rules, agent, opponents, deals, seed, tell)
    strongest = opponents[-1]
    kinds = card_measures.measure_kinds(rules, agent, strongest, deals(strongest), seed, tell)
    tell("solving puzzles")
    return {
        "seed": seed,
        "versions": versions(),
        "matches": card_measures.as_json(matches),
        "as_opponent": card_measures.as_json(as_opponent),
        "opponents": {each.name: fingerprint(each) for each in opponents},
        "kinds": kinds,
        "puzzles": card_measures.solve_puzzles(agent, strongest, puzzles, seed),
    }


def _identity(source: _Source, file: Path) -> dict[str, Any]:
    """Write the model, without paths of its maker, and say what it is."""
    header = source.history.header
    config = without_paths(header["config"])
    header = header | {"format": checkpoint.FORMAT, "config": config | dict.fromkeys(PATHS, "")}
    checkpoint.write(file, source.tensors, header)
    write_json(file.with_suffix(".json"), header)
    content = _in_order(file.read_bytes())
    replace_atomically(file, content)
    preset, changed = preset_of(source.rules)
    return {
        "format": FORMAT,
        "name": source.agent.name,
        "fingerprint": source.agent.fingerprint,
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "rules": source.rules.to_dict(),
        "preset": preset,
        "changed": changed,
        "teams": source.rules.teams,
        "network": header["network"],
        "config": config,
        "former": header.get("former", []),
        **_spent(source.agent.spent),
        "earlier": _spent(header["before"]) if source.history.untold else None,
        "trained_with": header["versions"],
        "curve": source.history.curve,
    }


def _spent(spent: dict[str, float]) -> dict[str, float]:
    return {"decisions": int(spent["decisions"]), "hours": round(spent["seconds"] / 3600, 3)}


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata in order; the library writes them in another one each time."""
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text + content[start:]


@contextlib.contextmanager
def _replaced(out: Path) -> Iterator[Path]:
    """A new folder that takes the place of another one when all is in it, and is removed when that fails."""
    out.parent.mkdir(parents=True, exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    old = new.with_name(f"{new.name}.old")
    try:
        yield new
        new.chmod(0o755)
        if out.exists():
            os.rename(out, old)
        os.rename(new, out)
    except BaseException:
        if old.exists() and not out.exists():
            os.rename(old, out)
        shutil.rmtree(new, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
