"""Files that are whole or not there."""

import os
import tempfile
from pathlib import Path


def replace_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at any moment either the old content or the new one is there, even after a power cut.

    Raises:
        OSError: it could not be written; the old file is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
