"""Keeping secrets out of events, logs and stored arguments.

Two rules: a value under a telling key is masked, and a known secret value is masked
wherever it stands. Redaction returns new values; what a tool receives is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import orjson

MASK = "«redacted»"
# `_` stands for a hyphen or nothing too. Tokens are counted, a token is kept secret.
_TELLING = (
    *("password", "passwords", "passwd", "pwd", "passphrase", "secret", "secrets", "token"),
    *("authorization", "credential", "credentials", "cookie", "cookies"),
    *("api_key", "private_key", "access_key"),
)
_WORDS = "|".join(word.replace("_", "[_-]?") for word in _TELLING)
_KEY = re.compile(rf"(?:^|[_\-.])(?:{_WORDS})$", re.IGNORECASE)
# The same words as ends of a key in JSON bytes: a case-blind pattern over long arguments costs
# 60 µs a kilobyte, looking at the end of each key costs less than one.
_KEY_ENDS = tuple(
    word.replace("_", separator).encode() for word in _TELLING for separator in ("_", "-", "")
)
_LONGEST_END = max(map(len, _KEY_ENDS))
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# In text that is no JSON; of the last value the closing quote may be missing.
_PAIR = re.compile(r'("([^"\\]{1,64})"\s*:\s*)("(?:[^"\\]|\\.)*"?|[^\s",}\]]+)')
_DEEP = "…"
_MIN_SECRET = 6
_MAX_DEPTH = 64


class Redactor:
    """Masks `secrets` (values) and whatever a telling key holds."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted({s for s in secrets if len(s) >= _MIN_SECRET}, key=len))[::-1]
        self._in_json = tuple(orjson.dumps(secret)[1:-1] for secret in self._secrets)
        self._telling: dict[str, bool] = {}

    def text(self, text: str) -> str:
        """`text` with every known secret value masked."""
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text

    def is_clean(self, encoded: bytes) -> bool:
        """Whether compact JSON bytes certainly hold nothing to mask: a scan instead of a walk."""
        at = encoded.find(b'":')
        while at >= 0:
            if encoded[max(0, at - _LONGEST_END) : at].lower().endswith(_KEY_ENDS):
                return False
            at = encoded.find(b'":', at + 2)
        return not any(secret in encoded for secret in self._in_json)

    def partial(self, text: str) -> int:
        """How many characters at the end of `text` may be the beginning of a secret."""
        longest = 0
        for secret in self._secrets:
            for length in range(min(len(secret) - 1, len(text)), longest, -1):
                if text.endswith(secret[:length]):
                    longest = length
                    break
        return longest

    def raw_json(self, text: str) -> str:
        """JSON text that does not parse, with what telling keys hold masked."""

        def mask(match: re.Match[str]) -> str:
            return f'{match[1]}"{MASK}"' if self._is_telling(match[2]) else match[0]

        return self.text(_PAIR.sub(mask, text))

    def arguments(self, arguments: Any) -> tuple[Any, list[str]]:
        """Arguments safe to show, and the paths that were masked."""
        masked: list[str] = []
        return self._walk(arguments, "", masked, 0), masked

    @property
    def knows_secrets(self) -> bool:
        return bool(self._secrets)

    def secrets_in(self, value: Any, depth: int = 0) -> Any:
        """Any JSON value with known secret values masked; telling keys mean nothing here."""
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list | tuple):
            return value
        if depth > _MAX_DEPTH:
            return _DEEP
        if isinstance(value, dict):
            return {
                self.secrets_in(key, depth + 1): self.secrets_in(item, depth + 1)
                for key, item in value.items()
            }
        return [self.secrets_in(item, depth + 1) for item in value]

    def _walk(self, value: Any, path: str, masked: list[str], depth: int) -> Any:
        if isinstance(value, str):
            shown = self.text(value) if self._secrets else value
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
                self._walk(item, f"{path}[{index}]", masked, depth + 1)
                for index, item in enumerate(value)
            ]
        return value

    def _field(self, key: Any, item: Any, path: str, masked: list[str], depth: int) -> Any:
        shown = self.text(key) if isinstance(key, str) else str(key)
        where = f"{path}.{shown}" if path else shown
        # None, true and "" under a telling key only say whether there is a secret.
        says_nothing = item is None or isinstance(item, bool) or item == ""
        if isinstance(key, str) and not says_nothing and self._is_telling(key):
            masked.append(where)
            return MASK
        return self._walk(item, where, masked, depth + 1)

    def _is_telling(self, key: str) -> bool:
        known = self._telling.get(key)
        if known is None:
            known = _KEY.search(_HUMP.sub("_", key)) is not None
            if len(self._telling) < 10_000:
                self._telling[key] = known
        return known
