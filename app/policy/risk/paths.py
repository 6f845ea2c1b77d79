"""Paths that must not be written or read without approval."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.core.protected_paths import GIT, below_home, protected
from app.policy.risk import floor
from app.policy.risk.call import UNKNOWN, RuleMatch, ask, deny
from app.policy.risk.model import RiskLevel

_HARMLESS_DEVICE = re.compile(
    r"/dev/(?:null|zero|full|u?random|std(?:in|out|err)|tty\w*|fd/|shm/|pts/|ptmx)"
)
_POWER = frozenset(["/proc/sysrq-trigger", "/sys/power/state", "/sys/power/disk"])
_SYSTEM = re.compile(
    r"/(?:etc|boot|usr(?!/local/src)|bin|sbin|lib(?:32|64)?|sys|proc(?!/self/fd)|"
    r"var/spool/cron|dev)(?:/|$)"
)
_STARTUP_SOMEWHERE = re.compile(
    rf"{UNKNOWN}/(?:\.(?:bash(?:rc|_profile|_login|_aliases)|profile|zsh(?:rc|env)|zprofile)$"
    r"|\.ssh/authorized_keys2?$)"
)
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
    r"|\.(?:aws|azure|oci|kube)/?\*?$"
    # Most programs store credentials under one of these names.
    r"|\.[\w.-]+/(?:[\w.-]+/)*(?:[\w.-]*credentials?|[\w-]*_creds|auth|[\w-]*tokens?|secrets?|passwords?"
    r"|keys)"
    r"(?:\.(?:json|ya?ml|toml|ini|txt|db|xml))?$"
    r"|\.config/(?:doctl|hcloud|linode-cli|rclone|op|sops|netlify|configstore|flyctl|hub|ngrok)/"
    r"[\w./-]*(?:config|cli|rclone|keys|hub|ngrok)[\w-]*(?:\.\w+)?$"
    r"|\.(?:circleci/cli|fly/config|travis/config|ngrok2/ngrok|influxdbv2/configs|oci/config)"
    r"(?:\.ya?ml)?$|\.(?:s3cfg|boto|mylogin\.cnf|htpasswd|databrickscfg|rclone\.conf|terraformrc)$"
    r"|\.(?:\w+_history|authinfo(?:\.gpg)?|kaggle/kaggle\.json|m2/settings-security\.xml)$"
    r"|\.config/(?:github-copilot/\w+\.json|stripe/config\.toml)$|\.snowflake/c\w+\.toml$"
    r"|\.(?:config/)?nuget/NuGet/NuGet\.Config$|\.local/share/keyrings(?:/|$)"
)
_SYSTEM_SECRET = re.compile(
    r"/etc/(?:g?shadow-?|sudoers|ssh/ssh_host_\w+_key|ssl/private|NetworkManager/system-connections|"
    r"wireguard|ppp/(?:chap|pap)-secrets|ipsec\.secrets|krb5\.keytab|kubernetes/(?:admin\.conf|pki)|"
    r"letsencrypt/(?:live|archive)/[^/]+/privkey\w*\.pem)(?:$|/)|"
    r"/var/lib/(?:rancher/k3s/server/(?:token|node-token)|kubelet/pki)(?:$|/)|"
    r"/proc/[^/]+/(?:environ|mem)$|/(?:var/)?run/secrets(?:$|/)"
)


def protected_write(path: str, home: str) -> RuleMatch | None:
    """Return the question about a file that another program runs later; None for other files."""
    row = protected(path, home)
    if row is None or row.treatment == "report":
        return None
    why = f"writes {path}, which {row.run_by} runs or obeys {row.when}"
    if row.run_by in GIT:
        return ask("git_code", why)
    if row.in_home:
        return ask("startup_file", why)
    return ask("runs_later", why)


def reported_write(path: str) -> str | None:
    """Return the record of a write that needs no approval; None for an ordinary file."""
    row = protected(path)
    if row is None or row.treatment == "ask":
        return None
    return f"writes {path}, which {row.run_by} runs or obeys {row.when}"


_SCRATCH = re.compile(r"/(?:(?:var/)?tmp|dev/shm)/")
_NOT_ONE = re.compile(f"[*?\\[{UNKNOWN}]")


def is_below(path: str, cwd: str | None) -> bool:
    """Return whether the absolute `path` is in the working directory or a scratch folder."""
    if _NOT_ONE.search(path):
        return False
    own = cwd is not None and path.startswith(f"{cwd.rstrip('/')}/")
    return own or _SCRATCH.match(path) is not None


def writing(path: str, home: str, *, folder: bool = True) -> Iterator[RuleMatch]:
    """Yield findings for replacing or extending the file at the absolute `path`.

    Args:
        folder: it may be a folder replaced with its contents.
    """
    if _HARMLESS_DEVICE.match(path):
        return
    if floor.is_block_device(path):
        yield deny("raw_device", f"writes to the raw device {path}")
    elif floor.is_account_file(path):
        yield deny("account_file", f"writes the account database {path}")
    elif path in _POWER:
        yield deny("host_power", f"shuts down or restarts the host through {path}")
    elif path.startswith(("/dev/tcp/", "/dev/udp/")):
        yield ask("raw_socket", f"opens a network connection through {path}")
    elif _SYSTEM.match(path):
        yield ask("system_write", f"writes the system path {path}")
    elif hit := protected_write(path, home) or (folder and protected_write(f"{path}/*", home)):
        yield hit
    elif _STARTUP_SOMEWHERE.search(path):
        yield ask(
            "startup_file", f"writes {path}, which runs at the next start if it is in a home folder"
        )


def reading(path: str, home: str) -> Iterator[RuleMatch]:
    """Yield findings for showing or sending the content of the absolute `path`."""
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        yield ask("raw_socket", f"opens a network connection through {path}")
        return
    rest = below_home(path, home)
    if (rest and _SECRET.match(rest)) or _SYSTEM_SECRET.match(path):
        yield ask("secret_read", f"reads the secret {path}", RiskLevel.HIGH)
    elif floor.is_block_device(path):
        yield ask("device_read", f"reads the raw device {path}", RiskLevel.MEDIUM)
    elif path.startswith(UNKNOWN) and re.search(r"/\.ssh/id_\w+$", path):
        yield ask("secret_read", "reads a private key")
