"""cmd and PowerShell: one reader for both spellings, and what their commands do.

The reader splits at separators, script blocks and parentheses, so that a body is judged as
the command that it is; it does not follow variables. Names are compared in lower case.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence

from app.policy.risk.call import Answer, ask, deny, names, script
from app.policy.risk.model import RiskLevel

_TOKEN = re.compile(
    r"(?P<comment><\#.*?\#>|(?<![^\s;])\#[^\n]*)|(?P<here>@(['\"])\n.*?\n\3@)|"
    r"(?P<block>[{}()])|(?P<sep>&&|\|\||[;|\n]|&(?!\d))"
    r"|(?P<space>[ \t]+|[`^]\n)|(?P<word>(?:\"(?:[^\"`]|`.|\"\")*\"|'(?:[^']|'')*'|"
    r"[`^].|\$\(|\d?>>?(?:&\d)?|[^\s;|&(){}\"'])+)",
    re.DOTALL,
)
_DELETES = frozenset(
    names(
        "remove-item ri rm del erase rd rmdir remove-itemproperty rp clear-content "
        "clc clear-item cli clear-recyclebin deltree rimraf unlink"
    )
)
_ASKS: dict[str, str] = {
    **dict.fromkeys(
        names("stop-process spps taskkill tskill stop-service spsv remove-service"),
        "ends processes or services",
    ),
    **dict.fromkeys(
        [
            "invoke-expression",
            "iex",
            "invoke-command",
            "icm",
            "invoke-wmimethod",
            "invoke-cimmethod",
        ],
        "runs text as code",
    ),
    **dict.fromkeys(
        [
            "set-executionpolicy",
            "new-service",
            "register-scheduledtask",
            "schtasks",
            "set-mppreference",
            "add-mppreference",
        ],
        "changes what may run",
    ),
    **dict.fromkeys(
        [
            "remove-aduser",
            "remove-localuser",
            "new-localuser",
            "set-localuser",
            "add-localgroupmember",
            "disable-localuser",
        ],
        "changes accounts",
    ),
    **dict.fromkeys(
        [
            "remove-vm",
            "remove-azresourcegroup",
            "remove-azvm",
            "remove-netfirewallrule",
            "remove-wmiobject",
            "remove-ciminstance",
        ],
        "deletes resources",
    ),
    **dict.fromkeys(
        names("takeown icacls cacls cipher bcdedit wevtutil clear-eventlog"),
        "changes protection or logs",
    ),
    **dict.fromkeys(
        ["uninstall-package", "uninstall-module", "remove-appxpackage"], "removes software"
    ),
    **dict.fromkeys(["add-type"], "compiles and loads code"),
}
_DENIES: dict[str, str] = {
    **dict.fromkeys(["format", "format.com"], "formats a drive"),
    **dict.fromkeys(
        [
            "clear-disk",
            "format-volume",
            "initialize-disk",
            "remove-partition",
            "diskpart",
            "reset-physicaldisk",
        ],
        "wipes a disk",
    ),
    **dict.fromkeys(["stop-computer", "restart-computer"], "turns the host off"),
}
NAMES = tuple(
    sorted(
        {
            *_DELETES,
            *_ASKS,
            *_DENIES,
            "reg",
            "vssadmin",
            "wmic",
            "forfiles",
            "robocopy",
            "net",
            "sc",
        }
        - {"iex", "rimraf", "unlink"}
    )
)
_ROOT = re.compile(
    r"[a-z]:[\\/]*\*?(?:\.\*)?|[\\/]+\*?|~[\\/]?\*?|\$home[\\/]?\*?|"
    r"\$env:(?:userprofile|systemroot|windir|systemdrive|programfiles|"
    r"homepath)[\\/]*\*?"
    r"|%(?:userprofile|systemroot|windir|systemdrive|programfiles)%[\\/]*\*?|"
    r"[a-z]:[\\/](?:windows|users|program files(?: \(x86\))?|programdata)(?:[\\/]\*?)?"
    r"|[a-z]:[\\/]users[\\/][^\\/*]+(?:[\\/]\*?)?|[a-z]:[\\/]windows[\\/]system32(?:[\\/].*)?",
    re.IGNORECASE,
)
_METHOD = re.compile(
    r"\[(?:system\.)?io\.(?:file|directory)\]::\s*delete|\.delete\(|::delete\(|"
    r"\[scriptblock\]::create|\.invoke\(|downloadstring|frombase64string"
    r"|\[system\.reflection|\[reflection\.assembly|::start\(|shellexecute|::kill\(|\.kill\(",
    re.IGNORECASE,
)


def quoted_line(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)


def assess(
    text: str, cwd: str | None, home: str, *, cmd: bool
) -> Iterator[tuple[tuple[str, ...], Answer | None]]:
    """Each command with each answer about it; a command without findings comes with None."""
    del cwd
    if _METHOD.search(_outside_single_quotes(text)):
        yield (), ask("code_danger", "calls a .NET method that deletes or runs code")
    for words in _commands(text, cmd=cmd):
        answers = list(judge(words, home))
        yield words, answers[0] if answers else None
        for answer in answers[1:]:
            yield (), answer


def _outside_single_quotes(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", text)


def _commands(text: str, *, cmd: bool) -> Iterator[tuple[str, ...]]:
    words: list[str] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            yield ("\0",)
            return
        at = match.end()
        if match.group("word") and match.group("word") not in {"$(", "@", "$"}:
            words.append(_bare(match.group("word")))
        elif match.group("block") or match.group("sep") or match.group("word"):
            yield from _emitted(words)
            words = []
        elif match.group("comment") and cmd:
            words.extend(match.group("comment").split())
    yield from _emitted(words)


def _emitted(words: list[str]) -> Iterator[tuple[str, ...]]:
    words = _statement(words)
    while words and words[0].startswith("@") and len(words[0]) > 1:
        words[0] = words[0][1:]
    if words:
        yield tuple(words)


def _statement(words: list[str]) -> list[str]:
    """Drop `if exist x`, `for … do`, `$x =`, `call`, `&` before the command."""
    lowered = [word.lower() for word in words]
    if lowered[:1] == ["if"]:
        rest = lowered[1:]
        skip = 1
        while rest and rest[0] in {"not", "/i"}:
            rest, skip = rest[1:], skip + 1
        known = bool(rest) and rest[0] in {"exist", "defined", "errorlevel"}
        return _statement(
            words[
                skip
                + (2 if known else 1 if rest and "==" in rest[0] else 3 if len(rest) > 3 else 0) :
            ]
        )
    if lowered[:1] in (
        ["else"],
        ["call"],
        ["do"],
        ["try"],
        ["finally"],
        ["@echo"],
        ["process"],
        ["begin"],
        ["end"],
        ["return"],
    ):
        return _statement(words[1:]) if lowered[0] != "@echo" else words
    if "do" in lowered[:6] and lowered[:1] == ["for"]:
        return _statement(words[lowered.index("do") + 1 :])
    if len(words) > 1 and words[0].startswith(("$", "[")) and re.fullmatch(r"[+-]?=", words[1]):
        return _statement(words[2:])
    return words


def _bare(word: str) -> str:
    """Quotes and escapes taken off."""
    if len(word) > 1 and word[0] == word[-1] and word[0] in "'\"" and word[0] not in word[1:-1]:
        return word[1:-1]
    return re.sub(r"[`^](.)", r"\1", word, flags=re.DOTALL).replace('"', "").replace("'", "")


def judge(words: Sequence[str], home: str) -> Iterator[Answer]:
    """What the command `words` would do under Windows."""
    if not words:
        return
    word = words[0]
    name = re.split(r"[\\/]", word)[-1].lower().removesuffix(".exe")
    args = list(words[1:])
    lowered = [arg.lower() for arg in args]
    if (
        "\0" in word
        or (word.startswith("$") and len(words) > 1 and word not in {"$_", "$?"})
        or word.startswith("%")
    ):
        yield ask("unresolved_command", "the command to run is not known before it runs")
    elif any(arg in {"/?", "--help", "-?", "-whatif"} for arg in lowered):
        return
    elif name in _DELETES:
        yield from _delete(name, args, home)
    elif name in _DENIES:
        yield deny("windows_disk", f"{name} {_DENIES[name]}")
    elif name in _ASKS:
        yield from _asks(name, lowered)
    else:
        yield from _others(name, args, lowered, home)


def _delete(name: str, args: list[str], home: str) -> Iterator[Answer]:
    del home
    recursive = any(
        re.fullmatch(r"/s|-r(?:e\w*)?|-\w*r\w*f?|--recursive", arg.lower()) for arg in args
    )
    targets = [
        arg
        for arg in args
        if not re.fullmatch(r"/[a-z](?::.*)?", arg.lower()) and not arg.startswith("-")
    ]
    if recursive and any(_ROOT.fullmatch(target) for target in targets):
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
    yield ask("windows_admin", f"{name} {_ASKS[name]}")


def _others(name: str, args: list[str], lowered: list[str], home: str) -> Iterator[Answer]:
    del home
    if name in {"powershell", "pwsh"}:
        yield from _nested(args, lowered)
    elif name == "cmd":
        at = next((at for at, arg in enumerate(lowered) if arg in {"/c", "/k", "/r"}), None)
        if at is not None:
            yield script(" ".join(args[at + 1 :]), "cmd")
    elif name == "shutdown":
        if not set(lowered) & {"/a", "-a"}:
            yield deny("host_power", "shutdown turns the host off")
    elif name in {"start-process", "saps", "start", "runas", "forfiles"}:
        yield from _started(name, args, lowered)
    elif name in {"reg", "vssadmin", "wmic", "net", "sc", "robocopy", "git", "bash", "sh", "wsl"}:
        yield from _tools(name, args, lowered)
    elif name in {"foreach-object", "%"} and args:
        yield from judge(args, "")
    else:
        yield script(quoted_shell([name, *args]), "shell") if name in _SHARED else _nothing()


def _nothing() -> Answer:
    return script(":", "shell")


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
    rest = [arg for arg in args if not arg.startswith(("/", "-"))]
    if rest:
        yield script(" ".join(rest), "cmd")


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
