"""Deleting and emptying files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk import floor
from app.policy.risk.call import (
    UNKNOWN,
    Answer,
    CommandCall,
    RuleMatch,
    RuleTable,
    ask,
    asking,
    deny,
    only_help,
    options,
    table,
)
from app.policy.risk.model import RiskLevel, Verdict
from app.policy.risk.paths import is_below, writing
from app.policy.risk.shapes import Rows, Shape, shaped


def _remove(call: CommandCall) -> Iterator[Answer]:
    if only_help(call.args):
        return
    given = options(call.args)
    recursive = given.has("-r", "-R", "--recursive")
    # A shell has already replaced a bare tilde by the home folder: this one was quoted.
    named = [f"./{path}" if path.startswith("~") else path for path in given.rest]
    yield from removing(call, named, recursive=recursive)


def removing(call: CommandCall, operands: list[str], *, recursive: bool) -> Iterator[RuleMatch]:
    """Yield findings for deleting `operands`, relative to the call's directory."""
    targets = tuple(call.at(path) for path in operands if UNKNOWN not in path)
    shown = tuple(target for target in targets if UNKNOWN not in target)
    for target in targets:
        if floor.is_account_file(target):
            yield deny("account_file", f"deletes {target}")
        elif floor.is_block_device(target):
            yield deny("raw_device", f"deletes the device {target}")
        elif recursive and floor.is_catastrophic(target, call.home):
            yield RuleMatch(
                "catastrophic_delete",
                f"deletes all of {target}",
                RiskLevel.CRITICAL,
                Verdict.DENY,
                (target,),
            )
    level = RiskLevel.HIGH if recursive else RiskLevel.MEDIUM
    yield RuleMatch("delete", f"{call.name} deletes files permanently", level, targets=shown)


def emptying(call: CommandCall, hit: RuleMatch, operands: list[str]) -> RuleMatch:
    """Return the finding with the files it is about, as far as known."""
    targets = (call.at(path) for path in operands)
    return hit._replace(targets=tuple(path for path in targets if UNKNOWN not in path))


def _rmdir(call: CommandCall) -> Iterator[Answer]:
    if not only_help(call.args):
        yield from removing(call, options(call.args).rest, recursive=False)


def _destroy(call: CommandCall) -> Iterator[Answer]:
    if only_help(call.args):
        return
    devices = [arg for arg in call.args if floor.is_block_device(call.at(arg))]
    if devices:
        yield deny("raw_device", f"overwrites the device {devices[0]}")
    if any(floor.is_account_file(call.at(arg)) for arg in call.args):
        yield deny("account_file", f"{call.name} destroys the account database")
    named = options(call.args, "n s -iterations -size -random-source -remove=").rest
    yield emptying(call, ask("destroy", f"{call.name} destroys file content"), named)


def _truncate(call: CommandCall) -> Iterator[Answer]:
    if only_help(call.args):
        return
    given = options(call.args, "s r -size -reference")
    size = given.value("-s", "--size") or ""
    for path in given.rest:
        yield from writing(call.at(path), call.home)
    grows = size.startswith(("+", ">", "%")) or _makes_file(call, size, given.rest)
    if not grows:
        yield emptying(call, ask("truncate", "truncates files"), given.rest)


_LARGE = re.compile(r"0*[1-9]\d*(?:[KMGTPE]i?B?|\d{6,})")


def _makes_file(call: CommandCall, size: str, paths: list[str]) -> bool:
    """Return whether it creates a file: `truncate -s 1G disk.img` gives a new file that size."""
    if not _LARGE.fullmatch(size) or not paths:
        return False
    return all(is_below(call.at(path), call.cwd) for path in paths)


def _trash(call: CommandCall) -> Iterator[Answer]:
    if call.args[:1] == ["trash"] and "--empty" in call.args:
        yield ask("delete", "gio trash empties the trash")
    elif call.args[:1] == ["remove"]:
        yield ask("delete", "gio remove deletes")


def _into_trash(call: CommandCall) -> Iterator[Answer]:
    """Handle moves of files to a recoverable place, unless that place is emptied."""
    words = options(call.args, "-graveyard").rest
    if words[:1] in (["empty"], ["remove"], ["erase"]) or options(call.args, "-graveyard").has(
        "-e", "--empty", "-d", "--decompose", "--prune"
    ):
        yield ask("delete", f"{call.name} deletes files in the trash")


_DRY = r"^(?:-n|--dry-run|--help|-h|--version|-t|--test)$"
_FINDERS: Rows = {
    "fdupes jdupes": (
        Shape(
            having=r"^(?:-\w*[dNILB]\w*|--(?:delete|immediate|linkhard|linksoft|dedupe))$",
            unless=r"^--help$",
        ),
    ),
    "rdfind": (
        Shape(
            having=r"^-(?:deleteduplicates|makehardlinks|makesymlinks|removeidentinode)\ntrue$",
            unless=r"^-(?:n|dryrun)\ntrue$",
        ),
    ),
    "fclones": (Shape(r"(?:remove|link|dedupe|move)\b", unless=r"^--dry-run$"),),
    "czkawka_cli czkawka-cli krokiet_cli": (
        Shape(
            having=r"^(?:-\w*D|--delete-method)(?:=|\n|$)(?!NONE\b)|^--delete-(?:files|folders)$",
            unless=r"^--dry-run$",
        ),
    ),
    "rmlint.sh": (Shape(having=r"^-\w*[dx]", unless=r"^-\w*[nh]"),),
    "rmlint": (Shape(having=r"^-(?:o|O)\n?\S*(?:sh:)?handler=\S*remove|^--dedupe", unless=_DRY),),
    "tmpreaper tmpwatch": (Shape(unless=r"^(?:-\w*t\w*|--test|-h|--help|-V)$", having=r"\S"),),
    "stowage duperemove dupe-krill dupeguru-cli dduper bees": (
        Shape(having=r"^-\w*d|^--(?:delete|dedupe)", unless=_DRY),
    ),
    "cleanlinks symlinks": (Shape(having=r"^-\w*d|\A\Z", unless=_DRY),),
    "localepurge deborphan-remove bleachbit-cli mlocate-purge ncdu-delete": (Shape(unless=_DRY),),
    "mdel mdeltree mrd mformat mdelf": (Shape(having=r"\S", unless=r"^--help$"),),
    "7z 7za 7zr 7zz rar unrar": (
        Shape(r"d\b", having=r"\S\n\S"),
        Shape(having=r"^-(?:sdel|df|dw|dr)$"),
    ),
    "zip": (Shape(having=r"^(?:-\w*[md]|--(?:move|delete))$", unless=r"^(?:-sf|-h|--help|-T)$"),),
    "ar": (Shape(r"-?d\w* "),),
    "detox rename prename": (Shape(having=r"^(?:-\w*f|--force)$", unless=r"^-\w*n"),),
    "exiftool": (Shape(having=r"^-(?:delete_original!?|all=|overwrite_original\w*)$"),),
    "find-and-delete rmdupe findimagedupes-delete wipefreespace sfill smem "
    "sswap nwipe dban srm secure-delete secure_deletion_toolkit zerofree "
    "e4defrag-wipe diskscrb disk-wipe wipedisk": (
        Shape(unless=_DRY + r"|^(?:-V|--version)$", having=r"\S|\A\Z"),
    ),
}


def _history(call: CommandCall) -> Iterator[Answer]:
    if options(call.args).has("-c", "-d"):
        yield ask("history", "deletes the shell's history", RiskLevel.MEDIUM)


RULES: RuleTable = {
    **table("rm grm srm rimraf del-cli trash-rm", _remove),
    **table("rmdir unlink grmdir", _rmdir),
    **table("shred wipe scrub bleachbit", _destroy),
    **asking("trash-empty", "delete", "empties the trash"),
    **table("trash trash-cli gomi rip tp", _into_trash),
    **shaped("delete", "deletes files", _FINDERS),
    "truncate": _truncate,
    "gio": _trash,
    "history": _history,
}
