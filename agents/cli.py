"""The command line: ``pitch COMMAND ...`` or ``python -m agents COMMAND ...``; each command is a file of its own.

A command's file has a DESCRIPTION, an EXAMPLE, ``add_options(parser)`` and ``run(options)``, which returns the exit
status or None for 0. It is imported when its command is called, so that none waits for what another one needs. Where
options are the fields of a dataclass, it has ``parse(arguments)``, which returns them all, instead of ``add_options``.
"""

import argparse
import importlib
import os
import re
import sys
from typing import Any

COMMANDS = {
    "train": "train an agent by self-play",
    "evaluate": "play agents against each other on duplicate deals",
    "exploit": "train an agent against another: what it finds",
    "tournament": "rate a field of agents, with a report",
    "nashconv": "how far agents are from an equilibrium, exactly, with a short deck",
    "puzzles": "positions with a right answer: which ones agents find",
    "card": "make a trained agent ready to ship, with a card of what it is worth",
    "export": "write a trained policy as ONNX or for torch.export",
    "play": "play against agents, in the terminal or a browser",
    "replay": "step through game records, or check them",
    "rules": "the rules of a preset in words, and all its options",
    "bench": "measure the speed of the engine on this machine",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0, 1 when it failed; a wrong command line exits with 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    command = arguments[0] if arguments else ""
    try:
        options = parse(arguments)
        return _module(command).run(options) or 0
    except BrokenPipeError:  # who reads the output has seen enough, as head does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, FloatingPointError, OSError) as error:
        print(f"pitch {command}: {error}", file=sys.stderr)
        return 1
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not re.search(r"(allocate|out of) memory", str(error)):  # PyTorch's
            raise
        print(f"pitch {command}: there is not enough memory for what was asked", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options that a command line sets. A wrong one exits with 2, ``--help`` with 0. Raises ValueError, OSError."""
    command = arguments[0] if arguments else ""
    if command in COMMANDS and hasattr(_module(command), "parse"):
        return _module(command).parse(arguments[1:])
    return make_parser(command).parse_args(arguments)


def _module(command: str) -> Any:
    return importlib.import_module(f"agents.command_{command}")


def make_parser(chosen: str) -> argparse.ArgumentParser:
    """A parser that knows all commands by name, and the options of the chosen one."""
    parser = argparse.ArgumentParser(prog="pitch", description="Train, measure, export and play players of Pitch.")
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    for name, help_line in COMMANDS.items():
        if name != chosen:
            commands.add_parser(name, help=help_line)
            continue
        module = _module(name)
        command = commands.add_parser(
            name,
            help=help_line,
            description=module.DESCRIPTION,
            epilog=f"example: pitch {module.EXAMPLE}",
        )
        module.add_options(command)
    return parser
