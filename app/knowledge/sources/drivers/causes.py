"""Causes of unavailable data sources, for programs and as clauses for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from app.core.tls import TlsTrouble, tls_trouble


class Cause(NamedTuple):
    """Machine code, and a clause without host, user and password."""

    code: str
    clause: str


NO_ANSWER = Cause(code="source_no_answer", clause="it does not respond")
BROKEN_OFF = Cause(code="source_broken_off", clause="the connection was lost")
UNREACHABLE = Cause(
    code="source_unreachable", clause="it is unreachable, or the connection was lost"
)
REFUSED = Cause(code="source_login_refused", clause="the server refused the user or password")
FULL = Cause(code="source_full", clause="the server has too many connections")
NO_DATABASE = Cause(code="source_no_database", clause="its database does not exist")
CERTIFICATE = Cause(code="source_certificate_refused", clause="its certificate is not accepted")
NO_CERTIFICATES = Cause(
    code="source_certificates_unreadable", clause="its certificate file cannot be read"
)
NO_TLS = Cause(
    code="source_no_tls", clause="it does not use TLS; set `tls` to `off` if that is intended"
)
OLD_TLS = Cause(
    code="source_tls_version",
    clause="it uses a TLS version or cipher that is no longer accepted",
)
_REFUSED_AS = "its certificate is not accepted"
_TLS: Mapping[TlsTrouble, Cause] = MappingProxyType(
    {
        "expired": Cause("source_certificate_expired", f"{_REFUSED_AS}: it has expired"),
        "not_yet_valid": Cause(
            "source_certificate_not_yet_valid",
            f"{_REFUSED_AS}: it is not valid yet; check the clocks of both machines",
        ),
        "unknown_issuer": Cause(
            "source_certificate_unknown_issuer",
            f"{_REFUSED_AS}: this machine does not trust its issuer; set `tls_ca_file` "
            "to the issuer's certificate",
        ),
        "other_name": Cause(
            "source_certificate_other_name",
            f"{_REFUSED_AS}: it belongs to another host name; use the name in the certificate",
        ),
        "version": OLD_TLS,
        "no_tls": NO_TLS,
        "certificate": CERTIFICATE,
    }
)
NO_FILE = Cause(code="source_no_file", clause="its file does not exist")
NO_SQLITE = Cause(code="source_file_unreadable", clause="its file is not a readable database")
OUTSIDE = Cause(
    code="source_file_outside",
    clause="its file is outside the folders of TOLLGATE_SOURCES__SQLITE_FOLDERS",
)


def tls_cause(error: BaseException) -> Cause | None:
    """Return the TLS failure, or None if it was not the cause."""
    trouble = tls_trouble(error)
    return None if trouble is None else _TLS[trouble]
