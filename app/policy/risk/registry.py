"""All rules, by the name of the command."""

from __future__ import annotations

from app.policy.risk import unwrap
from app.policy.risk.call import Rule, RuleTable
from app.policy.risk.rules import (
    accounts,
    containers,
    database,
    delete,
    devices,
    disks,
    dispatch,
    drives,
    editors,
    exposure,
    files,
    fleets,
    foreign_packages,
    git,
    git_publication,
    infra,
    interpreters,
    machines,
    macos,
    network,
    option_commands,
    outputs,
    packages,
    programs,
    protections,
    publication,
    queues,
    remote,
    remote_power,
    rights,
    search,
    secret_stores,
    services,
    shells,
    stores,
    system,
    tool_options,
    uploads,
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
        accounts.RULES,
        containers.RULES,
        database.RULES,
        delete.RULES,
        devices.RULES,
        disks.RULES,
        dispatch.RULES,
        drives.RULES,
        editors.RULES,
        exposure.RULES,
        files.RULES,
        fleets.RULES,
        foreign_packages.RULES,
        git.RULES,
        git_publication.RULES,
        infra.RULES,
        interpreters.RULES,
        machines.RULES,
        macos.RULES,
        network.RULES,
        option_commands.RULES,
        outputs.RULES,
        packages.RULES,
        programs.RULES,
        protections.RULES,
        publication.RULES,
        queues.RULES,
        remote.RULES,
        remote_power.RULES,
        rights.RULES,
        search.RULES,
        secret_stores.RULES,
        uploads.RULES,
        services.RULES,
        shells.RULES,
        stores.RULES,
        system.RULES,
        tool_options.RULES,
        versions.RULES,
        windows_names.RULES,
    ]
)

_BY_SUBJECT = (
    accounts.RULES,
    devices.RULES,
    drives.RULES,
    exposure.RULES,
    fleets.RULES,
    foreign_packages.RULES,
    machines.RULES,
    macos.RULES,
    option_commands.RULES,
    protections.RULES,
    publication.RULES,
    queues.RULES,
    remote_power.RULES,
    rights.RULES,
    secret_stores.RULES,
    uploads.RULES,
    stores.RULES,
    versions.RULES,
)
_SOME_VERBS = (
    *_BY_SUBJECT,
    containers.RULES,
    database.RULES,
    infra.RULES,
    packages.RULES,
    remote.CLOUDS,
    services.RULES,
)


def _of_others(*tables: RuleTable) -> set[str]:
    """Return the programs known to a table other than `tables`."""
    known = {rule for rules in tables for rule in rules.values()}
    return {name for name, rules in RULES.items() if any(rule not in known for rule in rules)}


NOT_ALL_KNOWN = frozenset(
    name
    for name in RULES.keys() - _of_others(*_SOME_VERBS, unwrap.RULES)
    if not name.startswith(("redis", "valkey", "keydb", "memcached", "python"))
)
"""Clients with many verbs, of which their rules know some."""
HARDLY_KNOWN = frozenset(RULES.keys() - _of_others(*_BY_SUBJECT))
"""Programs of which the rules know only one aspect."""
WRAPPING = unwrap.TRANSPARENT | shells.TRANSPARENT | {"xargs", "gxargs"}
"""Commands that only run others, as the same user on the same host."""
