"""Detection of commands that refer to the service itself: its database, port and environment.

The sandbox protects the service's files, memory and port. Without it, a command might answer its
own confirmation or create a token, so references to the service ask, including relative paths,
globs and other spellings of its address. This is not a security boundary: names can be composed at
run time (`docs/security.md`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from app.policy.risk.model import CommandFinding, RiskLevel, Segment, Verdict
from app.policy.rules.places import redirected, word_places

_ALWAYS = (
    r"tollgate\.db",
    r"bootstrap\.token",
    r"/proc/[^\s;|&]*environ",
    r"/proc/(?!self/)[^\s;|&/]+/(?:mem|fd|cwd|root|[^\s;|&]*[*?\[{])",
    r"\btollgate\s+(?:approvals|backup|call|chat|checkpoints|db|login|memory|plugins|restore|rules"
    r"|serve|skills|sources|token|tools)\b",
)
_GLOB = re.compile(r"[*?\[]")
_MAX_FOLLOWED = 2_000
# Programs that include everything below a given folder.
_RECURSIVE = frozenset({"find", "fd", "rg", "ag", "tar", "rsync", "zip", "scp", "7z", "cpio"})
_RECURSIVE_ON_REQUEST = frozenset({"grep", "egrep", "fgrep", "cp"})
_RECURSIVE_OPTION = re.compile(
    r"-[A-Za-z]*[rRa][A-Za-z]*|--(?:recursive|archive|dereference-recursive)"
)
_DECISIVE = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf"})


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """Data directory; a workspace inside it does not belong to it."""

    data_dir: str
    workspace: str

    def holds(self, path: str) -> bool:
        """Return whether a path, including globs, may lead into it and not only into the
        workspace.
        """
        wanted, own = _pieces(path), _pieces(self.data_dir)
        if len(wanted) < len(own) or not _fits(wanted, own):
            return False
        within = _pieces(self.workspace)
        if within[: len(own)] != own or len(wanted) < len(within):
            return True
        return any(
            one != other for one, other in zip(wanted[len(own) :], within[len(own) :], strict=False)
        )

    def is_below(self, path: str) -> bool:
        """Return whether a path, including globs, may be a folder above it, and above the
        workspace.
        """
        wanted, own = _pieces(path), _pieces(self.data_dir)
        return len(wanted) < len(own) and _fits(wanted, own) and self.is_left(path)

    def is_left(self, path: str | None) -> bool:
        """Return whether a folder is outside the workspace, so that plain names may lead
        anywhere.
        """
        return path is None or not f"{path}/".startswith(self.workspace.rstrip("/") + "/")


class SelfProtection:
    """Detector of references to one running service.

    Args:
        real: data directory and workspace with links resolved, if different.
    """

    def __init__(
        self, *, port: int, data_dir: str, workspace: str, real: tuple[str, str] | None = None
    ) -> None:
        folders = [(data_dir, workspace), *([real] if real else [])]
        self._folders = [OwnFolder(*folder) for folder in dict.fromkeys(folders)]
        names = list(_ALWAYS)
        if port:
            # With any prefix: an address has too many spellings to list.
            names.append(rf"(?<=[\w.\])}}]):{port}\b|/dev/(?:tcp|udp)/[^\s/]+/{port}\b")
            names.append(rf"(?:localhost|127\.[\d.]+|::1|0\.0\.0\.0)\s+{port}\b")
        for folder, inside in dict.fromkeys(folders):
            names.append(rf"{re.escape(folder)}(?![\w.-])(?!{_rest(folder, inside)})")
        self._pattern = re.compile("|".join(f"(?:{name})" for name in names), re.IGNORECASE)

    def finding(
        self, command: str, segments: Sequence[Segment] = (), cwd: str | None = None
    ) -> CommandFinding | None:
        """Return a finding that asks if the command refers to the service, or None.

        Args:
            segments: its commands, if known, used to resolve paths.
            cwd: working directory.
        """
        found = self._pattern.search(command)
        named = found[0] if found else self._reached(command, segments, cwd)
        if named is None:
            return None
        why = f"it names the service itself ({named[:60]})"
        return CommandFinding("service_access", None, why, RiskLevel.HIGH, Verdict.ASK)

    def _reached(self, command: str, segments: Sequence[Segment], cwd: str | None) -> str | None:
        """Return the first path into the service's own folder, or the part that shows its
        secrets.
        """
        for segment in segments[:_MAX_FOLLOWED]:
            if _shows_environments(segment.argv):
                return "ps e"
            for path in self._paths(segment):
                if any(folder.holds(path) for folder in self._folders):
                    return path
                if _recursive(segment.argv) and any(f.is_below(path) for f in self._folders):
                    return path
        if "<" in command or ">" in command:
            for place in redirected(command, tuple(segments[:_MAX_FOLLOWED]), cwd):
                if place.path and any(folder.holds(place.path) for folder in self._folders):
                    return place.path
        return None

    def _paths(self, segment: Segment) -> Iterator[str]:
        """Yield absolute paths of the words that may lead out of the workspace."""
        cwd = segment.cwd
        outside = any(folder.is_left(cwd) or folder.holds(cwd or "") for folder in self._folders)
        if not outside and not any(map(_may_leave, segment.argv[1:])):
            return
        if outside and cwd is not None and len(segment.argv) == 1:
            yield cwd  # `ls`
        argv = tuple(word and self._at_home(word) for word in segment.argv)
        for place in word_places(segment._replace(argv=argv), windows=False):
            if place.path is not None and place.path.startswith("/"):
                yield place.path

    def _at_home(self, word: str) -> str:
        """Replace `~`, which is the workspace for commands."""
        if word == "~" or word.startswith("~/"):
            return self._folders[-1].workspace + word[1:]
        return word


def _may_leave(word: str | None) -> bool:
    return word is not None and (".." in word or "/" in word or "~" in word)


def _shows_environments(argv: Sequence[str | None]) -> bool:
    """Detect `ps e`, `ps auxe`: options without a dash, of which `e` shows each environment."""
    if len(argv) < 2 or argv[0] is None or argv[0].rsplit("/", 1)[-1] != "ps":
        return False
    first = argv[1] or ""
    return first.isalpha() and "e" in first


def _recursive(argv: Sequence[str | None]) -> bool:
    name = (argv[0] or "").rsplit("/", 1)[-1] if argv else ""
    if name in {"find", "fd"}:
        return not _DECISIVE.isdisjoint(argv)
    if name in _RECURSIVE_ON_REQUEST:
        return any(word is not None and _RECURSIVE_OPTION.fullmatch(word) for word in argv[1:])
    return name in _RECURSIVE


def _pieces(path: str) -> list[str]:
    return [piece for piece in path.split("/") if piece]


def _fits(wanted: Iterable[str], own: Iterable[str]) -> bool:
    """Return whether all parts of both at the same position may be the same name."""
    return all(
        piece == known or (_GLOB.search(piece) is not None and fnmatchcase(known, piece))
        for piece, known in zip(wanted, own, strict=False)
    )


def _rest(data_dir: str, workspace: str) -> str:
    """Return the rest of a path after the data directory that leads into the workspace."""
    if workspace.startswith(data_dir + "/"):
        return re.escape(workspace[len(data_dir) :]) + r"(?![\w.-])"
    return r"(?!)"
