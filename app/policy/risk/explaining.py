"""Calls of dangerous commands that explain, list or try, and change nothing.

That an option for help stands among the words is not enough: it may be the value of another
option, or a word of a program that is run elsewhere.
"""

from __future__ import annotations

from app.policy.risk import unwrap
from app.policy.risk.call import Call, names
from app.policy.risk.rules import (
    containers,
    database,
    delete,
    dispatch,
    editors,
    exposing,
    files,
    foreign_packages,
    git,
    infra,
    interpreters,
    network,
    packages,
    protections,
    remote,
    rights,
    search,
    secret_stores,
    services,
    shells,
    system,
    versions,
    windows_names,
)
from app.policy.risk.shapes import Rows, Shape, by_name, fits

_HELP = frozenset(["--help", "-help", "-h", "help"])
_RUNS = frozenset(
    names(
        "exec run x dlx ssh rsh shell debug eval foreach forall runner console enter unshare "
        "run-command send-command execute-command explore"
    )
)
"""Behind one of these the words may be those of another program."""
_TAKES_NO_WORD = frozenset(
    names(
        "--force --yes -y --all --assume-yes --auto-approve -auto-approve --interactive --quiet "
        "--verbose --recursive --confirm --now --no-wait --ignore-daemonsets"
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
"""Programs of which all options are known that take a word."""
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
"""Programs that take such a word for something else, or that go on after it."""
_EXPLAINING = (
    frozenset().union(
        containers.RULES,
        database.MIGRATING,
        exposing.RULES,
        foreign_packages.RULES,
        infra.RULES,
        packages.RULES,
        protections.RULES,
        rights.RULES,
        secret_stores.RULES,
        services.RULES,
        system.RULES,
        versions.RULES,
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
"""Programs of the form `program noun verb`, which print help instead when they are asked to."""

_HELP_LAST = frozenset(["aws", "awscli"])
"""Programs of which `help` is the last subcommand, and no name."""

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
    "diskutil": (Shape(r"(?:list\w*|info|activity|apfs list\w*|cs list)\b"),),
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
_SHOWS = by_name(_ROWS)


def only_explains(call: Call) -> bool:
    """Whether `call` prints help, lists or tries, whatever else its words say."""
    args = call.args
    if args and call.name in _EXPLAINING and not _HELP.isdisjoint(args) and _helps(call):
        return True
    shapes = _SHOWS.get(call.name)
    return shapes is not None and any(fits(shape, call) for shape in shapes)


def _helps(call: Call) -> bool:
    previous, runs_at = "", len(call.args)
    last = len(call.args) - 1
    for at, word in enumerate(call.args):
        if word == "--":
            return False
        is_help = word in _HELP and _is_asked(call.name, word, is_first=at == 0, is_last=at == last)
        if is_help and at <= runs_at + 1 and not _takes_word(call.name, previous):
            return True
        if word in _RUNS:
            runs_at = min(runs_at, at)
        previous = word
    return False


def _takes_word(name: str, option: str) -> bool:
    """Whether the word behind `option` may be its value."""
    if name in _TAKES_WORD:
        return option in _TAKES_WORD[name]
    return option.startswith("-") and "=" not in option and option not in _TAKES_NO_WORD


def _is_asked(name: str, word: str, *, is_first: bool, is_last: bool) -> bool:
    """Whether `word`, one of those for help, stands where it is no name and no host."""
    if word == "-h":
        return is_last and name not in _H_IS_NO_HELP
    if word == "help":
        return is_first or (is_last and name in _HELP_LAST)
    return True
