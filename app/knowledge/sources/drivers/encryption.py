"""TLS to a database, as configured in its source."""

from __future__ import annotations

import ssl

from app.knowledge.sources.drivers import causes
from app.knowledge.sources.drivers.failures import unavailable
from app.knowledge.sources.drivers.protocol import ConnectionTarget


def tls_context(target: ConnectionTarget) -> ssl.SSLContext | None:
    """Return the TLS context; None without TLS, as on a local socket.

    Raises:
        ToolFailed: code `source_unavailable`: the certificate file is unreadable.
    """
    address = target.address
    if address.tls == "off" or address.unix_socket is not None:
        return None
    try:
        context = ssl.create_default_context(cafile=address.tls_ca_file)
    except (OSError, ssl.SSLError):
        raise unavailable(target, causes.NO_CERTIFICATES) from None
    if address.tls == "require":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
