"""find, fd, xargs, parallel: commands that run another one for listed or read items."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile

from app.policy.risk import floor
from app.policy.risk.call import (
    SECRET,
    UNKNOWN,
    Answer,
    CommandCall,
    Options,
    RuleTable,
    ask,
    deny,
    may_be_option,
    names,
    options,
    run,
    script,
    table,
)
from app.policy.risk.command import READERS
from app.policy.risk.flow import sent_on
from app.policy.risk.model import RiskLevel
from app.policy.risk.named_secrets import in_file
from app.policy.risk.paths import writing
from app.policy.risk.rules.delete import removing
from app.policy.risk.rules.shells import only_parses
from app.policy.risk.sources import finds_secrets
from app.policy.risk.words import decode_ansi

MAX_OPERANDS = 200
"""Maximum items assessed one by one: a longer list counts as unknown."""

_RUNS = frozenset(names("-exec -execdir -ok -okdir"))
_VALUED = frozenset(
    names(
        "-name -iname -path -ipath -wholename -lname -ilname -regex -iregex -type -xtype -mtime "
        "-mmin -atime -amin -ctime -cmin -size -newer -anewer -cnewer -user -group -uid -gid "
        "-perm -inum -links -samefile -fstype -maxdepth -mindepth -printf -regextype -used "
        "-context -D -flags"
    )
)
_WRITES = frozenset(names("-fprintf -fprint -fprint0 -fls"))
_NARROWING = frozenset(
    names(
        "-name -iname -path -ipath -wholename -regex -iregex -mtime -mmin -atime -amin -ctime "
        "-cmin -size -newer -user -group -uid -gid -empty -maxdepth -inum -perm -nouser -nogroup "
        "-samefile -links"
    )
)
_WHOLE_TREE = frozenset(names("rm unlink shred srm chmod chown chgrp mv"))


def starts(args: list[str]) -> tuple[list[str], int]:
    """Return the start folders of `find`, and the start of its expression."""
    at = 0
    while at < len(args) and args[at] in {"-H", "-L", "-P", "-E", "-X", "-d", "-x", "-s"}:
        at += 1
    found: list[str] = []
    while at < len(args) and not args[at].startswith(("-", "(", "!")):
        found.append(args[at])
        at += 1
    return found or ["."], at


def narrowed(args: list[str]) -> bool:
    """Return whether the expression selects only some of the files; the type alone does not."""
    return not _NARROWING.isdisjoint(args)


def _find(call: CommandCall) -> Iterator[Answer]:
    args = call.args
    folders, at = starts(args)
    if any(map(may_be_option, folders)):
        yield ask("unresolved_command", "what find does is not known before it runs")
    while at < len(args):
        word = args[at]
        if word in _RUNS:
            end = next((i for i in range(at, len(args)) if args[i] in {";", "+"}), len(args))
            what = SECRET if finds_secrets(call) else UNKNOWN
            yield from _each(call, args[at + 1 : end], folders, what, some=narrowed(args[:at]))
            at = end
        elif word == "-delete":
            yield from _deletes(call, folders)
        elif word in _WRITES and at + 1 < len(args):
            yield from writing(call.at(args[at + 1]), call.home)
            yield ask("overwrite", f"find {word} overwrites a file", RiskLevel.MEDIUM)
            at += 1
        elif word in _VALUED:
            at += 1
        elif may_be_option(word):
            yield ask("unresolved_command", "what find does is not known before it runs")
        at += 1


def _deletes(call: CommandCall, folders: list[str]) -> Iterator[Answer]:
    """Handle `find … -delete`: with a single name it affects that, not the folder."""
    args = call.args
    names = [args[at + 1] for at, word in enumerate(args[:-1]) if word == "-name"]
    picks = len(names) == 1 and _CHOOSING.isdisjoint(args) and UNKNOWN not in names[0]
    for hit in removing(call, folders, recursive=not narrowed(args)):
        picked = tuple(f"{target.rstrip('/')}/**/{names[0]}" for target in hit.targets if picks)
        yield hit._replace(targets=picked) if picked and hit.code == "delete" else hit


_CHOOSING = frozenset(names("-o -or ! -not , -path -ipath -regex -iregex -wholename"))


def _each(
    call: CommandCall, words: list[str], folders: list[str], what: str, *, some: bool
) -> Iterator[Answer]:
    name = words[0].rsplit("/", 1)[-1] if words else ""
    if name in {"{}", "."}:
        yield script(None)
        return
    for folder in folders:
        shown = f"{folder.rstrip('/') or '/'}/{what}" if some else folder
        yield run([word.replace("{}", shown) for word in words])
        if not some and (READERS.get(name) or any(word != "{}" and "{}" in word for word in words)):
            # The match is not the folder: a script, or inside a shell's code.
            yield run([word.replace("{}", what) for word in words])
        if not some and name in _WHOLE_TREE and floor.is_catastrophic(call.at(folder), call.home):
            yield deny("catastrophic_delete", f"find runs {name} for all of {call.at(folder)}")


def _xargs(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "a d E I L n P s J R S -arg-file -delimiter -eof -replace -max-lines "
        "-max-args -max-procs -max-chars",
        stop=True,
        optional="eil",
    )
    if not given.rest:
        return
    marker = given.value("-I", "-J", "--replace") or (
        "{}" if given.has("-i", "--replace") else None
    )
    operands = _operands(call, given, lines=marker is not None)
    listed = call.stdin.listed if call.stdin else ()
    if given.rest[0].rsplit("/", 1)[-1] in _WHOLE_TREE:
        for folder in (call.at(path) for path in listed):
            if floor.is_catastrophic(folder, call.home):
                yield deny("catastrophic_delete", f"xargs runs {given.rest[0]} for all of {folder}")
    if marker:
        for operand in operands:
            yield run([word.replace(marker, operand) for word in given.rest])
    else:
        yield run([*given.rest, *operands])


def _operands(call: CommandCall, given: Options, *, lines: bool) -> list[str]:
    file = given.value("-a", "--arg-file")
    text = call.stdin.text if call.stdin else None
    secret = call.stdin.secret if call.stdin else ""
    if file is not None:
        text = call.written(file)
        secret = in_file(call, file)
    if text is None:
        listed = call.stdin.listed if call.stdin and file is None else ()
        return [*listed, SECRET if secret else UNKNOWN]
    words = _items(text, given, lines=lines)
    return words if 0 < len(words) <= MAX_OPERANDS else [UNKNOWN]


def _items(text: str, given: Options, *, lines: bool) -> list[str]:
    """Return the items that xargs makes of its input: quoted words, lines, or by a delimiter."""
    if given.has("-0", "--null"):
        return text.removesuffix("\0").split("\0")
    if mark := given.value("-d", "--delimiter"):
        mark = decode_ansi(mark)[:1]
        return text.removesuffix(mark).split(mark)
    try:
        if lines:
            return [" ".join(shlex.split(line)) for line in text.splitlines() if line.strip()]
        return shlex.split(text)
    except ValueError:
        return [UNKNOWN]


def _fd(call: CommandCall) -> Iterator[Answer]:
    what = SECRET if finds_secrets(call) else UNKNOWN
    for at, arg in enumerate(call.args):
        if arg in {"-x", "-X", "--exec", "--exec-batch"}:
            words = [word for word in call.args[at + 1 :] if word != ";"]
            yield run([word.replace("{}", what) for word in words])
            return
        if match := re.match(r"(?:--exec(?:-batch)?=|-[xX])(.+)", arg, re.DOTALL):
            yield run([match.group(1), *(word for word in call.args[at + 1 :] if word != ";")])
            return


def _parallel(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "j I a P S N n L d -jobs -arg-file -delay -retries -colsep C -id -halt -joblog -timeout "
        "-sshlogin -results -tmpdir -memfree -load -nice -env -max-args -max-procs -tagstring",
        stop=True,
    )
    if given.has("--pipe", "--spreadstdin", "--pipepart") and given.rest:
        yield script(" ".join(given.rest), stdin=sent_on(call))
        return
    words = list(takewhile(lambda word: word not in _SEPARATORS, given.rest))
    separators = [at for at, word in enumerate(call.args) if word == ":::"]
    inputs = call.args[separators[0] + 1 :] if separators else []
    if given.all_values("-a", "--arg-file"):
        inputs = [*inputs, UNKNOWN]
    if len(inputs) > MAX_OPERANDS:
        inputs = [UNKNOWN]
    if words:
        secret = call.stdin is not None and call.stdin.secret
        runs_any = _runs_input(words)
        for item in inputs or [SECRET if secret else UNKNOWN]:
            text = " ".join(words)
            joined = text.replace("{}", item) if "{" in text else f"{text} {item}"
            unread = runs_any and (item == UNKNOWN or words[0][:1] == "{")
            yield script(None if unread else _with_input(joined))
    elif inputs:
        for item in inputs:
            yield script(item)
    else:
        yield script(call.stdin.text if call.stdin else None)


_SEPARATORS = frozenset([":::", "::::", ":::+", "::::+"])


def _with_input(text: str) -> str:
    """Return `text` as a script, with placeholders for unknown parts."""
    # A variable with this name contains a secret, wherever it is used.
    return text.replace(SECRET, '"$SECRET"').replace(UNKNOWN, "'unknown input'")


def _runs_input(words: list[str]) -> bool:
    """Return whether the input itself is the command, or names the script."""
    reads = bool(READERS.get(words[0])) and not only_parses(words[1:])
    return reads or words[0].lstrip()[:1] == "{"


RULES: RuleTable = {
    **table("find gfind bfs", _find),
    **table("xargs gxargs", _xargs),
    **table("fd fdfind", _fd),
    **table("parallel sem", _parallel),
}
