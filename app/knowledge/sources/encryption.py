"""Encryption of secrets with AES-256-GCM, bound to their row and field.

An encrypted text is `v1.<key id>.<nonce and ciphertext, Base64>`. Its row and field are
authenticated, so it cannot be decrypted in another row.
"""

from __future__ import annotations

import fcntl
import os
import re
from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from pydantic import SecretStr

from app.core.errors import ConfigurationError

KEY_BYTES, _NONCE_BYTES = 32, 12
_VERSION = "v1"
_SEALED = re.compile(r"v1\.([0-9a-f]{12})\.([A-Za-z0-9_\-=]+)")


class KeyRing:
    """Keys by ID. The first encrypts; all decrypt.

    Args:
        read: returns the current keys; called again if a key is missing, because another process
            may have created one.
    """

    def __init__(self, read: Callable[[], Sequence[bytes]]) -> None:
        self._read = read
        self._keys: dict[str, bytes] = {}

    def seal(self, text: str, *, row: str, field: str) -> str:
        """Encrypt `text` for one field of one row.

        Raises:
            ConfigurationError: the keys are invalid.
        """
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        # The file is read again: a key retired by another process encrypts nothing more.
        self._load()
        key_id, key = next(iter(self._keys.items()))
        nonce = os.urandom(_NONCE_BYTES)
        sealed = AESGCM(key).encrypt(nonce, text.encode(), _bound_to(row, field))
        return f"{_VERSION}.{key_id}.{urlsafe_b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, *, row: str, field: str) -> str:
        """Decrypt the output of `seal` for the same field of the same row.

        Raises:
            ConfigurationError: its key is missing, or the text belongs to another row or was
                changed.
        """
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        found = _SEALED.fullmatch(sealed)
        if found is None:
            raise ConfigurationError(f"The stored {field} of {row!r} is damaged: set it again")
        key = self._key(found[1], row, field)
        try:
            data = urlsafe_b64decode(found[2])
            nonce, rest = data[:_NONCE_BYTES], data[_NONCE_BYTES:]
            return AESGCM(key).decrypt(nonce, rest, _bound_to(row, field)).decode()
        except (InvalidTag, ValueError):
            raise ConfigurationError(
                f"Cannot decrypt the stored {field} of {row!r}: it was changed, or "
                "belongs to another data source; set it again"
            ) from None

    def _key(self, key_id: str, row: str, field: str) -> bytes:
        if key_id not in self._keys:
            self._load()
        key = self._keys.get(key_id)
        if key is None:
            raise ConfigurationError(
                f"The {field} of {row!r} is encrypted with the key {key_id}, which is "
                f"not among {', '.join(self._keys)}: restore the key "
                f"(TOLLGATE_SOURCES__KEYS or keys/sources.key), or set the {field} "
                "again",
                key_id=key_id,
            )
        return key

    def _load(self) -> None:
        self._keys = {name_of(key): key for key in self._read()}


def name_of(key: bytes) -> str:
    """Return the key's ID: a digest that reveals nothing about it."""
    return sha256(b"tollgate data source key\0" + key).hexdigest()[:12]


def _bound_to(row: str, field: str) -> bytes:
    return f"data_sources\0{row}\0{field}".encode()


def keys_of_setting(setting: SecretStr) -> list[bytes]:
    """Return the keys of `TOLLGATE_SOURCES__KEYS`.

    Raises:
        ConfigurationError: there is none, or a key is not 32 bytes in Base64.
    """
    return _decoded(setting.get_secret_value().split(","), "TOLLGATE_SOURCES__KEYS")


class KeyFile:
    """Keys in a separate file, one Base64 key per line, newest first, accessible only to its
    owner.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> list[bytes]:
        """Return the keys; create the first one if there is no file.

        Raises:
            ConfigurationError: the file is not readable or writable, or others may read it.
        """
        try:
            if not self._path.exists():
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._make()
            if self._path.stat().st_mode & 0o077:
                raise ConfigurationError(
                    f"Others can read {self._path.name}: chmod 600 it, then rotate the key"
                )
            text = self._path.read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigurationError(
                f"Cannot use the key file keys/{self._path.name}: "
                f"{getattr(error, 'strerror', None) or 'it is not text'}"
            ) from None
        return _decoded(text.splitlines(), f"keys/{self._path.name}")

    def add(self) -> bytes:
        """Add a new key before the others, and return it.

        Raises:
            ConfigurationError: see `read`.
        """
        added = os.urandom(KEY_BYTES)
        self.read()  # creates the folder
        with self._alone():
            self._write([added, *self.read()])
        return added

    def retire(self, added: bytes) -> None:
        """Delete the keys older than `added`.

        Newer ones stay: they come from a later rotation and are already in use.

        Raises:
            ConfigurationError: see `read`.
        """
        with self._alone():
            keys = self.read()
            if added in keys:
                self._write(keys[: keys.index(added) + 1])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Exclude concurrent changes: data of an overwritten key could not be decrypted."""
        try:
            folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise self._cannot_be("locked", error) from None
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def _cannot_be(self, what: str, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"The key file keys/{self._path.name} cannot be {what}: {error.strerror}"
        )

    def _make(self) -> None:
        # Complete or missing: another process may be reading.
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        _put(beside, [os.urandom(KEY_BYTES)])
        try:
            with suppress(FileExistsError):  # another process was faster
                os.link(beside, self._path)
        finally:
            beside.unlink()

    def _write(self, keys: Sequence[bytes]) -> None:
        beside = self._path.with_suffix(".new")
        try:
            _put(beside, keys)
            beside.replace(self._path)
        except OSError as error:
            raise self._cannot_be("written", error) from None


def _put(path: Path, keys: Sequence[bytes]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.writelines(b64encode(key).decode() + "\n" for key in keys)
        file.flush()
        os.fsync(file.fileno())


def _decoded(lines: Sequence[str], place: str) -> list[bytes]:
    texts = [line.strip() for line in lines if line.strip()]
    try:
        keys = [b64decode(text, validate=True) for text in texts]
    except ValueError:
        keys = []
    if not keys or any(len(key) != KEY_BYTES for key in keys):
        raise ConfigurationError(
            f"{place} must contain keys of {KEY_BYTES} bytes in Base64, as created by "
            f"`openssl rand -base64 {KEY_BYTES}`"
        )
    return keys
