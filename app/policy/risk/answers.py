"""Answers of the rules about one command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache

from app.policy.risk.call import (
    SECRET,
    Answer,
    CommandCall,
    RuleMatch,
    ask,
    names,
    options,
    prints_help,
)
from app.policy.risk.command import plain_name, wrapped_by_stranger
from app.policy.risk.informational import only_explains
from app.policy.risk.named_secrets import WHOLE, WHOLE_FOLDER, in_file, paths_in
from app.policy.risk.registry import HARDLY_KNOWN, NOT_ALL_KNOWN, RULES
from app.policy.risk.shown_secrets import shows_secret
from app.policy.risk.strangers import stranger
from app.policy.risk.unknown_acts import acts, by_address
from app.policy.risk.unknown_clients import statements

_SENDER_NAME = re.compile(
    r"(?:upload|send|paste|share|transfer|beam|drop|post)(?:er|bin|it|me|cli|-cli)?(?:\.sh)?$"
)
_SENDER_VERB = re.compile(
    r"(?:[a-z]+[-:])?(?:upload|put|send|share|publish|push|paste|post|seed|backup|sync)(?:[-:_][a-z-]+)?"
)
_REMOTE_ADDRESS = re.compile(
    r"(?:https?|wss?|ftp|sftp|ssh|rsync|s3|gs|tcp)://(?!(?:[^/@]*@)?(?:localhost|127\.|\[::1))"
    r"|[\w.-]+@[\w.-]+:|(?:sftp|rclone|rest|s3|b2|azure|gs):\S"
)
_STORING_WORDS = frozenset(
    names("secret secrets env vars variable variables config config:set encrypt")
)
"""Actions on secrets that store them where they belong."""


def judged(call: CommandCall) -> tuple[Answer, ...]:
    found = _judged(call)
    for answer in found:
        if type(answer) is RuleMatch and answer.code == "secret_read":
            return found
    known = call.name in RULES and call.name not in HARDLY_KNOWN
    return (*found, *shows_secret(call, known=known))


def _judged(call: CommandCall) -> tuple[Answer, ...]:
    rules = RULES.get(call.name)
    if rules is None:
        # A rule's tables use the canonical name, so the rule must receive it.
        call.name = plain_name(call.name)
        rules = RULES.get(call.name)
    if only_explains(call):
        return ()
    if rules is None:
        return _by_shape(call, known=False)
    if len(rules) == 1:
        found = tuple(rules[0](call))
    else:
        found = tuple([answer for rule in rules for answer in rule(call)])
    if found:
        return found
    if call.name not in NOT_ALL_KNOWN:
        return tuple(by_address(call))
    if call.name in HARDLY_KNOWN:
        return _by_shape(call, known=True)
    return (*stranger(call, options_too=False), *acts(call, known=True), *sends_by_shape(call))


def _by_shape(call: CommandCall, *, known: bool) -> tuple[Answer, ...]:
    return (
        *wrapped_by_stranger(call),
        *stranger(call),
        *statements(call),
        *acts(call, known=known),
        *sends_by_shape(call),
    )


@lru_cache(maxsize=4096)
def quoted(word: str) -> str:
    return shlex.quote(word)


# Unknown programs that send, by the form of their words.
#
# A telling name or subcommand (`filen upload`, `megaput`), or an address among the words, means
# that the program's input leaves this machine. Without a secret it does not ask.


def sends_by_shape(call: CommandCall) -> Iterator[RuleMatch]:
    """Ask about a secret that an unknown program would send."""
    far = any(":" in word and _REMOTE_ADDRESS.match(word) is not None for word in call.args)
    words = options(call.args).rest
    by_name = bool(_SENDER_NAME.search(call.name) or any(map(_SENDER_VERB.fullmatch, words[:3])))
    if not (far or by_name) or not (words or call.stdin):
        return
    if prints_help(call.args) or not _STORING_WORDS.isdisjoint(words[:3]):
        return
    found = _secret_given(call, whole=by_name)
    if found:
        yield ask("secret_sent", f"{call.name} seems to send {found} to another host")


def _secret_given(call: CommandCall, *, whole: bool) -> str:
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
