"""Certificates are checked against the name that was asked for."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from app.core.clock import ManualClock
from app.core.errors import ToolFailed
from app.core.web import WebSettings
from app.operations.web.client import Web
from tests.operations.web.site import PUBLIC, Internet, Names, Site, answer, redirect, serving


def _certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for `name`, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


def _web(site: Site, trusts: ssl.SSLContext | None) -> Web:
    names = Names(public_test=[[PUBLIC]], other_test=[[PUBLIC]])
    return Web(
        WebSettings(host_interval_s=0),
        ManualClock(),
        resolver=names,
        ssl_context=trusts,
        network=Internet(site.port),
    )


async def test_only_a_certificate_for_the_name_is_good_enough(tmp_path: Path):
    path = _certificate(tmp_path, "public.test")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    named: list[str | None] = []
    server.sni_callback = lambda _, name, __: named.append(name)
    trusting = ssl.create_default_context(cafile=str(path))
    async with serving(ssl=server) as site:
        site.pages["/"] = answer(b"secure")
        web, strict = _web(site, trusting), _web(site, None)
        try:
            assert (await web.page("https://public.test/")).body == b"secure"
            assert named == ["public.test"]
            for one, url in ((web, "https://other.test/"), (strict, "https://public.test/")):
                with pytest.raises(ToolFailed, match="certificate") as caught:
                    await one.page(url)
                assert caught.value.details["code"] == "fetch_failed"
            site.pages["/down"] = redirect("http://public.test/")
            with pytest.raises(ToolFailed, match="from https to http"):
                await web.page("https://public.test/down")
        finally:
            await web.aclose()
            await strict.aclose()
    assert site.paths == ["/", "/down"]
