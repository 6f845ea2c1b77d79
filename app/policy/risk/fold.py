"""Output of harmless commands, computed from their arguments: echo, printf, decoders."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Callable

from app.policy.risk.call import UNKNOWN, CommandCall, Stream, options
from app.policy.risk.rules import search
from app.policy.risk.words import decode_ansi, decode_printed

_LIMIT = 64_000
_UNKNOWN = Stream(None)
_ECHO_FLAG = re.compile(r"-[neE]+")
_FORMAT = re.compile(r"%(%|-?\d*(?:s|d|b|c|x|q))")


def output(call: CommandCall) -> Stream:
    """Return the standard output of `call`, if certain."""
    if call.name == "find" and not search.narrowed(call.args):
        return Stream(None, listed=tuple(search.starts(call.args)[0]))
    fold = _FOLDS.get(call.name)
    if fold is None:
        return _UNKNOWN
    text = fold(call)
    if text is None or UNKNOWN in text or len(text) > _LIMIT:
        return _UNKNOWN
    return Stream(text)


def _echo(call: CommandCall) -> str:
    args = list(call.args)
    escapes, newline = False, "\n"
    while args and _ECHO_FLAG.fullmatch(args[0]):
        flag = args.pop(0)
        newline = "" if "n" in flag else newline
        escapes = escapes or "e" in flag
    text = " ".join(args)
    return (decode_printed(text) if escapes else text) + newline


def _printf(call: CommandCall) -> str | None:
    args = [arg for at, arg in enumerate(call.args) if not (at == 0 and arg == "--")]
    if not args or args[0] == "-v":
        return "" if args else None
    template, values = decode_ansi(args[0]), args[1:]
    if len(template) * (1 + len(values)) > _LIMIT:
        return None
    if re.sub(r"%(?:%|s|d|b|c)", "", template).count("%"):
        return None
    pieces: list[str] = []
    while True:
        before = len(values)
        pieces.append(_FORMAT.sub(lambda match: _conversion(match.group(1), values), template))
        if not values or len(values) == before:
            return "".join(pieces)


def _conversion(kind: str, values: list[str]) -> str:
    if kind == "%":
        return "%"
    value = values.pop(0) if values else ""
    if kind == "b":
        return decode_printed(value)
    return value[:1] if kind == "c" else value


def _stdin(call: CommandCall) -> str | None:
    return call.stdin.text if call.stdin else None


def _through(call: CommandCall) -> str | None:
    operands = [arg for arg in call.args if not arg.startswith("-")]
    if operands == ["/dev/null"]:
        return ""
    return None if operands else _stdin(call)


def _base64(call: CommandCall) -> str | None:
    given = options(call.args, "w --wrap")
    text = _stdin(call)
    if text is None or given.rest not in ([], ["-"]):
        return None
    try:
        if given.has("-d", "-D", "--decode"):
            raw = re.sub(r"[^A-Za-z0-9+/=]", "", text)
            return base64.b64decode(raw + "=" * (-len(raw) % 4)).decode("utf-8")
        return base64.b64encode(text.encode()).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def _base32(call: CommandCall) -> str | None:
    text = _stdin(call)
    if text is None or not options(call.args).has("-d", "--decode"):
        return None
    try:
        return base64.b32decode(re.sub(r"\s", "", text)).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return None


def _openssl(call: CommandCall) -> str | None:
    if call.args[:1] in (["base64"], ["enc"]) and "-d" in call.args:
        return _base64(CommandCall("base64", ["-d"], call.cwd, call.home, call.stdin))
    return None


def _xxd(call: CommandCall) -> str | None:
    text = _stdin(call)
    given = options(call.args, "c g l s")
    if text is None or not (given.has("-r") and given.has("-p")) or given.rest not in ([], ["-"]):
        return None
    try:
        return bytes.fromhex("".join(text.split())).decode("utf-8")
    except (UnicodeDecodeError, ValueError):
        return None


def _rev(call: CommandCall) -> str | None:
    text = _through(call)
    return None if text is None else "\n".join(line[::-1] for line in text.split("\n"))


def _tac(call: CommandCall) -> str | None:
    text = _through(call)
    return None if text is None else "".join(reversed(text.splitlines(keepends=True)))


def _tr(call: CommandCall) -> str | None:
    text = _stdin(call)
    if text is None or not call.args:
        return None
    if call.args[0] == "-d" and len(call.args) == 2:
        gone = set(_tr_set(call.args[1]))
        return "".join(char for char in text if char not in gone)
    if call.args[0].startswith("-") or len(call.args) != 2:
        return None
    old, new = _tr_set(call.args[0]), _tr_set(call.args[1])
    if not new:
        return None
    padded = new + new[-1] * (len(old) - len(new))
    return text.translate({ord(a): b for a, b in zip(old, padded, strict=False)})


def _tr_set(text: str) -> str:
    plain = decode_ansi(text).replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z")
    return re.sub(
        r"(.)-(.)",
        lambda match: "".join(
            chr(code) for code in range(ord(match.group(1)), ord(match.group(2)) + 1)[:4096]
        ),
        plain,
        flags=re.DOTALL,
    )


def _rot13(call: CommandCall) -> str | None:
    text = _through(call)
    return None if text is None else codecs.encode(text, "rot13")


def _silent(call: CommandCall) -> str:
    del call
    return ""


def _tee(call: CommandCall) -> str | None:
    return _stdin(call)


def _basename(call: CommandCall) -> str | None:
    return call.args[0].rstrip("/").rsplit("/", 1)[-1] + "\n" if len(call.args) == 1 else None


def _cwd(call: CommandCall) -> str | None:
    return None if call.args or call.cwd is None else call.cwd + "\n"


def _which(call: CommandCall) -> str | None:
    """Return a path that ends in the looked up name."""
    names = [arg for arg in call.args if not arg.startswith("-")]
    if len(names) != 1 or (call.name == "command" and call.args[0] != "-v"):
        return None
    return f"/usr/bin/{names[0].rsplit('/', 1)[-1]}\n"


_FOLDS: dict[str, Callable[[CommandCall], str | None]] = {
    "echo": _echo,
    "printf": _printf,
    "cat": _through,
    "base64": _base64,
    "base32": _base32,
    "openssl": _openssl,
    "xxd": _xxd,
    "rev": _rev,
    "tac": _tac,
    "tr": _tr,
    "rot13": _rot13,
    "tee": _tee,
    "basename": _basename,
    "pwd": _cwd,
    "which": _which,
    "command": _which,
    "true": _silent,
    ":": _silent,
    "false": _silent,
    "cd": _silent,
    "export": _silent,
    "sleep": _silent,
}
FOLDED = frozenset([*_FOLDS, "find"])
"""Commands with a predictable output."""
