"""Options that several commands share: the same name for the same thing everywhere, and the types of their values."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from pitch_env import Rules
from pitch_env.record import Record, append


def add_agents(parser: argparse.ArgumentParser) -> None:
    """One agent or more, for ``load_all``."""
    parser.add_argument("agents", nargs="+", help="names of baselines, checkpoints, or folders of training runs")


def add_rules(parser: argparse.ArgumentParser) -> None:
    """What is played: ``chosen_rules`` reads it."""
    parser.add_argument(
        "--rules",
        type=rules_name,
        default="auction",
        metavar="RULES",
        help=f"a preset, {', '.join(Rules.presets())}, or a file of rules in YAML: fields, or the config of a training "
        "run (default: auction)",
    )
    add_rule_options(parser)


def add_rule_options(parser: argparse.ArgumentParser) -> None:
    """``--rule-options``, for commands that have the preset from elsewhere."""
    parser.add_argument("--rule-options", type=mapping, default={}, help="fields of it that differ: '{players: 6}'")


def rules_name(text: str) -> str:
    """The type of ``--rules``."""
    if text not in Rules.presets() and Path(text).suffix not in (".yaml", ".yml"):
        raise argparse.ArgumentTypeError(f"{text!r} is no preset ({', '.join(Rules.presets())}) and no .yaml file")
    return text


def chosen_rules(options: argparse.Namespace) -> Rules:
    """The rules of ``add_rules``. Raises ValueError for fields that do not exist or do not fit, OSError."""
    if options.rules in Rules.presets():
        return Rules.preset(options.rules, **options.rule_options)
    rules = read_rules(Path(options.rules))
    return Rules.from_dict(rules.to_dict() | options.rule_options) if options.rule_options else rules


def read_text(file: Path) -> str:
    """What a file holds. Raises ValueError that names the file, OSError."""
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not text in UTF-8") from None


def read_rules(path: Path) -> Rules:
    """Rules from a YAML file. Raises ValueError that names the file, OSError."""
    try:
        fields = yaml.safe_load(path.read_text(encoding="utf-8"))
        if isinstance(fields, dict) and "rules" in fields:  # the config of a training run
            return Rules.preset(fields["rules"], **(fields.get("rule_options") or {}))
        return Rules.from_dict(fields)
    except (yaml.YAMLError, UnicodeDecodeError, TypeError) as error:
        raise ValueError(f"{path} holds no rules in YAML: {' '.join(str(error).split())}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def add_seed(parser: argparse.ArgumentParser, default: int | None = 1) -> None:
    """``--seed``, of the deals and of the agents' chance; None if it is to be drawn."""
    says = "drawn" if default is None else default
    parser.add_argument(
        "--seed", type=at_least(0), default=default, help=f"of the deals and the agents' chance (default: {says})"
    )


def add_deals(parser: argparse.ArgumentParser, default: int, meaning: str) -> None:
    """``--deals``: at least two, which an interval takes."""
    parser.add_argument("--deals", type=at_least(2), default=default, help=f"{meaning} (default: {default})")


def add_json(parser: argparse.ArgumentParser) -> None:
    """``--json FILE``."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")


def names(text: str) -> list[str]:
    """The type of an option that is some names with commas between them."""
    found = [name.strip() for name in text.split(",")]
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not names with commas between them, such as 'expert,greedy'")
    return found


def add_record(parser: argparse.ArgumentParser) -> None:
    """``--record FILE``: see ``record_list``."""
    parser.add_argument("--record", type=Path, metavar="FILE", help="add a record of each deal to this file")


def record_list(options: argparse.Namespace) -> list[Record] | None:
    """The list that records are collected in, or None if none are wanted. Raises OSError for a file that cannot be."""
    if options.record is None:
        return None
    append(options.record, [])  # a file that cannot be written is refused now
    return []


def mapping(text: str) -> dict[str, Any]:
    """The type of an option that is a mapping in YAML."""
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is not a mapping such as '{{players: 6}}'")
    if nameless := [key for key in value if not isinstance(key, str)]:
        raise argparse.ArgumentTypeError(
            f"{nameless[0]!r} in {text!r} is not the name of a field; a mapping is such as '{{players: 6}}'"
        )
    return value


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option that is a whole number from ``least`` up."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return number
