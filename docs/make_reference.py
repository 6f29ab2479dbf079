"""Write the tables of the reference that code knows best: python docs/make_reference.py

A page says where a table goes by two comments, ``<!-- begin: NAME -->`` and ``<!-- end: NAME -->``; what is between
them is written anew. tests/test_docs.py fails while a page differs from what this writes.
"""

import ast
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from unittest import mock

import yaml

from agents import card_text
from agents.agent import SHIPPED
from agents.cli import COMMANDS, make_parser
from agents.command_rules import describe
from agents.command_train import make_parser as make_train_parser
from agents.learners import CONFIGS
from agents.training_config import TrainingConfig
from pitch_env import Rules
from pitch_env.actions import ACTION_TEXT, DONE, MOON, PASS, TRUMP
from pitch_env.cards import CARD_TEXT
from pitch_env.observation import parts, width

DOCS = Path(__file__).parent
PAGES = [*sorted(DOCS.glob("*.md")), DOCS.parent / "checkpoints" / "README.md"]
PREFIX = "../checkpoints/"  # from a page to the shipped agents; site_hooks.py leads to their copies in the site
BLOCK = re.compile(r"(<!-- begin: (\S+) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)


def filled(page: str) -> str:
    """A page with its tables as the code is now. Raises KeyError for a table that nobody writes."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{block(found[2])}\n{found[4]}", page)


def block(name: str) -> str:
    """What stands between the comments with this name."""
    kind, _, which = name.partition("-")
    return BLOCKS[kind](which) if which else BLOCKS[kind]()


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def code(value: object) -> str:
    return f"`{value}`"


def in_yaml(value: object) -> str:
    """A value as ``--rule-options`` takes it."""
    return str(yaml.safe_dump(value).splitlines()[0])


# Rules.


def preset(name: str) -> str:
    """A preset in words, and what its options are and may be."""
    found = describe(name, Rules.preset(name))
    words = "".join(f"**{heading}.** {text}\n\n" for heading, text in found["words"].items())
    rows = [(code(each["name"]), code(in_yaml(each["value"])), each["allowed"]) for each in found["options"]]
    return words + table(["option", "value", "allowed, the others being as they are"], rows)


def options() -> str:
    """What each option does."""
    found = describe("auction", Rules.preset("auction"))["options"]
    return table(["option", "what it does"], [(code(each["name"]), each["meaning"]) for each in found])


def presets() -> str:
    """The values of all options, by preset."""
    names = Rules.presets()
    values = [Rules.preset(name).to_dict() for name in names]
    rows = [(code(field), *(code(in_yaml(each[field])) for each in values)) for field in values[0]]
    return table(["option", *map(code, names)], rows)


# The environment.


def actions() -> str:
    """The action table."""
    suits = ("clubs", "diamonds", "hearts", "spades")
    rows = [
        (f"{13 * suit} to {13 * suit + 12}", f"{code(CARD_TEXT[13 * suit])} to {code(CARD_TEXT[13 * suit + 12])}",
         f"that card of {name}, from the two to the ace: exchange, discard or play it, by the phase")
        for suit, name in enumerate(suits)
    ]  # fmt: skip
    rows += [(card, code(CARD_TEXT[card]), f"the {which} joker") for card, which in ((52, "high"), (53, "low"))]
    rows += [(TRUMP + suit, code(ACTION_TEXT[TRUMP + suit]), f"name {name} trump") for suit, name in enumerate(suits)]
    rows.append((PASS, code(ACTION_TEXT[PASS]), "pass in the auction"))
    bids = f"{code(ACTION_TEXT[PASS + 1])} to {code(ACTION_TEXT[MOON - 1])}"
    rows.append((f"{PASS + 1} to {MOON - 1}", bids, "bid so many points"))
    rows.append((MOON, code(ACTION_TEXT[MOON]), "bid the moon"))
    rows.append((DONE, code(ACTION_TEXT[DONE]), "exchange no more cards"))
    return table(["ids", "text", "meaning"], rows)


def observation() -> str:
    """The parts of an observation, with their sizes by preset."""
    rules = [Rules.preset(name) for name in Rules.presets()]
    by_preset = [parts(each) for each in rules]
    rows: list[Sequence[object]] = []
    for name, (_, _, meaning) in by_preset[0].items():
        highest = sorted({highs for size, highs, _ in (found[name] for found in by_preset) if size})
        rows.append(
            (code(name), *(found[name][0] for found in by_preset), " or ".join(map(str, highest)) or 0, meaning)
        )
    rows.append(("all", *map(width, rules), "", ""))
    return table(["part", *map(code, Rules.presets()), "highest", "meaning"], rows)


# Commands.


def command(name: str) -> str:
    """What --help prints, on every terminal the same."""
    with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1"}):
        if name == "train":
            return fenced(make_train_parser().format_help()) + learners()
        (chooser,) = (action for action in make_parser(name)._actions if action.dest == "command")
        return fenced(chooser.choices[name].format_help())  # type: ignore[index]


def learners() -> str:
    """The options that learners other than the default one have of their own."""
    others = [name for name in CONFIGS if name != TrainingConfig.learner]
    shown = {name: make_train_parser(name).format_help() for name in others}
    heading = re.compile(r"^\S.* run:$", re.MULTILINE)  # there is one for all learners, and then the learner's
    own = {name: text[[*heading.finditer(text)][-1].start() : text.index("\nexample:")] for name, text in shown.items()}
    return "".join(
        f"\nWith `--learner {name}` the last ones are others, and there are other defaults: {defaults(name)}.\n\n"
        + fenced(own[name])
        for name in others
    )


def defaults(learner: str) -> str:
    """The defaults of a learner that are not those of all."""
    common = {field.name: field.default for field in fields(TrainingConfig) if field.name != "learner"}
    own = {field.name: field.default for field in fields(CONFIGS[learner])}
    changed = [name for name, value in common.items() if own[name] != value]
    return ", ".join(f"{code(name.replace('_', '-'))} {own[name]}" for name in changed)


def commands() -> str:
    """What there is, and then each command by itself."""
    rows = [(f"[{code(name)}](#{name})", words) for name, words in COMMANDS.items()]
    return table(["command", "what it does"], rows) + "".join(f"\n## {name}\n\n{command(name)}" for name in COMMANDS)


def fenced(text: str) -> str:
    """Text as it is, without what depends on where it was printed."""
    lines = ("".join(letter for letter in line if letter.isprintable()).rstrip() for line in text.splitlines())
    return "```text\n" + "\n".join(lines).strip() + "\n```\n"


# Examples and figures.


def examples() -> str:
    """What each example says of itself in its first sentence."""
    rows = []
    for file in sorted((DOCS.parent / "examples").glob("*.py")):
        words = " ".join((ast.get_docstring(ast.parse(file.read_text())) or "").split())
        rows.append((code(f"examples/{file.name}"), re.split(r":? python examples|(?<=\w)\. ", words)[0]))
    return table(["file", "what it shows"], rows)


def versions() -> str:
    """The versions of other libraries that were tried, from the page beside the examples."""
    text = (DOCS.parent / "examples" / "README.md").read_text().split("## Other libraries")[1]
    return "".join(f"{line}\n" for line in text.splitlines() if line.startswith("|"))


def figures() -> str:
    """The rows of docs/benchmarks.md that the rationale talks about."""
    lines = (DOCS / "benchmarks.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    head, chosen = rows[0], [row for row in rows[2:] if row[1]]
    return table(head[:3], [row[:3] for row in chosen])


def agents(which: str = "") -> str:
    """The shipped agents from their cards: a table, and on the page that is about them a section for each."""
    cards = card_text.cards_in(SHIPPED)
    if which == "table":
        return card_text.table(cards)
    return card_text.table(cards, PREFIX) + "\n" + card_text.sections(cards, PREFIX)


BLOCKS = {
    "preset": preset,
    "options": options,
    "presets": presets,
    "actions": actions,
    "observation": observation,
    "commands": commands,
    "examples": examples,
    "versions": versions,
    "figures": figures,
    "agents": agents,
}


def main() -> None:
    for page in PAGES:
        before = page.read_text()
        after = filled(before)
        if after != before:
            page.write_text(after)
            print(f"{page.name} has been written anew")


if __name__ == "__main__":
    main()
