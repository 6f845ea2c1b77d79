"""Commands of cmd and PowerShell. Names are compared in lower case."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from app.policy.risk.call import UNKNOWN, Answer, Payload, Stream, ask, deny, names, script
from app.policy.risk.model import RiskLevel
from app.policy.risk.rules.protections import TELLING, switched_off
from app.policy.risk.windows_admin import JUDGED_BY_WORDS, changed_by, removed_by_shape
from app.policy.risk.windows_credentials import secrets_shown, shown_in_text
from app.policy.risk.windows_files import on_files, redirect_targets, redirected, without_redirects
from app.policy.risk.windows_loaders import loaded, opens_share
from app.policy.risk.windows_methods import downloaded, methods
from app.policy.risk.windows_places import Places, file_name, is_whole, program
from app.policy.risk.windows_read import PowerShellCommand, PowerShellReader
from app.policy.risk.windows_secrets import secrets_sent, sends_whole
from app.policy.risk.windows_shares import hidden_stream
from app.policy.risk.windows_tables import (
    ALIASES,
    ASKS,
    DELETES,
    DENIES,
    NAMES,
    OWN,
)
from app.policy.risk.windows_verbs import cmdlet


def quoted_line(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


_FOR_OUTPUT = re.compile(r"\bfor\s+/f\b[^\n'`]{0,200}?\bin\s*\(\s*(['`])", re.IGNORECASE)
_OUTPUT_ENDS = {quote: re.compile(rf"{quote}\s*\)") for quote in "'`"}
_CMD_BUILTIN = re.compile(
    r"(cmd(?=/)|del|erase|rd|rmdir|format|call|start|shutdown|taskkill)([,;=/\\.+:].*)",
    re.IGNORECASE,
)
_READS_CODE = frozenset(
    names(
        "cmd powershell pwsh bash sh zsh wsl python python3 py node perl ruby php psql mysql "
        "sqlite3 redis-cli mongosh sqlcmd ssh"
    )
)


def assess(
    text: str, cwd: str | None, home: str, *, cmd: bool
) -> Iterator[tuple[list[str], Answer | None]]:
    """Yield each command with each answer about it; None for a command without findings.

    A line for the other of the two shells is also parsed as such.
    """
    del cwd
    yield from (([], answer) for answer in secrets_sent(text))
    yield from _assess(text, home, cmd=cmd)
    if _OF_THE_OTHER[cmd].search(text) and "\n" not in text:
        for _, answer in _assess(text, home, cmd=not cmd):
            if answer is not None:
                yield [], answer


_OF_THE_OTHER = {
    True: re.compile(
        r"\[[\w.]+\]::|\$(?:\w+\s*=|_|env:|\()|\w`\w|@\{|\.[a-z]+\(|;\s|[({]\s*['\"]"
        r"|\b(?:add|clear|format|get|invoke|new|out|remove|restart|select|set|start|stop|where|"
        r"write)"
        r"-[a-z]+",
        re.IGNORECASE,
    ),
    False: re.compile(
        r"\w\^\w|(?:^|\s)\^\w|%\w+%|!\w+!|\b(?:del|erase|rd|rmdir|cmd|format)[/,;=]|\bfor /",
        re.IGNORECASE,
    ),
}
"""Syntax of PowerShell in a cmd line, and of cmd in PowerShell."""


def _assess(text: str, home: str, *, cmd: bool) -> Iterator[tuple[list[str], Answer | None]]:
    said = shown_in_text(text) if cmd else (*methods(text), *shown_in_text(text))
    yield from (([], answer) for answer in said)
    for command in _looped_over(text) if cmd else ():
        yield [], script(command, "cmd")
    places = Places({file_name(path) for path in downloaded(text)})
    for read in PowerShellReader(cmd=cmd).commands(text):
        answers = list(_command(read, home, places, cmd=cmd))
        places.leave(read.texts)
        yield read.argv, answers[0] if answers else None
        for answer in answers[1:]:
            yield [], answer


def _looped_over(text: str) -> Iterator[str]:
    """Yield the commands whose output `for /f … in ('command')` iterates."""
    for match in _FOR_OUTPUT.finditer(text):
        end = _OUTPUT_ENDS[match.group(1)].search(text, match.end())
        if not end:
            return
        yield text[match.end() : end.start()]


def _command(
    command: PowerShellCommand, home: str, places: Places, *, cmd: bool
) -> Iterator[Answer]:
    yield from redirected(command.texts)
    if stream := hidden_stream(redirect_targets(command.texts)):
        yield ask("opaque_code", f"writes the stream {stream}, which is hidden behind a file")
    texts = _named(command, cmd=cmd)
    if not texts:
        return
    if not cmd and not command.called and _is_expression(command):
        if command.words[0].quote and len(texts) > 1 and not texts[1].startswith(_OPERATORS):
            yield ask("unreadable", "a text where a command should be")
        return
    if not cmd and not command.called and not (texts := _given_to_key(texts)):
        return
    first = texts[0]
    if re.search(r"%[^%]+%|^%\w|![^!]+!" if cmd else r"\$[\w({]", first) or UNKNOWN in first:
        yield ask("unresolved_command", "the command is not known before it runs")
        return
    name = program(first)
    for word in texts if name in _STARTS else texts[:1]:
        if file_name(word) in places.saved:
            yield ask("remote_code", f"runs {word}, which was just written")
    if command.piped:
        yield from _reads_input(name, texts, cmd=cmd)
    places.enter(texts, piped=command.piped)
    yield from judge(texts, home, places)


def _named(command: PowerShellCommand, *, cmd: bool) -> tuple[str, ...]:
    """Return the words of a command, with aliases resolved and joined switches separated."""
    first, *rest = without_redirects(command.texts) or ("",)
    if cmd and (glued := _CMD_BUILTIN.fullmatch(first)):
        return (glued.group(1), glued.group(2).lstrip(",;=.+"), *rest)
    if cmd and first.lower() == "start" and command.words[1:2] and command.words[1].quote:
        return (first, "", *rest[1:])  # The title of a window.
    if first.lower() in {"%comspec%", "$env:comspec"}:
        return ("cmd", *rest)
    first = re.sub(r"^%(?:windir|systemroot)%(?=\\)", "C:/Windows", first, flags=re.IGNORECASE)
    return (first, *rest) if first or rest else ()


_STARTS = _READS_CODE | {"start", "start-process", "saps", "call", "msiexec", "wscript", "cscript"}
_OPERATORS = ("-", "+", ",", "*", "/", "=", ".", "|", ">", "%", "[")


_KEY = re.compile(r"([\w-]+)=(?!=)")


def _given_to_key(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command that computes a table value, `@{key=value}`.

    Returns nothing for a text or variable; `texts` if they are not such an entry.
    """
    if key := _KEY.match(texts[0]):
        value = texts[0][key.end() :]
        texts = (value, *texts[1:]) if value else texts[1:]
    elif texts[1:2] == ("=",):
        texts = texts[2:]
    else:
        return texts
    is_text = bool(texts) and (" " in texts[0] or texts[0][:1] in "$@['\"" or texts[0].isdigit())
    return () if is_text else texts


def _is_expression(command: PowerShellCommand) -> bool:
    first = command.words[0]
    return bool(first.quote) or first.text.startswith(("$", "[", "@"))


def _reads_input(name: str, texts: Sequence[str], *, cmd: bool) -> Iterator[Answer]:
    if name == "kill" and not cmd:
        yield ask("windows_admin", "ends the processes that it receives")
    elif name not in _READS_CODE:
        return
    elif name == "cmd":
        if not any(text[:2].lower() in {"/c", "/k", "/r"} for text in texts[1:]):
            yield ask("opaque_code", "cmd runs its input")
    elif name in {"powershell", "pwsh"}:
        given = {text.lower()[:2] for text in texts[1:]}
        if len(texts) < 2 or ("-" in texts and not given & {"/c", "-f"}):
            yield ask("opaque_code", f"{name} runs its input")
    else:
        yield script(quoted_shell(texts), "shell", stdin=Stream(None))


def judge(words: Sequence[str], home: str, places: Places | None = None) -> Iterator[Answer]:
    """Yield the effects of the command `words` under Windows."""
    if not words:
        return
    word = words[0]
    name = re.sub(r"\.(?:exe|com)$", "", re.split(r"[\\/]", word)[-1].lower())
    name = ALIASES.get(name, name)
    args = list(words[1:])
    lowered = [arg.lower() for arg in args]
    if UNKNOWN in word:
        yield ask("unresolved_command", "the command is not known before it runs")
    elif any(arg in _ONLY_SAYS for arg in lowered):
        return
    else:
        yield from loaded(word, name, args)
        yield from secrets_shown(name, args)
        yield from sends_whole(name, args)
        yield from _judge(name, args, lowered, home, places or Places(set()))


_ONLY_SAYS = frozenset(["/?", "--help", "-?", "-whatif", "-whatif:$true", "-wi"])


def _judge(
    name: str, args: list[str], lowered: list[str], home: str, places: Places
) -> Iterator[Answer]:
    if name == "wmic" and set(lowered) & {"reboot", "shutdown", "win32shutdown"}:
        yield deny("host_power", "wmic shuts down or restarts the host")
    elif name in {"vssadmin", "wmic"} and set(lowered) & {"delete", "call", "resize"}:
        yield ask("windows_admin", f"{name} deletes or calls", RiskLevel.CRITICAL)
    elif name in DELETES:
        yield from _delete(name, args, home, places)
    elif name in DENIES:
        yield deny("windows_disk", f"{name} {DENIES[name]}")
    elif name in ASKS:
        yield from _asks(name, args, lowered)
    else:
        found = [*cmdlet(name), *changed_by(name, args)]
        yield from found
        if not found:
            yield from _others(name, args, lowered, home)


def _delete(name: str, args: list[str], home: str, places: Places) -> Iterator[Answer]:
    args = [*args, *places.sent]
    recursive = any(
        re.fullmatch(
            r"(?:/[a-z])*/s(?:/[a-z])*|-r(?:e\w*)?(?::\S*)?|-\w*r\w*f?|--recursive", arg.lower()
        )
        for arg in args
    )
    args = [re.sub(r"^-\w+:(?=[^$]|\$(?:home|env:))", "", arg, flags=re.IGNORECASE) for arg in args]
    targets = [
        arg
        for arg in args
        if not re.fullmatch(r"(?:/[a-z])+(?::.*)?", arg.lower()) and not arg.startswith("-")
    ]
    targets = [piece for target in targets for piece in target.split(",")]
    if recursive and any(is_whole(target, places.here, home) for target in targets):
        yield deny("catastrophic_delete", f"{name} deletes a whole drive, home or system folder")
    else:
        yield ask("delete", f"{name} deletes files permanently")


_POWER_METHODS = frozenset(["shutdown", "reboot", "win32shutdown", "win32shutdowntracker"])


def _asks(name: str, args: list[str], lowered: list[str]) -> Iterator[Answer]:
    if not args and name in {"mshta", "regsvr32", "rundll32"}:
        return
    if name in JUDGED_BY_WORDS:
        yield from changed_by(name, args)
        return
    if "win32_operatingsystem" in lowered and set(lowered) & _POWER_METHODS:
        yield deny("host_power", f"{name} shuts down or restarts the host")
    yield ask("windows_admin", f"{name} {ASKS[name]}")
    if name in {"iex", "invoke-expression"}:
        yield script(" ".join(arg for arg in args if arg.lower() != "-command"), "powershell")


def _others(name: str, args: list[str], lowered: list[str], home: str) -> Iterator[Answer]:
    if name in {"powershell", "pwsh"}:
        yield from _nested(args, lowered)
    elif name == "cmd":
        yield from in_cmd(args)
    elif name == "shutdown":
        if {"/l", "-l"} & set(lowered):
            yield ask("windows_admin", "shutdown ends the session")
        elif not set(lowered) & {"/a", "-a"}:
            yield deny("host_power", "shutdown shuts down the host")
    elif name in {"start-process", "saps", "start", "runas", "forfiles"}:
        yield from _started(name, args, lowered)
    elif name in {"sc", "robocopy", "git", "bash", "sh", "wsl"}:
        yield from _tools(name, args, lowered)
    else:
        yield from _small(name, args, lowered, home)


_REST = frozenset(
    names("irm iwr invoke-restmethod invoke-webrequest invoke-azrestmethod invoke-mggraphrequest")
)
_DELETING_METHOD = re.compile(r"-(?:custom)?m\w*[\s:]+delete\b")


def _assigned(name: str, args: list[str]) -> Iterator[Answer]:
    """Handle `set NAME=value` and `setx NAME value`."""
    setting, _, value = "=".join(args[:2]).partition("=")
    if name in {"set", "setx"} and setting.upper() in TELLING:
        yield from switched_off(setting.upper(), value)


def _small(name: str, args: list[str], lowered: list[str], home: str) -> Iterator[Answer]:
    yield from _assigned(name, args)
    if name in {"foreach-object", "foreach", "%"} and args:
        if set(lowered) & {"delete", "kill", "invoke", "remove"}:
            yield ask("code_danger", "calls a method that deletes or runs code")
        yield from judge(args, home)
    elif name in {"set-alias", "new-alias", "sal", "nal"}:
        meant = [arg for arg in args if not arg.startswith("-")][-1:]
        yield from judge([*meant, "x"], home)
    elif name == "kill" and any(arg.startswith("-n") for arg in lowered):
        yield ask("windows_admin", "ends processes by their name")
    elif name in _REST and _DELETING_METHOD.search(" ".join(lowered)):
        yield ask("http_delete", "asks a server to delete", RiskLevel.MEDIUM)
    elif name == "invoke-sqlcmd":
        yield from (script(arg, "sql") for arg in args if " " in arg)
    elif name in {"psexec", "psexec64", "gsudo"}:
        yield from judge([arg for arg in args if not arg.startswith(("\\", "-"))], home)
    else:
        yield from on_files(name, args, home)
        if name not in OWN and name not in NAMES:
            plain = re.sub(r"\.(?:cmd|bat)$", "", name)
            yield Payload("tool", (plain, *args))
            yield from removed_by_shape(plain, args, home)


def in_cmd(args: Sequence[str]) -> Iterator[Answer]:
    """Handle `cmd /c …`, including a command joined to the switch."""
    for at, arg in enumerate(args):
        if match := re.match(r"/[ckr](.*)", arg, re.IGNORECASE | re.DOTALL):
            glued = [match.group(1)] if match.group(1) else []
            yield script(" ".join([*glued, *args[at + 1 :]]), "cmd")
            return


def quoted_shell(words: Sequence[str]) -> str:
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def _nested(args: list[str], lowered: list[str]) -> Iterator[Answer]:
    for at, arg in enumerate(lowered):
        if re.fullmatch(r"[-/]e(?:c|n\w*)?", arg):
            yield from _decoded(args[at + 1] if at + 1 < len(args) else "")
            return
        if re.fullmatch(r"[-/]c(?:wa|o\w*)?", arg):
            text = " ".join(args[at + 1 :])
            if text.startswith("'") and text.endswith("'"):
                # Whether the quotes arrive depends on the outer shell: both interpretations apply.
                yield script(text[1:-1], "powershell")
            yield (
                script(text, "powershell")
                if text.split()[:1] != ["-"]
                else ask("opaque_code", "reads its script from input")
            )
            return
        if re.fullmatch(r"[-/]f(?:i\w*)?", arg):
            return
    if args and not args[0].startswith(("-", "/")):
        yield script(" ".join(args), "powershell")


def _decoded(text: str) -> Iterator[Answer]:
    """Ask about encoded commands, which are unreadable; their content may be worse."""
    try:
        code = base64.b64decode(text, validate=True).decode("utf-16-le")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        yield ask("opaque_code", "runs an encoded command that cannot be decoded")
        return
    yield ask("opaque_code", "runs an encoded command")
    yield script(code, "powershell")


def _started(name: str, args: list[str], lowered: list[str]) -> Iterator[Answer]:
    if name == "forfiles":
        lowered = [re.sub(r"^-", "/", arg) for arg in lowered]
        if "/c" in lowered:
            yield script(
                args[lowered.index("/c") + 1] if lowered.index("/c") + 1 < len(args) else None,
                "cmd",
            )
        return
    if name == "runas" or "-verb" in lowered:
        yield ask("windows_admin", "starts a program as another user")
    line = _start_line(args) if name in {"start", "runas"} else _process_line(args)
    if line and not (name == "start" and opens_share(line)):
        yield script(quoted_line(line), "cmd")
    if any(" " in word and word[0] in "-/" for word in line[1:]):
        # PowerShell passes the list of arguments as one line.
        yield script(" ".join(line), "cmd")


def _start_line(args: list[str]) -> list[str]:
    """Return the program and its words after a title and the switches of `start`."""
    rest = list(args)
    if len(rest) > 1 and (not rest[0] or " " in rest[0]):
        rest = rest[1:]
    while rest and rest[0].startswith("/"):
        rest = rest[2:] if rest[0].lower() == "/d" else rest[1:]
    return rest


_NO_WORD_AFTER = re.compile(
    r"-(?:cred\w*|work\w*|windows\w*|verb|redirect\w*|rs[eio])$", re.IGNORECASE
)


def _process_line(args: list[str]) -> list[str]:
    """Handle Start-Process: parameter names removed, argument lists joined."""
    args = [re.sub(r"^@\((.*)\)$", r"\1", arg, flags=re.DOTALL) for arg in args]
    at = [index + 1 for index, arg in enumerate(args) if _NO_WORD_AFTER.match(arg)]
    args = [arg for index, arg in enumerate(args) if index not in at]
    words = [arg for arg in args if not re.fullmatch(r"-[A-Za-z]+", arg) or len(arg) < 3]
    return [piece for word in words for piece in re.split(r"[,\s]+", word) if piece]


def _tools(name: str, args: list[str], lowered: list[str]) -> Iterator[Answer]:
    if name in {"git", "bash", "sh", "wsl"}:
        yield script(quoted_shell([name, *args]), "shell")
    elif name == "robocopy":
        if set(lowered) & {"/mir", "/purge", "/move", "/mov"} and "/l" not in lowered:
            yield ask("delete", "robocopy deletes files that are not in the source")
    elif name == "sc":
        yield from on_files(name, args, "")
