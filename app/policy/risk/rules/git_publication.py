"""git: destinations of a repository, and secrets in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, CommandCall, RuleTable, ask, names, options, table
from app.policy.risk.model import RiskLevel
from app.policy.risk.paths import reading
from app.policy.risk.rules.git import GLOBAL_OPTIONS, moved
from app.policy.risk.secrets import ALL_OF, held

_ADDRESS = re.compile(
    r"(?!file:)[a-z][a-z+]*://|(?:[\w.-]+@)?[\w-]+(?:\.[\w-]+)+:|[\w.-]+@[\w.-]+:", re.IGNORECASE
)
_NEAR = re.compile(r"\w+://(?:[^/@]*@)?(?:localhost|127\.|\[::1\])")
_REMOTE_SETTING = re.compile(r"remote\.(?:.+\.)?(?:push)?(?:url|default)=", re.IGNORECASE)
_NEVER_COMMITTED = re.compile(
    r"(?:^|/)(?:\.env(?:\.(?!example|sample|template|dist|test|ci|defaults)[\w-]+)*"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.git-credentials|\.pgpass)$"
)


def _git(call: CommandCall) -> Iterator[Answer]:
    before = options(call.args, GLOBAL_OPTIONS, stop=True)
    verb, args = before.rest[:1], before.rest[1:]
    if verb == ["push"]:
        yield from _push(call, args, before.all_values("-c"))
    elif verb in (["add"], ["stage"]):
        yield from _add(call, args)
    elif verb:
        yield from _read(moved(call, before), verb[0], args)


_DEPLOYS = frozenset(names("heroku dokku production prod live deploy piku scalingo clever"))
"""Names of remotes that deploy what is pushed."""


def _push(call: CommandCall, args: list[str], settings: list[str]) -> Iterator[Answer]:
    """Ask about a possibly new destination: an address, or a remote set by this script."""
    given = options(args, "o -push-option -repo -receive-pack -exec")
    if given.has("-n", "--dry-run", "-h", "--help"):
        return
    target = given.value("--repo") or (given.rest[0] if given.rest else "origin")
    remotes = call.flow.remotes
    if target in _DEPLOYS:
        yield ask("publish", f"pushes to {target}, which deploys what it receives")
    elif _ADDRESS.match(target) and not _NEAR.match(target):
        why = f"pushes the repository to {_bare(target)}, an address that may be new"
        yield ask("new_destination", why)
    elif any(map(_REMOTE_SETTING.match, settings)):
        yield ask("new_destination", "pushes the repository to an address given for this call")
    elif target in remotes or (not given.rest and remotes):
        yield ask("new_destination", f"pushes the repository to {target}, which was just set")


_READS = frozenset(
    names(
        "diff hash-object grep blame annotate commit tag notes merge apply am mailinfo mailsplit "
        "stripspace interpret-trailers patch-id fast-import difftool range-diff send-email "
        "update-index mktree mktag"
    )
)
"""Subcommands that read files outside the repository."""


def _read(call: CommandCall, verb: str, args: list[str]) -> Iterator[Answer]:
    """Ask about a secret of a home folder that git shows or adds to the repository."""
    paths: list[str] = []
    if verb == "config":
        paths = options(args, "f -file -blob").all_values("-f", "--file")
    elif verb in _READS:
        values = (word.partition("=")[2] for word in args if word[:2] == "--")
        paths = [*(word for word in args if word[:1] != "-"), *filter(None, values)]
    for path in paths:
        yield from reading(call.at(path), call.home)


def _bare(address: str) -> str:
    """Return an address without credentials."""
    return re.sub(r"//[^/@]*@", "//", address)


def _add(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    """Ask about added secrets: commits stay in the history and leave with the next push."""
    given = options(args)
    if given.has("-n", "--dry-run"):
        return
    forced = given.has("-f", "--force")
    for path in given.rest:
        secret = held(call.at(path), call.home) if forced else ""
        if _NEVER_COMMITTED.search(path) or (secret and not secret.startswith(ALL_OF)):
            why = f"git add {path} puts secrets into the history"
            yield ask("secret_committed", why, RiskLevel.MEDIUM)
            return


RULES: RuleTable = table("git hub", _git)
