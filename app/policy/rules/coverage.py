"""Coverage of a whole shell command by allow rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.policy.risk.call import names
from app.policy.risk.model import Segment
from app.policy.rules.call_view import CallView
from app.policy.rules.rule import Rule

# Commands that run others as another user or elsewhere: approving `rm build` does not approve `sudo
# rm build`.
_ELSEWHERE = frozenset(
    names(
        "sudo doas su runuser sg pkexec gosu su-exec setpriv chpst runcon capsh chroot "
        "unshare nsenter systemd-run start-stop-daemon daemonize ssh autossh mosh rsh "
        "docker podman nerdctl kubectl oc lxc lxc-attach incus machinectl vagrant "
        "multipass wsl adb proot fakeroot firejail"
    )
)


def covering(view: CallView, allows: Iterable[Rule]) -> tuple[str, ...]:
    """Return the IDs of the rules that together allow the call; empty if a part is not covered.

    Every command must match a rule, or be harmless. Parts outside commands (redirections,
    assignments) and unreadable parts cannot be allowed; nor can a command whose program the script
    replaces.
    """
    report = view.report
    if report is None:
        return tuple(rule.id for rule in allows if rule.allows(view))
    places = {finding.segment for finding in report.findings}
    if report.opaque or report.own_programs or None in places or not report.segments:
        return ()
    named: dict[int, str] = {}
    for rule in allows:
        for at in rule.covers(view):
            named.setdefault(at, rule.id)
    if not named or not places <= named.keys():
        return ()
    segments = report.segments
    if any(leads_elsewhere(segments, at, named) for at in range(len(segments)) if at not in named):
        return ()
    return tuple(dict.fromkeys(named[at] for at in sorted(named)))


def leads_elsewhere(segments: tuple[Segment, ...], at: int, named: Mapping[int, str]) -> bool:
    """Return whether an uncovered command may run one of the covered ones."""
    segment = segments[at]
    if segment.wraps or not segment.argv:
        return False
    program = segment.argv[0]
    if program is None or program.rsplit("/", 1)[-1] in _ELSEWHERE:
        return True
    text = " ".join(word or "" for word in segment.argv[1:])
    return any(
        later > at and all(word is not None and word in text for word in segments[later].argv)
        for later in named
    )
