"""The token of a fresh installation: made by `serve`, kept for this machine's commands.

It is stored in the data folder, readable by its owner alone, so that `tollgate chat` needs no
setup, and shown once on a terminal. Anywhere else the output of a service becomes a log, which
others read. Where a tool could read the file (the data are inside the workspace) it is not kept,
and shown in any case.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from app.cli.installation import open_tokens
from app.cli.terminal import is_terminal
from app.core.settings import Settings
from app.governance.identity.tokens import Tokens

FILE_NAME = "bootstrap.token"
MAX_CHARS = 1024


@dataclass(frozen=True, slots=True)
class Access:
    """Who is let in: `made` is a token that has just been made, `kept` where it lies."""

    is_open: bool = False
    made: str | None = None
    kept: Path | None = None

    def facts(self) -> dict[str, str]:
        """What the banner says about it."""
        if self.is_open:
            return {"access": "open to this machine: everybody here is an administrator"}
        said = "a token is needed"
        if self.kept is not None:
            said += f"; commands on this machine find one in {self.kept.absolute()}"
        if self.made is None or (self.kept is not None and not is_terminal(sys.stdout)):
            return {"access": said}
        return {"access": said, "token": f"{self.made} (every right; not shown again)"}


async def prepare_access(settings: Settings) -> Access:
    """Make the first token when there is none and nobody may come in without.

    Raises:
        StorageUnavailable: the data directory cannot be written.
    """
    if settings.token is not None:
        return Access()
    async with open_tokens(settings) as tokens:
        if settings.open_house and not await tokens.any_issued():
            return Access(is_open=True)
        made = await tokens.bootstrap()
        if made is not None:
            return Access(made=made, kept=_keep(settings, made))
        return Access(kept=await still_kept(settings, tokens))


def kept_token(data_dir: Path) -> str | None:
    """What lies in the file; None without one that can be read."""
    try:
        with (data_dir / FILE_NAME).open(encoding="ascii") as file:
            return file.read(MAX_CHARS).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


async def still_kept(settings: Settings, tokens: Tokens) -> Path | None:
    """The file, removed when the token in it is worth nothing any more."""
    kept = kept_token(settings.data_dir)
    if kept is None:
        return None
    if await tokens.find(kept) is not None:
        return _path(settings)
    forget_revoked(settings.data_dir)
    return None


def forget_revoked(data_dir: Path) -> None:
    """Remove the file, whose token is known to be worth nothing any more."""
    with suppress(OSError):
        (data_dir / FILE_NAME).unlink()


def _keep(settings: Settings, secret: str) -> Path | None:
    """Write the file; None when it must not lie there, or cannot."""
    path = _path(settings)
    if path.absolute().resolve().is_relative_to(settings.workspace_dir.resolve()):
        return None
    fresh = path.with_name(f".{FILE_NAME}.{os.getpid()}")
    try:
        # Never through a link, and never readable by others, not even for a moment.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(fresh, flags, 0o600), "w", encoding="ascii") as file:
            file.write(secret + "\n")
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        return None
    return path


def _path(settings: Settings) -> Path:
    return settings.data_dir / FILE_NAME
