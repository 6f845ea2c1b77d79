"""Writing, reading and changing ownership of files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk import floor
from app.policy.risk.call import (
    Answer,
    CommandCall,
    RuleMatch,
    RuleTable,
    ask,
    deny,
    only_help,
    options,
    table,
)
from app.policy.risk.model import RiskLevel
from app.policy.risk.paths import reading, writing


def _written(call: CommandCall, paths: list[str]) -> Iterator[RuleMatch]:
    for path in paths:
        yield from writing(call.at(path), call.home)


def _read(call: CommandCall, paths: list[str]) -> Iterator[RuleMatch]:
    for path in paths:
        yield from reading(call.at(path), call.home)


def _tee(call: CommandCall) -> Iterator[Answer]:
    yield from _written(call, options(call.args).rest)


def _mkdir(call: CommandCall) -> Iterator[Answer]:
    for path in options(call.args, "m -mode").rest:
        yield from writing(call.at(path), call.home, folder=False)


def _reader(call: CommandCall) -> Iterator[Answer]:
    """Treat any operand or option value as a possible file."""
    for arg in call.args:
        value = arg.partition("=")[2] if arg.startswith("--") else arg
        yield from _read(call, [value.lstrip("@<")] if value else [])


def _copy(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "t S m o g -target-directory -suffix -mode -owner -group")
    folder = given.value("-t", "--target-directory")
    sources = given.rest if folder else given.rest[:-1]
    target = folder or (given.rest[-1] if len(given.rest) > 1 else None)
    # A link is read later, when nothing asks.
    yield from _read(call, sources if call.name != "mv" else [])
    if target:
        names = [source.rstrip("/").rsplit("/", 1)[-1] for source in sources]
        yield from _written(call, [target, *(f"{target}/{name}" for name in names)])
    moved = [call.at(source) for source in sources]
    if call.name == "mv":
        yield from _moved(call, moved, target)
    if call.name == "cp" and "/dev/null" in moved:
        hit = ask("truncate", "truncates the target by copying nothing over it")
        yield hit._replace(targets=(call.at(target),) if target else ())
    if _sets_setuid(given.value("-m", "--mode") or ""):
        yield ask("setuid", "installs a program with the setuid bit")


def _moved(call: CommandCall, sources: list[str], target: str | None) -> Iterator[RuleMatch]:
    if target == "/dev/null":
        yield ask("delete", "moves files to /dev/null")
    for source in sources:
        if floor.is_account_file(source):
            yield deny("account_file", f"moves {source} away")
        elif floor.is_catastrophic(source, call.home):
            yield ask("system_write", f"moves {source} away")
        else:
            yield from writing(source, call.home)


def _sets_setuid(mode: str) -> bool:
    return bool(
        re.search(r"[ug+=,a][+=][rwxXt]*s", "a" + mode) or re.fullmatch(r"0?[2-7]\d{3}", mode)
    )


def _chmod(call: CommandCall) -> Iterator[Answer]:
    if only_help(call.args):
        return
    args = [arg for arg in call.args if not re.fullmatch(r"-[rwxXst]+", arg)]
    given = options(args)
    operands = given.rest
    mode = operands[0] if operands else ""
    recursive = given.has("-R", "--recursive")
    yield from _owned(call, operands[1:] or operands, recursive=recursive)
    if call.name != "chmod":
        return
    if _sets_setuid(mode):
        yield ask("setuid", "sets the setuid or setgid bit")
    elif re.fullmatch(r"0?[0-7]{0,2}[2367]", mode) or re.search(
        r"(?:^|,)[ugoa]*[oa][ugoa]*[+=]r?w|^\+?[+=]?o\+w", mode
    ):
        yield ask("world_writable", "allows every user to write", RiskLevel.MEDIUM)
    elif recursive and re.fullmatch(r"0*|a?[-=]r?w?x?|a=", mode) and mode:
        yield ask("permissions", "removes the permissions of a whole folder tree", RiskLevel.MEDIUM)


def _owned(call: CommandCall, paths: list[str], *, recursive: bool) -> Iterator[RuleMatch]:
    for path in paths:
        target = call.at(path)
        if recursive and floor.is_catastrophic(target, call.home):
            yield deny("catastrophic_permissions", f"{call.name} of all of {target}")
        elif floor.is_account_file(target):
            yield deny("account_file", f"{call.name} of {target}")
        else:
            hits = writing(target, call.home)
            yield from (hit for hit in hits if not _keeps_content(call, hit))


def _keeps_content(call: CommandCall, hit: RuleMatch) -> bool:
    """Return whether the content stays: chmod changes nothing for readers; a hook runs only if
    executable.
    """
    return call.name in {"chmod", "gchmod"} and hit.code in {"startup_file", "runs_later"}


def _chattr(call: CommandCall) -> Iterator[Answer]:
    if any(re.match(r"[-+=][a-zA-Z]*[ia]", arg) for arg in call.args):
        yield ask("permissions", "changes file protection")


def _link(call: CommandCall) -> Iterator[Answer]:
    yield from _copy(call)


def _fallocate(call: CommandCall) -> Iterator[Answer]:
    if options(call.args, "l o").has(
        "-p", "-c", "-z", "--punch-hole", "--collapse-range", "--zero-range"
    ):
        yield ask("truncate", "removes parts of a file")


def _acl(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "m x M X")
    yield from _owned(call, given.rest, recursive=given.has("-R"))
    if any(_GRANTS.search(entry) for entry in given.all_values("-m")):
        yield ask("rights", "allows another user to write or enter", RiskLevel.MEDIUM)


_GRANTS = re.compile(r"(?:^|,)(?:d(?:efault)?:)?(?:u(?:ser)?|g(?:roup)?|o(?:ther)?):[^:,]*:[r-]?w")


RULES: RuleTable = {
    "tee": _tee,
    "sponge": _tee,
    "touch": _tee,
    "mkdir": _mkdir,
    **table("cp mv install gcp gmv ginstall link", _copy),
    **table("ln gln", _link),
    **table("chmod chown chgrp gchmod gchown", _chmod),
    "chattr": _chattr,
    "setfacl": _acl,
    "fallocate": _fallocate,
    **table(
        "cat head tail less more bat nl tac base64 base32 xxd od hexdump strings "
        "grep egrep fgrep rg ag sed awk "
        "gawk cut sort tr tar zip gzip gpg openssl "
        "vim vi nano view jq yq "
        "diff cmp wc xclip pbcopy split paste fold rev source strip dd "
        "uniq comm join column fmt pr expand iconv perl ruby",
        _reader,
    ),
}
