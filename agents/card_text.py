"""The card of a shipped agent as Markdown, and the table of all of them."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from agents import card_exploiters
from agents.card_weaknesses import duration, points
from pitch_env import Rules
from pitch_env.files import replace_atomically

IN_TABLE = ("greedy", "expert", "search")  # the opponents that the table names
BLOCK = re.compile(r"(<!-- begin: agents-table -->\n).*?(<!-- end: agents-table -->)", re.DOTALL)


def write(card: dict[str, Any]) -> str:
    """The card as Markdown."""
    return "\n\n".join(chapter for chapter in chapters(card) if chapter) + "\n"


def chapters(card: dict[str, Any]) -> tuple[str, ...]:
    """The parts of a card's text, some of them empty."""
    return (
        f"# {card['name']}\n\n{summary(card)}",
        _use(card),
        _results(card),
        _exploiters(card),
        _weaknesses(card),
        _kinds(card),
        _puzzles(card),
        _training(card),
        _rules(card),
        _provenance(card),
    )


def summary(card: dict[str, Any]) -> str:
    """What it plays, how it learned that, and what it beats."""
    rules = Rules.from_dict(card["rules"])
    clear = [f"`{match['opponent']}`" for match in card["matches"] if match["low"] > 0]
    beaten = f"It is clear of {', '.join(clear)}" if clear else "It is clear of none of its opponents"
    return (
        f"A trained agent for the preset {named_rules(card)}: {rules.players} players, {rules.teams} teams. It learned "
        f"from {_number(card['decisions'])} decisions\nin {duration(card['hours'])} of training{_earlier(card)}. "
        f"{beaten}."
    )


def _earlier(card: dict[str, Any]) -> str:
    """How much of the training was before that of which the curve and the options are."""
    found = card.get("earlier")  # which older cards do not have
    return (
        f", {_number(found['decisions'])} of them in {duration(found['hours'])} before the run whose curve and options "
        "are below"
        if found
        else ""
    )


def named_rules(card: dict[str, Any]) -> str:
    """The preset, and what differs from it."""
    return ", ".join([f"`{card['preset']}`", *(f"`{name}={value!r}`" for name, value in card["changed"].items())])


def _number(decisions: int) -> str:
    return f"{decisions / 1e6:,.0f} million" if decisions >= 1e7 else f"{decisions:,}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """A table; its first columns are words, the others numbers."""
    lines = [head, ["---" if column < words else "---:" for column in range(len(head))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _share(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _interval(match: dict[str, Any]) -> str:
    return f"{match['low']:+.3f} to {match['high']:+.3f}"


def _use(card: dict[str, Any]) -> str:
    preset, changed = card["preset"], "".join(f", {name}={value!r}" for name, value in card["changed"].items())
    return (
        "## How to load it\n\n```python\nfrom agents import load\n\n"
        f'agent = load("{card["name"]}")\nactions = agent.act(observation, mask, rng)\n```\n\n'
        "Observations [N, D] and masks [N, 71] are those of "
        f'`pitch_v0.env(rules="{preset}"{changed})` or of `VectorGame`; `rng` is a generator of\nNumPy, whose chance '
        f"it does not use. To play against it: `pitch play --rules {preset}{_options(card)} --against {card['name']}`."
    )


def _options(card: dict[str, Any]) -> str:
    changed = yaml.safe_dump(card["changed"], default_flow_style=True, sort_keys=False, width=1000).strip()
    return f" --rule-options '{changed}'" if card["changed"] else ""


def _results(card: dict[str, Any]) -> str:
    if card["teams"] > 2:
        heading = "One opponent among agents like it"
        words = "The other way round, the opponent in the seats of one team:"
    else:
        heading = "The opponents at these tables"
        words = "The same seen from the other side, for the bids:"
    return (
        "## How strong it is\n\nPoints per deal relative to the opponents, on duplicate deals: each deal is played "
        "with the agent in the seats\nof every team in turn, and the opponent in all others. *Pitcher* is the share of "
        "its deals in which it (or its partner)\nwas that, *made* the share of those in which it made its bid.\n\n"
        f"{_matches(card['matches'], 'opponent', 'against')}\n\n### {heading}\n\n{words}\n\n"
        f"{_matches(card['as_opponent'], 'agent', 'opponent')}\n\nAll on deals of seed {card['seed']}. What each of "
        "these players is, `docs/baselines.md` tells."
    )


def _matches(matches: Sequence[dict[str, Any]], who: str, called: str) -> str:
    rows = [
        [
            f"`{match[who]}`",
            f"{match['deals']:,}",
            f"{match['mean']:+.3f}",
            _interval(match),
            _share(match["pitched"]),
            _share(match["made"]),
        ]
        for match in matches
    ]
    return _table([called, "deals", "points per deal", "95 % interval", "pitcher", "made"], rows)


def _exploiters(card: dict[str, Any]) -> str:
    if not card["exploiters"]:
        return ""
    rows = []
    for found in card["exploiters"]:
        match, learned = found["match"], [_number(found["decisions"]), duration(found["hours"])]
        rows.append([found["start"], *learned, f"{match['deals']:,}", f"{match['mean']:+.3f}", _interval(match)])
    head = ["began as", "decisions", "training", "deals", "points per deal", "95 % interval"]
    copied = any(found["start"] == card_exploiters.COPY for found in card["exploiters"])
    return (
        "## What exploiters find\n\nAgents that were trained against this one, which did not change, and the points\n"
        "per deal that they win from it on duplicate deals. They are lower bounds: another learner or a longer run\n"
        f"may find more.{' A copy begins at zero, so one that ends below has only unlearned.' if copied else ''}\n\n"
    ) + _table(head, rows)


def _weaknesses(card: dict[str, Any]) -> str:
    lines = "\n".join(f"- {sentence}" for sentence in card["weaknesses"])
    note = f"\n\n{card['note']}" if card["note"] else ""
    return f"## Weaknesses\n\n{lines or 'Nothing that was measured tells of one.'}{note}"


def _kinds(card: dict[str, Any]) -> str:
    by = card["kinds"][0]["by"]
    rows = [[each["kind"], f"{each['deals']:,}", f"{each['mean']:+.3f}", _interval(each)] for each in card["kinds"]]
    return (
        "## Where points are lost\n\nWhat it gains, or loses, against itself when another takes its decisions of one "
        "kind and it takes all others:\n\n" + _table([f"by `{by}`", "deals", "points per deal", "95 % interval"], rows)
    )


def _puzzles(card: dict[str, Any]) -> str:
    found = card["puzzles"]
    if not found["puzzles"]:
        return "## Puzzles\n\nNone of the puzzles is of its rules."
    other = found.get("reference")
    rows = [
        [name, str(each["puzzles"]), _share(each["score"])]
        for name, each in sorted(found["themes"].items(), key=lambda item: (item[1]["score"], item[0]))
    ]
    failed = "\n".join(
        f"- {each['name']}: {', '.join(each['did'])} instead of {' or '.join(each['right'])}"
        for each in found["failed"]
    )
    return (
        f"## Puzzles\n\nPositions with a right answer: of the {found['puzzles']} that are of its rules it finds "
        f"{found['score']:.0%}" + (f", `{other['name']}` {other['score']:.0%}" if other else "") + ".\n\n"
        + _table(["theme", "puzzles", "right"], rows)
        + (f"\n\nIt fails:\n\n{failed}" if failed else "")
    )  # fmt: skip


def _training(card: dict[str, Any]) -> str:
    curve = card["curve"]
    picture = (
        "![Points per deal, entropy, pass rate and explained variance, over the decisions of the run](curve.png)\n\n"
        f"The points are of duplicate matches of {curve['deals']:,} deals on the way, always the same ones.\n\n"
        if curve
        else ""
    )
    options = yaml.safe_dump(card["config"], sort_keys=False)
    return f"## Training\n\n{picture}The options of the run:\n\n```yaml\n{options}```{_former(card)}"


def _former(card: dict[str, Any]) -> str:
    """The options that were changed as the run went on, the last first."""
    phases = "\n".join(
        f"- {_number(each['decisions'])} decisions: "
        f"{', '.join(f'`{name}` {value!r}' for name, value in each['options'].items())}"
        for each in reversed(card.get("former", []))  # which older cards do not have
    )
    return (
        f"\n\nOptions were changed as it went on. Until then they were, as far as they differ:\n\n{phases}"
        if phases
        else ""
    )


def _rules(card: dict[str, Any]) -> str:
    fields = yaml.safe_dump(card["rules"], sort_keys=False)
    return f"## Rules\n\nPreset {named_rules(card)}. The agent knows no other rules.\n\n```yaml\n{fields}```"


def _provenance(card: dict[str, Any]) -> str:
    trained, measured = (
        ", ".join(f"{name} {number}" for name, number in card[key].items()) for key in ("trained_with", "versions")
    )
    return (
        f"## Where it comes from\n\nWeights `{card['fingerprint']}`, {card['bytes']:,} bytes, SHA-256\n"
        f"`{card['sha256']}`.\nTrained with {trained};\nmeasured with {measured}. `card.json` has all of this for "
        "programs."
    )


# All shipped agents.


def table(cards: Sequence[dict[str, Any]], prefix: str = "") -> str:
    """A row for each agent; ``prefix`` leads to the folder that theirs are in."""
    if not cards:
        return "None has been measured yet.\n"
    head = ["agent", "rules", "training", *(f"`{name}`" for name in IN_TABLE), "best exploiter", "puzzles"]
    return _table(head, [_row(card, prefix) for card in cards], words=3) + "\n"


def _row(card: dict[str, Any], prefix: str) -> list[str]:
    matches = {match["opponent"]: match for match in card["matches"]}
    players = "" if "players" in card["changed"] else f", {card['rules']['players']} players"
    found, right = [each["match"] for each in card["exploiters"]], card["puzzles"]["score"]
    return [
        f"[`{card['name']}`]({prefix}{card['name']}/card.md)",
        named_rules(card) + players,
        f"{_number(card['decisions'])} decisions, {duration(card['hours'])}",
        *(points(matches[name]) if name in matches else "–" for name in IN_TABLE),
        points(max(found, key=lambda match: match["mean"])) if found else "–",
        _share(right),
    ]


def sections(cards: Sequence[dict[str, Any]], prefix: str) -> str:
    """A section for each agent: what it is, its curve, its weaknesses."""
    found = []
    for card in cards:
        place = f"{prefix}{card['name']}"
        curve = f"![The learning curve of {card['name']}]({place}/curve.png)\n\n" if card["curve"] else ""
        weak = "\n".join(f"- {sentence}" for sentence in card["weaknesses"])
        found.append(f"## {card['name']}\n\n{summary(card)}\n\n{curve}{weak}\n\n[The whole card]({place}/card.md)\n")
    return "\n".join(found)


def cards_in(folder: Path) -> list[dict[str, Any]]:
    """The cards of the agents in a folder, by name. Raises ValueError for one that is damaged."""
    from agents.card import CARD, read_card

    return [read_card(file.parent) for file in sorted(folder.glob(f"[!.]*/{CARD}"))]


def with_table(page: str, folder: Path) -> str:
    """A page with the table of the agents in a folder, where comments say that it has one."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{table(cards_in(folder))}\n{found[2]}", page)


def update_table(folder: Path) -> None:
    """Write the table in a folder's README anew, if there is one."""
    readme = folder / "README.md"
    before = readme.read_text(encoding="utf-8") if readme.exists() else ""
    after = with_table(before, folder)
    if after != before:
        replace_atomically(readme, after.encode())
