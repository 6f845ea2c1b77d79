"""Tools with an option or a small language that runs other commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import (
    UNKNOWN,
    Answer,
    Call,
    RuleTable,
    Stream,
    ask,
    options,
    run,
    script,
    table,
)
from app.policy.risk.model import RiskLevel
from app.policy.risk.paths import writing
from app.policy.risk.rules.delete import removing

_FIND_RUNS = {"-exec", "-execdir", "-ok", "-okdir"}


def _find(call: Call) -> Iterator[Answer]:
    args = call.args
    starts: list[str] = []
    at = 0
    while at < len(args) and args[at] in {"-H", "-L", "-P", "-E", "-X", "-d", "-x", "-s"}:
        at += 1
    while at < len(args) and not args[at].startswith(("-", "(", "!")):
        starts.append(args[at])
        at += 1
    starts = starts or ["."]
    while at < len(args):
        word = args[at]
        if word in _FIND_RUNS:
            end = next((i for i in range(at, len(args)) if args[i] in {";", "+"}), len(args))
            yield from _each(call, args[at + 1 : end], starts, narrowed=_narrowed(args[:at]))
            at = end
        elif word == "-delete":
            yield from removing(call, starts, recursive=not _narrowed(args))
        elif word in {"-fprintf", "-fprint", "-fprint0", "-fls"} and at + 1 < len(args):
            yield from writing(call.at(args[at + 1]), call.home)
            yield ask("overwrite", f"find {word} overwrites a file", RiskLevel.MEDIUM)
        at += 1


def _narrowed(args: list[str]) -> bool:
    return any(
        arg
        in {
            "-name",
            "-iname",
            "-path",
            "-type",
            "-mtime",
            "-size",
            "-newer",
            "-user",
            "-regex",
            "-empty",
            "-maxdepth",
            "-mmin",
            "-inum",
        }
        for arg in args
    )


def _each(call: Call, words: list[str], starts: list[str], *, narrowed: bool) -> Iterator[Answer]:
    for start in starts:
        shown = f"{start.rstrip('/') or '/'}/{UNKNOWN}" if narrowed else start
        yield run([word.replace("{}", shown) for word in words])


def _xargs(call: Call) -> Iterator[Answer]:
    given = options(
        call.args,
        "a d E I L n P s J R S -arg-file -delimiter -eof -replace -max-lines "
        "-max-args -max-procs -max-chars",
        stop=True,
        optional="eil",
    )
    if not given.rest:
        return
    text = call.stdin.text if call.stdin else None
    operands = text.split() if text is not None else [UNKNOWN]
    marker = given.value("-I", "-J", "--replace") or (
        "{}" if given.has("-i", "--replace") else None
    )
    if marker:
        for operand in operands[:50] or [UNKNOWN]:
            yield run([word.replace(marker, operand) for word in given.rest])
    else:
        yield run([*given.rest, *operands[:200]])


def _fd(call: Call) -> Iterator[Answer]:
    for at, arg in enumerate(call.args):
        if arg in {"-x", "-X", "--exec", "--exec-batch"}:
            yield run([word for word in call.args[at + 1 :] if word != ";"])
            return


_PROGRAM_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rg": ("e f g t A B C m -pre -pre-glob -glob -type -hostname-bin", ("--pre", "--hostname-bin")),
    "sort": ("k t o S T -compress-program -key -output", ("--compress-program",)),
    "man": ("P p L m M S e E H -pager -html", ("-P", "--pager", "-H", "--html")),
    "zip": ("TT -unzip-command x i n", ("-TT", "--unzip-command")),
    "tcpdump": ("i w r s c z G W", ("-z",)),
    "split": ("b l n a -filter", ("--filter",)),
    "bat": ("-pager", ("--pager",)),
    "delta": ("-pager", ("--pager",)),
}


def _programs(call: Call) -> Iterator[Answer]:
    valued, names = _PROGRAM_OPTIONS[call.name]
    given = options(call.args, valued, clusters=call.name != "zip")
    for text in given.all_values(*names):
        yield script(text)
    if call.name == "sort" and (target := given.value("-o", "--output")):
        yield from writing(call.at(target), call.home)


def _tar(call: Call) -> Iterator[Answer]:
    args = call.args
    if args and not args[0].startswith("-") and re.fullmatch(r"[A-Za-z]+", args[0]):
        args = ["-" + args[0].replace("f", "").replace("C", "").replace("I", ""), *args[1:]]
    given = options(
        args,
        "f C I T X F -file -directory -use-compress-program -checkpoint-action "
        "-to-command -info-script -new-volume-script -rsh-command -rmt-command",
    )
    for action in given.all_values("--checkpoint-action"):
        if action.startswith("exec="):
            yield script(action[5:])
    for text in given.all_values(
        "-I",
        "--use-compress-program",
        "--to-command",
        "-F",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
        "--rmt-command",
    ):
        yield script(text)
    if given.has("--remove-files", "--delete", "--recursive-unlink"):
        yield ask("delete", "tar deletes files or members")
    extracts = given.has("-x", "--extract", "--get")
    target = given.value("-C", "--directory")
    if extracts and (given.has("-P", "--absolute-names") or (target and call.at(target) == "/")):
        yield ask("system_write", "extracts over the host's files")


def _awk(call: Call) -> Iterator[Answer]:
    given = options(call.args, "F v f e E -field-separator -assign -file -source", stop=True)
    programs = given.all_values("-e", "--source")
    if not programs and not given.has("-f", "--file", "-E") and given.rest:
        programs = given.rest[:1]
    for program in programs:
        yield from _awk_program(call, program)


_AWK_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"")
_AWK_REGEX = re.compile(r"(?:(?<=[~(,!&|{};])|^)\s*/(?:[^/\\\n]|\\.)+/")
_AWK_RUNS = re.compile(
    r"\bsystem\s*\(\s*(?P<system>\x01\d+\x01\s*\))?|(?P<read>\x01\d+\x01\s*)?\|&?\s*getline"
    r"|(?<!\|)\|&?(?!\|)\s*(?P<pipe>\x01\d+\x01(?!\s*[\w\x01]))?|@load|@include|/inet/"
)


def _awk_program(call: Call, program: str) -> Iterator[Answer]:
    """Commands in an awk program: literal ones are judged, others ask."""
    if UNKNOWN in program:
        yield ask("opaque_code", "runs an awk program that is not known here")
        return
    texts: list[str] = []

    def hold(match: re.Match[str]) -> str:
        texts.append(match.group(1).replace('\\"', '"'))
        return f"\x01{len(texts) - 1}\x01"

    bare = _AWK_REGEX.sub(" ", program)
    bare = re.sub(r"#[^\n]*", "", _AWK_STRING.sub(hold, bare))
    for match in _AWK_RUNS.finditer(bare):
        if literal := match.group("system") or match.group("read") or match.group("pipe"):
            yield script(texts[int(literal.split("\x01")[1])], stdin=Stream(None))
        else:
            yield ask("code_danger", "the awk program runs commands")
    for target in re.findall(r">>?\s*\x01(\d+)\x01", bare):
        yield from writing(call.at(texts[int(target)]), call.home)


_SED_E = re.compile(r"(?:^|[;{}\n]|\b\d+|\$|/I?|,\s*\d+|!)\s*e(?:\s+([^\n]+)|\s*(?=[;}\n]|$))")
_SED_S = re.compile(
    r"(?:^|[;{}\s\d$/!])s([^\w\s\\])((?:\\.|(?!\1)[^\\])*)\1((?:\\.|(?!\1)[^\\])*)\1([a-zA-Z0-9]*)",
    re.DOTALL,
)


def _sed(call: Call) -> Iterator[Answer]:
    given = options(call.args, "e f l -expression -file -line-length", optional="i")
    programs = given.all_values("-e", "--expression")
    operands = given.rest
    if not programs and not given.has("-f", "--file") and operands:
        programs, operands = operands[:1], operands[1:]
    for program in programs:
        yield from _sed_program(call, program)
    if given.has("-i", "--in-place"):
        for path in operands:
            yield from writing(call.at(path), call.home)


def _sed_program(call: Call, program: str) -> Iterator[Answer]:
    for substitution in _SED_S.finditer(program):
        if "e" in substitution.group(4):
            yield ask("code_danger", "sed runs what it substituted")
        if "w" in substitution.group(4):
            yield from writing(
                call.at(program[substitution.end() :].strip().split("\n")[0]), call.home
            )
    bare = _SED_S.sub(" s ", program)
    bare = re.sub(r"/(?:\\.|[^/\\])*/", "/", bare)
    if "a" not in bare[:3] and (match := _SED_E.search(bare)):
        yield script(match.group(1)) if match.group(1) else ask("code_danger", "sed runs its input")
    for target in re.findall(r"(?:^|[;}\d/$])w\s+(\S+)", bare):
        yield from writing(call.at(target), call.home)


def _make(call: Call) -> Iterator[Answer]:
    given = options(call.args, "f C j I o W l E -file -makefile -directory -eval -jobs")
    files = given.all_values("-f", "--file", "--makefile")
    texts = given.all_values("--eval", "-E")
    if "-" in files or "/dev/stdin" in files:
        texts.append(call.stdin.text if call.stdin and call.stdin.text is not None else UNKNOWN)
    for text in texts:
        if UNKNOWN in text:
            yield script(None)
            continue
        for line in re.findall(r"(?m)(?:^\t|;)[@+-]*(.*)$", text):
            yield script(line.replace("$$", "$"))
        for line in re.findall(r"\$\(shell (.*?)\)", text):
            yield script(line)
    for word in given.rest:
        if re.match(r"(?:SHELL|\.SHELLFLAGS|MAKEFLAGS)\s*:?=", word):
            yield script(word.partition("=")[2])


def _rsync(call: Call) -> Iterator[Answer]:
    given = options(
        call.args,
        "e f T B M -rsh -rsync-path -exclude -include -filter -files-from "
        "-exclude-from -bwlimit -backup-dir",
    )
    for text in given.all_values("-e", "--rsh", "--rsync-path"):
        yield script(text)
    if given.has("-n", "--dry-run") and "--d" not in given.flags:
        return
    deletes = [flag for flag in given.flags if re.match(r"--del(?:$|ete)|--remove-s", flag)]
    if deletes:
        yield ask("delete", f"rsync {deletes[0]} deletes files")
    if given.rest:
        yield from writing(call.at(given.rest[-1]), call.home)


def _gdb(call: Call) -> Iterator[Answer]:
    given = options(call.args, "ex eval-command iex x command", clusters=False)
    for text in given.all_values("-ex", "--eval-command", "-iex", "--iex"):
        if match := re.match(r"\s*(?:!|shell\s|pipe\s|python\s|call\s)(.*)", text):
            yield (
                script(match.group(1))
                if text.strip().startswith(("!", "shell"))
                else ask("code_danger", "gdb runs code")
            )
    if "--args" in call.args:
        yield run(call.args[call.args.index("--args") + 1 :])


def _tmux(call: Call) -> Iterator[Answer]:
    given = options(call.args, "L S f c", stop=True)
    if not given.rest:
        return
    verb, args = given.rest[0], given.rest[1:]
    inner = options(args, "t s n c x y F e l")
    if verb.startswith(("kill-ser", "kill-ses")):
        yield ask("kill_by_name", "ends terminal sessions", RiskLevel.MEDIUM)
    elif verb in {
        "new-session",
        "new",
        "new-window",
        "neww",
        "split-window",
        "splitw",
        "respawn-pane",
        "run-shell",
        "run",
        "if-shell",
        "pipe-pane",
        "popup",
        "display-popup",
    }:
        if inner.rest:
            yield script(" ".join(inner.rest))
    elif verb in {"send-keys", "send"}:
        text = " ".join(word for word in inner.rest if word not in {"Enter", "C-m", "KPEnter"})
        yield script(text)


def _screen(call: Call) -> Iterator[Answer]:
    given = options(call.args, "S c e h p s t T X", stop=True)
    if "-X" in call.args:
        text = " ".join(call.args[call.args.index("-X") + 1 :])
        yield script(re.sub(r"^stuff\s+", "", text).replace("\\n", "").replace("^M", ""))
    elif given.rest:
        yield run(given.rest)


def _latex(call: Call) -> Iterator[Answer]:
    if {"-shell-escape", "--shell-escape", "-enable-write18"} & set(call.args) and any(
        "write18" in arg for arg in call.args
    ):
        yield ask("code_danger", "TeX runs commands")


def _fzf(call: Call) -> Iterator[Answer]:
    for text in options(call.args, "-preview q f d n -bind").all_values("--bind"):
        for command in re.findall(
            r"(?:execute(?:-silent)?|become|reload|preview)[(:\[]([^)\]]*)", text
        ):
            yield script(command.replace("{}", "'x'"))


def _nspawn(call: Call) -> Iterator[Answer]:
    yield run(options(call.args, "D M i b u E", stop=True).rest, contained=True)


def _cmake(call: Call) -> Iterator[Answer]:
    if call.args[:1] == ["-E"]:
        words = call.args[1:]
        if words[:1] and words[0] in {"rm", "remove", "remove_directory"}:
            yield from removing(call, options(words[1:]).rest, recursive=words[0] != "remove")
        elif words[:1] == ["env"] or words[:1] == ["time"]:
            yield run([word for word in words[1:] if "=" not in word])


RULES: RuleTable = {
    **table("find gfind bfs", _find),
    **table("xargs gxargs", _xargs),
    **table("fd fdfind", _fd),
    **table("rg sort man zip tcpdump split bat delta", _programs),
    **table("tar gtar bsdtar", _tar),
    **table("awk gawk mawk nawk", _awk),
    **table("sed gsed", _sed),
    **table("make gmake", _make),
    "rsync": _rsync,
    "gdb": _gdb,
    "tmux": _tmux,
    "screen": _screen,
    "fzf": _fzf,
    "systemd-nspawn": _nspawn,
    "cmake": _cmake,
    **table("pdflatex latex xelatex lualatex tex", _latex),
}
