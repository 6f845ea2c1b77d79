"""What the commands of cmd and PowerShell do. Names are compared in lower case."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from app.policy.risk.call import UNKNOWN, Answer, Stream, ask, deny, names, script
from app.policy.risk.model import RiskLevel
from app.policy.risk.windows_files import on_files, redirected, without_redirects
from app.policy.risk.windows_read import Command, Reader
from app.policy.risk.windows_tables import (
    ASKS,
    DELETES,
    DENIES,
    ENDS,
    ENDS_LITTLE,
    METHOD,
    ROOT,
)


def quoted_line(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


_FOR_OUTPUT = re.compile(r"\bfor\s+/f\b[^\n]*?\bin\s*\(\s*(['`])(.*?)\1\s*\)", re.IGNORECASE)
_CMD_BUILTIN = re.compile(
    r"(del|erase|rd|rmdir|format|call|start|shutdown|taskkill)([,;=/\\.+:].*)", re.IGNORECASE
)
_SAVES = frozenset(["-outfile", "-o", "-out", "-output", "--output"])
_READS_CODE = frozenset(
    names(
        "cmd powershell pwsh bash sh zsh wsl python python3 py node perl ruby php psql mysql "
        "sqlite3 redis-cli mongosh sqlcmd ssh"
    )
)


def assess(
    text: str, cwd: str | None, home: str, *, cmd: bool
) -> Iterator[tuple[list[str], Answer | None]]:
    """Each command with each answer about it; a command without findings comes with None."""
    del cwd
    if not cmd and METHOD.search(_outside_single_quotes(text)):
        yield [], ask("code_danger", "calls a .NET method that deletes or runs code")
    for match in _FOR_OUTPUT.finditer(text) if cmd else ():
        yield [], script(match.group(2), "cmd")
    saved: set[str] = set()
    for command in Reader(cmd=cmd).commands(text):
        answers = list(_command(command, home, saved, cmd=cmd))
        yield command.argv, answers[0] if answers else None
        for answer in answers[1:]:
            yield [], answer


def _command(command: Command, home: str, saved: set[str], *, cmd: bool) -> Iterator[Answer]:
    yield from redirected(command.texts)
    texts = without_redirects(command.texts)
    if not texts:
        return
    if cmd and (glued := _CMD_BUILTIN.fullmatch(texts[0])):
        texts = (glued.group(1), glued.group(2).lstrip(",;=.+"), *texts[1:])
    if not cmd and not command.called and _is_expression(command):
        if command.words[0].quote and len(texts) > 1 and not texts[1].startswith(_OPERATORS):
            yield ask("unreadable", "a text where a command should be")
        return
    first = texts[0]
    if re.search(r"%[^%]+%|^%\w|![^!]+!" if cmd else r"\$[\w({]", first) or UNKNOWN in first:
        yield ask("unresolved_command", "the command to run is not known before it runs")
        return
    started = texts if _program(first) in _STARTS else texts[:1]
    for word in started:
        if _file_name(word) in saved:
            yield ask("remote_code", f"runs {word}, which was just fetched")
    saved |= _fetched_names(texts)
    name = _program(first)
    if command.piped and name in _READS_CODE:
        yield from _reads_input(name, texts)
    yield from judge(texts, home)


_STARTS = _READS_CODE | {"start", "start-process", "saps", "call", "msiexec", "wscript", "cscript"}
_OPERATORS = ("-", "+", ",", "*", "/", "=", ".", "|", ">", "%", "[")


def _is_expression(command: Command) -> bool:
    first = command.words[0]
    return bool(first.quote) or first.text.startswith(("$", "[", "@"))


def _reads_input(name: str, texts: Sequence[str]) -> Iterator[Answer]:
    if name in {"cmd", "powershell", "pwsh"}:
        given = {text.lower()[:2] for text in texts[1:]}
        if len(texts) < 2 or ("-" in texts and not given & {"/c", "/k", "-f"}):
            yield ask("opaque_code", f"{name} runs what it is sent")
    else:
        yield script(quoted_shell(texts), "shell", stdin=Stream(None))


def _file_name(word: str) -> str:
    return re.split(r"[\\/]", word)[-1].lower()


def _program(word: str) -> str:
    return _file_name(word).removesuffix(".exe")


def _fetched_names(texts: Sequence[str]) -> set[str]:
    found = {_file_name(value) for flag, value in pairwise(texts) if flag.lower() in _SAVES}
    if _program(texts[0]) in {"certutil", "bitsadmin", "start-bitstransfer"}:
        found.add(_file_name(texts[-1]))
    return found


def _outside_single_quotes(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", text)


def judge(words: Sequence[str], home: str) -> Iterator[Answer]:
    """What the command `words` would do under Windows."""
    if not words:
        return
    word = words[0]
    name = re.split(r"[\\/]", word)[-1].lower().removesuffix(".exe")
    args = list(words[1:])
    lowered = [arg.lower() for arg in args]
    if UNKNOWN in word:
        yield ask("unresolved_command", "the command to run is not known before it runs")
    elif any(arg in {"/?", "--help", "-?", "-whatif"} for arg in lowered):
        return
    elif name in DELETES:
        yield from _delete(name, args, home)
    elif name in DENIES:
        yield deny("windows_disk", f"{name} {DENIES[name]}")
    elif name in ASKS:
        yield from _asks(name, lowered)
    elif ENDS.fullmatch(name) and name not in ENDS_LITTLE:
        yield ask("windows_admin", f"{name} takes something away")
    else:
        yield from _others(name, args, lowered, home)


def _delete(name: str, args: list[str], home: str) -> Iterator[Answer]:
    del home
    recursive = any(
        re.fullmatch(r"/s|-r(?:e\w*)?(?::\S*)?|-\w*r\w*f?|--recursive", arg.lower()) for arg in args
    )
    args = [re.sub(r"^-\w+:(?=[^$]|\$(?:home|env:))", "", arg, flags=re.IGNORECASE) for arg in args]
    targets = [
        arg
        for arg in args
        if not re.fullmatch(r"/[a-z](?::.*)?", arg.lower()) and not arg.startswith("-")
    ]
    if recursive and any(ROOT.fullmatch(target) for target in targets):
        yield deny("catastrophic_delete", f"{name} deletes a whole drive, home or system folder")
    else:
        yield ask("delete", f"{name} deletes without a way back")


def _asks(name: str, lowered: list[str]) -> Iterator[Answer]:
    if name == "schtasks" and "/query" in lowered:
        return
    if name in {"icacls", "cacls"} and len(lowered) < 2:
        return
    if name == "wevtutil" and lowered[:1] and lowered[0] not in {"cl", "clear-log"}:
        return
    if name == "cipher" and not any(arg.startswith("/w") for arg in lowered):
        return
    yield ask("windows_admin", f"{name} {ASKS[name]}")


def _others(name: str, args: list[str], lowered: list[str], home: str) -> Iterator[Answer]:
    if name in {"powershell", "pwsh"}:
        yield from _nested(args, lowered)
    elif name == "cmd":
        yield from in_cmd(args)
    elif name == "shutdown":
        if not set(lowered) & {"/a", "-a"}:
            yield deny("host_power", "shutdown turns the host off")
    elif name in {"start-process", "saps", "start", "runas", "forfiles"}:
        yield from _started(name, args, lowered)
    elif name in {"reg", "vssadmin", "wmic", "net", "sc", "robocopy", "git", "bash", "sh", "wsl"}:
        yield from _tools(name, args, lowered)
    elif name in _SHARED:
        yield script(quoted_shell([name, *args]), "shell")
    else:
        yield from _small(name, args, lowered, home)


_CHANGES = {
    "netsh": re.compile(r"\b(?:set|delete|add|reset|import)\b"),
    "regedit": re.compile(r"/s|\.reg\b"),
    "wbadmin": re.compile(r"\bdelete\b|\bdisable\b"),
    "fsutil": re.compile(r"\b(?:set\w*|delete\w*|dismount|createnew)\b"),
    "mountvol": re.compile(r"/[dr]\b"),
    "msiexec": re.compile(r"[-/](?:x|uninstall)\b"),
}
"""Tools whose words tell whether they only show something."""


def _small(name: str, args: list[str], lowered: list[str], home: str) -> Iterator[Answer]:
    if name in {"foreach-object", "foreach", "%"} and args:
        if set(lowered) & {"delete", "kill", "invoke", "remove"}:
            yield ask("code_danger", "calls a method that deletes or runs code")
        yield from judge(args, home)
    elif name in {"set-alias", "new-alias", "sal", "nal"}:
        meant = [arg for arg in args if not arg.startswith("-")][-1:]
        yield from judge([*meant, "x"], home)
    elif name == "kill" and any(arg.startswith("-n") for arg in lowered):
        yield ask("windows_admin", "ends processes by their name")
    elif name == "certutil" and any(re.match(r"[-/](?:urlcache|decode)", arg) for arg in lowered):
        yield ask("remote_code", "certutil fetches or decodes a file")
    elif name == "invoke-sqlcmd":
        yield from (
            script(value, "sql")
            for flag, value in pairwise(args)
            if flag.lower() in {"-query", "-q"}
        )
    elif name in {"psexec", "psexec64"}:
        yield from judge([arg for arg in args if not arg.startswith(("\\\\", "-"))], home)
    elif name in _CHANGES:
        if _CHANGES[name].search(" ".join(lowered)):
            yield ask("windows_admin", f"{name} changes the system")
    else:
        yield from on_files(name, args, home)


def in_cmd(args: Sequence[str]) -> Iterator[Answer]:
    """`cmd /c …`, also with the command glued to the switch."""
    for at, arg in enumerate(args):
        if match := re.match(r"/[ckr](.*)", arg, re.IGNORECASE | re.DOTALL):
            glued = [match.group(1)] if match.group(1) else []
            yield script(" ".join([*glued, *args[at + 1 :]]), "cmd")
            return


def quoted_shell(words: Sequence[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


_SHARED = frozenset(
    names(
        "python python3 py node npx npm docker kubectl terraform aws az gcloud mysql "
        "psql sqlite3 redis-cli mongosh helm gh ssh curl wget perl ruby"
    )
)


def _nested(args: list[str], lowered: list[str]) -> Iterator[Answer]:
    for at, arg in enumerate(lowered):
        if re.fullmatch(r"[-/]e(?:c|nc\w*|ncodedcommand)?", arg):
            yield _decoded(args[at + 1] if at + 1 < len(args) else "")
            return
        if re.fullmatch(r"[-/]c(?:o\w*)?", arg):
            text = " ".join(args[at + 1 :])
            if text.startswith("'") and text.endswith("'"):
                # Whether the quotes arrive depends on the shell outside: both readings count.
                yield script(text[1:-1], "powershell")
            yield (
                script(text, "powershell")
                if text != "-"
                else ask("opaque_code", "reads its script from input")
            )
            return
        if re.fullmatch(r"[-/]f(?:i\w*)?", arg):
            return
    if args and not args[0].startswith(("-", "/")):
        yield script(" ".join(args), "powershell")


def _decoded(text: str) -> Answer:
    try:
        code = base64.b64decode(text, validate=True).decode("utf-16-le")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ask("opaque_code", "runs an encoded command that cannot be decoded")
    del code
    return ask("opaque_code", "runs an encoded command")


def _started(name: str, args: list[str], lowered: list[str]) -> Iterator[Answer]:
    if name == "forfiles":
        if "/c" in lowered:
            yield script(
                args[lowered.index("/c") + 1] if lowered.index("/c") + 1 < len(args) else None,
                "cmd",
            )
        return
    if name == "runas" or "-verb" in lowered:
        yield ask("windows_admin", "starts a program as another user")
    line = _start_line(args) if name in {"start", "runas"} else _process_line(args)
    if line:
        yield script(quoted_line(line), "cmd")
    if any(" " in word and word[0] in "-/" for word in line[1:]):
        # PowerShell hands over the list of arguments as one line.
        yield script(" ".join(line), "cmd")


def _start_line(args: list[str]) -> list[str]:
    """The program and its words after a title and the switches of `start`."""
    rest = list(args)
    if len(rest) > 1 and (not rest[0] or " " in rest[0]):
        rest = rest[1:]
    while rest and rest[0].startswith("/"):
        rest = rest[2:] if rest[0].lower() == "/d" else rest[1:]
    return rest


def _process_line(args: list[str]) -> list[str]:
    """Start-Process: names of parameters dropped, lists of arguments joined."""
    words = [arg for arg in args if not re.fullmatch(r"-[A-Za-z]+", arg) or len(arg) < 3]
    return [piece for word in words for piece in re.split(r"[,\s]+", word) if piece]


def _tools(name: str, args: list[str], lowered: list[str]) -> Iterator[Answer]:
    first = lowered[0] if lowered else ""
    if name in {"git", "bash", "sh", "wsl"}:
        yield script(quoted_shell([name, *args]), "shell")
    elif name == "robocopy":
        if set(lowered) & {"/mir", "/purge", "/move", "/mov"}:
            yield ask("delete", "robocopy deletes files that are not in the source")
    elif (name == "reg" and first in {"delete", "add", "import", "restore"}) or (
        name == "sc" and first in {"delete", "stop", "config"}
    ):
        yield ask("windows_admin", f"{name} {first} changes the system")
    elif name in {"vssadmin", "wmic"} and ("delete" in lowered or "call" in lowered):
        yield ask("windows_admin", f"{name} deletes or calls", RiskLevel.CRITICAL)
    elif name == "net" and first in {"user", "localgroup", "stop", "share"} and len(lowered) > 1:
        yield ask("windows_admin", f"net {first} changes the system")
