"""Why a data source cannot be used: for programs, and as clauses for people."""

from __future__ import annotations

from typing import NamedTuple


class Cause(NamedTuple):
    """A machine code, and a clause that names no host, user or password."""

    code: str
    clause: str


NO_ANSWER = Cause(code="source_no_answer", clause="it does not answer")
BROKEN_OFF = Cause(code="source_broken_off", clause="the connection broke")
UNREACHABLE = Cause(
    code="source_unreachable", clause="it cannot be reached, or the connection broke"
)
REFUSED = Cause(code="source_login_refused", clause="the server refuses its user or its password")
FULL = Cause(code="source_full", clause="the server has too many connections")
NO_DATABASE = Cause(code="source_no_database", clause="its database is not there")
CERTIFICATE = Cause(code="source_certificate_refused", clause="its certificate is not accepted")
NO_CERTIFICATES = Cause(
    code="source_certificates_unreadable", clause="its file of certificates cannot be read"
)
NO_TLS = Cause(code="source_no_tls", clause="it speaks no TLS; set `tls` to `off` if that is meant")
NO_FILE = Cause(code="source_no_file", clause="its file is not there")
NO_SQLITE = Cause(code="source_file_unreadable", clause="its file is no database that can be read")
OUTSIDE = Cause(
    code="source_file_outside",
    clause="its file lies outside the folders of TOLLGATE_SOURCES__SQLITE_FOLDERS",
)
