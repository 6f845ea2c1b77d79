"""Calls of dangerous commands that only explain, list or simulate.

A help option among the words is not sufficient: it may be the value of another option, or a word of
a program that is run elsewhere.
"""

from __future__ import annotations

from app.policy.risk import unwrap
from app.policy.risk.call import CommandCall, names
from app.policy.risk.rules import (
    accounts,
    containers,
    database,
    delete,
    devices,
    disks,
    dispatch,
    drives,
    editors,
    exposure,
    files,
    fleets,
    foreign_packages,
    git,
    infra,
    interpreters,
    machines,
    macos,
    network,
    packages,
    protections,
    queues,
    remote,
    remote_power,
    rights,
    search,
    secret_stores,
    services,
    shells,
    stores,
    system,
    versions,
    windows_names,
)
from app.policy.risk.shapes import Rows, Shape, by_name, first_fit

_HELP = frozenset(["--help", "-help", "-h", "help"])
_TRIES = frozenset(
    names(
        "--dry-run --dryrun --dry_run --simulate --what-if --whatif --no-act --noop --just-print "
        "--pretend --why-run --preview-only --print-only --noaction -dry-run -dryrun -noop -whatif"
    )
)
"""Options by which programs show what they would do, without doing it."""
_ASKS = _HELP | _TRIES
_DOES = frozenset(names("none false no off 0"))
"""Values by which such an option means the opposite."""
_RUNS = frozenset(
    names(
        "exec run x dlx ssh rsh shell debug eval foreach forall runner console enter unshare "
        "run-command send-command execute-command explore"
    )
)
"""After one of these, the words may belong to another program."""
_TAKES_NO_WORD = frozenset(
    names(
        "--force --yes -y --all --assume-yes --auto-approve -auto-approve --interactive --quiet "
        "--verbose --recursive --confirm --now --no-wait --ignore-daemonsets --purge --delete "
        "--prune --remove --autoremove --destroy --clean --hard --permanent --debug --stats "
        "--progress --ignore-not-found --no-input --non-interactive --no-prompt --no-prompts "
        "--skip-final-snapshot --assumeyes --skip-confirmation --silent --batch --unused"
    )
)
_TAKES_WORD = {
    name: frozenset(
        names(
            "-H --host -M --machine -t --type -n --lines -o --output -p --property -P -s --signal "
            "--state --root --image --what --when --kill-whom --kill-who --job-mode --message "
            "--boot-loader-entry --boot-loader-menu --preset-mode --timestamp --drop-in --legend"
        )
    )
    for name in ("systemctl", "loginctl")
}
"""Programs whose valued options are all known."""
_H_IS_NO_HELP = frozenset(names("shutdown reboot halt poweroff pm-suspend systemd-halt"))
_WITH_VERBS = frozenset(
    names(
        "npm pnpm yarn bun conda mamba micromamba poetry pipenv pdm hatch rye uv op doppler "
        "chamber "
        "sops infisical teller aws-vault bundle rbenv pyenv asdf mise machinectl nix guix pixi gh "
        "az gcloud fly flyctl vagrant docker podman nerdctl docker-compose podman-compose lerna "
        "rclone zfs zpool btrfs"
    )
)
_SPEAKS_OTHERWISE = frozenset(
    names(
        "kill init telinit date hwclock write wall mail mailx sendmail mutt neomutt msmtp swaks "
        "s-nail ip route at batch set unset nvram sqlite3 psql mysql mariadb start"
    )
)
"""Programs that use such a word differently, or continue after it."""
_EXPLAINING = (
    frozenset().union(
        accounts.RULES,
        containers.RULES,
        devices.RULES,
        remote_power.RULES,
        queues.RULES,
        drives.RULES,
        disks.RULES,
        exposure.RULES,
        fleets.RULES,
        foreign_packages.RULES,
        infra.RULES,
        machines.RULES,
        macos.RULES,
        packages.RULES,
        protections.RULES,
        rights.RULES,
        secret_stores.RULES,
        services.RULES,
        stores.RULES,
        system.RULES,
        versions.RULES,
        database.MIGRATING,
    )
    - frozenset().union(
        unwrap.RULES,
        delete.RULES,
        dispatch.RULES,
        editors.RULES,
        files.RULES,
        git.RULES,
        interpreters.RULES,
        network.RULES,
        remote.RULES,
        search.RULES,
        shells.RULES,
        windows_names.RULES,
    )
    - _SPEAKS_OTHERWISE
    | _WITH_VERBS
)
"""Programs of the form `program noun verb` that print help when asked."""

_HELP_LAST = frozenset(["aws", "awscli"])
"""Programs with `help` as a final subcommand, never as a name."""

_DRY = r"^--dry-run(?:=(?!none$|false$)\S+)?$"
_ROWS: Rows = {
    "chage": (Shape(having=r"^(?:-\w*l|--list)$"),),
    "passwd": (
        Shape(
            having=r"^(?:-\w*S|--status)$",
            unless=r"^-\w*[dleu]\w*$|^--(?:delete|lock|unlock|expire)$",
        ),
    ),
    "visudo": (Shape(having=r"^(?:-\w*c\w*|--check)$"),),
    "chsh": (Shape(having=r"^(?:-l|--list-shells)$"),),
    "useradd adduser": (Shape(having=r"\A(?:-D|--defaults)\Z"),),
    "dscl": (Shape(having=r"^-?(?:list|read|readall|search|readpl)$"),),
    "modprobe": (
        Shape(
            having=r"^(?:-\w*[nDcR]|--(?:dry-run|show|show-depends|showconfig|show-config|"
            r"dump-modversions|resolve-alias|show-modversions|show-exports))$"
        ),
    ),
    "efibootmgr": (Shape(unless=r"^(?!(?:-[vu]+|--verbose|--unicode|--utf8)$)(?=.)"),),
    "setcap": (Shape(having=r"^-v$"),),
    "kexec": (Shape(having=r"^(?:-S|--status)$"),),
    "csrutil": (Shape(r"(?:status|report|authenticated-root(?: status)?|netboot list)$"),),
    "nvram": (Shape(unless=r"=|^-\w*[cdf]"),),
    "bleachbit": (
        Shape(
            having=r"^(?:-\w*[pl]|--(?:preview|list|list-cleaners|sysinfo))$", unless=r"^--clean$"
        ),
    ),
    "pacman yay paru": (Shape(having=r"^-R\w*[ph]\w*$|^(?:-p|--print|--print-format\S*)$"),),
    "apt apt-get aptitude": (
        Shape(having=r"^(?:-[qyVuf]*s[qyVuf]*|--(?:simulate|just-print|dry-run|recon|no-act))$"),
    ),
    "dnf dnf5 yum microdnf tdnf": (Shape(having=r"^--assumeno$", unless=r"^(?:-y|--assumeyes)$"),),
    "zypper": (Shape(having=r"^(?:-D|--dry-run)$"),),
    "dpkg rpm": (Shape(having=r"^--(?:dry-run|no-act|simulate|test)$"),),
    "apk": (Shape(having=r"^(?:-s|--simulate)$"),),
    "pkg brew": (Shape(having=r"^(?:-n|--dry-run)$"),),
    "emerge": (Shape(having=r"^(?:-\w*p\w*|--pretend)$"),),
    "choco": (Shape(having=r"^--(?:noop|what-?if)$"),),
    "conda mamba micromamba": (Shape(having=r"^(?:-d|--dry-run)$"),),
    "nix-collect-garbage nix-store nix-env": (
        Shape(having=r"^--(?:dry-run|print-dead|print-live|print-roots)$"),
    ),
    "nix": (Shape(r"store ", having=_DRY),),
    "cargo": (Shape(r"owner\b", having=r"^(?:-l|--list)$", unless=r"^(?:-[ar]|--(?:add|remove))"),),
    "firewall-cmd": (
        Shape(
            having=r"^--(?:list|get|query|info|path|state|check-config)",
            unless=r"^--(?:add|remove|set|change|new|delete|load|reload|complete|panic-o|runtime)",
        ),
    ),
    "ufw": (Shape(having=r"^--dry-run$"), Shape(r"(?:show|status|version|app (?:list|info))\b")),
    "nft": (Shape(r"(?:list|monitor|describe)\b"), Shape(having=r"^(?:-\w*c|--check)$")),
    "iptables ip6tables ebtables": (
        Shape(
            having=r"^(?:-[nvx]*[LSC][nvx]*|--(?:list|list-rules|check))$",
            unless=r"^(?:-[ADIRFZNXPE]|--(?:append|delete|insert|replace|flush|zero|policy))$",
        ),
    ),
    "pfctl": (Shape(having=r"^-\w*s", unless=r"^-\w*[FdefkKEXzT]"),),
    "trash": (Shape(r"(?:list|ls)$"),),
    "trash-empty": (Shape(having=_DRY),),
    "systemctl": (
        Shape(having=r"^--dry-run$|^--when(?:=|\n)(?:cancel|show)$"),
        Shape(r"kill\b", having=r"^(?:--signal(?:=|\n)|-s\n?)(?:help|list)$"),
    ),
    "shutdown": (Shape(having=r"^--show$"),),
    "rtcwake": (Shape(having=r"^(?:-\w*n|--dry-run|--list-modes)$"),),
    "badblocks": (Shape(unless=r"^-\w*[wn]\w*$"),),
    "gdisk cgdisk": (Shape(having=r"^(?:-l|--list)$"),),
    "sfdisk": (Shape(having=r"^(?:-\w*[nFldJV]|--(?:no-act|list-free|list|dump|json|verify))$"),),
    "fdisk": (Shape(having=r"^(?:-\w*[lx]|--list-details|--list)$"),),
    "sgdisk": (Shape(having=r"^(?:-P|--pretend)$"),),
    "hdparm": (
        Shape(
            having=r"^-[tTiIgCvHV]+$|^-[BWMaAcdkmQrSN]$\n/",
            unless=r"^--(?!direct$|verbose$)|^-[BWMaAcdkmQrSN]\w*\d",
        ),
        Shape(r"\S+$", unless=r"^-"),
    ),
    "mkfs.ext2 mkfs.ext3 mkfs.ext4 mke2fs": (Shape(having=r"^-n$"),),
    "mkfs.xfs": (Shape(having=r"^-N$"),),
    "partprobe": (Shape(having=r"^(?:-\w*d\w*|--dry-run)$"),),
    "debugfs": (Shape(unless=r"^-\w*w"),),
    "resize2fs": (Shape(having=r"^-P$"),),
    "lvremove vgremove pvremove lvreduce": (Shape(having=r"^(?:-t|--test)$"),),
    "cryptsetup": (
        Shape(r"(?:benchmark|luksUUID|luksHeaderBackup|tcryptDump|isLuks|luksDump|status)\b"),
    ),
    "helm helm3 helmfile": (Shape(having=_DRY),),
    "docker docker-compose": (Shape(r"compose\b|(?:down|rm|up)\b", having=_DRY),),
    "pulumi": (Shape(having=r"^--preview-only$"),),
    "wp artisan": (Shape(having=r"^--(?:dry-run|pretend)$"),),
    "fc": (Shape(having=r"^--help$"),),
    "launchctl": (
        Shape(
            r"(?:list|print\S*|blame|dumpstate|hostinfo|manager\w+|procinfo|plist|resolveport|"
            r"getenv|"
            r"error|help|version)\b"
        ),
    ),
    "pwck grpck": (Shape(having=r"^(?:-\w*r\w*|--read-only)$"),),
    "tune2fs": (Shape(having=r"^-l$"),),
}
_MORE_ROWS: Rows = {
    "salt salt-call salt-ssh": (Shape(having=r"^test=True$"),),
    "puppet bolt": (Shape(having=r"^--noop$"),),
    "ansible": (Shape(having=r"^(?:-C|--check|--list-hosts|--syntax-check)$"),),
    "zfs": (Shape(r"(?:destroy|receive|recv)\b", having=r"^-\w*n\w*$"),),
    "zpool": (Shape(r"(?:add|attach|split|create|import)\b", having=r"^-\w*n\w*$"),),
    "borg restic rustic rclone bup btrbk s3cmd duplicacy snapper": (Shape(having=r"^-n$"),),
    "mc mcli": (Shape(having=r"^--fake$"),),
    "xbps-remove pkg_delete pkg_deinstall pkgin eopkg guix tlmgr": (Shape(having=r"^-\w*n\w*$"),),
    "urpme installp pkgrm": (Shape(having=r"^--test$"),),
    "opkg": (Shape(having=r"^--noaction$"),),
    "removepkg": (Shape(having=r"^-{1,2}warn$"),),
    "nvme": (
        Shape(
            r"(?:list\S*|id-\S+|get-\S+|show\S*|smart-log\S*|\S+-log|\S+-log-\S+|"
            r"version|help|discover|telemetry-log|effects-log|gen-hostnqn|list|"
            r"fid-support\S*|intel smart\S*)(?: |$)"
        ),
    ),
    "mdadm": (
        Shape(
            having=r"^(?:--(?:detail\S*|examine\S*|query|version|help|misc\n--detail)|-[DEQXV]s?)$",
            unless=r"^--(?:zero-superblock|stop|remove|fail|create)$",
        ),
    ),
    "pmset": (Shape(having=r"^-g$"),),
    "sysadminctl": (
        Shape(
            having=r"^-secureTokenStatus$|^-(?:screenLock|guestAccount|autologin|"
            r"filesystem)\nstatus$"
        ),
    ),
    "certutil": (Shape(having=r"^-[LKVOM]$", unless=r"^-[ADFNSTEmU]$|^[-/](?:urlcache|addstore)"),),
    "hg chg sl": (Shape(r"(?:purge|clean)\b", having=r"^(?:-\w*p\w*|--print)$"),),
    "fwupdmgr fwupdtool": (
        Shape(r"(?:get-\S+|search|verify$|security|hwids|check-\S+|report-history)"),
    ),
    "parted": (
        Shape(
            having=r"^(?:print|-l|--list|align-check|unit)$",
            unless=r"^(?:rm|mklabel|mktable|mkpart|resizepart|set|toggle|disk_set|name|rescue)$",
        ),
    ),
    "loginctl": (
        Shape(r"(?:list\S*|show\S*|\S+-status|session-status|user-status|seat-status)\b"),
    ),
    "crontab": (Shape(having=r"^-[lT]$", unless=r"^-\w*r"),),
    "haproxy": (Shape(having=r"^-c$"),),
    "stunnel stunnel4": (Shape(having=r"\A-(?:version|sockets|options)\Z"),),
    "semanage": (Shape(having=r"^(?:-\w*l\w*|--list)$", unless=r"^-\w*[admD]$|^--(?:add|delete)"),),
}
_SHOWS = by_name(_ROWS, _MORE_ROWS)


def only_explains(call: CommandCall) -> bool:
    """Return whether `call` only prints help, lists or simulates, regardless of other words."""
    args = call.args
    if args and call.name in _EXPLAINING and _helps(call):
        return True
    shapes = _SHOWS.get(call.name)
    return shapes is not None and first_fit(shapes, call) is not None


def _helps(call: CommandCall) -> bool:
    if not any(word.partition("=")[0] in _ASKS for word in call.args):
        return False
    previous, runs_at = "", len(call.args)
    last = len(call.args) - 1
    for at, word in enumerate(call.args):
        if word == "--":
            return False
        own = at <= runs_at + 1 and not _takes_word(call.name, previous)
        if own and (
            _tries(word) or _is_asked(call.name, word, is_first=at == 0, is_last=at == last)
        ):
            return True
        if word in _RUNS:
            runs_at = min(runs_at, at)
        previous = word
    return False


def _tries(word: str) -> bool:
    name, _, value = word.partition("=")
    return name in _TRIES and value not in _DOES


def _takes_word(name: str, option: str) -> bool:
    """Return whether the word after `option` may be its value."""
    if name in _TAKES_WORD:
        return option in _TAKES_WORD[name]
    return option.startswith("-") and "=" not in option and option not in _TAKES_NO_WORD


def _is_asked(name: str, word: str, *, is_first: bool, is_last: bool) -> bool:
    """Return whether `word` asks for help, and is not a name or host."""
    if word not in _HELP:
        return False
    if word == "-h":
        return is_last and name not in _H_IS_NO_HELP
    if word == "help":
        return is_first or (is_last and name in _HELP_LAST)
    return True
