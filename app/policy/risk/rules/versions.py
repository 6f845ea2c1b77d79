"""Version control other than git: what loses work or deletes files."""

from __future__ import annotations

from collections.abc import Iterator

from app.policy.risk.call import Answer, Call, RuleTable, ask, options, run, table

_HG = {
    "update": ("-C", "--clean"),
    "up": ("-C", "--clean"),
    "checkout": ("-C", "--clean"),
    "merge": ("--abort",),
    "purge": (),
    "clean": (),
    "strip": (),
    "revert": (),
    "rollback": (),
    "remove": (),
    "rm": (),
    "push": ("-f", "--force"),
}
_SVN = {
    "revert": (),
    "delete": (),
    "del": (),
    "remove": (),
    "rm": (),
    "cleanup": ("--remove-unversioned", "--remove-ignored"),
}
_OTHERS: dict[str, dict[str, tuple[str, ...]]] = {
    "bzr": {"revert": (), "uncommit": ()},
    "fossil": {"revert": (), "clean": ()},
    "p4": {"revert": (), "obliterate": (), "delete": ()},
    "jj": {"abandon": (), "restore": ()},
}
_LOSSY: dict[str, dict[str, tuple[str, ...]]] = {"hg": _HG, "svn": _SVN, **_OTHERS}
"""Verbs that lose work, and the options without which they do not; none: always."""
_SHOWS = ("-n", "--dry-run", "--help", "-h")


def _versions(call: Call) -> Iterator[Answer]:
    given = options(call.args, "R r m -repository -cwd -config -rev -message")
    verb = given.rest[0] if given.rest else ""
    flags = _LOSSY[call.name].get(verb)
    if flags is None or given.has(*_SHOWS):
        return
    if not flags or given.has(*flags):
        yield ask("delete", f"{call.name} {verb} loses work or deletes files")


def _everywhere(call: Call) -> Iterator[Answer]:
    """`repo forall -c command words`."""
    if call.args[:1] == ["forall"] and "-c" in call.args:
        words = call.args[call.args.index("-c") + 1 :]
        yield run(["sh", "-c", *words])


RULES: RuleTable = {
    **table(" ".join(_LOSSY), _versions),
    "repo": _everywhere,
}
