"""Flow of secrets: what a command prints of them, and which files it fills with them.

`sources` has their origins, `carriers` the programs that pass them into files, `senders` those that
send them.
"""

from __future__ import annotations

import re

from app.policy.risk.call import SECRET, CommandCall, Flow, Stream, names, options
from app.policy.risk.carriers import FILL_ANYWAY, FILLING
from app.policy.risk.named_secrets import ENVIRONMENT, SOME_SECRET, incoming, named_by
from app.policy.risk.secrets import is_secret_name
from app.policy.risk.sources import COUNTING, SECRET_WORD, SOURCES, printenv

_HINT = re.compile(
    r"\x01|env|key|pem|id_|pass|secret|token|cred|\.(?:ssh|aws|gnupg|kube|"
    r"docker|azure|config|moz|p12"
    r"|pfx|jks|ppk|ovpn|oci|chef|npmrc|pypirc|boto|s3cfg|thunder)|netrc|"
    r"_history|\.cnf|tfstate|tfvars"
    r"|account|htpasswd|[Cc]ookies|[Ll]ogin|shadow|environ|wp-config|"
    r"admin\.conf|NTDS|SAM|vault|etc/"
    r"|Keychain|~|/root|(?:^|\n)/(?:\w+/?)?(?:\n|$)|/home/[^/\n]*/?(?:\n|$)"
)
"""Substrings of every command that names a secret; others need no closer check."""


_NOT_PRINTING = frozenset(
    names(
        "ls ll stat test [ [[ rm rmdir unlink shred mv chmod chown chgrp touch mkdir wc du df file "
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum cksum b2sum cmp realpath readlink "
        "basename dirname cd pushd popd git echo printf find fd which type command source . export "
        "unset read true false : sleep kill exit return alias pip npm ssh-keygen ssh-add ssh-agent "
        "chezmoi stow entr watch tree exa eza id whoami hostname uname date pwd getent sort-key "
        "docker podman kubectl terraform ansible-playbook make node python python3 vim nano code"
    )
)
"""Programs that at most show a file's name, or print a derived value."""


_TAKES_IN = frozenset(
    names(
        "wc test [ md5sum sha1sum sha256sum sha512sum cksum b2sum true : docker-compose crontab "
        "pbcopy xclip xsel wl-copy kubectl psql mysql sqlite3 mail chpasswd passwd"
    )
)
"""Input of these does not come out again."""


def printed(call: CommandCall) -> str:
    """Return the secret in the standard output of `call`, in words; "" for none."""
    special = SOURCES.get(call.name)
    if special is not None and (found := special(call)):
        return found
    if not COUNTING.get(call.name, frozenset()).isdisjoint(call.args):
        return ""
    if call.name in _ECHOING and any(SECRET in arg for arg in call.args):
        return SOME_SECRET
    if call.name in _NOT_PRINTING:
        return ""
    taken = call.stdin.secret if call.stdin and call.name not in _TAKES_IN else ""
    return taken or named_by(call)


_ECHOING = frozenset(
    names(
        "echo printf cat tac rev base64 base32 xxd od hexdump head tail nl grep egrep rg sed awk "
        "tr cut sort jq yq gzip bzip2 xz zstd openssl gpg age strings dd bat less more paste column"
    )
)


def follow(call: CommandCall, output: Stream, *, reads_secret: bool, consumed: bool) -> Stream:
    """Return `output` of `call` with its secret; record filled files.

    Args:
        reads_secret: the rules found that the command shows a secret.
        consumed: another command reads its output.
    """
    if call.name in FILLING and may_fill(call):
        _fill(call, call.flow)
    if output.secret or not (consumed or reads_secret):
        return output
    found = SOME_SECRET if reads_secret else _printed(call)
    return output._replace(secret=found) if found else output


_NONE: frozenset[str] = frozenset()
SHOWING = _ECHOING | frozenset(names("printenv egrep fgrep gawk declare typeset export"))


_SEARCHING = frozenset(names("grep egrep fgrep rg awk gawk sed"))


def shown(call: CommandCall) -> str:
    """Return the secret of the environment that `call` is meant to show, in words; "" for none."""
    if call.name in {"echo", "printf"}:
        return SOME_SECRET if any(SECRET in arg for arg in call.args) else ""
    if call.name == "printenv":
        return printenv(call) if call.args else ""
    if call.name in {"declare", "typeset", "export"}:
        named = options(call.args, stop=False).rest if "-p" in call.args else []
        return SOME_SECRET if any(map(is_secret_name, named)) else ""
    if incoming(call) == SOME_SECRET and call.name in _ECHOING:
        return SOME_SECRET if COUNTING.get(call.name, _NONE).isdisjoint(call.args) else ""
    quiet = not COUNTING["grep"].isdisjoint(call.args)
    if incoming(call) != ENVIRONMENT or quiet or call.name not in _SEARCHING:
        return ""
    patterns = (arg for arg in call.args if arg[:1] != "-")
    return SOME_SECRET if any(map(SECRET_WORD.search, patterns)) else ""


def _printed(call: CommandCall) -> str:
    """Return `printed` for the few commands whose words can name a secret."""
    if call.name in SOURCES or call.flow.files or incoming(call) or _hints(call):
        return printed(call)
    return ""


_GIT_FILLS = frozenset(["remote", "config", "bundle", "archive"])


def may_fill(call: CommandCall) -> bool:
    """Return whether a program of `FILLING` may fill files, by the words of `call`."""
    if call.name == "git":
        return not _GIT_FILLS.isdisjoint(call.args)
    return bool(call.flow.files or call.name in FILL_ANYWAY or incoming(call) or _hints(call))


def _hints(call: CommandCall) -> bool:
    return _HINT.search("\n".join(call.args)) is not None


def _fill(call: CommandCall, flow: Flow) -> None:
    filling = FILLING.get(call.name)
    if filling is None:
        return
    for target, what in filling(call):
        if what and target:
            flow.files[call.at(target)] = what


def sent_on(call: CommandCall) -> Stream:
    """Return the input passed on to another program: its own input, or named files."""
    text = call.stdin.text if call.stdin else None
    return Stream(text, secret=incoming(call) or named_by(call))
