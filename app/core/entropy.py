"""Distinction of random tokens from names, which resemble words of a language.

Digests, UUIDs, typed identifiers (`toolu_…`), paths and base64 of files are also random but not
secret: they are recognized by their format and excluded.
"""

from __future__ import annotations

import re

MIN_CHARS, MAX_CHARS = 24, 256
_WITH_SLASH = 32
_MAX_WORDS = 0.5  # about a quarter of a random token looks like words
_MIN_CHANGES = 0.2  # in a random token, 0.44 of adjacent characters differ in kind
_MIN_DISTINCT = 12
_DIGIT = re.compile(rb"[0-9]")
_DIGEST = re.compile(
    rb"(?:0x|I)?[0-9a-fA-F\-]+|(?i:sha\d{1,3}|md5|h1)[\-_].*|.*[_\-](?:[0-9a-f]{16,}|[0-9A-F]{16,})",
    re.DOTALL,
)
_TYPED = re.compile(rb"[a-z][a-z0-9]{1,14}[_\-](?!.*[+/])|[A-Z][A-Z0-9]*_[A-Z0-9_]+$")
_WORD = re.compile(rb"[A-Z]?[a-z]{3,}|[A-Z]{4,}(?![a-z])")
_SMALL_WORD = re.compile(rb"[A-Z]?[a-z]{3,}")
_PATH_PART = re.compile(rb"(?:^|/)(?:[A-Za-z]?[a-z]{2,}|\d{1,4}|)(?:/|$)")
_CHANGE = re.compile(rb"(?<=[a-z])[A-Z0-9]|(?<=[A-Z])[0-9]|(?<=[0-9])[A-Za-z]")
_ABOUT = re.compile(rb"(?:base64,|(?i:sha\d{1,3}|md5|h1|fingerprint|integrity)[:=]\s?)$")
# Prefixes of SSH public keys, images, documents and archives in base64.
_FILES = (b"AAAA", b"iVBOR", b"/9j/", b"R0lGOD", b"UklGR", b"JVBERi", b"PHN2Zy", b"PD94", b"UEsDB")
_LINE = 60
_BASE64_LINE = re.compile(rb"[A-Za-z0-9+/=]+")


def looks_random(data: bytes, start: int, end: int, *, wrapped: bool = True) -> bool:
    """Return whether the run `data[start:end]` is a random token, not a digest, name or path.

    Args:
        wrapped: treat consecutive lines of base64 as a file; False if `data` has no real lines.
    """
    token = data[start:end]
    size = len(token)
    if not MIN_CHARS <= size <= MAX_CHARS or not _is_mixed(token):
        return False
    if _is_named(token) or _ABOUT.search(data, max(0, start - 16), start):
        return False
    if b"/" in token and (size < _WITH_SLASH or _PATH_PART.search(token) or _has_dashes(token)):
        return False
    # In base64 with `+` or `/`, consecutive capitals are not a word.
    is_base64 = b"/" in token or b"+" in token
    words = sum(map(len, (_SMALL_WORD if is_base64 else _WORD).findall(token)))
    changes = len(_CHANGE.findall(token))
    if words > _MAX_WORDS * size or changes < (0.15 if is_base64 else _MIN_CHANGES) * size:
        return False
    return len(set(token)) >= _MIN_DISTINCT and not (wrapped and _is_wrapped(data, start, end))


def _is_mixed(token: bytes) -> bool:
    """Return whether a token mixes cases and has digits, as generated tokens do."""
    return not (token.islower() or token.isupper()) and _DIGIT.search(token) is not None


def _is_named(token: bytes) -> bool:
    return bool(token.startswith(_FILES) or _TYPED.match(token) or _DIGEST.fullmatch(token))


def _has_dashes(token: bytes) -> bool:
    return b"-" in token or b"_" in token


def _is_wrapped(data: bytes, start: int, end: int) -> bool:
    """Return whether the run is one line of a base64 file."""
    before = data[max(0, start - 80) : start].replace(b"\r", b"").split(b"\n")
    after = data[end : end + 80].lstrip(b"=").replace(b"\r", b"").split(b"\n")
    lines = (before[-2:-1] if before[-1] == b"" else []) + (after[1:2] if after[0] == b"" else [])
    return any(len(line) >= _LINE and _BASE64_LINE.fullmatch(line) for line in lines)
