"""Tools with an option or a small language that runs other commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk import floor
from app.policy.risk.call import (
    SECRET,
    UNKNOWN,
    UNTOLD,
    Answer,
    CommandCall,
    RuleTable,
    Stream,
    ask,
    deny,
    options,
    run,
    script,
    table,
)
from app.policy.risk.code_secrets import secrets_in_code
from app.policy.risk.model import RiskLevel
from app.policy.risk.parse import parse
from app.policy.risk.paths import reading, writing
from app.policy.risk.rules.delete import removing
from app.policy.risk.rules.remote import on_target
from app.policy.risk.shown_secrets import packs_secret
from app.policy.risk.syntax import Unreadable


def _sort(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "k t o S T -compress-program -key -output")
    if target := given.value("-o", "--output"):
        yield from writing(call.at(target), call.home)


def _spelled(letters: str, rest: list[str]) -> list[str]:
    """Expand `cfI a.tar prog` to `-c -f a.tar -I prog`: values follow in the letters' order."""
    words: list[str] = []
    for letter in letters:
        words.append("-" + letter)
        if letter in "fCITXFbKLNHgV" and rest:
            words.append(rest[0])
            rest = rest[1:]
    return words + rest


def _tar(call: CommandCall) -> Iterator[Answer]:
    args = call.args
    if args and not args[0].startswith("-") and re.fullmatch(r"[A-Za-z]+", args[0]):
        args = _spelled(args[0], args[1:])
    given = options(
        args,
        "f C I T X F -file -directory -use-compress-program -checkpoint-action "
        "-to-command -info-script -new-volume-script -rsh-command -rmt-command",
    )
    for action in given.all_values("--checkpoint-action"):
        if action.startswith("exec="):
            yield ask("deferred", "tar runs a program while archiving")
            yield script(action[5:], stdin=UNTOLD)
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
        yield script(text, stdin=UNTOLD)
    yield from packs_secret(call)
    if given.has("--remove-files", "--delete", "--recursive-unlink"):
        yield ask("delete", "tar deletes files or members")
    extracts = given.has("-x", "--extract", "--get")
    target = given.value("-C", "--directory")
    if extracts and (given.has("-P", "--absolute-names") or (target and call.at(target) == "/")):
        yield ask("system_write", "extracts over the host's files")


def _awk(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "F v f e E i l -field-separator -assign -file -source -include -load",
        stop=True,
    )
    if given.has("-l", "--load") and call.name == "gawk":
        yield ask("loaded_code", "gawk loads a program library")
    programs = given.all_values("-e", "--source")
    if not programs and not given.has("-f", "--file", "-E") and given.rest:
        programs = given.rest[:1]
    programs += _written(call, given.all_values("-f", "--file", "-E"))
    for program in programs:
        yield from _awk_program(call, program)


_STDIN = frozenset(["-", "/dev/stdin"])


def _written(call: CommandCall, paths: list[str]) -> list[str]:
    """Return the texts of files that this script wrote."""
    texts = [call.written(path) for path in paths if call.was_written(path) or path in _STDIN]
    return [UNKNOWN if text is None else text for text in texts]


_AWK_TOKEN = re.compile(
    r"(?:(?<=[~(,!&|{};\n])|^)(?:\s*+/(?:[^/\\\n]|\\.)+/|\s++)"
    r"|\"(?P<text>(?:[^\"\\]|\\.)*)\"|#[^\n]*"
)
_AWK_RUNS = re.compile(
    r"\bsystem\s*\(\s*(?P<system>\x01\d+\x01\s*\))?|(?P<read>\x01\d+\x01\s*)?\|&?\s*getline"
    r"|(?<!\|)\|&?(?!\|)\s*(?P<pipe>\x01\d+\x01(?!\s*[\w\x01]))?|@load|@include|/inet/"
)


def _awk_program(call: CommandCall, program: str) -> Iterator[Answer]:
    """Yield commands in an awk program: literal ones are assessed, others ask."""
    if UNKNOWN in program:
        yield ask("opaque_code", "runs an awk program that is not known")
        return
    yield from secrets_in_code("awk", program)
    bare, texts = _awk_code(program)
    if '"' in bare and re.search(r"\bsystem\s*\(|\||\bgetline\b", program):
        yield ask("code_danger", "the awk program's quotes hide what it runs")
    yield from _awk_commands(bare, texts)
    for target in re.findall(r">>?\s*\x01(\d+)\x01", bare):
        yield from writing(call.at(texts[int(target)]), call.home)
    if re.search(r"\bprintf?\b[^;}\n]*>>?\s*(?:\(|[A-Za-z_])", bare):
        # The name is composed: any path in the program may be used.
        for text in texts:
            if text.startswith(("/", "~")):
                yield from writing(call.at(text), call.home)


def _awk_code(program: str) -> tuple[str, list[str]]:
    """Return the program with numbered texts between two marks, and the texts."""
    texts: list[str] = []

    def hold(match: re.Match[str]) -> str:
        if match["text"] is None:
            # Blanks are taken as a whole, so that no pattern is looked for behind each of them.
            return match.group() if match.group().isspace() else " "
        texts.append(match["text"].replace('\\"', '"'))
        return f"\x01{len(texts) - 1}\x01"

    return _AWK_TOKEN.sub(hold, program), texts


def _awk_commands(bare: str, texts: list[str]) -> Iterator[Answer]:
    for match in _AWK_RUNS.finditer(bare):
        if literal := match.group("system") or match.group("read") or match.group("pipe"):
            yield script(texts[int(literal.split("\x01")[1])], stdin=Stream(None))
        else:
            yield ask("code_danger", "the awk program runs commands")


_SED_E = re.compile(
    r"(?:\n[^\S\n]*|(?:^|[;{}]|\b\d+|\$|/I?|,\s*\d+|!)\s*)"
    r"e(?:(?:\s+|\\\n)([^\n]+)|\s*(?=[;}\n]|$))"
)
_SED_S = re.compile(
    r"(?:^|[;{}\s\d$/!])s([^\w\s\\])((?:\\.|(?!\1)[^\\])*)\1((?:\\.|(?!\1)[^\\])*)\1([a-zA-Z0-9]*)",
    re.DOTALL,
)
_SED_DELIMITER = re.compile(r"(?:^|[;{}\s\d$/!])s([^\w\s\\])")
_LONG, _MOST_DELIMITERS = 1_000, 40
"""More of them are in no program that people write; each may be looked for up to its end."""


def _sed(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "e f l -expression -file -line-length", optional="i")
    programs = given.all_values("-e", "--expression")
    operands = given.rest
    if not programs and not given.has("-f", "--file") and operands:
        programs, operands = operands[:1], operands[1:]
    programs += _written(call, given.all_values("-f", "--file"))
    # sed joins several -e with line breaks: a command may start in one and end in another.
    joined = ["\n".join(programs)] if len(programs) > 1 and UNKNOWN not in programs else []
    for program in programs + joined:
        yield from _sed_program(call, program)
    if given.has("-i", "--in-place"):
        for path in operands:
            yield from writing(call.at(path), call.home)


def _sed_program(call: CommandCall, program: str) -> Iterator[Answer]:
    if program in {UNKNOWN, SECRET}:
        yield ask("opaque_code", "runs a sed program that is not known")
        return
    if len(program) > _LONG and len(set(_SED_DELIMITER.findall(program))) > _MOST_DELIMITERS:
        yield ask("opaque_code", "runs a sed program that is too long to be read")
        return
    for substitution in _SED_S.finditer(program):
        if "e" in substitution.group(4).partition("w")[0]:
            yield ask("code_danger", "sed runs what it substituted")
        if "w" in substitution.group(4):
            yield from writing(
                call.at(program[substitution.end() :].strip().split("\n")[0]), call.home
            )
    bare = _SED_S.sub(" s ", program)
    bare = re.sub(r"/(?:\\.|[^/\\])*/", "/", bare)
    for target in re.findall(r"(?:^|[;{}\d$/])\s*[wW]\s*(/\S+)", program):
        yield from writing(call.at(target), call.home)
    if "a" not in bare[:3] and (match := _SED_E.search(bare)):
        yield script(match.group(1)) if match.group(1) else ask("code_danger", "sed runs its input")
    for target in re.findall(r"(?:^|[;}\d/$])w\s+(\S+)", bare):
        yield from writing(call.at(target), call.home)


def _make(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "f C j I o W l E -file -makefile -directory -eval -jobs")
    files = given.all_values("-f", "--file", "--makefile")
    texts = given.all_values("--eval", "-E")
    folder = given.value("-C", "--directory") or "."
    usual = [f"{folder}/{name}" for name in ("GNUmakefile", "makefile", "Makefile")]
    texts += _written(call, files or [path for path in usual if call.was_written(path)])
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


def _rsync(call: CommandCall) -> Iterator[Answer]:
    given = options(
        call.args,
        "e f T B M -rsh -rsync-path -exclude -include -filter -files-from "
        "-exclude-from -bwlimit -backup-dir",
    )
    for text in given.all_values("-e", "--rsh", "--rsync-path"):
        yield script(text, stdin=UNTOLD)
    if given.has("-n", "--dry-run") and "--d" not in given.flags:
        return
    target = call.at(given.rest[-1]) if given.rest else ""
    deletes = [flag for flag in given.flags if re.match(r"--del(?:$|ete)|--remove-s", flag)]
    if deletes:
        near = target if ":" not in "".join(given.rest[-1:]).split("/", 1)[0] else ""
        hit = ask("delete", f"rsync {deletes[0]} deletes files")
        yield hit._replace(targets=(near,) if near and UNKNOWN not in near else ())
        if deletes[0].startswith("--del") and floor.is_catastrophic(target, call.home):
            yield deny("catastrophic_delete", f"rsync empties {target}")
    if given.rest:
        yield from on_target(call, given.rest[-1])
        for source in given.rest[:-1]:
            yield from reading(call.at(source), call.home)


def _gdb(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "ex o O eval-command iex x command", clusters=False)
    texts = given.all_values("-o", "-O", "-ex", "--eval-command", "-iex", "--iex")
    if call.stdin and call.stdin.text:
        texts = [*texts, *call.stdin.text.splitlines()]
    for text in texts:
        if match := re.match(
            r"\s*(?:platform\s+shell|!|shell\s|pipe\s|python\s|script\s|call\s)(.*)", text
        ):
            yield (
                script(match.group(1))
                if text.strip().startswith(("!", "shell", "platform"))
                else ask("code_danger", "gdb runs code")
            )
    if "--args" in call.args:
        yield run(call.args[call.args.index("--args") + 1 :])


def _tmux(call: CommandCall) -> Iterator[Answer]:
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
        if verb == "if-shell":
            for text in inner.rest[1:]:
                yield script(f"tmux {text}")
    elif verb in {"send-keys", "send"}:
        yield from _typed(inner.rest)


_KEY = re.compile(
    r"(?:[CMS]-)+.|Enter|KPEnter|Escape|Space|B?Tab|BSpace|Up|Down|Left|Right|Home|End|"
    r"Page(?:Up|Down)|Pg(?:Up|Dn)|[NP]Page|IC|DC|Insert|Delete|F\d+"
)
_ENDS_LINE = frozenset(["Enter", "KPEnter", "C-m", "C-j"])


def _typed(words: list[str]) -> Iterator[Answer]:
    """Handle keys typed into a separate program: usually a shell, but possibly an editor or a
    prompt.
    """
    text = " ".join(word for word in words if not _KEY.fullmatch(word))
    if not text:
        return
    if text.lstrip().startswith((":!", "!")):
        yield script(text.lstrip(" :!"))
    elif _ENDS_LINE.isdisjoint(words) and "\n" not in text and not _is_shell(text):
        yield script(text, "python")
    else:
        yield script(text)


def _is_shell(text: str) -> bool:
    try:
        parse(text)
    except Unreadable:
        return False
    return True


def _screen(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "S c e h p s t T X", stop=True)
    if "-X" in call.args:
        text = " ".join(call.args[call.args.index("-X") + 1 :])
        yield script(re.sub(r"^stuff\s+", "", text).replace("\\n", "").replace("^M", ""))
    elif given.rest:
        yield run(given.rest)


def _latex(call: CommandCall) -> Iterator[Answer]:
    if {"-shell-escape", "--shell-escape", "-enable-write18"} & set(call.args) and any(
        "write18" in arg for arg in call.args
    ):
        yield ask("code_danger", "TeX runs commands")


def _fzf(call: CommandCall) -> Iterator[Answer]:
    given = options(call.args, "-preview q f d n -bind")
    for text in given.all_values("--preview"):
        closed, brace, rest = text.rpartition("}")
        yield script(re.sub(r"\{[^}]*\}", "'x'", closed + brace) + rest)
    for text in given.all_values("--bind"):
        for command in re.findall(
            r"(?:execute(?:-silent)?|become|reload|preview)[(:\[]([^)\]]*)", text
        ):
            yield script(command.replace("{}", "'x'"))


def _nspawn(call: CommandCall) -> Iterator[Answer]:
    yield run(options(call.args, "D M i b u E", stop=True).rest, contained=True)


def _cmake(call: CommandCall) -> Iterator[Answer]:
    if any(call.was_written(path) for path in options(call.args, "P").all_values("-P")):
        yield ask("opaque_code", "runs a CMake script that is not known")
    if call.args[:1] == ["-E"]:
        words = call.args[1:]
        if words[:1] and words[0] in {"rm", "remove", "remove_directory"}:
            yield from removing(call, options(words[1:]).rest, recursive=words[0] != "remove")
        elif words[:1] == ["env"] or words[:1] == ["time"]:
            yield run([word for word in words[1:] if "=" not in word])


RULES: RuleTable = {
    "sort": _sort,
    **table("tar gtar bsdtar", _tar),
    **table("awk gawk mawk nawk", _awk),
    **table("sed gsed", _sed),
    **table("make gmake", _make),
    "rsync": _rsync,
    **table("gdb lldb", _gdb),
    "tmux": _tmux,
    "screen": _screen,
    "fzf": _fzf,
    "systemd-nspawn": _nspawn,
    "cmake": _cmake,
    **table("pdflatex latex xelatex lualatex tex pdftex xetex luatex luahbtex", _latex),
}
