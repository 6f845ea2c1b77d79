"""Definition of secrets: names of variables, files and folders with a secret."""

from __future__ import annotations

import re
from functools import lru_cache

from app.core.protected_paths import below_home
from app.policy.risk.call import SECRET
from app.policy.risk.paths import reading

_NAME = re.compile(
    r"(?:^|_)(?:(?:ACCESS|AUTH|REFRESH|BEARER|API|DEPLOY|BOT|ID|APP|GH|GITHUB|NPM)?_?TOKENS?"
    r"|PASS(?:WORD|WD|PHRASE)?S?|(?:MYSQL|DB)_?PWD|SECRETS?|CREDENTIALS?|CREDS?"
    r"|(?:API|APP|ACCESS|SECRET|PRIVATE|ENCRYPTION|SIGNING|MASTER|DEPLOY|SSH|STRIPE|SERVICE)_?KEYS?"
    r"|COOKIES?|DSN|CONNECTION_STRING|(?:DATABASE|DB|REDIS|MONGO(?:DB)?|POSTGRES)_UR[IL])"
    r"(?:_(?:ID|BASE|B64|BASE64|VALUE|PROD|PRODUCTION|STAGING|\d))*$",
    re.IGNORECASE,
)
_PREFIXED = re.compile(
    r"(?:TOKEN|PASSWORD|SECRET|SECRET_?KEY|ACCESS_?KEY|API_?KEY)$", re.IGNORECASE
)

_PUBLIC = re.compile(
    r"\.pub$|(?:^|/)(?:known_hosts|authorized_keys)|\.(?:example|sample|template|dist|tpl)\b"
    r"|(?:^|/)[\w.-]*(?:cert|chain|bundle|cacert|root-?ca|(?:^|/)ca|public)[\w.-]*\.(?:pem|key|crt)$",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?:^|/)(?:\.env(?:\.[\w-]+)*|[\w.-]+\.env|\.envrc"
    r"|[\w.*-]+\.(?:pem|p12|pfx|jks|keystore|kdbx?|ppk|key|ovpn|keychain(?:-db)?)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)\w*"
    r"|\.htpasswd|\.?_?netrc|\.pgpass|\.my\.cnf|\.git-credentials|\.pypirc|\.npmrc"
    r"|\.vault-token|\.s3cfg|\.boto|\.dockercfg|\.dockerconfigjson"
    r"|credentials(?:\.(?:json|ya?ml|db|xml|csv|ini|toml))?|(?:[\w.-]+[-_.])?secrets?(?:\.[\w-]+)*\."
    r"(?:json|ya?ml|toml|env|ini|txt)|passwords?\.(?:txt|csv|json|ya?ml)"
    r"|[\w-]*service[-_]?account[\w-]*\.json|client_secret[\w.-]*\.json"
    r"|wp-config\.php|[\w.-]*\.tfstate(?:\.backup)?|[\w.-]*\.tfvars"
    r"|\.(?:bash|zsh|sh|psql|mysql|sqlite|python|node_repl|irb|rediscli)_history|fish_history"
    r"|cookies\.sqlite|logins\.json|key[34]\.db|Login Data|Cookies|shadow|gshadow"
    r"|\.?(?:ssh|aws|gnupg|kube|password-store)[\w.-]*\.(?:tar|tgz|zip|7z|gz|bz2|xz|zst)(?:\.\w+)?"
    r"|NTDS\.dit|SAM|kubeconfig|admin\.conf)$"
)
_FOLDER = re.compile(
    r"(?:^|/)(?:\.(?:ssh|aws|gnupg|kube|azure|password-store|mozilla|thunderbird|oci|chef)"
    r"|\.config/(?:gcloud|gh|op|google-chrome|chromium|BraveSoftware|rclone|hub|doctl|sops)"
    r"|\.local/share/keyrings|Library/Keychains|etc/ssl/private|etc/letsencrypt"
    r"|run/secrets|private-keys-v1\.d)(?:/\*?)?$"
)
_BELOW = re.compile(r"(?:^|/)(?:\.(?:gnupg|password-store)|run/secrets|Library/Keychains)/.")
_WHOLE = re.compile(
    r"/|/(?:home|root|etc|Users|var|opt|srv|mnt)(?:/\*?)?|/(?:home|Users)/[^/]+(?:/\*?)?"
)


ALL_OF = "all of "
"""Prefix of the description for a whole tree."""


@lru_cache(maxsize=2048)
def is_secret_name(name: str) -> bool:
    """Return whether a variable with this name contains a secret: `GITHUB_TOKEN`, `DB_PASS`."""
    return bool(_NAME.search(name) or _PREFIXED.search(name))


@lru_cache(maxsize=4096)
def held(path: str, home: str) -> str:
    """Return the secret in the file or folder at the absolute `path`, in words; "" for none.

    Broader than the files that ask when read: a project's own settings may be read here, but not
    sent.
    """
    if SECRET in path:
        return "a file that contains secrets"
    if _PUBLIC.search(path):
        return ""
    if _FILE.search(path) or _FOLDER.search(path) or _BELOW.search(path):
        return path
    rest = below_home(path, home)
    if rest is not None and rest in {"", "*"}:
        return f"{ALL_OF}{path}"
    if _WHOLE.fullmatch(path):
        return f"{ALL_OF}{path}"
    return path if any(hit.code == "secret_read" for hit in reading(path, home)) else ""
