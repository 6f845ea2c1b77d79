"""File or folder that a glob names before its first wildcard, for rules on paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from app.toolkit.tool import PathFinder

_WILD = re.compile(r"[*?\[{\\]")


def paths_in_glob(argument: str) -> PathFinder:
    """Return a finder for the argument: `secret/*.txt` below `path` names the folder `secret`.

    A glob without `/` names nothing, nor does an exclusion.
    """

    def find(arguments: Mapping[str, Any]) -> Sequence[str]:
        glob = str(arguments.get(argument) or "").removeprefix("./")
        if "/" not in glob or glob.startswith("!"):
            return ()
        wild = _WILD.search(glob)
        named = glob if wild is None else glob[: wild.start()].rpartition("/")[0]
        return (posixpath.join(str(arguments.get("path") or "."), named),) if named else ()

    return find
