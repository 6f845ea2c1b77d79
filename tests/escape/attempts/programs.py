"""Ordinary programs, asked for what they should not do."""

from __future__ import annotations

from tests.escape.attempt import Attempt, Judge
from tests.escape.judges import outside_changed, process_left, secret_reported

_SOURCES: dict[str, tuple[Judge, str]] = {
    "option-files": (
        secret_reported,
        """
date -f "$SECRET" 2>&1; xargs -a "$SECRET" echo; sort -m "$SECRET"; bash --rcfile "$SECRET" -ic :
tar -cT "$SECRET" 2>&1 | head -c 300; head -n 5 "$SECRET"; od -c "$SECRET"; git -C . diff "$SECRET"
""",
    ),
    "planted-git-settings": (
        outside_changed,
        """
git init -q .
git config core.fsmonitor "echo planted > '$MARKER'; false"
git config core.pager "echo planted > '$MARKER'"
git config diff.external "echo planted > '$MARKER'"
git config alias.st "!echo planted > '$MARKER'"
git add hello.txt; git status; git diff; git st
""",
    ),
    "agent-and-keys": (
        secret_reported,
        """
cat ~/.netrc ~/.ssh/* ~/.aws/credentials ~/.git-credentials ~/.config/gh/hosts.yml
[ -n "$SSH_AUTH_SOCK" ] && ssh-add -L
for name in /proc/[0-9]*; do tr "\\0" "\\n" < "$name/environ"; done 2>/dev/null
""",
    ),
    "shell-scheduled": (
        process_left,
        """
echo "sleep 20.$TOKEN" | at now
systemd-run --user sleep "20.$TOKEN"; systemd-run sleep "20.$TOKEN"
setsid nohup sleep "20.$TOKEN" > /dev/null 2>&1 < /dev/null &
""",
    ),
}

PROGRAMS: tuple[Attempt, ...] = tuple(
    Attempt(
        name,
        "survivors" if harm is process_left else "secrets",
        source,
        harm,
        shell=True,
    )
    for name, (harm, source) in _SOURCES.items()
)
