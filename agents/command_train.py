"""``train``: train an agent. The options are the fields of the learner's config; train.py is a short way to here."""

import os
import re

# Threads that wait sleep, so that training does not slow down twentyfold when something else runs on the machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace, set_parsing_settings

from agents.learners import read_config
from agents.ppo_config import Config

DESCRIPTION = "Train an agent by self-play. Ctrl-C saves, and --resume goes on."
EXAMPLE = "train --config configs/oklahoma.yaml --rule-options '{players: 6}' --learning-rate 3e-4"


class _Parser(ArgumentParser):
    """Shows options as one types them: fields are Python names, options of a command line are not."""

    def format_help(self, *arguments: Any, **settings: Any) -> str:
        shown = super().format_help(*arguments, **settings)
        return re.sub(r"--\w+", lambda option: option[0].replace("_", "-"), shown)


def make_parser() -> ArgumentParser:
    """All options are the fields of the learner's config."""
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = _Parser(prog="pitch train", description=DESCRIPTION, epilog=f"example: pitch {EXAMPLE}")
    parser.add_argument("--config", action="config", help="a YAML file that sets some of the options below")
    parser.add_argument("--resume", type=str | None, help="the folder of a run that was stopped, to go on with it")
    parser.add_class_arguments(Config)
    return parser


def parse(arguments: list[str]) -> Namespace:
    """The options that a command line sets; those of the run that it resumes are the defaults. Raises ValueError."""
    arguments = [_with_underscores(each) for each in arguments]
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.resume is not None:
        parser.set_defaults(read_config(Path(options.resume)))
        options = parser.parse_args(arguments)
    return options


def run(options: Namespace) -> None:
    """Train."""
    from agents.ppo import train

    fields = {name: value for name, value in options.as_dict().items() if name not in ("config", "resume")}
    train(Config(**fields), None if options.resume is None else Path(options.resume))


def _with_underscores(argument: str) -> str:
    """``--learning-rate=1`` as ``--learning_rate=1``, the name of the field."""
    name, equals, value = argument.partition("=")
    return name.replace("-", "_").replace("__", "--", 1) + equals + value if name.startswith("--") else argument
