"""Which runs of which attempts one test run makes.

Everything in every setting takes half an hour; that is for the gate before a release. In
continuous integration each attempt is made at each of its levels with all layers of this
machine, at a desk at one of them.
"""

from __future__ import annotations

import os

from app.operations.protocols.sandbox import LEVELS, Level
from tests.escape.attempt import Attempt
from tests.escape.attempts.collected import ATTEMPTS, CONTROL
from tests.escape.settings import HOSTS, NAIVE, NETWORK, NETWORK_GUARD, OWN, SETTINGS, Setting
from tests.escape.source import HOW_MANY
from tests.support.binaries import in_ci

EVERY = os.environ.get(HOW_MANY) == "every"
AT_EACH_LEVEL = in_ci()
# What an ordinary user cannot do anyway, so that nobody can see it succeed without being root.
_ONLY_AS_ROOT = frozenset(
    (
        *("open-by-handle", "escape-by-chroot", "device", "capabilities", "raw-udp"),
        *("hold-kernel-program", "hold-file-notices", "hold-new-file-system"),
        *("hold-kernel-log", "hold-packet-socket", "hold-raw-socket", "unshare-mounts"),
        *("mount-over", "bind-in", "copied-tree", "namespaces-of-victim", "handle-of-own-parent"),
        *("mounted-by-descriptor", "group-of-processes-made", "whiteout", "change-owner"),
    )
)
Run = tuple[Setting, Level, Attempt]


def confined() -> list[Run]:
    """Runs in the sandbox."""
    let_out: list[Run] = [
        (setting, "bash", attempt)
        for setting in (NETWORK, NETWORK_GUARD)
        for attempt in ATTEMPTS
        if attempt.category == "network" and "bash" in attempt.at()
    ]
    let_out += [
        (HOSTS, "bash", attempt)
        for attempt in ATTEMPTS
        if attempt.category in ("network", "hosts") and "bash" in attempt.at()
    ]
    if EVERY:
        return let_out + [
            (setting, level, attempt)
            for setting in SETTINGS
            for attempt in ATTEMPTS
            for level in attempt.at()
        ]
    return let_out + [
        (OWN, level, attempt)
        for number, attempt in enumerate(ATTEMPTS)
        for level in (
            attempt.at() if AT_EACH_LEVEL else attempt.at()[number % len(attempt.at()) :][:1]
        )
    ]


def _levels(attempt: Attempt, number: int) -> tuple[Level, ...]:
    levels = attempt.at()
    return levels if AT_EACH_LEVEL else (levels[number % len(levels)],)


def controls() -> list[Run]:
    """The harmless run of each setting and level."""
    return [
        (setting, level, CONTROL) for setting in (SETTINGS if EVERY else (OWN,)) for level in LEVELS
    ] + [(HOSTS, "bash", CONTROL)]


def unconfined() -> list[Run]:
    """Runs without a sandbox."""
    return [
        (NAIVE, "bash" if attempt.shell else "lenient", attempt)
        for attempt in ATTEMPTS
        if attempt.unseen is None
        and (EVERY or not attempt.slow)
        and (os.geteuid() == 0 or attempt.name not in _ONLY_AS_ROOT)
    ]


def name_of(run: Run) -> str:
    return "-".join((run[0].name, run[1], run[2].name))
