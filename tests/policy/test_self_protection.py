"""What names the service asks; what only looks like it does not."""

from __future__ import annotations

import pytest

from app.policy.self_protection import SelfProtection

PROTECTION = SelfProtection(port=8420, data_dir="/srv/tg/data", workspace="/srv/tg/data/workspace")


@pytest.mark.parametrize(
    "command",
    [
        "curl http://127.0.0.1:8420/api/v1/confirmations/x -d '{}'",
        "curl localhost:8420",
        "exec 3<>/dev/tcp/127.0.0.1/8420",
        "curl http://[::1]:8420/",
        "sqlite3 ../tollgate.db 'select 1'",
        "ls /srv/tg/data",
        "cat /srv/tg/data/artifacts/x",
        "cat /srv/tg/data/workspace-2/x",
        'for p in /proc/[0-9]*/environ; do cat "$p"; done',
        "cat /proc/$PPID/environ",
        "tollgate token create me",
        "cat ../bootstrap.token",
    ],
)
def test_a_command_that_names_the_service_asks(command: str):
    finding = PROTECTION.finding(command)

    assert finding is not None
    assert (finding.code, finding.verdict) == ("service_access", "ask")


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat /srv/tg/data/workspace/notes.txt",
        "cd /srv/tg/data/workspace && make",
        "ls /srv/tg/database",
        "curl http://127.0.0.1:3000/",
        "curl http://127.0.0.1:84200/",
        "cat /proc/cpuinfo",
        "echo environment",
        "python manage.py tollgate",
    ],
)
def test_a_command_that_only_looks_like_it_does_not(command: str):
    assert PROTECTION.finding(command) is None
