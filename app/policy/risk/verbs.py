"""Verbs in the words of command lines: `delete-volume`, `vm.destroy`, `snapRemove`.

The verb stands alone, before its object, or after it, with a dash, a colon, a dot, a capital letter
or nothing in between.
"""

from __future__ import annotations

import re
from functools import lru_cache

from app.policy.risk.call import names

DESTROYING = frozenset(
    names(
        "delete destroy purge wipe erase drop revoke obliterate nuke expunge "
        "unregister decommission "
        "prune forget terminate deprovision teardown truncate zap shred deregister eradicate "
        "undeploy undefine unpublish cleanse"
    )
)
"""Destructive for any program."""
TAKING_AWAY = DESTROYING | frozenset(
    names(
        "remove rm rmi del unlink uninstall reset clear clean cleanup flush free "
        "gc rollback revert "
        "detach leave discard expire invalidate deactivate abandon reinit reformat format sanitize "
        "overwrite removeall deleteall purgeall rmr unprovision unenroll kill cleanse empty unmap "
        "evict destroyall unbind rmtree clearall"
    )
)
"""Removes parts of a project with most programs, and of a server with some."""
STOPPING = frozenset(
    names(
        "stop disable down halt shutdown poweroff reboot drain suspend fence standby failover "
        "switchover quit pause offline stopall abort terminate bounce cordon demote"
    )
)
"""For programs that serve others, these stop the service."""
READING = frozenset(
    names(
        "help man list ls can-i show get describe info status search find grep log logs "
        "explain which docs "
        "doc print echo test check lint view cat open watch version inspect query stat top dump "
        "export download fetch diff compare verify validate count exists ping "
        "create add new init start up apply set update edit put install upgrade enable run exec "
        "console attach connect login logout push pull import copy cp mv rename tail "
        "preview render config-get completion commit ci send post comment generate g scaffold"
    )
)
"""No other verb follows these: a name, a file, a command."""
_NOUNS = (
    "snapshots?|files?|dirs?|director(?:y|ies)|folders?|users?|groups?|"
    "accounts?|keys?|nodes?|hosts?|"
    "disks?|volumes?|vols?|pools?|partitions?|tables?|index(?:es)?|indices|databases?|dbs?|queues?|"
    "topics?|messages?|logs?|cache|data|all|backups?|archives?|duplicates|dupes|images?|devices?|"
    "flash|chip|config|certs?|credentials|sessions?|jobs?|tokens?|roles?|"
    "buckets?|objects?|records?|"
    "vms?|domains?|clusters?|instances?|services?|packages?|tags?|branch(?:es)?|repos?|items?|"
    "hints|collections?|streams?|shards?|replicas?|entries|rules?|routes?"
)
_GLUED = re.compile(
    rf"(?:delete|destroy|remove|purge|wipe|erase|drop|clear|del|rm|unlink|"
    rf"truncate|flush)(?:{_NOUNS})"
)
_AIX = "dev|lv|vg|fs|ps|role|nfs|ts|sys|server|tcpip|path|itab|ssys|mount|que|quedev|virprt|map"
_GLUED_NAME = re.compile(
    rf"(?:\w+_)?(?:{_NOUNS})(?:del|rm|delete|remove)|(?:rm|del|remove|"
    rf"delete)(?:{_NOUNS}|{_AIX}|def|cp)|un(?:install|deploy)\w*"
)
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_:.][A-Za-z0-9]+)*")
_MOST_PIECES = 5


@lru_cache(maxsize=4096)
def pieces(word: str) -> tuple[str, ...]:
    """Return the words that `word` consists of, in lower case; empty for a path or a value."""
    if len(word) > 48 or _PLAIN.fullmatch(word) is None:
        return ()
    found = tuple(piece.lower() for piece in _PIECES.findall(word))
    return found if len(found) <= _MOST_PIECES else ()


def names_it(name: str) -> bool:
    """Return whether a program's name joins a verb and its object: `rmuser`, `delgroup`."""
    return _GLUED_NAME.fullmatch(name) is not None


def says(word: str, verbs: frozenset[str]) -> bool:
    """Return whether one of `verbs` starts or ends `word`, or is joined to an object."""
    # After a dot comes a verb, as in `vm.destroy`, or a file's type.
    parts = pieces(word.rpartition(".")[2])
    if not parts:
        return False
    if not verbs.isdisjoint(parts[:2]) or parts[-1] in verbs:
        return True
    return "delete" in verbs and any(_GLUED.fullmatch(part) for part in parts)


def verb_among(words: list[str], verbs: frozenset[str]) -> str | None:
    """Return the first of `words` with one of `verbs`, unless another verb precedes it."""
    for word in words:
        if says(word, verbs):
            return word
        if word in READING:
            return None
    return None
