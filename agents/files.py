"""Files that are whole or not there: the one function of it lives below, for records and ledgers need it too."""

from pitch_env.files import replace_atomically

__all__ = ["replace_atomically"]
