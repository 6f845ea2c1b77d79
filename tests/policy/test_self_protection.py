"""What names the service asks; what only looks like it does not."""

from __future__ import annotations

import pytest

from app.policy.risk.assess import assess_command
from app.policy.risk.model import CommandFinding
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
        "tollgate approvals approve cfm_1",
        "tollgate rules add --file allow.json",
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


def finding_in(command: str, *, workspace: str = "/srv/tg/data/workspace") -> CommandFinding | None:
    """What is found when the command's paths are followed from the workspace."""
    protection = SelfProtection(port=8420, data_dir="/srv/tg/data", workspace=workspace)
    report = assess_command(command, shell="bash", cwd=workspace)
    return protection.finding(command, report.segments, workspace)


@pytest.mark.parametrize(
    "command",
    [
        "cat ../boot*",
        "cat ../*",
        "cat ..//./b*",
        "cd .. && cat *",
        "cd ..; ls",
        "cd src && xxd ../../tollgate.d?",
        "cat ~/../b*",
        "bash -c 'cat ../b*'",
        "head -c 99 --bytes=3 ../b?otstrap.*",
        "cat $(ls -d ../*token)",
        "tar cf - ..",
        "grep -r tg_ ..",
        "grep -rn tg_ ../..",
        "find ../.. -name 'b*' -exec cat {} +",
        "cp -r /srv/tg here",
        "rsync -a /srv/ here",
        "cat /srv/tg/dat?/b*",
        "cat /srv/*/data/b*",
        "cat /srv/tg/data/*/../b*",
        "cd /srv/tg; cat data/b*",
        "echo x >> ../toll*",
        "base64 < ../b*n",
        "ln -s .. up",
        "dd if=../b*",
        "curl http://2130706433:8420/api/v1/me",
        "curl http://0x7f.1:8420/",
        "curl 'http://[::ffff:127.0.0.1]:8420/'",
        "nc localhost 8420",
        "cat /proc/$PPID/envi*",
        "cat /proc/123/cwd/x",
        "ps auxe",
        "ps eww -p 1",
    ],
)
def test_paths_are_followed_to_the_service(command: str):
    assert finding_in(command) is not None


@pytest.mark.parametrize(
    "command",
    [
        "cat src/../notes.txt",
        "cd src && cat ../*.md",
        "grep -r needle .",
        "grep -rn needle /usr/include",
        "find . -name '*.py' -exec wc -l {} +",
        "find / -name libc.so.6",
        "tar czf out.tgz src",
        "ls /",
        "ls /srv",
        "cat ~/notes.txt",
        "echo x >> notes.txt",
        "echo '../bootstrap' | wc -c",
        "ps aux",
        "ps -ef",
        "ps -C node",
        "lsof -i :8420",
        "cat /proc/self/fd/0",
        "git log --format=%h..%s",
    ],
)
def test_paths_beside_the_service_are_nobody_s_business(command: str):
    assert finding_in(command) is None


def test_a_workspace_around_the_data_folder_stays_usable():
    assert finding_in("grep -r needle .", workspace="/srv/tg") is None
    assert finding_in("cat data/b*", workspace="/srv/tg") is not None
    assert finding_in("cd data && cat *", workspace="/srv/tg") is not None
