"""The patterns that the contract names, one by one."""

from __future__ import annotations

import pytest

from app.policy.risk.assess import assess_command
from app.policy.risk.model import Verdict


@pytest.mark.requirement("CNF-01")
@pytest.mark.parametrize(
    "command",
    [
        "rm notes.txt",
        "del notes.txt",
        "rd old",
        "rmdir old",
        'mysql shop -e "drop table users"',
        "psql -c 'DROP TABLE users'",
        'sqlite3 shop.db "drop table users"',
        "git reset --hard",
        "git clean -f",
        "git push --force",
    ],
)
def test_each_named_pattern_asks(command: str) -> None:
    report = assess_command(command)

    assert report.verdict is Verdict.ASK
    assert report.findings[0].segment is not None


@pytest.mark.requirement("CNF-06")
@pytest.mark.parametrize(
    ("command", "verdict"),
    [
        ("rm -r build", Verdict.ASK),
        ("rm -f build", Verdict.ASK),
        ("del /f notes.txt", Verdict.ASK),
        ("rmdir /s old", Verdict.ASK),
        ("mkfs.ext4 /dev/sdb1", Verdict.DENY),
        ("format c:", Verdict.DENY),
        ("diskpart", Verdict.DENY),
        ("dd if=a.img of=b.img", Verdict.ASK),
        ("dd if=a.img of=/dev/sdb", Verdict.DENY),
        ("echo x > /dev/sda", Verdict.DENY),
        ("shutdown -h now", Verdict.DENY),
        ("reboot", Verdict.DENY),
        ("poweroff", Verdict.DENY),
        ("halt", Verdict.DENY),
        (":(){ :|:& };:", Verdict.DENY),
        ("init 0", Verdict.DENY),
        ("init 6", Verdict.DENY),
    ],
)
def test_each_blocked_pattern_is_hit(command: str, verdict: Verdict) -> None:
    assert assess_command(command).verdict is verdict


@pytest.mark.requirement("F-10")
@pytest.mark.parametrize(
    "command",
    [
        "echo 'rm -rf /'",
        "git commit -m 'drop table users'",
        "ls # rm -rf /",
        "cat > notes <<'EOF'\n$(rm -rf /)\nEOF",
        "grep -rn 'git push --force' docs",
    ],
)
def test_text_that_is_not_run_is_no_finding(command: str) -> None:
    report = assess_command(command)

    assert report.verdict is Verdict.ALLOW
    assert report.findings == ()
