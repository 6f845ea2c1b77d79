"""Every rule, by the name of the command that it judges."""

from __future__ import annotations

from app.policy.risk import unwrap
from app.policy.risk.call import Rule, RuleTable
from app.policy.risk.rules import (
    containers,
    database,
    delete,
    disks,
    dispatch,
    editors,
    files,
    git,
    git_publishing,
    infra,
    interpreters,
    network,
    outputs,
    packages,
    programs,
    remote,
    search,
    sending,
    services,
    shells,
    system,
    tool_options,
    versions,
    windows_names,
)


def _merge(tables: list[RuleTable]) -> dict[str, tuple[Rule, ...]]:
    merged: dict[str, tuple[Rule, ...]] = {}
    for rules in tables:
        for name, rule in rules.items():
            merged[name] = (*merged.get(name, ()), rule)
    return merged


RULES = _merge(
    [
        unwrap.RULES,
        containers.RULES,
        database.RULES,
        delete.RULES,
        dispatch.RULES,
        disks.RULES,
        editors.RULES,
        files.RULES,
        git.RULES,
        git_publishing.RULES,
        infra.RULES,
        interpreters.RULES,
        network.RULES,
        outputs.RULES,
        packages.RULES,
        programs.RULES,
        remote.RULES,
        search.RULES,
        sending.RULES,
        services.RULES,
        shells.RULES,
        system.RULES,
        tool_options.RULES,
        versions.RULES,
        windows_names.RULES,
    ]
)

_SOME_VERBS = frozenset(
    module.__name__
    for module in (containers, database, infra, packages, sending, services, versions)
)
NOT_ALL_KNOWN = frozenset(
    name
    for name, rules in RULES.items()
    if all(rule.__module__ in _SOME_VERBS or rule.__module__ == unwrap.__name__ for rule in rules)
    and not name.startswith(("redis", "valkey", "keydb", "memcached", "python"))
)
"""Clients with many verbs, of which their rules know some."""
ONLY_SENDERS = frozenset(name for name in sending.RULES if len(RULES[name]) == 1)
"""Programs of which no more is known than that they send."""
WRAPPING = unwrap.TRANSPARENT | shells.TRANSPARENT | {"xargs", "gxargs"}
"""Commands that do nothing but run others, as the same user on the same host."""
READING = frozenset([*database.RULES, *search.RULES, *dispatch.RULES, *remote.RULES])
"""Commands whose rules look at what files hold that the script wrote before."""
SENDING = frozenset([*sending.RULES, *git_publishing.RULES])
"""Commands that may send what the script has read before."""
