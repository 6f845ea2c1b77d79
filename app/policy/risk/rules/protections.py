"""Settings and calls that disable a protection: certificates, audit, confinement, history."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Answer, RuleTable, ask, names
from app.policy.risk.rules.foreign_packages import foreign
from app.policy.risk.shapes import Rows, Shape, shaped

_WHY = "switches a protection off"
_NO = r"(?:false|0|no|off|none|disabled?)"
_UNCHECKED = "installs software whose origin is not checked"

_SETTINGS: Rows = {
    "npm pnpm yarn bun": (
        Shape(
            r"(?:config |c )?set (?:strict-ssl|strictSsl|enableStrictSsl|unsafeHttpWhitelist)\b",
            having=rf"(?i)(?:ssl|=)(?:=|\n){_NO}$|^{_NO}$|Whitelist",
        ),
        Shape(r"(?:config |c )?set strict-ssl=", having=rf"(?i)={_NO}$"),
        Shape(having=rf"(?i)^--strict-ssl(?:=|\n){_NO}$|^--no-strict-ssl$"),
    ),
    "pip pip3 uv": (
        Shape(
            having=r"^--(?:trusted-host|allow-insecure-host)(?:=|\n)(?!localhost|127\.|\[::1\])\S",
            why=_UNCHECKED,
        ),
        Shape(r"config set \S*trusted-host\b"),
    ),
    "poetry": (Shape(r"config certificates\.\S+\.cert", having=rf"(?i)^{_NO}$"),),
    "conda mamba micromamba": (
        Shape(r"config\b", having=rf"(?i)^--set\nssl_verify\n{_NO}$"),
        Shape(having=r"^(?:-k|--insecure)$", why=_UNCHECKED),
    ),
    "gem bundle bundler": (
        Shape(r"config (?:set )?(?:--\S+ )?ssl_verify_mode\b"),
        Shape(having=r"^(?:-P|--trust-policy)(?:=|\n)NoSecurity"),
    ),
    "composer": (
        Shape(
            r"(?:global )?config (?:--\S+ )*(?:disable-tls|secure-http)\b",
            having=r"^(?:disable-tls\ntrue|secure-http\nfalse)$",
        ),
        Shape(having=r"^disable-tls\ntrue$|^secure-http\nfalse$"),
    ),
    "kubectl oc": (
        Shape(r"config set-cluster\b", having=r"^--insecure-skip-tls-verify(?:=true)?$"),
        Shape(
            r"label (?:ns|namespaces?)\b", having=r"pod-security\.kubernetes\.io/\S+=privileged$"
        ),
    ),
    "apt apt-get aptitude": (
        Shape(
            having=r"^--(?:allow-unauthenticated|force-yes|allow-insecure-repositories|"
            r"no-check-gpg)$|"
            r"AllowUnauthenticated=(?:true|1)|AllowInsecure\w*=(?:true|1)|Verify-Peer=(?:false|0)",
            why=_UNCHECKED,
        ),
    ),
    "dnf dnf5 yum microdnf tdnf": (
        Shape(
            having=r"^--(?:nogpgcheck|no-gpgchecks)$|^--setopt=\S*(?:gpgcheck|sslverify)=(?:0|"
            r"false)",
            why=_UNCHECKED,
        ),
    ),
    "zypper": (
        Shape(
            having=r"^--no-gpg-checks?$|^--allow-unsigned-rpm$|^--gpg-auto-import-keys$",
            why=_UNCHECKED,
        ),
    ),
    "rpm": (Shape(having=r"^--(?:nosignature|nodigest|nogpg)$", why=_UNCHECKED),),
    "apk": (Shape(having=r"^--allow-untrusted$", why=_UNCHECKED),),
    "snap": (Shape(r"(?:install|refresh)\b", having=r"^--(?:dangerous|devmode)$", why=_UNCHECKED),),
    "flatpak": (Shape(having=r"^--no-gpg-verify$", why=_UNCHECKED),),
    "choco": (Shape(having=r"^--(?:ignore-checksums?|allow-empty-checksums\S*)$", why=_UNCHECKED),),
    "brew": (Shape(having=r"^--no-quarantine$", why=_UNCHECKED),),
    "go": (
        Shape(
            r"env\b",
            having=r"^(?:GOSUMDB=off|GONOSUMCHECK=|GONOSUMDB=\*|GOINSECURE=\S|GOFLAGS=.*-insecure)",
        ),
        Shape(having=r"^-insecure$", why=_UNCHECKED),
    ),
    "mysqld mariadbd mysqld_safe mariadbd-safe": (Shape(having=r"^--skip-grant-tables$"),),
    "elasticsearch opensearch": (Shape(having=r"security\.enabled=false$"),),
    "wp": (Shape(r"config set (?:DISALLOW_FILE_EDIT|FORCE_SSL_ADMIN)\b", having=r"^false$"),),
    "aws awscli": (
        Shape(r"s3api put-bucket-versioning\b", having=r"Suspended"),
        Shape(r"guardduty update-detector\b", having=r"^--no-enable$"),
        Shape(
            r"ec2 modify-instance-metadata-options\b", having=r"^optional$|^--http-tokens=optional$"
        ),
        Shape(r"cloudtrail (?:stop-logging|update-trail)\b", having=r"^stop-logging$|^--no-"),
    ),
}
_HOST: Rows = {
    "auditctl": (Shape(having=r"^-\w*[dDW]$|^-e\n?0$|^-e0$|^-\w*[aA]\n\S*never"),),
    "setsebool": (Shape(r"\S+ |\S+=", unless=r"^--help$"),),
    "semanage": (
        Shape(
            having=r"^(?:-[admDi]|--(?:add|delete|modify|deleteall|import))$",
            unless=r"^(?:-l|--list)$",
        ),
    ),
    "semodule": (
        Shape(
            having=r"^(?:-\w*[rdiuBX]\w*|--(?:remove|disable|install|disable_dontaudit|build))",
            unless=r"^(?:-l|--list\S*)$",
        ),
    ),
    "aa-disable aa-complain aa-teardown aa-remove-unknown": (
        Shape(unless=r"^(?:-h|--help|--version|-n)$"),
    ),
    "apparmor_parser": (Shape(having=r"^-\w*[RC]|^--(?:remove|Complain)"),),
    "spctl": (Shape(having=r"^--(?:master-disable|global-disable|add|remove|disable)$"),),
    "csrutil": (
        Shape(
            r"(?:disable|enable|clear|authenticated-root (?:disable|enable)|netboot (?:add|"
            r"remove))\b"
        ),
    ),
    "xattr": (Shape(having=r"com\.apple\.(?:quarantine|provenance)|^-\w*c", unless=r"^-[pl]$"),),
    "fdesetup": (Shape(r"(?:disable|removerecovery|remove|authrestart)\b"),),
    "tccutil": (Shape(r"(?:reset|insert|enable)\b"),),
    "softwareupdate": (Shape(having=r"^--(?:ignore|reset-ignored)$|^--schedule\noff$"),),
    "socketfilterfw": (Shape(having=r"^--set\w+$|^--(?:remove|unblockapp|add)$"),),
    "defaults": (
        Shape(
            r"write\b",
            having=r"(?i)LSQuarantine|com\.apple\.security|AutomaticCheckEnabled|"
            r"CriticalUpdateInstall|com\.apple\.alf",
        ),
    ),
    "fwupdmgr fwupdtool": (
        Shape(
            r"(?:update|upgrade|install\S*|downgrade|reinstall|activate|switch-branch|unlock|"
            r"modify-config|disable-\S+|clear-\S+|set-bios-setting\S*|bios-settings set)\b",
            why="changes the firmware or its settings",
        ),
    ),
    "flashrom": (Shape(having=r"^(?:-[wE]|--write|--erase)", why="changes the firmware"),),
    "mokutil": (
        Shape(
            having=r"^--(?:disable-validation|import|delete|reset|enable-validation|"
            r"clear-password|set-\S+|ignore-db|trust-mok)$"
        ),
    ),
    "bootctl": (
        Shape(
            r"(?:install|update|remove|set-default|set-oneshot|set-timeout|unlink|cleanup)\b",
            why="changes how the host starts",
        ),
    ),
    "sbctl": (Shape(r"(?:enroll-keys|reset|rotate-keys|create-keys|remove-file|sign)\b"),),
    "tpm2_clear tpm2_changeauth efi-updatevar": (Shape(unless=r"^(?:-h|--help|-v)$"),),
    "faillock": (Shape(having=r"^--reset$"),),
    "pam-auth-update": (Shape(unless=r"^--help$"),),
    "authselect": (
        Shape(r"(?:select|enable-feature|disable-feature|apply-changes|create-profile)\b"),
    ),
    "authconfig": (Shape(having=r"^--(?:update|updateall|disable\S*|enable\S*)$"),),
    "update-crypto-policies": (Shape(having=r"^--set$"),),
    "trust": (Shape(r"anchor\b", unless=r"^--help$"),),
    "mkcert": (Shape(having=r"^-install$", why="makes this host trust a new authority"),),
    "keytool": (
        Shape(having=r"^-import\w*$", unless=r"^-keystore$", why="makes Java trust a certificate"),
        Shape(having=r"^-cacerts$", also=r"^-import"),
    ),
    "fail2ban-client": (Shape(r"(?:stop|unban)\b|set \S+ (?:unbanip|addignoreip)\b"),),
    "cscli": (Shape(r"(?:decisions|bouncers|machines|alerts) delete\b|hub remove\b"),),
    "set-processmitigation": (Shape(),),
    "set-psreadlineoption": (Shape(having=r"(?i)SaveNothing"),),
    "import-certificate": (Shape(having=r"(?i)\\Root\b"),),
    "set": (Shape(having=r"^\+o\nhistory$", why="hides typed commands from the history"),),
    "unset": (Shape(having=r"^HISTFILE$", why="hides typed commands from the history"),),
    "ssh-keygen": (Shape(having=r"^-p$", also=r"^-N$\n?$"),),
}


_OFF = re.compile(rf"(?i){_NO}")
_ON = re.compile(r"(?i)(?:true|1|yes|on|always)")
_OFF_WHERE_OFF = frozenset(
    names(
        "NODE_TLS_REJECT_UNAUTHORIZED PYTHONHTTPSVERIFY NPM_CONFIG_STRICT_SSL "
        "npm_config_strict_ssl "
        "YARN_ENABLE_STRICT_SSL YARN_STRICT_SSL CONDA_SSL_VERIFY CONSUL_HTTP_SSL_VERIFY GOSUMDB "
        "CARGO_HTTP_CHECK_REVOKE"
    )
)
"""Variables that disable a check with a negative value."""
_OFF_WHERE_ON = frozenset(
    names(
        "GIT_SSL_NO_VERIFY VAULT_SKIP_VERIFY NOMAD_SKIP_VERIFY BAO_SKIP_VERIFY "
        "CLOUDSDK_AUTH_DISABLE_SSL_VALIDATION"
    )
)
"""Variables that disable a check with a positive value."""
_OFF_WHERE_SET = frozenset(
    names("PIP_TRUSTED_HOST UV_INSECURE_HOST GOINSECURE GONOSUMDB GONOSUMCHECK")
)
_INDEXES = frozenset(
    names(
        "PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_FIND_LINKS UV_INDEX_URL UV_EXTRA_INDEX_URL UV_INDEX "
        "UV_DEFAULT_INDEX UV_FIND_LINKS NPM_CONFIG_REGISTRY npm_config_registry YARN_REGISTRY "
        "YARN_NPM_REGISTRY_SERVER GOPROXY GEM_SOURCE BUNDLE_MIRROR HOMEBREW_BOTTLE_DOMAIN "
        "HOMEBREW_BREW_GIT_REMOTE HOMEBREW_CORE_GIT_REMOTE RUSTUP_DIST_SERVER CONDA_CHANNELS"
    )
)
"""Variables with the source of software."""
_HISTORY = {
    "HISTFILE": re.compile(r"(?:/dev/null)?"),
    "HISTSIZE": re.compile(r"0"),
    "HISTFILESIZE": re.compile(r"0"),
    "SAVEHIST": re.compile(r"0"),
    "MYSQL_HISTFILE": re.compile(r"/dev/null"),
}
TELLING = _OFF_WHERE_OFF | _OFF_WHERE_ON | _OFF_WHERE_SET | _INDEXES | _HISTORY.keys() | {"GOFLAGS"}


def switched_off(name: str, value: str) -> Iterator[Answer]:
    """Yield the protections that setting the variable `name`, one of `TELLING`, disables."""
    if name in _OFF_WHERE_OFF:
        off = _OFF.fullmatch(value) is not None
    elif name in _OFF_WHERE_ON:
        off = _ON.fullmatch(value) is not None
    else:
        off = (name in _OFF_WHERE_SET and bool(value)) or "-insecure" in value.split()
    if off:
        yield ask("protection_off", f"{name} {_WHY}")
    elif name in _INDEXES:
        for place in re.split(r"[\s,|]+", value):
            if foreign(place):
                yield ask("foreign_package", f"{name} installs software from {place}")
    elif name in _HISTORY and _HISTORY[name].fullmatch(value):
        yield ask("protection_off", f"{name} hides typed commands from the history")


_GIT_CHECKS = re.compile(
    r"http(?:\..*)?\.(?:sslverify|schannelcheckrevoke)|http\.proxysslverify|transfer\.fsckobjects|"
    r"fetch\.fsckobjects|receive\.(?:fsckobjects|denynonfastforwards|denydeletes)|"
    r"core\.protect(?:ntfs|hfs)|imap\.sslverify|sendemail\.smtpsslcertpath"
)


def git_setting(key: str, value: str) -> Iterator[Answer]:
    """Handle a git setting that disables a check."""
    lowered = key.lower()
    if _GIT_CHECKS.fullmatch(lowered) and (not value or _OFF.fullmatch(value)):
        yield ask("protection_off", f"git's {key} {_WHY}")
    elif lowered == "safe.directory" and value == "*":
        yield ask("protection_off", "lets git read the settings of other users' repositories")


RULES: RuleTable = shaped("protection_off", _WHY, _SETTINGS, _HOST)
