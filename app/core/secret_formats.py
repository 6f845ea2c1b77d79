"""Recognition of secrets by their format: keys, and credentials in commands and URLs.

RE2 matches all patterns on UTF-8 bytes, in linear time for any pattern and text. Only the secret
itself is masked: a host, a flag or a variable's name next to it stays readable.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import re2

from app.core.entropy import MAX_CHARS, looks_random
from app.core.text import clean

MAX_HELD = 4096
# Masking a key can turn the start of the next one into an edge.
_MOST_PASSES = 4
_MAX_PATTERN = 2000
_EDGE = r"^|[^A-Za-z0-9]"
# In a JSON string, these escapes can precede a key at the start of a line.
_JSON_EDGE = rf"{_EDGE}|\\[nrtbf]|\\u[0-9a-f]{{4}}"

# Keys that need no context: each starts at an edge.
_KEYS = (
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"sk-ant-[A-Za-z0-9_\-]{8,}",
    r"sk-(?:proj-|svcacct-|admin-|or-v1-)?[A-Za-z0-9_\-]{20,}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"xox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"xapp-[A-Za-z0-9\-]{20,}",
    r"AIza[A-Za-z0-9_\-]{35}",
    r"ya29\.[A-Za-z0-9_\-]{20,}",
    r"GOCSPX-[A-Za-z0-9_\-]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_\-]{40,}",
    r"gl(?:pat|dt|rt|cbt|ptt|ft|oas|soat)-[A-Za-z0-9_\-]{20,}",
    r"hf_[A-Za-z0-9]{30,}",
    r"dop_v1_[0-9a-f]{40,}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}",
    r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}",
    r"hv[sb]\.[A-Za-z0-9_\-]{24,}",
    r"dckr_pat_[A-Za-z0-9_\-]{20,}",
    r"AGE-SECRET-KEY-1[0-9A-Z]{50,}",
    r"tg_[A-Za-z0-9_\-]{40,}",
    r"eyJ[A-Za-z0-9_\-]{10,}\.eyJ[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?",
    r"eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}",
)
_PEM_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM = (
    rf"-----BEGIN {_PEM_LABEL}"
    rf"(?:[A-Za-z0-9+/=\s\\:,.()\-]*?-----END {_PEM_LABEL}|[A-Za-z0-9+/=\s\\]*)"
)
_NAMES = "PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY"
_FLAGS = "password|passwd|passphrase|secret|token|api-?key|access-key|private-key"
_QUERY = "X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature|sig|access_token|refresh_token"


def _has_digit(found: bytes) -> bool:
    return re.search(rb"[0-9]", found) is not None


def _is_no_reference(found: bytes) -> bool:
    """Return False for references to a secret, such as `$PASSWORD` and `<your password>`."""
    return re.match(rb"[$<{%*]|/|\./|~", found.rpartition(b":")[2]) is None


def _is_password(found: bytes) -> bool:
    """Return False for references and options of `find`, as in `find … -name mysql -print`."""
    return _is_no_reference(found) and found not in _OF_FIND


def _always(_: bytes) -> bool:
    return True


def _reads_as_key(found: bytes) -> bool:
    return _has_digit(found) or re.search(rb"[a-z][A-Z]|[A-Z][a-z]+[A-Z]", found) is not None


_OF_FIND = frozenset((b"rint", b"rint0", b"rintf", b"ath", b"erm", b"rune"))
# Programs that take a password after a short option.
_CLIENTS = (
    r"\b(?:mysql|mariadb)[a-z\-]*\b[^\n|;&]*?\s-p",
    r"\bsshpass\b[^\n|;&]*?\s-p ?",
    r"\bredis-cli\b[^\n|;&]*?\s-a ",
)

# (text before the secret, the secret, function that confirms it)
_CREDENTIALS: tuple[tuple[str, str, Callable[[bytes], bool]], ...] = (
    (r"://", r"[^\s/@:\"'<>\\]*:[^\s/@\"'<>\\]+@", _is_no_reference),
    (
        r"(?i:authorization)[\"'\\]*\s*[:=]\s*[\"'\\]*(?i:bearer|basic|token|apikey|digest)\s+",
        r"[^\s\"'\\$<{,]{6,}",
        _always,
    ),
    (r"\b(?i:bearer)\s+", r"[A-Za-z0-9._~+/=\-]{16,}", _reads_as_key),
    (rf"\b[A-Z0-9_]*(?:{_NAMES})=[\"']?", r"[^\s\"'`(){}<>;|&\\]{6,}", _is_no_reference),
    (
        rf"--(?:[a-z0-9\-]+-)?(?:{_FLAGS})[= ][\"']?",
        r"[^\s\"'`(){}<>;|&\\\-][^\s\"'`(){}<>;|&\\]{5,}",
        lambda found: _has_digit(found) and _is_no_reference(found),
    ),
    (r"\bcurl\b[^\n|;]*?\s(?:-u|--user)[= ]?[\"']?[^\s:\"'$]+:", r"[^\s\"'$]{3,}", _always),
    *(
        (rf"{client}[\"'\\]*", r"[^\s\"'`$(){}<>;|&\\\-][^\s\"'`$;|&\\]{2,}", _is_password)
        for client in _CLIENTS
    ),
    (r"(?i:secret_?access_?key)[\"']?\s*[:=]\s*[\"']?", r"[A-Za-z0-9/+]{40}", _always),
    (r"\b(?:AccountKey|SharedAccessKey)=", r"[A-Za-z0-9+/]{40,}=*", _always),
    (rf"[?&](?i:{_QUERY})=", r"[^&\s\"'<>\\]{16,}", _always),
    (r"hooks\.slack\.com/services/", r"[A-Za-z0-9/]{20,}", _always),
)
# A text with any of the above, even as a JSON string, contains one of these.
_HINTS = (
    *(key.removesuffix(r"\b") for key in _KEYS),
    r"PRIVATE KEY",
)
_LOOSE_HINTS = (
    r"://[^/@]*:[^/@]+@",
    r"(?i:bearer|authorization|secret_?access_?key)",
    rf"(?:{_NAMES})=",
    rf"--(?:[a-z0-9\-]+-)?(?:{_FLAGS})[= ]",
    r"curl[^|;]*(?:-u|--user)",
    r"(?:mysql|mariadb|sshpass|redis-cli)[^|;&]*\s-[pa]",
    r"(?:AccountKey|SharedAccessKey)=",
    rf"[?&](?i:{_QUERY})=",
    r"hooks\.slack\.com/services/",
)
_RUN = r"[A-Za-z0-9_+\-]{24,}|[A-Za-z0-9+/]{32,}"
# Possible starts of a key at the end of an incomplete text.
_BEGINNINGS = (
    *filter(None, (re.split(r"[\[(\\{]", key)[0] for key in _KEYS)),
    *("AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "sk_live_", "rk_live_", "xoxb-"),
)
_PEM_BEGIN = "-----BEGIN "
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_OTHER = re.compile(r"-----BEGIN (?![A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)[^-]*-----")
# White space as in Python; that of RE2 is only ASCII.
_SPACES = (
    r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)
_WORD = rf"[^{_SPACES}]*"
_GAP = rf"[{_SPACES}]*"
# Texts before a secret that is incomplete or has not arrived. RE2 matches a pattern anchored at the
# end once, from there; a search from the start tries each position, for up to 0.4 s.
_TAIL = (
    rf":(?:/(?:/[^{_SPACES}/@]*)?)?",
    rf"(?i:\bbearer|authorization)[\"'\\]*{_GAP}[:=]?{_GAP}[\"'\\]*"
    rf"(?:(?i:bearer|basic|token|apikey|digest){_GAP})?[^{_SPACES}\"']*",
    rf"(?i:secret_?access_?key)[\"']?{_GAP}[:=]?{_GAP}[\"']?{_WORD}",
    rf"[A-Z0-9_]*(?:{_NAMES})={_WORD}",
    rf"--(?:[a-z0-9\-]+-)?(?:{_FLAGS})[= ]{_WORD}",
    r"\bcurl\b[^\n|;]*",
    r"\b(?:mysql|mariadb|sshpass|redis-cli)[^\n|;&]*",
    rf"[?&][A-Za-z0-9_\-]*(?:={_WORD})?",
    r"-{1,2}[a-z][a-z\-]*",
    r"[A-Z_][A-Z0-9_]+",
)
_WORDS_BEFORE = (
    *("authorization", "bearer", "secret_access_key", "-----begin ", "curl "),
    *("mysql", "mariadb", "sshpass", "redis-cli"),
)
_WORD_BEGINNINGS = frozenset(word[:end] for word in _WORDS_BEFORE for end in range(1, len(word)))
_LONGEST_BEGINNING = max(map(len, _WORD_BEGINNINGS))
_MIN_HELD = 4


def compile_pattern(pattern: str) -> Any:
    """Compile an operator's pattern for UTF-8 bytes.

    Raises:
        ValueError: the pattern is not valid RE2 syntax, too long, or matches empty text.
    """
    if len(pattern) > _MAX_PATTERN:
        raise ValueError(f"pattern {pattern[:60]!r}… is longer than {_MAX_PATTERN} characters")
    try:
        compiled = compile_bytes(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        reason = error.args[0] if error.args else "it cannot be parsed"
        if isinstance(reason, bytes):
            reason = reason.decode("utf-8", "replace")
        raise ValueError(
            f"pattern {pattern!r} is not valid RE2 syntax (look-around and "
            f"back-references are not supported): {reason}"
        ) from None
    if compiled.search(b"") is not None:
        raise ValueError(f"pattern {pattern!r} matches empty text and would mask everything")
    return compiled


def compile_bytes(pattern: str) -> Any:
    """Compile a pattern for UTF-8 bytes."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern.encode(), options)


_SURE = "|".join(f"(?:{_JSON_EDGE})(?:{hint})" for hint in _HINTS)
_HINT = compile_bytes(f"{_SURE}|{'|'.join(_LOOSE_HINTS)}")
# Every text that may be masked matches this, and so does its compact JSON.
ANYTHING = f"{_SURE}|{'|'.join(_LOOSE_HINTS)}|{_RUN}"
_ANYTHING = compile_bytes(ANYTHING)
_RUNS = compile_bytes(r"[A-Za-z0-9_+/\-]{24,}")
_ENDING = compile_bytes(rf"(?:{'|'.join(_TAIL)})\z")
_TOKEN_AT_END = compile_bytes(r"[A-Za-z0-9_+./\-]+\z")
_KEY = compile_bytes(f"({_EDGE})({'|'.join(_KEYS)})")
_BLOCK = compile_bytes(f"(){'(' + _PEM + ')'}")
_SECRETS: tuple[tuple[Any, Callable[[bytes], bool]], ...] = (
    (_BLOCK, _always),
    *((compile_bytes(f"({before})({secret})"), check) for before, secret, check in _CREDENTIALS),
    (_KEY, _reads_as_key),
)


# A necessary condition that takes a tenth of the time of the search: every format has a long run of
# such characters or one of these words. Letters of other scripts may fold to ASCII letters.
_LONG_RUN = re.compile(rb"[A-Za-z0-9_+/.=\-]{14}")
_TELLING_WORD = re.compile(
    rb"p(?:ass|wd)|s(?:ecret|ig)|c(?:red|ookie|url)|token|auth|bearer|key|://|m(?:ysql|ariadb)|redis-"
)


def encodings(secret: str) -> Iterator[str]:
    """Return the base64 and hex forms of a secret, at any offset of the encoded text.

    Of base64, only the part that does not depend on adjacent bytes, and only forms long enough to
    differ from ordinary words; `is_plain` is false for all of them.
    """
    data = secret.encode("utf-8", "surrogatepass")
    for before in range(3):
        whole = b64encode(b"\0" * before + data).rstrip(b"=").decode()
        # Each letter has six bits: those with bits of an adjacent byte are left out.
        core = whole[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        if len(core) >= _SHORTEST:
            yield core
            yield core.translate(_URL_SAFE)
    for written in (data.hex(), data.hex().upper()):
        if len(written) >= _SHORTEST:
            yield written


_SHORTEST = 14
_URL_SAFE = str.maketrans("+/", "-_")


def is_plain(encoded: bytes) -> bool:
    """Return whether certainly no format or telltale key occurs; False is inconclusive.

    One search for all words instead of one for each: 1.4 µs for a call's arguments, not 3.3.
    """
    return (
        encoded.isascii()
        and _LONG_RUN.search(encoded) is None
        and _TELLING_WORD.search(encoded.lower()) is None
    )


def holds_key(text: str) -> bool:
    """Return whether `text` contains a key of a known format, such as a cloud or private key."""
    data = text.encode("utf-8", "surrogatepass")
    found = _KEY.search(data)
    return (found is not None and _reads_as_key(found[2])) or _BLOCK.search(data) is not None


class SecretFormats:
    """Finds and masks texts in the format of a secret; `patterns` are the operator's."""

    def __init__(self, mask: str, patterns: Iterable[str] = ()) -> None:
        self._mask = mask.encode()
        self._own = tuple(compile_pattern(pattern) for pattern in patterns)

    @property
    def has_patterns(self) -> bool:
        return bool(self._own)

    def finds_own(self, data: bytes) -> bool:
        """Return whether an operator pattern matches."""
        return any(pattern.search(data) is not None for pattern in self._own)

    def may_find(self, encoded: bytes) -> bool:
        """Return whether a text, or its compact JSON, may contain a secret; False is certain.

        Does not check the operator's patterns.
        """
        if _ANYTHING.search(encoded) is None:
            return False
        return _HINT.search(encoded) is not None or _has_random_run(encoded)

    def masked(self, text: str, *, opaque: bool = False) -> str:
        """Return `text` with secrets masked.

        Args:
            opaque: the field is for an identifier or a digest, so random text is not masked.
        """
        data = shown = text.encode("utf-8", "surrogatepass")
        for _ in range(_MOST_PASSES):
            before, shown = shown, self._masked_once(shown, opaque=opaque)
            if shown == before:
                break
        return text if shown == data else shown.decode("utf-8", "surrogatepass")

    def _masked_once(self, shown: bytes, *, opaque: bool) -> bytes:
        for pattern in self._own:
            shown = pattern.sub(self._all, shown)
        if _ANYTHING.search(shown) is not None:
            if _HINT.search(shown) is not None:
                for pattern, is_secret in _SECRETS:
                    shown = pattern.sub(self._replacing(is_secret), shown)
            if not opaque:
                shown = self._without_random(shown)
        return shown

    def unfinished(self, text: str) -> int:
        """Return the number of characters at the end that may start a value to mask."""
        end = text[-MAX_HELD:]
        held = _open_block(end)
        if not end.endswith(("\n", "KEY-----", "BLOCK-----")):
            data = clean(end).encode()
            tail = _ENDING.search(data)
            held = max(held, _partial_word(end), len(data[tail.start() :].decode()) if tail else 0)
            token = _TOKEN_AT_END.search(data)
            if token is not None and (self._own or _may_begin(token[0].decode())):
                held = max(held, len(data) - token.start())
        return held if held < MAX_HELD else 0

    def _all(self, found: Any) -> bytes:
        return self._mask if found[0] else b""

    def _replacing(self, is_secret: Callable[[bytes], bool]) -> Callable[[Any], bytes]:
        def replace(found: Any) -> bytes:
            secret: bytes = found[2]
            if self._mask in secret or not is_secret(secret):
                return bytes(found[0])
            after = b"@" if secret.endswith(b"@") else b""
            return bytes(found[1]) + self._mask + after

        return replace

    def _without_random(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        done = 0
        for run in _RUNS.finditer(data):
            start, end = run.span()
            if looks_random(data, start, end):
                pieces += (data[done:start], self._mask)
                done = end
        return b"".join((*pieces, data[done:])) if pieces else data


def _has_random_run(encoded: bytes) -> bool:
    for run in _RUNS.finditer(encoded):
        start, end = run.span()
        if looks_random(encoded, start, end, wrapped=False):
            return True
        if encoded[start - 1 : start] == b"\\":
            skipped = 5 if encoded[start : start + 1] == b"u" else 1
            if looks_random(encoded, start + skipped, end, wrapped=False):
                return True
    return False


def _open_block(text: str) -> int:
    """Return how much of the end is an unfinished private key."""
    begin = text.rfind(_PEM_BEGIN)
    if begin < 0 or _PEM_END.search(text, begin) or _PEM_OTHER.match(text, begin):
        return 0
    return len(text) - begin


def _partial_word(text: str) -> int:
    """Return how much of the end starts a word that a secret may follow."""
    if len(text) < 2:
        return 0  # do not delay a tool that prints letter by letter
    end = text[-_LONGEST_BEGINNING - 1 :].lower()
    for length in range(min(_LONGEST_BEGINNING, len(end)), 0, -1):
        if end[-length:] in _WORD_BEGINNINGS and not end[-length - 1 : -length].isalnum():
            return length
    return 0


def _may_begin(token: str) -> bool:
    """Return whether an unfinished run of characters may become a key or random token."""
    if any(token.startswith(literal) or literal.startswith(token) for literal in _BEGINNINGS):
        return True
    if not _MIN_HELD <= len(token) <= MAX_CHARS:
        return False
    return re.search(r"[a-z][A-Z]|[A-Za-z].*[0-9]|[0-9].*[A-Za-z]", token) is not None


def lines_or_json(value: Any) -> Any:
    """Return the patterns in a text, as lines or a JSON list; patterns may contain commas."""
    if not isinstance(value, str):
        return value
    if not value.lstrip().startswith("["):
        return _lines(value)
    try:
        return json.loads(value)
    except ValueError:
        # `[0-9]{16}` starts like a list but is a pattern.
        return _lines(value)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
