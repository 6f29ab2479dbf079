"""``python -m agents``: see agents/cli.py."""

import sys

from agents.cli import main

sys.exit(main())
