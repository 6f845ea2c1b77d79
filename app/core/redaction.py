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
_WORDS = (
    r"(?:password|passwd|pwd|secret|token|api[_\-]?key|apikey|authorization"
    r"|credentials?|private[_\-]?key|access[_\-]?key|cookie)"
)
_KEY = re.compile(rf"(?:^|[_\-.]){_WORDS}$", re.IGNORECASE)
_KEY_IN_JSON = re.compile(rf'{_WORDS}"\s*:'.encode(), re.IGNORECASE)
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
        """Whether JSON bytes certainly hold nothing to mask: one scan instead of a walk."""
        if _KEY_IN_JSON.search(encoded) is not None:
            return False
        return not any(secret in encoded for secret in self._in_json)

    def arguments(self, arguments: Any) -> tuple[Any, list[str]]:
        """Arguments safe to show, and the paths that were masked."""
        masked: list[str] = []
        return self._walk(arguments, "", masked, 0), masked

    @property
    def knows_secrets(self) -> bool:
        return bool(self._secrets)

    def secrets_in(self, value: Any) -> Any:
        """Any JSON value with known secret values masked, keys not looked at."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.secrets_in(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.secrets_in(item) for item in value]
        return value

    def _walk(self, value: Any, path: str, masked: list[str], depth: int) -> Any:
        if isinstance(value, str):
            shown = self.text(value) if self._secrets else value
            if shown is not value and shown != value:
                masked.append(path)
            return shown
        if isinstance(value, dict) and depth < _MAX_DEPTH:
            return {key: self._field(key, item, path, masked, depth) for key, item in value.items()}
        if isinstance(value, list) and depth < _MAX_DEPTH:
            return [
                self._walk(item, f"{path}[{index}]", masked, depth + 1)
                for index, item in enumerate(value)
            ]
        return value

    def _field(self, key: Any, item: Any, path: str, masked: list[str], depth: int) -> Any:
        where = f"{path}.{key}" if path else str(key)
        if isinstance(key, str) and isinstance(item, str) and item and self._is_telling(key):
            masked.append(where)
            return MASK
        return self._walk(item, where, masked, depth + 1)

    def _is_telling(self, key: str) -> bool:
        known = self._telling.get(key)
        if known is None:
            known = _KEY.search(key) is not None
            if len(self._telling) < 10_000:
                self._telling[key] = known
        return known
