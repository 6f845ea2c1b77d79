"""Redaction of secrets in events, logs, results and stored arguments.

It masks values under telltale keys, known secret values anywhere, and texts that look like a key or
match an operator's pattern. It returns new values; the arguments that a tool receives are never
changed.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import orjson

from app.core.secret_formats import ANYTHING, SecretFormats, compile_bytes, encodings, is_plain
from app.core.text import clean, json_default

MASK = "«redacted»"
# `_` also matches a hyphen or nothing. `tokens` is missing, because it usually is a count.
_TELLING = (
    *("password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets", "token"),
    *("authorization", "credential", "credentials", "cookie", "cookies"),
    *("api_key", "private_key", "access_key"),
)
_WORDS = "|".join(word.replace("_", "[_-]?") for word in _TELLING)
_KEY = re.compile(rf"(?:^|[_\-.])(?:{_WORDS})$", re.IGNORECASE)
# The same words at the end of a key in compact JSON.
_KEY_IN_JSON = compile_bytes(rf'(?i:{_WORDS})":')
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# For text that is not valid JSON; the last value may lack its closing quote.
_PAIR = re.compile(r'("([^"\\]{1,64})"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^\s",}\]]+)')
# Keys of identifiers and digests, which look random but are not secret.
_OPAQUE = re.compile(
    r"(?:^|[_\-.])(?:id|ids|uuid|hash|digest|sha\d*|md5|checksum|integrity|etag|signature|cursor"
    r"|commit|revision|fingerprint|epoch)$",
    re.IGNORECASE,
)
# Characters of hex and of both base64 alphabets.
_ENCODED = f"{string.ascii_letters}{string.digits}+/-_="
_DEEP = "…"
_MIN_SECRET = 6
_MAX_PLAIN = 2000
_MAX_DEPTH = 64

_STEM = 3


class PrefixIndex:
    """Index of value prefixes by their first characters, for a single search."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_stem: dict[str, list[str]] = {}
        self._longest = 0
        for value in values:
            self._longest = max(self._longest, len(value))
            for length in range(1, _STEM + 1):
                self._by_stem.setdefault(value[:length], []).append(value)

    def at_end(self, text: str) -> int:
        """Return the number of characters at the end of `text` that start a longer value, or 0."""
        by_stem, end = self._by_stem, len(text)
        for start in range(max(0, end - self._longest + 1), end):
            found = by_stem.get(text[start : start + _STEM])
            if found is not None:
                rest = text[start:]
                if any(len(value) > len(rest) and value.startswith(rest) for value in found):
                    return end - start
        return 0


class Redactor:
    """Masks `secrets` (values), values under telltale keys, key formats, and `patterns` (RE2)."""

    def __init__(self, secrets: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        self._formats = SecretFormats(MASK, patterns)
        self._has_patterns = self._formats.has_patterns
        self._telling: dict[str, bool] = {}
        self._opaque: dict[str, bool] = {}
        self._own = tuple(secrets)
        self._learned: dict[str, tuple[str, ...]] = {}
        self._know(self._own)

    def learn(self, owner: str, secrets: Iterable[str]) -> None:
        """Also mask these values from now on, instead of the previous ones of `owner`."""
        values = tuple(secrets)
        if self._learned.get(owner, ()) == values:
            return
        self._learned[owner] = values
        self._know((*self._own, *chain.from_iterable(self._learned.values())))

    def _know(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len))[::-1]
        in_json = [orjson.dumps(clean(secret))[1:-1].decode() for secret in self._secrets]
        self._in_json = tuple(secret.encode() for secret in in_json)
        encoded = {text for secret in self._secrets for text in encodings(secret)}
        # Longest first: a shorter one may be a prefix of it.
        self._encoded = tuple(sorted(encoded, key=len, reverse=True))
        self._beginnings = PrefixIndex(chain(self._secrets, self._encoded))
        self._values = (*self._in_json, *(value.encode() for value in self._encoded))
        # One search over the bytes, because most data contains no secret. It uses only the prefixes
        # of secrets: an automaton for complete ones would exceed the caches.
        begun = {value[:_MIN_SECRET] for value in map(clean, self._secrets)}
        begun |= {value[:_MIN_SECRET] for value in (*in_json, *self._encoded)}
        stems = "|".join(map(re.escape, sorted(begun))) or r"[^\x00-\x{10FFFF}]"
        self._stems = compile_bytes(stems)
        self._suspects = compile_bytes(rf'{ANYTHING}|(?i:{_WORDS})":|{stems}')
        self._text_suspects = compile_bytes(f"{ANYTHING}|{stems}")

    def text(self, text: str) -> str:
        """Return `text` with known secrets, and keys of known formats, masked."""
        if len(text) <= _MAX_PLAIN and text.isascii() and self._is_plain(text.encode()):
            return text
        return self._formats.masked(self.known(text))

    def known(self, text: str) -> str:
        """Return `text` with known secret values masked, and encoded text that contains one."""
        if not self._may_hold(text):
            return text
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        for secret in self._encoded:
            if secret in text:
                text = _without_runs(text, secret)
        return text

    def is_clean(self, encoded: bytes) -> bool:
        """Return whether compact JSON certainly contains nothing to mask; a fast scan."""
        if self._is_plain(encoded):
            return True
        if self._suspects.search(encoded) is not None:
            if _KEY_IN_JSON.search(encoded) is not None:
                return False
            if not self._is_text_clean(encoded):
                return False
        return not self._has_patterns or self._has_no_own(encoded)

    def is_text_clean(self, encoded: bytes) -> bool:
        """Return `is_clean` for results, in which telltale keys are ignored."""
        if self._is_plain(encoded):
            return True
        if self._text_suspects.search(encoded) is not None and not self._is_text_clean(encoded):
            return False
        return not self._has_patterns or self._has_no_own(encoded)

    def _is_plain(self, encoded: bytes) -> bool:
        """Return True for short, simple data that is clean, in 1 µs instead of 6."""
        if len(encoded) > _MAX_PLAIN or self._has_patterns or not is_plain(encoded):
            return False
        for value in self._in_json:  # noqa: SIM110 - a generator costs half of the search
            if value in encoded:
                return False
        return True

    def passing(self, text: str) -> tuple[str, str]:
        """Redact streamed output: return text to show, and text to prepend to the next piece.

        A secret may be split between pieces, so a possible start of one is held back.
        """
        text = self.known(text)
        held = max(self._beginnings.at_end(text), self._formats.unfinished(text))
        if not held:
            return self._formats.masked(text), ""
        return self._formats.masked(text[:-held]), text[-held:]

    def partial(self, text: str) -> int:
        """Return the number of characters at the end of `text` that may start a secret."""
        return max(self._beginnings.at_end(text), self._formats.unfinished(text))

    def _is_text_clean(self, encoded: bytes) -> bool:
        return not self._holds_value(encoded) and not self._formats.may_find(encoded)

    def _may_hold(self, text: str) -> bool:
        """Return whether the text contains the start of a known secret, or of an encoded one."""
        try:
            encoded = text.encode()
        except UnicodeEncodeError:  # lone surrogates, which a secret may also contain
            return True
        return self._stems.search(encoded) is not None

    def _holds_value(self, encoded: bytes) -> bool:
        """Return whether compact JSON contains a known secret, or an encoding of one."""
        if self._stems.search(encoded) is None:
            return False
        return any(value in encoded for value in self._values)

    def _has_no_own(self, encoded: bytes) -> bool:
        """Return whether no operator pattern matches a string in the JSON."""
        if not self._has_patterns:
            return True
        waiting = [orjson.loads(encoded)]
        while waiting:
            value = waiting.pop()
            if isinstance(value, str):
                if self._formats.finds_own(value.encode()):
                    return False
            elif isinstance(value, dict):
                waiting += (*value.keys(), *value.values())
            elif isinstance(value, list):
                waiting += value
        return True

    def raw_json(self, text: str) -> str:
        """Return invalid JSON text with secrets masked, including values under telltale keys."""

        def mask(match: re.Match[str]) -> str:
            return f'{match[1]}"{MASK}"' if self._is_telling(match[2]) else match[0]

        return self.text(_PAIR.sub(mask, text))

    def arguments(self, arguments: Any) -> tuple[Any, list[str]]:
        """Return arguments that are safe to show, and the masked paths."""
        masked: list[str] = []
        try:
            if self.is_clean(orjson.dumps(arguments)):
                return arguments, masked
        except (orjson.JSONEncodeError, UnicodeEncodeError):
            pass  # not valid JSON: check each part
        return self._walk(arguments, "", masked, 0), masked

    def secret_in(self, arguments: Mapping[str, Any]) -> str | None:
        """Return the path of the first argument with a known secret or a key format, or None.

        Random text is not considered: addresses often contain it.
        """
        try:
            if self._is_plain(orjson.dumps(arguments)):
                return None
        except (orjson.JSONEncodeError, UnicodeEncodeError, TypeError):
            pass  # not valid JSON: check each part
        return self._holding(arguments, "", 0)

    def _holding(self, value: Any, path: str, depth: int) -> str | None:
        if isinstance(value, str):
            return path if self._formats.masked(self.known(value), opaque=True) != value else None
        if not isinstance(value, dict | list):
            return None
        if depth >= _MAX_DEPTH:
            return path  # Deeper values are not checked, so they count as secret.
        named = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in named:
            if isinstance(key, str) and self._holding(key, path, depth) is not None:
                return f"a name in {path}" if path else "the name of an argument"
            where = f"{path}.{key}".lstrip(".") if isinstance(value, dict) else f"{path}[{key}]"
            if (found := self._holding(item, where, depth + 1)) is not None:
                return found
        return None

    def secrets_in(self, value: Any) -> Any:
        """Return a JSON value with secrets masked; telltale keys are ignored.

        Returns the same object if there is nothing to mask.
        """
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list | tuple):
            return value
        try:
            encoded = orjson.dumps(value, json_default, orjson.OPT_NON_STR_KEYS)
        except (orjson.JSONEncodeError, UnicodeEncodeError):
            return self._secrets_in(value, 0)
        return value if self.is_text_clean(encoded) else self._secrets_in(value, 0)

    def values_in(self, value: Any, depth: int = 0) -> Any:
        """Return a JSON value with only known secret values masked."""
        if isinstance(value, str):
            return self.known(value)
        if isinstance(value, dict | list | tuple) and depth >= _MAX_DEPTH:
            return _DEEP
        if isinstance(value, dict):
            return {
                self.values_in(key, depth + 1): self.values_in(item, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.values_in(item, depth + 1) for item in value]
        return value

    def _secrets_in(self, value: Any, depth: int, *, opaque: bool = False) -> Any:
        if isinstance(value, str):
            return self._formats.masked(self.known(value), opaque=opaque)
        if not isinstance(value, dict | list | tuple):
            return value
        if depth >= _MAX_DEPTH:
            return _DEEP
        if isinstance(value, dict):
            return {
                self._secrets_in(key, depth + 1): self._secrets_in(
                    item, depth + 1, opaque=isinstance(key, str) and self._is_opaque(key)
                )
                for key, item in value.items()
            }
        return [self._secrets_in(item, depth + 1, opaque=opaque) for item in value]

    def _walk(
        self, value: Any, path: str, masked: list[str], depth: int, *, opaque: bool = False
    ) -> Any:
        if isinstance(value, str):
            shown = self._formats.masked(self.known(value), opaque=opaque)
            if shown is not value and shown != value:
                masked.append(path)
            return shown
        if isinstance(value, dict | list) and depth >= _MAX_DEPTH:
            return _DEEP
        if isinstance(value, dict):
            return {
                self.text(key) if isinstance(key, str) else key: self._field(
                    key, item, path, masked, depth
                )
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [
                self._walk(item, f"{path}[{index}]", masked, depth + 1, opaque=opaque)
                for index, item in enumerate(value)
            ]
        return value

    def _field(self, key: Any, item: Any, path: str, masked: list[str], depth: int) -> Any:
        shown = self.text(key) if isinstance(key, str) else str(key)
        where = f"{path}.{shown}" if path else shown
        # None, a boolean or "" under a telltale key only shows whether there is a secret.
        says_nothing = item is None or isinstance(item, bool) or item == ""
        if isinstance(key, str) and not says_nothing and self._is_telling(key):
            masked.append(where)
            return MASK
        opaque = isinstance(key, str) and self._is_opaque(key)
        return self._walk(item, where, masked, depth + 1, opaque=opaque)

    def _is_telling(self, key: str) -> bool:
        return _matches(_KEY, key, self._telling)

    def _is_opaque(self, key: str) -> bool:
        return _matches(_OPAQUE, key, self._opaque)


def _matches(pattern: re.Pattern[str], key: str, known: dict[str, bool]) -> bool:
    """Return whether a key matches, split at its capitals; cached per key."""
    answer = known.get(key)
    if answer is None:
        answer = pattern.search(_HUMP.sub("_", key)) is not None
        if len(known) < 10_000:
            known[key] = answer
    return answer


def _without_runs(text: str, encoded: str) -> str:
    """Return `text` with a mask for each run of encoding characters that contains `encoded`.

    The rest of a run was encoded together with it and may be another secret, which would be too
    short to be recognized by itself.
    """
    parts, found, rest = [], encoded, text
    while found:
        before, found, rest = rest.partition(encoded)
        parts += [before.rstrip(_ENCODED), MASK] if found else [before]
        rest = rest.lstrip(_ENCODED)
    return "".join(parts)
