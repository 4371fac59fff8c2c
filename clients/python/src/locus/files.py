"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Iterable

from locus._wire import refuse


def save(path: str | os.PathLike[str], chunks: Iterable[bytes]) -> Path:
    """Writes chunks to a file that appears when it is whole; InvalidArgument where none can be written."""
    target = Path(path)
    try:
        handle, part = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        refuse(f"cannot write {target}: {error.strerror}; name a file in a folder that can be written", "path")
    try:
        with os.fdopen(handle, "wb") as out:
            out.writelines(chunks)
        os.chmod(part, 0o644)
        os.replace(part, target)
    except OSError as error:
        refuse(f"cannot write {target}: {error.strerror}; name a file in a folder that can be written", "path")
    finally:
        Path(part).unlink(missing_ok=True)
    return target
