"""Paths that must not be written or read without asking."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk import floor
from app.policy.risk.call import UNKNOWN, Hit, ask, deny
from app.policy.risk.model import RiskLevel

_HARMLESS_DEVICE = re.compile(
    r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty\w*|fd/|shm/|pts/|ptmx)"
)
_POWER = frozenset(["/proc/sysrq-trigger", "/sys/power/state", "/sys/power/disk"])
_SYSTEM = re.compile(
    r"/(?:etc|boot|usr(?!/local/src)|bin|sbin|lib(?:32|64)?|sys|proc(?!/self/fd)|"
    r"var/spool/cron|dev)(?:/|$)"
)
_STARTUP = re.compile(
    r"\.(?:bash(?:rc|_profile|_login|_logout|_aliases)|profile|zsh(?:rc|env)|zprofile|"
    r"zlogin|zlogout|kshrc|cshrc"
    r"|tcshrc|login|inputrc|xinitrc|xsession|xprofile|pam_environment)"
    r"|\.config/(?:fish/|autostart/|systemd/|environment\.d/)|\.local/share/systemd/"
    r"|\.ssh/(?:authorized_keys2?|config|rc|environment)|\.gitconfig|\.config/git/config"
    r"|Library/Launch(?:Agents|Daemons)/|\.vimrc|\.emacs(?:\.d/|$)|\.pythonrc|"
    r"\.(?:npmrc|pypirc|netrc)"
)
_STARTUP_SOMEWHERE = re.compile(
    rf"{UNKNOWN}/(?:\.(?:bash(?:rc|_profile|_login|_aliases)|profile|zsh(?:rc|env)|zprofile)$"
    r"|\.ssh/authorized_keys2?$)"
)
_GIT_CODE = re.compile(r"(?:^|/)\.git/(?:hooks/(?!.*\.sample$)|config$)")
_SECRET = re.compile(
    r"\.ssh/(?!known_hosts|config|authorized_keys|[^/]*\.pub$)[^/]+$|\.ssh/?$|"
    r"\.aws/credentials|\.aws/sso/cache"
    r"|\.gnupg(?:/|$)|\.netrc$|_netrc$|\.pgpass$|\.my\.cnf$|\.git-credentials$|"
    r"\.kube/config$|\.docker/config\.json$"
    r"|\.pypirc$|\.npmrc$|\.config/gh/hosts\.yml$|\.config/gcloud/(?:credentials|"
    r"application_default|access_tokens|legacy)"
    r"|\.azure/(?:accessTokens|msal_token)|\.vault-token$|\.password-store(?:/|$)|"
    r"\.terraform\.d/credentials"
    r"|\.cargo/credentials|\.bash_history$|\.zsh_history$|Library/Keychains(?:/|$)"
    r"|\.config/(?:google-chrome|chromium|BraveSoftware)/.*(?:Login Data|Cookies)|"
    r"\.mozilla/firefox/.*(?:logins\.json|key4\.db)"
)
_SYSTEM_SECRET = re.compile(
    r"/etc/(?:g?shadow-?|sudoers|ssh/ssh_host_\w+_key|ssl/private)(?:$|/)|"
    r"/proc/[^/]+/(?:environ|mem)$"
)


_ANY_HOME = re.compile(r"/(?:home|Users)/[^/]+/")


def _in_home(path: str, home: str) -> str | None:
    for base in (home, "/root"):
        if path.startswith(base + "/"):
            return path[len(base) + 1 :]
    match = _ANY_HOME.match(path)
    return path[match.end() :] if match else None


def writing(path: str, home: str) -> Iterator[Hit]:
    """Findings for replacing or extending the file at the absolute `path`."""
    if _HARMLESS_DEVICE.match(path):
        return
    if floor.is_block_device(path):
        yield deny("raw_device", f"writes to the raw device {path}")
    elif floor.is_account_file(path):
        yield deny("account_file", f"writes the account database {path}")
    elif path in _POWER:
        yield deny("host_power", f"turns the host off or restarts it through {path}")
    elif path.startswith(("/dev/tcp/", "/dev/udp/")):
        yield ask("raw_socket", f"opens a network connection through {path}")
    elif _SYSTEM.match(path):
        yield ask("system_write", f"writes the system path {path}")
    elif _GIT_CODE.search(path):
        yield ask("git_code", f"writes {path}, which git runs")
    elif (rest := _in_home(path, home)) and _STARTUP.match(rest):
        yield ask("startup_file", f"writes {path}, which runs or is trusted at the next start")
    elif _STARTUP_SOMEWHERE.search(path):
        yield ask("startup_file", f"writes {path}, which runs at the next start if that is a home")


def reading(path: str, home: str) -> Iterator[Hit]:
    """Findings for showing or sending the content of the absolute `path`."""
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        yield ask("raw_socket", f"opens a network connection through {path}")
        return
    rest = _in_home(path, home)
    if (rest and _SECRET.match(rest)) or _SYSTEM_SECRET.match(path):
        yield ask("secret_read", f"reads the secret {path}", RiskLevel.HIGH)
    elif floor.is_block_device(path):
        yield ask("device_read", f"reads the raw device {path}", RiskLevel.MEDIUM)
    elif path.startswith(UNKNOWN) and re.search(r"/\.ssh/id_\w+$", path):
        yield ask("secret_read", "reads a private key")
