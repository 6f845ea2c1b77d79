"""Encryption and authorization of Web Push messages: RFC 8188, 8291 and 8292."""

from __future__ import annotations

import os
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

CURVE = ec.SECP256R1()
POINT_BYTES, SECRET_BYTES = 65, 16
MAX_MESSAGE = 4096
# One record: a header with salt, size and public key, the text, a delimiter and the tag.
_HEADER = 16 + 4 + 1 + POINT_BYTES
_LAST_RECORD = b"\x02"
MAX_TEXT = MAX_MESSAGE - _HEADER - len(_LAST_RECORD) - 16
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_NUMBER_BYTES = 32


def encrypt(text: bytes, receiver: bytes, secret: bytes) -> bytes:
    """Encrypt a message of at most `MAX_TEXT` bytes for one browser.

    Args:
        receiver: public key of the subscription, an uncompressed point.
        secret: authentication secret of the subscription, 16 bytes.

    Raises:
        ValueError: the text is too long, or `receiver` is not a point of the curve.
    """
    if len(text) > MAX_TEXT:
        raise ValueError(f"a push message has at most {MAX_TEXT} bytes")
    sender = ec.generate_private_key(CURVE)
    own = point_of(sender.public_key())
    shared = sender.exchange(ec.ECDH(), public_key(receiver))
    material = _derive(shared, secret, b"WebPush: info\0" + receiver + own, 32)
    salt = os.urandom(16)
    key = _derive(material, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derive(material, salt, b"Content-Encoding: nonce\0", 12)
    sealed = AESGCM(key).encrypt(nonce, text + _LAST_RECORD, None)
    return salt + struct.pack("!LB", MAX_MESSAGE, len(own)) + own + sealed


def private_key(seed: bytes) -> ec.EllipticCurvePrivateKey:
    """Return the key pair that belongs to random bytes."""
    # More bits than the order has, so that the remainder has no bias (FIPS 186-5, A.2.1).
    wide = _derive(seed, b"", b"tollgate web push key", 48)
    return ec.derive_private_key(int.from_bytes(wide, "big") % (_ORDER - 1) + 1, CURVE)


def public_key(point: bytes) -> ec.EllipticCurvePublicKey:
    """Return a public key.

    Raises:
        ValueError: the bytes are not a point of the curve.
    """
    return ec.EllipticCurvePublicKey.from_encoded_point(CURVE, point)


def point_of(key: ec.EllipticCurvePublicKey) -> bytes:
    """Return a public key as an uncompressed point."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def signed_token(key: ec.EllipticCurvePrivateKey, claims: dict[str, str | int]) -> str:
    """Return a JSON Web Token with ES256."""
    parts = ({"typ": "JWT", "alg": "ES256"}, claims)
    text = ".".join(encode(orjson.dumps(part)) for part in parts)
    r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    signature = r.to_bytes(_NUMBER_BYTES, "big") + s.to_bytes(_NUMBER_BYTES, "big")
    return f"{text}.{encode(signature)}"


def encode(data: bytes) -> str:
    """Return URL-safe Base64 without padding."""
    return urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Read URL-safe Base64 with or without padding.

    Raises:
        ValueError: it is not Base64.
    """
    return urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))


def _derive(material: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(hashes.SHA256(), length, salt, info).derive(material)
