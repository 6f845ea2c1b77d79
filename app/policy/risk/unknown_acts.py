"""Actions in the words of a program that no rule knows.

Command lines share their forms, so publishing, paying, granting, issuing keys, showing secrets,
disabling protections and installing from an address look similar in unknown programs: `argocd proj
role add-policy`, `fly orgs invite`, `expo publish`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.policy.risk.call import CommandCall, RuleMatch, ask, names, options
from app.policy.risk.command import PRINTERS
from app.policy.risk.model import RiskLevel

_OPENS = re.compile(
    r"(?:.*(?:tunnel(?:to|ed|er)?|create_ap|hostapd|proxy|vnc|vncserver|smbserver|socks|ssh-import-id)|ligolo|chisel|frpc|inlets|rathole|gost)"
    r"(?:[-_.]\w+)*"
)
"""Names of programs made for remote access."""
_EVERYBODY = re.compile(r"(?:[\w-]+=)?(?:\w+://)?(?:0\.0\.0\.0|\[::\])(?::\d+)?")
_DEVELOPS = frozenset(
    names(
        "uvicorn gunicorn hypercorn daphne granian waitress-serve flask fastapi django-admin vite "
        "next nuxt astro gatsby jekyll hugo mkdocs http-server serve live-server browser-sync ng "
        "vue-cli-service webpack webpack-dev-server parcel streamlit gradio puma thin unicorn air "
        "nodemon storybook expo"
    )
)
"""Servers of a project, which listen this way in every container."""


class _Act(NamedTuple):
    """Words that identify an action: the start of the operands, or one of the words."""

    code: str
    why: str
    verb: re.Pattern[str] | None
    word: re.Pattern[str] | None = None


def _words(pattern: str) -> re.Pattern[str]:
    """After at most four words: a command's nouns precede its verb."""
    return re.compile(rf"(?:(?!(?:migrate|metadata) )\S+ ){{0,4}}(?:{pattern})(?= |$)")


_GIVES = (
    "add|set|grant|create|update|attach|put|assign|bind|invite|give|approve|replace|modify|change"
)
_RIGHTS = (
    "members?|membership|roles?|polic(?:y|ies)|permissions?|access|admins?|collaborators?|acls?|"
    "owners?|ownership|grants?|scc|capabilit(?:y|ies)|maintainers?|principals?|users?"
)
_KEYS = (
    "(?:(?:api|auth|access|personal-access|service|deploy|join|bot|app|account)?[-_ ]?"
    "(?:tokens?|keys?|credentials?)|auth)"
)
_READS = "get|show|read|view|reveal|print|decrypt|export|dump|fetch|access|cat"
_SECRETS = "secret|password|credentials?|token|private-key|secret-value|passphrase|login"
_PROTECTS = (
    "ssl|tls|verify|verification|firewall|encryption|auth|authentication|protection|lockdown|"
    "sandbox|secure|security|provisioning|audit|signatures?|checksum|gpgcheck|integrity|row-security"
)

_OF_A_FILE = r"\.(?:[cm]?[jt]sx?|sh|bash|py|rb|php|go|rs|ps1|bat|sql|tf|md|txt|json|ya?ml|toml)\b"

_ACTS = (
    _Act(
        "publish",
        "publishes something, or replaces running code",
        _words(rf"(?:[\w-]+[.:])?(?:publish|deploy|promote)(?!{_OF_A_FILE})(?:[.:][\w-]+)?|retire"),
    ),
    _Act(
        "payment",
        "may spend money",
        _words(
            r"buy|purchase|pay|payouts? create|donate|subscribe"
            r"|(?:transfer|send|withdraw|stake)(?: \S+){0,3} \d+(?:\.\d+)?"
            r"|(?:commitments?|registrations?|reservations?|savings-?plans?|domains?|licen[sc]es?|addons?"
            r"|plans?)[: ]"
            r"(?:create|purchase|buy|register|renew|upgrade|order)|ps:(?:type|resize)|scale vm"
        ),
    ),
    _Act(
        "rights",
        "changes permissions",
        _words(
            rf"(?:{_GIVES})[-_: ](?:\S+[-_])?(?:{_RIGHTS})(?:[-_]\S+)?"
            rf"|(?:{_RIGHTS}|orgs?|teams?)[: ](?:{_GIVES})(?:[-_]\S+)?"
        ),
        re.compile(
            r"(?:\S+=)?(?:superuser|cluster-admin|cluster-owner|allUsers|allAuthenticatedUsers"
            r"|allPublic|public-read(?:-write)?|CAN_MANAGE)|--grant-all-permissions|--all-access"
        ),
    ),
    _Act(
        "secret_read",
        "issues or shows a secret",
        _words(
            rf"{_KEYS}[-: ](?:create|new|generate|issue|rotate)"
            rf"|(?:create|new|generate|issue|mint|rotate)[-: ](?:\S+[- ])?(?:tokens?"
            rf"|api-?keys?|access-keys?)"
            rf"|(?:get|read|show|cat)(?: \S+)*? \S*(?:secrets?|passwords?|credentials?)(?:[/:]\S*)?"
            rf"|(?:reset|set|change)-\S*password|presign|signurl|generate-sas|export-key"
            rf"|join-token|(?:{_READS})[-_: ](?:\S+[-_])?(?:{_SECRETS})"
            rf"|(?:secrets?|passwords?|credentials?|vault|tokens?)[: ](?:{_READS})"
        ),
        re.compile(
            r"(?:-D)?-{0,2}(?:show-?(?:raw|secrets?|passwords?|values|tokens?|keys?|sensitive)|reveal"
            r"|plaintext"
            r"|with-decryption|raw-secrets?|unmask(?:ed)?|include-secrets?"
            r"|no-mask(?:ing)?)(?:=true)?"
        ),
    ),
    _Act(
        "protection_off",
        "switches a protection off",
        _words(rf"(?:\S*[-_])?(?:{_PROTECTS})[\w-]* (?:(?:set )?(?:off|disable|false))"),
        re.compile(
            rf"(?:--)?(?:[\w.-]*[-_.])?(?:{_PROTECTS})[=](?:off|false|0|no|none|disabled?)"
            rf"|--(?:skip|no|disable)-(?:{_PROTECTS})(?:-\S+)?"
            r"|--(?:dangerously|unsafely)-\S+|--yolo"
        ),
    ),
    _Act(
        "foreign_package",
        "installs from an address",
        re.compile(
            r"(?:\S+ ){0,2}(?:install|add|tap|plugins? (?:add"
            r"|install))\b.*?(?<!\S)(?:git\+)?(?:https?|git|ssh)"
            r"://(?!localhost|127\.|api\.nuget\.org|registry\.npmjs\.org|pypi\.org|rubygems\.org)"
        ),
    ),
)
_FAR = r"(?:https?|git|ssh)://(?!localhost|127\.)"
_FETCHED_CODE = re.compile(
    rf"(?:.* )?(?:run|exec|eval|source|script|load|import)(?: -\S+)* {_FAR}", re.IGNORECASE
)
_UNENCRYPTED_SOURCE = re.compile(
    r"-{0,2}\S*(?:registry|index|repo(?:s|sitory|sitories)?|mirror|channel|source|remoterepositories)"
    r"(?:[-_]url)?[=\n]http://(?!localhost|127\.)\S*",
    re.IGNORECASE,
)
_CODE_OPTION = re.compile(rf"--?(?:init-script|script|config-url|plugin|userscript)[=\n]{_FAR}")
_PRINTS_ENVIRONMENT = frozenset(["env", "printenv"])
_ISNT = frozenset(
    names(
        "help man list ls status info describe search find grep log logs history which docs "
        "doc print "
        "echo test check lint format run exec cat open watch diff compare verify validate download "
        "version init new scaffold template example examples build pack package package-lock ps top"
    )
)
_TRIES = frozenset(
    names(
        "--help -h -help --version --dry-run --dryrun --dry_run --simulate --what-if "
        "--whatif --preview --list --snapshot --local --noop --check"
    )
)
# Their words are data, or scripts of the project, or a rule knows all of them.
_EXEMPT = frozenset(
    names(
        "echo printf test [ [[ grep egrep fgrep rg ag ack sed awk gawk cat head tail less "
        "more man ls cd "
        "pwd export local declare typeset read set unset alias true false sleep basename "
        "dirname expr seq "
        "tr cut sort uniq wc tee diff cmp jq yq column fold say cowsay figlet notify-send "
        "code vim vi nano "
        "emacs xdg-open type which whereis command tldr git hub kubectl oc k yarn pnpm npm "
        "bun uv pip pip3 "
        "make just task go cargo composer gem bundle pytest tox nox jest vitest mocha "
        "phpunit rspec "
        "apropos whatis dict curl wget http xh ssh-keygen useradd usermod docker-compose "
        "tmux screen "
        "aws systemctl service launchctl osascript defaults rails rake php node python "
        "python3 sqlite3 psql mysql"
    )
)


def acts(call: CommandCall, *, known: bool) -> Iterator[RuleMatch]:
    """Ask about words of a program that show an unknown action.

    Args:
        known: a rule knows the program, but none of these words.
    """
    if call.name in _EXEMPT or call.name in PRINTERS or not _TRIES.isdisjoint(call.args):
        return
    words = options(call.args).rest[:8]
    by = next(by_address(call, ruled=known), None)
    if by is not None:
        yield by
        return
    if len(words) > 1 and words[-1] in _PRINTS_ENVIRONMENT and call.args[-1] == words[-1]:
        yield ask("secret_read", f"{call.name} shows the environment of a command")
        return
    if not _ISNT.isdisjoint(words[:5]):
        return
    if not known and _lets_in(call):
        yield ask("exposed", f"{call.name} allows others to connect", RiskLevel.MEDIUM)
        return
    operands = " ".join(words)
    for code, why, verb, word in _ACTS:
        by_verb = verb is not None and words and verb.match(operands)
        if by_verb or (word is not None and any(map(word.fullmatch, call.args))):
            yield ask(code, f"{call.name} {why}", RiskLevel.MEDIUM)
            return


_VERSIONS: tuple[list[str], ...] = ([], ["-v"], ["-V"], ["version"])


def by_address(call: CommandCall, *, ruled: bool = True) -> Iterator[RuleMatch]:
    """Ask about code or packages that a program fetches from a given address.

    Args:
        ruled: a rule knows what the program runs.
    """
    if not any("://" in word for word in call.args) or call.name in _EXEMPT:
        return
    lines = "\n".join(call.args)
    if _UNENCRYPTED_SOURCE.search(lines):
        why = f"{call.name} takes packages from an unencrypted source"
        yield ask("foreign_package", why, RiskLevel.MEDIUM)
    elif _CODE_OPTION.search(lines) or (not ruled and _FETCHED_CODE.match(" ".join(call.args))):
        yield ask("foreign_package", f"{call.name} runs code from an address", RiskLevel.MEDIUM)


def _lets_in(call: CommandCall) -> bool:
    """Return whether it gives remote access, or listens on all addresses."""
    if call.args not in _VERSIONS and _OPENS.fullmatch(call.name):
        return True
    return call.name not in _DEVELOPS and any(map(_EVERYBODY.fullmatch, call.args))
