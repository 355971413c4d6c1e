"""Runs the program fathom: python -m fathom ARGUMENTS.

The program is the first of these that exists: the copy in the package (`bin/fathom`, in wheels), the one next to
the library that FATHOM_LIBRARY names or in the folder bin beside its folder, and the one on the PATH.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from . import _library


def _candidates() -> Iterator[Path]:
    yield Path(__file__).resolve().parent / "bin" / "fathom"
    library = _library.path()
    if library:
        folder = library.resolve().parent
        yield folder / "fathom"
        yield from (parent / "bin" / "fathom" for parent in (folder.parent, folder.parent.parent))
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        yield Path(entry or ".") / "fathom"


def _is_program(path: Path) -> bool:
    """Returns whether a file is a compiled program: a script fathom could call this module again."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF" and os.access(path, os.X_OK)
    except OSError:
        return False


def program() -> Optional[Path]:
    """Returns the path of the program fathom; None if there is none."""
    return next((path for path in _candidates() if _is_program(path)), None)


def main() -> int:
    """Replaces this process by the program fathom, with the same arguments."""
    path = program()
    if path is None:
        print("fathom: the program fathom is neither in the package nor on the PATH", file=sys.stderr)
        return 127
    os.execv(path, ["fathom", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
