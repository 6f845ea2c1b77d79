"""Programs that print the content of a secret store.

`prints_secret` tells the same to code that tracks a command's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from app.policy.risk.call import Answer, CommandCall, RuleTable, ask, names, options
from app.policy.risk.shapes import Rows, Shape, by_name, compiled, first_fit

_WHY = "shows a secret"
_SETTING = r"(?:pass(?:wd|word|phrase)?|pwd|secret|token|credentials?|api_?-?key|private_?-?key)"
"""Suffixes of setting names with a secret."""
_ENVIRONMENT_LINE = r"(?:/\S*/)?(?:env|printenv|export|declare -[xp]|set)\s*(?:$|[|>;&])"
_PRINTS_ENVIRONMENT = re.compile(_ENVIRONMENT_LINE)
"""One-word commands that print the settings of a running program."""
_RUNS = frozenset(names("exec run rsh ssh console enter shell"))
_ENGINES = frozenset(names("docker podman nerdctl docker-compose kubectl oc k"))
_ENGINE_RUNS = frozenset(["exec", "rsh"])

_PASSWORDS: Rows = {
    "docker podman nerdctl": (Shape(r"(?:container )?inspect\b", having=r"Config\.Env|\.Env\b"),),
    "git": (Shape(r"(?:secret (?:cat|reveal)|crypt export-key)\b"),),
    "pass gopass": (
        Shape(
            r"(?!(?:init|ls|list|find|search|insert|add|edit|new|create|generate|rm|remove|"
            r"delete|mv|"
            r"move|rename|cp|copy|link|git|help|version|sync|setup|config|clone|completion|fsck|"
            r"audit|"
            r"age|recipients|templates?|mounts?|history|reorg|otp|cat|show|grep|env|sum|merge|"
            r"convert|unclip|import|update|open|ln|"
            r"extension|tomb|close|timer|process|capabilities)\b)\S"
        ),
        Shape(
            r"(?:otp(?! (?:insert|append|validate))|cat|show|grep|env|sum|merge|convert)\b",
            unless=r"^(?:--help|-h)$",
        ),
    ),
    "op": (
        Shape(r"(?:read|inject|signin)\b"),
        Shape(r"(?:item|document) get\b"),
        Shape(r"get (?:item|document|totp)\b"),
        Shape(r"(?:connect token|service-account) create\b"),
        Shape(r"run\b", having=r"^--no-masking$"),
    ),
    "bw": (
        Shape(r"get (?!template|fingerprint|folder|collection|organization|org-|username|uri)\S"),
        Shape(r"list items\b"),
        Shape(r"(?:export|unlock)\b"),
        Shape(r"login\b", having=r"^--raw$"),
    ),
    "bws": (Shape(r"(?:secret (?:get|list)|get secret|list secrets)\b"),),
    "rbw": (Shape(r"(?:get|code|history|totp)\b"),),
    "lpass": (Shape(r"(?:show|export)\b"),),
    "dcli": (Shape(r"(?:p|password|n|note|o|otp|r|read|inject|s|secret)\b"),),
    "keepassxc-cli": (Shape(r"(?:show|clip|export|attachment-export|search-show)\b"),),
    "kpcli": (Shape(having=r"\bshow\b.*-f"),),
    "keeper ksm": (
        Shape(r"(?:get|secret get|secret notation|find-password|clipboard-copy|cc|export)\b"),
    ),
    "keyring": (Shape(r"get\b"),),
    "secret-tool": (Shape(r"(?:lookup|search)\b"),),
    "kwallet-query kwallet-query5 kwallet-query6": (Shape(having=r"^(?:-r|--read-password)"),),
    "kwalletcli": (Shape(having=r"^-e"),),
    "security": (
        Shape(r"find-(?:generic|internet)-password\b", having=r"^-\w*[wg]"),
        Shape(r"(?:dump-keychain|export)\b"),
    ),
    "ykman": (Shape(r"oath accounts code\b"),),
    "get-secret": (Shape(having=r"(?i)^-AsPlainText"),),
    "get-azkeyvaultsecret": (Shape(having=r"(?i)^-AsPlainText"),),
    "convertfrom-securestring": (Shape(having=r"(?i)^-AsPlainText"),),
    "get-azaccesstoken get-storedcredential": (Shape(),),
    "mimikatz lazagne pypykatz secretsdump secretsdump.py impacket-secretsdump unshadow": (
        Shape(),
    ),
}
_STORES: Rows = {
    "vault bao": (
        Shape(r"read (?!sys/(?!raw)|auth/\S+/(?:role|config))\S"),
        Shape(r"kv get\b", valued="mount field version namespace address"),
        Shape(r"(?:unwrap|print token|operator (?:init|generate-root|raft snapshot save))\b"),
        Shape(
            r"write\b.*(?:/issue/|/creds/|/sign/|/secret-id\b|/login\b|/decrypt/|/datakey/plain)"
        ),
    ),
    "consul": (Shape(r"acl (?:token (?:read|list|create)|bootstrap)\b"),),
    "nomad": (Shape(r"(?:var get|acl (?:token self|token create|bootstrap))\b"),),
    "chamber": (Shape(r"(?:read|export|env)\b"), Shape(r"list\b", having=r"^(?:-e|--expand)$")),
    "doppler": (
        Shape(r"secrets (?:get|download|substitute)\b", unless=r"^--only-names$"),
        Shape(r"secrets$", unless=r"^--only-names$"),
        Shape(r"(?:configs tokens create|configure get token)\b"),
    ),
    "infisical": (
        Shape(r"(?:export|secrets(?: get)?)\b(?! (?:set|delete|folders|generate))"),
        Shape(r"(?:user get token|token|service-token create|dynamic-secrets lease create)\b"),
    ),
    "credstash": (Shape(r"(?:get|getall)\b"),),
    "dotenvx": (Shape(r"(?:get|decrypt|keypair)\b"),),
    "envkey-source": (Shape(),),
    "step": (Shape(r"ca token\b|oauth\b", unless=r"^--(?:output-file|file)$"),),
    "tctl": (Shape(r"(?:tokens add|nodes add|auth sign)\b"),),
    "databricks": (Shape(r"auth token\b|secrets get-secret\b|tokens create\b"),),
    "teller": (Shape(r"(?:env|sh|show|yaml|export|template)\b"),),
    "berglas": (Shape(r"access\b"),),
    "akeyless": (
        Shape(r"(?:get-secret-value|get-dynamic-secret-value|get-rotated-secret-value)\b"),
    ),
    "conjur": (Shape(r"variable (?:get|value)\b"), Shape(r"authenticate\b")),
    "envchain": (Shape(having=r"^--show-value$"),),
    "aws-vault": (Shape(r"export\b"), Shape(r"exec\b", having=r"^(?:-j|--json)$")),
    "aws2-wrap saml2aws": (Shape(having=r"^--(?:export|credential-process)|^script$"),),
    "sops": (
        Shape(having=r"^(?:-d|--decrypt)$"),
        Shape(r"decrypt\b"),
    ),
    "age rage": (Shape(having=r"^(?:-d|--decrypt)$"),),
    "gpg gpg2": (
        Shape(having=r"^(?:-[a-z]*d[a-z]*|--decrypt)$"),
        Shape(having=r"^--export-secret"),
        Shape(having=r"^--show-session-key"),
    ),
    "ansible-vault": (Shape(r"(?:view|decrypt)\b"),),
    "ejson eyaml": (Shape(r"(?:decrypt|edit)\b"),),
    "git-crypt transcrypt": (Shape(r"export-key\b"), Shape(having=r"^--(?:display|export-gpg)")),
    "blackbox_cat": (Shape(),),
    "systemd-creds": (Shape(r"(?:cat|decrypt)\b"),),
    "kubeseal": (Shape(having=r"^--recovery-unseal$"),),
    "openssl": (
        Shape(
            r"(?:rsa|ec|pkey|dsa)\b",
            having=r"^-in$",
            unless=r"^-(?:pubin|pubout|noout|out|pubcheck)$",
        ),
        Shape(r"pkcs12\b", having=r"^-(?:nodes|noenc)$", unless=r"^-(?:nokeys|out|export)$"),
    ),
    "nmcli": (
        Shape(having=r"^(?:-\w*s|--show-secrets)$"),
        Shape(r"d\w* w\w* show-password\b"),
    ),
    "netsh": (Shape(having=r"(?i)\bkey=clear\b"),),
    "wg": (Shape(r"showconf\b"), Shape(r"show \S+ (?:private-key|preshared-keys|dump)\b")),
    "wg-quick": (Shape(r"strip\b"),),
    "getent": (Shape(r"g?shadow\b"),),
    "samba-tool": (Shape(r"user (?:getpassword|show\S*secret)\b"),),
    "pdbedit": (Shape(having=r"^-\w*w|^--smbpasswd-style$"),),
    "busctl dbus-send gdbus": (Shape(having=r"\bGetSecrets?\b"),),
    "redis-cli valkey-cli": (Shape(r"(?i)config get \S*(?:requirepass|masterauth)"),),
    "etcdctl": (Shape(r"get \S*secrets?\b"),),
    "terraform tofu": (Shape(r"output\b", having=rf"(?i)^(?!-).*{_SETTING}$"),),
    "pulumi": (
        Shape(r"config get\b", having=rf"(?i)^(?!-).*{_SETTING}$"),
        Shape(having=r"^--show-secrets(?:=true)?$"),
    ),
}
_CLOUDS: Rows = {
    "aws awscli": (
        Shape(r"secretsmanager (?:batch-)?get-secret-value\b"),
        Shape(r"ssm get-parameter\S*", having=r"^--with-decryption$"),
        Shape(r"sts (?:get-session-token|assume-role\S*|get-federation-token)\b"),
        Shape(r"sso get-role-credentials\b"),
        Shape(r"(?:ecr|ecr-public) (?:get-login-password|get-login|get-authorization-token)\b"),
        Shape(r"codeartifact get-authorization-token\b"),
        Shape(rf"configure get (?:\S*\.)?(?:aws_)?(?:\w*{_SETTING}|secret_access_key)\b"),
        Shape(r"configure export-credentials\b"),
        Shape(r"rds generate-db-auth-token\b"),
        Shape(r"redshift\S* get-\S*credentials\b"),
        Shape(r"eks get-token\b"),
        Shape(r"kms (?:decrypt|generate-data-key)$|kms (?:decrypt|generate-data-key) "),
        Shape(r"ec2 (?:get-password-data|create-key-pair)\b"),
        Shape(r"lightsail (?:download-default-key-pair|get-instance-access-details)\b"),
        Shape(r"iam create-(?:access-key|service-specific-credential)\b"),
        Shape(r"apigateway get-api-keys?\b", having=r"^--include-values?$"),
        Shape(r"ecs execute-command\b", having=rf"^(?:--command=)?{_ENVIRONMENT_LINE}"),
    ),
    "gcloud": (
        Shape(r"(?:(?:alpha|beta) )?auth (?:application-default )?print-\S+-token\b"),
        Shape(r"(?:(?:alpha|beta) )?secrets versions access\b"),
        Shape(r"(?:kms decrypt|config config-helper|compute reset-windows-password)\b"),
        Shape(r"sql generate-login-token\b|iam service-accounts keys create\b"),
    ),
    "az": (
        Shape(r"account get-access-token\b"),
        Shape(r"(?:\S+ ){1,4}(?:list-keys|show-connection-string)\b"),
        Shape(
            r"(?:\S+ ){1,4}(?:keys?|admin-key|query-key) (?:list|show)\b",
            unless=r"^keyvault$|^sshkey$",
        ),
        Shape(r"(?:\S+ ){1,4}(?:connection-string|credential) (?:show|list|reset)\b"),
        Shape(r"\S+ deployment list-publishing-\S+"),
        Shape(r"(?:webapp|functionapp) config (?:appsettings|connection-string) list\b"),
        Shape(r"keyvault (?:secret|key) download\b|keyvault secret show\b"),
        Shape(r"ad sp create-for-rbac\b"),
        Shape(r"acr login\b", having=r"^--expose-token$"),
        Shape(r"aks get-credentials\b", having=r"^-$"),
    ),
    "kubectl oc k microk8s.kubectl": (
        Shape(
            r"get (?:\S+,)?secrets?(?:[,/ ]|$)",
            having=r"^(?:-o|--output|--template)",
            unless=r"^(?:-o=?|--output=)?(?:name|wide)$",
            valued="n c l o -namespace -context -output -selector -kubeconfig",
        ),
        Shape(r"(?:view-secret|create token|extract secret|serviceaccounts get-token)\b"),
        Shape(r"config view\b", having=r"^--raw(?:=true)?$"),
        Shape(r"whoami\b", having=r"^(?:-t|--show-token)"),
    ),
    "kubeadm": (Shape(r"token (?:create|list)\b|init phase upload-certs\b"),),
    "argocd": (Shape(r"(?:admin initial-password|account generate-token|account get-token)\b"),),
    "heroku": (
        Shape(r"config(?::get)?(?: |$)"),
        Shape(r"(?:auth:token|authorizations:(?:info|create)|\S+:credentials)\b"),
    ),
    "fly flyctl": (Shape(r"(?:auth token|tokens? create|ssh issue)\b"),),
    "railway": (Shape(r"variables?(?: |$)", unless=r"^--set"),),
    "netlify": (Shape(r"env:get\b"), Shape(r"env:list\b", having=r"^--(?:plain|json)$")),
    "supabase": (Shape(r"projects api-keys\b"),),
    "firebase": (Shape(r"functions:(?:config:get|secrets:access)\b|login:ci\b"),),
    "eas": (
        Shape(r"env:(?:list|get|exec)\b", having=r"^--include-sensitive$"),
        Shape(r"env:get\b"),
    ),
    "eb": (Shape(r"printenv\b"),),
    "dokku": (Shape(r"config(?::(?:show|export|get|bundle))?(?: |$)"),),
    "cf": (Shape(r"(?:env|e|oauth-token|service-key|ssh-code)\b"),),
    "doctl": (
        Shape(r"databases (?:connection|user get)\b|registry docker-config\b"),
        Shape(r"kubernetes cluster kubeconfig show\b|auth token\b"),
    ),
    "scw": (Shape(r"secret version access\b|config get secret-key\b|config dump\b"),),
    "ibmcloud": (Shape(r"(?:iam oauth-tokens|secrets-manager secret(?:-version)?)\b"),),
    "oci": (Shape(r"secrets secret-bundle get\b|iam customer-secret-key create\b"),),
    "gh": (
        Shape(r"auth token\b"),
        Shape(r"auth status\b", having=r"^(?:-t|--show-token)$"),
        Shape(r"auth git-credential get\b"),
    ),
    "glab": (
        Shape(r"auth status\b", having=r"^(?:-t|--show-token)$"),
        Shape(r"config get \S*token\b|variable (?:get|export|list)\b|token (?:create|rotate)\b"),
    ),
    "npm pnpm yarn": (
        Shape(rf"(?:config )?get \S*(?:_auth\w*|_password|{_SETTING})\b", unless=r"^--help$"),
        Shape(r"token create\b"),
    ),
    "poetry pip pip3 conda": (
        Shape(rf"config (?:get )?\S*(?:http-basic|pypi-token|{_SETTING})\S*$"),
    ),
    "composer": (Shape(r"config \S*(?:github-oauth|gitlab-token|http-basic|bearer)\S*$"),),
    "stripe": (Shape(r"config$", having=r"^--list$"),),
    "git-credential-manager git-credential-store git-credential-cache git-credential-libsecret "
    "git-credential-osxkeychain git-credential-netrc": (Shape(r"get\b"),),
    "docker-credential-desktop docker-credential-osxkeychain docker-credential-pass "
    "docker-credential-secretservice docker-credential-wincred docker-credential-gcloud "
    "docker-credential-ecr-login": (Shape(r"get\b"),),
    "podman": (Shape(r"secret inspect\b", having=r"^--showsecret(?:=true)?$"),),
    "bitcoin-cli litecoin-cli dogecoin-cli": (
        Shape(r"(?:dumpprivkey|dumpwallet|listdescriptors .*true)\b"),
    ),
    "solana-keygen": (Shape(r"recover\b"),),
    "cast": (Shape(r"wallet (?:decrypt-keystore|private-key|dk)\b"),),
}
_SHAPES = by_name(_PASSWORDS, _STORES, _CLOUDS)

_ELSEWHERE = _ENGINES | frozenset(
    names(
        "heroku fly flyctl railway dokku cf render op doppler aws-vault chamber infisical teller "
        "envchain"
    )
)
"""Programs that run a command where settings contain secrets."""
BROWSER_DATA = re.compile(
    r"(?:^|/)(?:cookies\.sqlite|Cookies|Login Data|Web Data|key[34]\.db|logins\.json|"
    r"signons\.sqlite)$"
)
"""Browser files with passwords or open sessions."""
_ACCOUNT_TABLES = re.compile(r"(?i)\b(?:pg_shadow|pg_authid|authentication_string)\b")
_DATABASES = frozenset(
    names("sqlite3 sqlite litecli duckdb sqlite-utils datasette psql mysql mariadb")
)


def prints_secret(call: CommandCall) -> str:
    """Return why the output of `call` is secret; empty if it is not known to be."""
    if shape := first_fit(_SHAPES.get(call.name, ()), call):
        return f"{call.name} {shape.why or _WHY}"
    if call.name in _ELSEWHERE and _environment_there(call):
        return f"{call.name} shows the settings of a running program, including its keys"
    if call.name in _DATABASES:
        return _database(call)
    if call.name == "git" and "get" in call.args and _git_credential(call):
        return "git shows stored credentials"
    return ""


def _environment_there(call: CommandCall) -> bool:
    """Return whether it is `docker exec c env`, `fly ssh console -C env`, `kubectl exec p -- sh
    -c 'env'`.
    """
    is_engine = call.name in _ENGINES
    starts = _ENGINE_RUNS if is_engine else _RUNS
    if is_engine and "compose" in call.args:
        starts = starts | {"run"}
    at = next((at for at, word in enumerate(call.args) if word.split(":")[0] in starts), -1)
    tail = call.args[at + 1 :]
    if at < 0 or not tail:
        return False
    last, before = tail[-1], tail[-2] if len(tail) > 1 else ""
    names_container = is_engine and before in {"-c", "--container"} and not _has_shell(tail)
    if last in {"env", "printenv"} and not names_container:
        return True
    if not is_engine and _before_options(tail):
        return True
    if before == "printenv":
        return compiled(rf"(?i){_SETTING}$|key$").search(last) is not None
    texts = [word.partition("=")[2] if word[:2] == "--" else word for word in tail]
    return any(
        _PRINTS_ENVIRONMENT.match(text) for text in texts if text not in {"set", "export", "env"}
    )


def _has_shell(words: list[str]) -> bool:
    return any(word.rpartition("/")[2] in {"sh", "bash", "ash", "dash", "zsh"} for word in words)


def _before_options(words: list[str]) -> bool:
    """Handle `heroku run env -a app`."""
    pairs = pairwise(words)
    return any(word in {"env", "printenv"} and after[:1] == "-" for word, after in pairs)


def _database(call: CommandCall) -> str:
    for word in call.args:
        if BROWSER_DATA.search(word.partition("?")[0].removeprefix("file:")):
            return f"{call.name} reads a browser's passwords or sessions"
        if _ACCOUNT_TABLES.search(word):
            return f"{call.name} shows the passwords of accounts as stored by the server"
    return ""


def _git_credential(call: CommandCall) -> bool:
    words = options(call.args, "C c -git-dir -work-tree", stop=True).rest
    return len(words) > 1 and words[0].startswith("credential-") and "get" in words[1:]


def _rule(call: CommandCall) -> Iterator[Answer]:
    if why := prints_secret(call):
        yield ask("secret_read", why)


RULES: RuleTable = dict.fromkeys([*_SHAPES, *_ELSEWHERE, *_DATABASES, "git"], _rule)
