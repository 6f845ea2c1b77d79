"""Unknown programs that send, by the form of their words.

A telling name or subcommand (`filen upload`, `megaput`), or an address among the words, means that
the program's input leaves this machine. Without a secret it does not ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import SECRET, CommandCall, RuleMatch, ask, names, options, prints_help
from app.policy.risk.named_secrets import WHOLE, WHOLE_FOLDER, in_file, paths_in

_NAME = re.compile(
    r"(?:upload|send|paste|share|transfer|beam|drop|post)(?:er|bin|it|me|cli|-cli)?(?:\.sh)?$"
)
_VERB = re.compile(
    r"(?:[a-z]+[-:])?(?:upload|put|send|share|publish|push|paste|post|seed|backup|sync)(?:[-:_][a-z-]+)?"
)
_FAR = re.compile(
    r"(?:https?|wss?|ftp|sftp|ssh|rsync|s3|gs|tcp)://(?!(?:[^/@]*@)?(?:localhost|127\.|\[::1))"
    r"|[\w.-]+@[\w.-]+:|(?:sftp|rclone|rest|s3|b2|azure|gs):\S"
)
_KEPT = frozenset(names("secret secrets env vars variable variables config config:set encrypt"))
"""Actions on secrets that store them where they belong."""


def sends_by_shape(call: CommandCall) -> Iterator[RuleMatch]:
    """Ask about a secret that an unknown program would send."""
    far = any(":" in word and _FAR.match(word) is not None for word in call.args)
    words = options(call.args).rest
    by_name = bool(_NAME.search(call.name) or any(map(_VERB.fullmatch, words[:3])))
    if not (far or by_name) or not (words or call.stdin):
        return
    if prints_help(call.args) or not _KEPT.isdisjoint(words[:3]):
        return
    found = _given(call, whole=by_name)
    if found:
        yield ask("secret_sent", f"{call.name} seems to send {found} to another host")


def _given(call: CommandCall, *, whole: bool) -> str:
    if call.stdin is not None and call.stdin.secret:
        return call.stdin.secret
    for word in call.args:
        if SECRET in word:
            return "a secret"
        if whole and word in WHOLE:
            return WHOLE_FOLDER
        for path in paths_in(word):
            if found := in_file(call, path):
                return found
    return ""
