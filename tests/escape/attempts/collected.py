"""Every attempt, by category."""

from __future__ import annotations

from tests.escape.attempt import Attempt
from tests.escape.attempts.between import BETWEEN
from tests.escape.attempts.doors import DOORS
from tests.escape.attempts.endless import ENDLESS
from tests.escape.attempts.exhaustion import EXHAUSTION
from tests.escape.attempts.hosts import HOSTS
from tests.escape.attempts.introspection import INTROSPECTION
from tests.escape.attempts.kernel import KERNEL
from tests.escape.attempts.network import NETWORK
from tests.escape.attempts.paths import PATHS
from tests.escape.attempts.processes import PROCESSES
from tests.escape.attempts.programs import PROGRAMS
from tests.escape.attempts.secrets import SECRETS
from tests.escape.attempts.service import SERVICE
from tests.escape.attempts.survivors import SURVIVORS
from tests.escape.attempts.traps import TRAPS
from tests.escape.attempts.uncounted import UNCOUNTED
from tests.escape.judges import service_harmed

ATTEMPTS: tuple[Attempt, ...] = (
    *INTROSPECTION,
    *SECRETS,
    *PATHS,
    *TRAPS,
    *NETWORK,
    *HOSTS,
    *PROCESSES,
    *SURVIVORS,
    *EXHAUSTION,
    *ENDLESS,
    *SERVICE,
    *KERNEL,
    *BETWEEN,
    *DOORS,
    *UNCOUNTED,
    *PROGRAMS,
)

# Harmless: it shows that what is called a sandbox runs anything at all, and how that looks.
CONTROL = Attempt("control", "resources", "import time\ntime.sleep(0.2)\n1 + 1", service_harmed)
