"""Commands that write to a file named in an option or operand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from app.policy.risk.call import (
    UNTOLD,
    Answer,
    CommandCall,
    Options,
    Rule,
    RuleMatch,
    RuleTable,
    ask,
    options,
    script,
    table,
)
from app.policy.risk.paths import writing


@dataclass(frozen=True, slots=True)
class OutputOption:
    """`paths` are options with the written file; `valued` take a word that is not a path.

    `operands` are written regardless of options.
    """

    paths: str = ""
    valued: str = ""
    operands: Literal["none", "all", "first", "second", "last"] = "none"
    clusters: bool = True


_OUTPUTS: dict[str, OutputOption] = {
    "curl": OutputOption(
        "o c D -output -cookie-jar -dump-header -trace -trace-ascii -output-dir -stderr "
        "-libcurl -etag-save -hsts -alt-svc",
        "X d H u A e b F T K m x w C E r Y y z Q P U -request -data -data-binary -data-raw "
        "-data-urlencode -header -user -user-agent -referer -cookie -form -upload-file -config "
        "-max-time -proxy -write-out -cacert -cert -key -connect-timeout -retry -json -url",
    ),
    "aria2c": OutputOption("d o l -dir -out -log", "x s j i"),
    "unzip": OutputOption("d", "x P"),
    "cpio": OutputOption("D O F E -directory -file", "H R C -format -owner"),
    "ar": OutputOption("-output"),
    "strace": OutputOption("o -output", "a e E I O p P s S u U X -trace -attach"),
    "ltrace": OutputOption("o", "a A D e F l n p s u w x X"),
    "split": OutputOption("", "b C l n a -bytes -lines -number -filter -suffix-length", "second"),
    "csplit": OutputOption("f -prefix", "b n -suffix-format -digits"),
    "uniq": OutputOption("", "f s w -skip-fields -skip-chars -check-chars", "second"),
    "xxd": OutputOption("", "c g l o s n -cols -len -seek", "second"),
    "shuf": OutputOption("o -output", "i n -input-range -head-count -random-source"),
    "patch": OutputOption(
        "d o r -directory -output -reject-file", "p i F B D Y z -strip -input -fuzz", "first"
    ),
    "iconv": OutputOption("o -output", "f t -from-code -to-code"),
    "openssl": OutputOption("out", "in inkey CA CAkey k pass subj days", clusters=False),
    "gpg": OutputOption("o -output", "r u -recipient -local-user -passphrase"),
    "pandoc": OutputOption("o -output", "f t r w s V M"),
    "tree": OutputOption("o", "L P I T H -charset -filelimit -timefmt"),
    "less": OutputOption("o O -log-file -LOG-FILE", "P p t b h j x y z k -prompt -pattern"),
    "info": OutputOption("o -output", "f d n k -file -directory -node -apropos"),
    "history": OutputOption("w a"),
    "base64": OutputOption("o -output", "w b i -wrap -break -input"),
    "tcpdump": OutputOption("w", "i r s c z G W"),
    "mkfifo": OutputOption("", "m -mode", "all"),
    "mknod": OutputOption("", "m -mode", "first"),
    "objcopy": OutputOption("", "I O B j R", "last"),
    **dict.fromkeys(("ctags", "etags"), OutputOption("o f", "L R")),
    **dict.fromkeys(
        ("gcc", "cc", "g++", "c++", "clang", "clang++", "ld", "rustc", "javac"),
        OutputOption("o d", "I L l D x include", clusters=False),
    ),
}
_OPERANDS = {
    "all": slice(None),
    "first": slice(0, 1),
    "second": slice(1, 2),
    "last": slice(-1, None),
}


def _rule(spec: OutputOption) -> Rule:
    names = tuple("-" + name for name in spec.paths.split())

    def rule(call: CommandCall) -> Iterator[Answer]:
        given = options(call.args, f"{spec.paths} {spec.valued}", clusters=spec.clusters)
        paths = given.all_values(*names)
        if spec.operands != "none":
            paths += given.rest[_OPERANDS[spec.operands]]
        yield from _written(call, paths)

    return rule


def _written(call: CommandCall, paths: list[str]) -> Iterator[RuleMatch]:
    for path in paths:
        if path and path != "-":
            yield from writing(call.at(path), call.home)


def _tar(call: CommandCall) -> Iterator[Answer]:
    first = call.args[0] if call.args else ""
    args = ["-" + first, *call.args[1:]] if re.fullmatch(r"[A-Za-z]+", first) else call.args
    given = options(args, "f C I T X F -file -directory -use-compress-program")
    if given.has("-x", "--extract", "--get"):
        yield from _written(call, given.all_values("-C", "--directory", "--one-top-level"))
    elif not given.has("-t", "--list", "-d", "--diff", "--compare"):
        yield from _written(call, given.all_values("-f", "--file"))


def _zip(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "TT -unzip-command x i n b t tt O -out", clusters=False)
    # Its letters may be combined, and `-TT` is a separate word.
    letters = {
        letter
        for flag in given.flags
        if not flag.startswith(("--", "-TT", "-tt"))
        for letter in flag
    }
    if "m" in letters or "--move" in given.flags:
        yield ask("delete", "zip deletes the files that it has archived")
    if "d" in letters or "--delete" in given.flags:
        yield ask("delete", "zip deletes members")
    yield from _written(call, [*given.rest[:1], *given.all_values("-O", "--out")])


def _seven_zip(call: CommandCall) -> Iterator[Answer]:
    verb = next((arg for arg in call.args if not arg.startswith("-")), "")
    if verb == "d" or "-sdel" in call.args:
        yield ask("delete", f"{call.name} deletes files or members")
    yield from _written(call, [arg[2:] for arg in call.args if arg.startswith("-o")])


def _rar(call: CommandCall) -> Iterator[Answer]:
    words = [arg for arg in call.args if not arg.startswith("-")]
    if words[:1] in (["x"], ["e"]):
        yield from _written(call, [*words[2:], *(a[3:] for a in call.args if a.startswith("-op"))])
    elif words[:1] in (["d"], ["m"], ["mf"]):
        yield ask("delete", f"{call.name} deletes files or members")
    else:
        yield from _written(call, words[1:2])


def _in_place(call: CommandCall) -> Iterator[Answer]:
    """Handle awk and perl that replace the files they read."""
    if call.name.startswith("perl"):
        given = options(call.args, "e E I M m", optional="iFx")
        changes, operands = given.has("-i"), given.rest
    else:
        given = options(call.args, "F v f e E i -include -source -file -assign", stop=True)
        changes = "inplace" in given.all_values("-i", "--include")
        operands = given.rest if given.has("-f", "-e", "--file", "--source") else given.rest[1:]
    if changes:
        yield from _written(call, operands)


_GIT: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("log", "diff", "show", "diff-tree", "shortlog", "whatchanged"), ("", "")),
    "format-patch": ("o -output-directory", ""),
    "archive": ("o -output", "-format -remote -exec -prefix"),
    "config": ("f -file", "-type -default -blob"),
}


def _git(call: CommandCall) -> Iterator[Answer]:
    before = options(call.args, "C c -git-dir -work-tree -namespace -exec-path", stop=True)
    verb, args = (before.rest or [""])[0], before.rest[1:]
    if verb in _GIT:
        paths, valued = _GIT[verb]
        given = options(args, f"{paths} -output {valued}")
        if verb != "config" or _changes_settings(given):
            named = given.all_values("--output", *("-" + name for name in paths.split()))
            hits = _written(call, named)
            # Its own files are assessed by their settings, not for being written.
            yield from (hit for hit in hits if verb != "config" or hit.code != "git_code")
    elif verb == "bundle" and args[:1] == ["create"]:
        yield from _written(call, options(args[1:]).rest[:1])
    elif verb == "clone":
        valued = "u j o b c -upload-pack -depth -config -branch -reference -origin -template"
        yield from _written(call, options(args, valued).rest[1:2])
    elif verb == "init":
        yield from _written(call, options(args, "b -initial-branch -template").rest[:1])
    elif verb == "mv":
        yield from _written(call, options(args).rest)
    elif verb == "worktree" and args[:1] == ["add"]:
        yield from _written(call, options(args[1:], "b B -reason").rest[:1])


def _changes_settings(given: Options) -> bool:
    reads = ("--get", "--list", "-l", "--get-all", "--get-regexp", "--get-urlmatch")
    words = given.rest[1:] if given.rest[:1] == ["set"] else given.rest
    return not given.has(*reads) and (
        len(words) > 1 or given.has("--unset", "--unset-all", "--remove-section", "-e")
    )


_DOT_OUTPUT = re.compile(
    r"(?m)^[^\S\n]*+\.(?:output|once|log|backup|save|clone|trace)\s+(?:main\s+)?['\"]?([^|"
    r"'\"\s][^'\"\n]*)"
)
_LOADS = re.compile(r"(?m)\bload_extension\s*\(|^[^\S\n]*+\.load\b")
_RESTORES = re.compile(r"(?m)^[^\S\n]*+\.restore\b|^[^\S\n]*+\.open\s.*--new")
_META_OUTPUT = re.compile(r"(?m)^[^\S\n]*+\\(?:o|w|g)\s+['\"]?([^|'\"\s]+)")
# A keyword is looked behind up to the next one, since a text may hold thousands of them.
_SQL_OUTPUT = re.compile(
    r"\b(?:attach(?:\s+database)?|vacuum\s+into|writefile\s*\(|lo_export\s*\((?:(?!\blo_export\s*\()[^,])+,)\s*'([^']+)'"
    r"|\bcopy\b(?:(?!\bcopy\b)[^;])*?\bto\s+'([^']+)'",
    re.IGNORECASE,
)


def _sql_client(call: CommandCall) -> Iterator[Answer]:
    """Handle files written or loaded by a client's own commands and SQL functions."""
    texts = list(call.args)
    if call.stdin and call.stdin.text:
        texts.append(call.stdin.text)
    for text in texts:
        for pattern in (_DOT_OUTPUT, _META_OUTPUT, _SQL_OUTPUT):
            for found in pattern.finditer(text):
                yield from _written(call, [next(filter(None, found.groups())).strip()])
        if _LOADS.search(text):
            yield ask("loaded_code", "SQL loads a program library")
        if _RESTORES.search(text):
            yield ask("sql", "replaces the contents of the database")
    for pager in options(call.args, "-pager", clusters=False).all_values("--pager"):
        yield script(pager, stdin=UNTOLD)


RULES: RuleTable = {name: _rule(spec) for name, spec in _OUTPUTS.items()} | {
    **table("tar gtar bsdtar", _tar),
    "zip": _zip,
    **table("7z 7za 7zr 7zz", _seven_zip),
    **table("rar unrar", _rar),
    **table("gawk awk perl perl5", _in_place),
    **table("git hub", _git),
    **table("sqlite3 sqlite psql mysql mariadb duckdb", _sql_client),
}
