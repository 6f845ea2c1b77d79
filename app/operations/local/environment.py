"""Environment of started programs: a fixed safe set, never the service's own."""

from __future__ import annotations

import os
from collections.abc import Mapping

from app.core.errors import ToolFailed

SAFE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TERMINAL_TYPE = "xterm-256color"


def clean_environment(
    home: str, extra: Mapping[str, str], tmp: str | None = None
) -> dict[str, str]:
    """Return the safe set updated with `extra`; only TZ is taken from the service.

    Raises:
        ToolFailed: code `invalid_environment` for names or values that no process supports.
    """
    environment = {
        "PATH": SAFE_PATH,
        "HOME": home,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TZ": os.environ.get("TZ") or "UTC",
        "USER": "tollgate",
        "LOGNAME": "tollgate",
    }
    if tmp is not None:
        environment["TMPDIR"] = tmp
    for name, value in extra.items():
        _check(name, value)
        environment[name] = value
    return environment


def check_argv(argv: tuple[str, ...]) -> None:
    """Refuse invalid command lines.

    Raises:
        ToolFailed: code `invalid_command`.
    """
    if not argv or not argv[0]:
        raise ToolFailed("The command is empty: give a program to start", code="invalid_command")
    for index, argument in enumerate(argv):
        if not _holds(argument):
            raise ToolFailed(
                f"Argument {index} contains a NUL or unencodable character; remove it",
                code="invalid_command",
                index=index,
            )


def _check(name: str, value: str) -> None:
    if not name or "=" in name or not _holds(name) or not _holds(value):
        raise ToolFailed(
            f"Environment variable {name[:80]!r} cannot be set: names must be non-empty without "
            "'=', names and values without NUL",
            code="invalid_environment",
        )


def _holds(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True
