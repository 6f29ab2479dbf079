"""``train``: train an agent. The options are the fields of the learner's config; train.py is a short way to here."""

import argparse
import importlib
import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentParser, Namespace, set_parsing_settings

import agents.torch_environment  # noqa: F401  for its effect
from agents.learners import config_of, read_config
from agents.options import read_text
from agents.training_config import TrainingConfig

DESCRIPTION = "Train an agent by self-play. Ctrl-C saves, and --resume goes on."
EXAMPLE = "train --config configs/oklahoma.yaml --rule-options '{players: 6}' --learning-rate 3e-4"


class _Parser(ArgumentParser):
    """Shows options as one types them: fields are Python names, options of a command line are not."""

    def format_help(self, *arguments: Any, **settings: Any) -> str:
        return _as_typed(super().format_help(*arguments, **settings))

    def format_usage(self, *arguments: Any, **settings: Any) -> str:
        return _as_typed(super().format_usage(*arguments, **settings))


def _as_typed(shown: str) -> str:
    return re.sub(r"--\w+", lambda option: option[0].replace("_", "-"), shown)


def make_parser(learner: str = "ppo") -> ArgumentParser:
    """All options are the fields of the learner's config: those that all learners have, then its own."""
    config = config_of(learner)
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    # No abbreviations: what decides which options there are is looked for by its whole name, see _first_look.
    parser = _Parser(
        prog="pitch train", allow_abbrev=False, description=DESCRIPTION, epilog=f"example: pitch {EXAMPLE}"
    )
    parser.add_argument("--config", action="config", help="a YAML file that sets some of the options below")
    parser.add_argument("--resume", type=str | None, help="the folder of a run that was stopped, to go on with it")
    common = {field.name for field in fields(TrainingConfig)}
    parser.add_class_arguments(TrainingConfig)
    parser.add_class_arguments(config, skip=common)
    changed = {field.name: field.default for field in fields(config) if field.name in common}
    parser.set_defaults({name: value for name, value in changed.items() if value is not MISSING})
    return parser


def parse(arguments: list[str]) -> Namespace:
    """The options that a command line sets; then those of its files; then of the run that it resumes, its defaults.

    Raises ValueError.
    """
    arguments = [_with_underscores(each) for each in arguments]
    named = _first_look(arguments)
    before: dict[str, Any] = {} if named.resume is None else read_config(Path(named.resume))
    contents = {path: _content(path) for path in named.config}
    chosen = [content["learner"] for content in contents.values() if content.get("learner")]
    learner = named.learner or (chosen or [before.get("learner", "ppo")])[-1]
    parser = make_parser(learner)
    for path, content in contents.items():
        if strange := sorted(str(name) for name in content if name not in parser.get_defaults()):
            raise ValueError(
                f"{path} sets {', '.join(strange)}, which {learner} does not have; --help tells what it has"
            )
    if learner != before.get("learner", learner):
        raise ValueError(f"learner={learner!r} is not allowed; {named.resume} was trained with {before['learner']}")
    parser.set_defaults(before)
    return parser.parse_args([*(f"--config={path}" for path in named.config), *named.others])


def _first_look(arguments: list[str]) -> argparse.Namespace:
    """What decides which options there are; and ``others``, all arguments without the files.

    The files go first, for the parser of all options lets the later of two win, whichever is a file.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--config", action="append", default=[])
    deciding = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    deciding.add_argument("--learner")
    deciding.add_argument("--resume")
    try:
        named, others = parser.parse_known_args(arguments)
        deciding.parse_known_args(others, named)
    except argparse.ArgumentError:  # of an option without a value, which the parser of all options says better
        named, others = argparse.Namespace(config=[], learner=None, resume=None), arguments
    return argparse.Namespace(**vars(named), others=others)


def _content(path: str) -> dict[str, Any]:
    """What a YAML file sets. What else may be wrong with it, the parser says better.

    Raises:
        ValueError: it is no YAML, where the parser would not name it.
    """
    try:
        text = read_text(Path(path))
    except OSError:
        return {}
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    except ValueError:  # of a date that there is not, say
        return {}
    return content if isinstance(content, dict) else {}


def run(options: Namespace) -> None:
    """Train."""
    chosen = {name: value for name, value in options.as_dict().items() if name not in ("config", "resume")}
    config = config_of(options.learner)(**chosen)
    learner = importlib.import_module(f"agents.{options.learner}")  # torch takes seconds, and --help needs none
    learner.train(config, None if options.resume is None else Path(options.resume))


def _with_underscores(argument: str) -> str:
    """``--learning-rate=1`` as ``--learning_rate=1``, the name of the field."""
    name, equals, value = argument.partition("=")
    return name.replace("-", "_").replace("__", "--", 1) + equals + value if name.startswith("--") else argument
