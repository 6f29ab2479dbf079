"""Train an agent: python train.py --config configs/oklahoma.yaml --rule-options '{players: 6}' --learning-rate 3e-4"""

import os

# Threads that wait sleep, so that training does not slow down twentyfold when something else runs on the machine.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import sys
from pathlib import Path

from jsonargparse import ArgumentParser, set_parsing_settings

from agents.ppo_config import Config


def make_parser() -> ArgumentParser:
    """All options are the fields of the learner's config."""
    set_parsing_settings(docstring_parse_attribute_docstrings=True)
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--config", action="config", help="a YAML file that sets some of the options below")
    parser.add_argument("--resume", type=str | None, help="the folder of a run that was stopped, to go on with it")
    parser.add_class_arguments(Config)
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, train, and return the exit status."""
    arguments = [_with_underscores(each) for each in (sys.argv[1:] if arguments is None else arguments)]
    parser = make_parser()
    try:
        options = parser.parse_args(arguments)
        from agents.ppo import read_config, train  # torch takes seconds, and --help needs none

        if options.resume is not None:  # what the run was started with, unless it is said anew
            parser.set_defaults(read_config(Path(options.resume)))
            options = parser.parse_args(arguments)
        fields = {name: value for name, value in options.as_dict().items() if name not in ("config", "resume")}
        train(Config(**fields), None if options.resume is None else Path(options.resume))
    except (ValueError, FloatingPointError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    return 0


def _with_underscores(argument: str) -> str:
    """``--learning-rate=1`` as ``--learning_rate=1``: fields are Python names, options of a command line are not."""
    name, equals, value = argument.partition("=")
    return name.replace("-", "_").replace("__", "--", 1) + equals + value if name.startswith("--") else argument


if __name__ == "__main__":
    sys.exit(main())
