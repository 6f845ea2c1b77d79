"""Paths in the arguments of `git`, for rules on paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from app.core.errors import ToolFailed

_MOST_FOLDERS = 64
_RANGE = re.compile(r"\.{2,3}")
_STAGE = re.compile(r"[0-3]:")


def paths_in_git(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return `repo`, `path` relative to `repo`, and files of revisions such as `HEAD:a.txt`.

    The repository's root is unknown here: a revision's file may be below `repo` or any folder above
    it, so all of these are included.

    Raises:
        ToolFailed: `invalid_path`: too many paths.
    """
    repo = posixpath.normpath(str(arguments.get("repo") or "."))
    found = [repo]
    if path := arguments.get("path"):
        found.append(posixpath.join(repo, str(path)))
    rev = str(arguments.get("rev") or "")
    if ":" in rev and (repo.count("/") > _MOST_FOLDERS or len(_RANGE.findall(rev)) > 1):
        raise ToolFailed("The revision names too much to be checked", code="invalid_path")
    for piece in (rev, *_RANGE.split(rev)):
        _, _, inner = piece.partition(":")
        found += _in_revision(_STAGE.sub("", inner, count=1), repo)
    return list(dict.fromkeys(found))


def _in_revision(path: str, repo: str) -> Iterator[str]:
    if not path or path.startswith("/"):  # `:/text` searches for a message
        return
    yield posixpath.join(repo, path)
    if path.startswith(("./", "../")):
        return
    folder = repo
    while (above := posixpath.dirname(folder.rstrip("/"))) != folder and folder not in ("", "."):
        yield posixpath.join(above, path)
        folder = above
