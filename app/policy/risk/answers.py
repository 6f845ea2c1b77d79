"""Answers of the rules about one command."""

from __future__ import annotations

import shlex
from functools import lru_cache

from app.policy.risk.call import Answer, CommandCall, RuleMatch
from app.policy.risk.command import plain_name, wrapped_by_stranger
from app.policy.risk.informational import only_explains
from app.policy.risk.registry import HARDLY_KNOWN, NOT_ALL_KNOWN, RULES
from app.policy.risk.shown_secrets import shows_secret
from app.policy.risk.strangers import stranger
from app.policy.risk.unknown_acts import acts, by_address
from app.policy.risk.unknown_clients import statements
from app.policy.risk.unknown_senders import sends_by_shape


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
