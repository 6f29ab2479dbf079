"""The command line: ``pitch COMMAND ...`` or ``python -m agents COMMAND ...``; each command is a file of its own.

A command's file has a DESCRIPTION, an EXAMPLE, ``add_options(parser)`` and ``run(options)``, which returns the exit
status or None for 0. It is imported when its command is called, so that none waits for what another one needs.
"""

import argparse
import importlib
import sys

COMMANDS = {
    "export": "write a trained policy as ONNX or for torch.export",
    "evaluate": "play agents against each other on duplicate deals",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command. Returns the exit status: 0, 1 when it failed; a wrong command line exits with 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    options = make_parser(arguments[0] if arguments else "").parse_args(arguments)
    try:
        return options.run(options) or 0
    except (ValueError, OSError) as error:
        print(f"pitch {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def make_parser(chosen: str) -> argparse.ArgumentParser:
    """A parser that knows all commands by name, and the options of the chosen one."""
    parser = argparse.ArgumentParser(prog="pitch", description="Train, measure, export and play players of Pitch.")
    commands = parser.add_subparsers(required=True, metavar="command", dest="command")
    for name, help_line in COMMANDS.items():
        if name != chosen:
            commands.add_parser(name, help=help_line)
            continue
        module = importlib.import_module(f"agents.command_{name}")
        command = commands.add_parser(
            name,
            help=help_line,
            description=module.DESCRIPTION,
            epilog=f"example: pitch {module.EXAMPLE}",
        )
        module.add_options(command)
        command.set_defaults(run=module.run)
    return parser
