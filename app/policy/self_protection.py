"""Commands that name the service itself: its database, its port, its environment.

Until a kernel sandbox stands between a command and the service, a command could answer
its own confirmation or write itself a token. What names the service asks. This slows an
attacker down and is no wall: names can be built at run time (`docs/security.md`).
"""

from __future__ import annotations

import re

from app.policy.risk.model import Finding, RiskLevel, Verdict

_ALWAYS = (
    r"tollgate\.db",
    r"bootstrap\.token",
    r"/proc/[^\s;|&]*environ",
    r"\btollgate\s+(?:token|db|serve|chat)\b",
)


class SelfProtection:
    """Looks for the names of one running service."""

    def __init__(self, *, port: int, data_dir: str, workspace: str) -> None:
        names = list(_ALWAYS)
        if port:
            names.append(
                rf"(?:localhost|127\.[\d.]+|\[?::1\]?|0\.0\.0\.0|/dev/tcp/[^\s/]+)[:/]{port}\b"
            )
        names.append(rf"{re.escape(data_dir)}(?![\w.-])(?!{_rest(data_dir, workspace)})")
        self._pattern = re.compile("|".join(f"(?:{name})" for name in names), re.IGNORECASE)

    def finding(self, command: str) -> Finding | None:
        """A finding that asks, when the command names the service."""
        found = self._pattern.search(command)
        if found is None:
            return None
        why = f"it names the service itself ({found[0][:60]})"
        return Finding("service_access", None, why, RiskLevel.HIGH, Verdict.ASK)


def _rest(data_dir: str, workspace: str) -> str:
    """What follows the data directory in a path that leads into the workspace."""
    if workspace.startswith(data_dir + "/"):
        return re.escape(workspace[len(data_dir) :]) + r"(?![\w.-])"
    return r"(?!)"
