"""Follows secrets: what a command prints of them, and which files it fills with them.

Sources are files that hold secrets (`secrets.held`), the environment, stores and dumps; carriers
are programs that pass on what they read. What sends is in `rules.sending`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from app.policy.risk.call import SECRET, UNKNOWN, Call, Flow, Stream, names, options
from app.policy.risk.secrets import ALL_OF, held, is_secret_name

ENVIRONMENT = "the environment"
WHOLE_FOLDER = "the whole folder"
_DATABASE = "a whole database"
SOME_SECRET = "a secret"  # noqa: S105 - words for a reader

_HINT = re.compile(
    r"\x01|env|key|pem|id_|pass|secret|token|cred|\.(?:ssh|aws|gnupg|kube|"
    r"docker|azure|config|moz|p12"
    r"|pfx|jks|ppk|ovpn|oci|chef|npmrc|pypirc|boto|s3cfg|thunder)|netrc|"
    r"_history|\.cnf|tfstate|tfvars"
    r"|account|htpasswd|[Cc]ookies|[Ll]ogin|shadow|environ|wp-config|"
    r"admin\.conf|NTDS|SAM|vault|etc/"
    r"|Keychain|~|/root|(?:^|\n)/(?:\w+/?)?(?:\n|$)|/home/[^/\n]*/?(?:\n|$)"
)
"""What stands in the words of every command that names a secret; the rest need no closer look."""

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
"""Programs that tell of a file by its name at most, or print what they make of it."""
_COUNTING = {
    "grep": frozenset(names("-c -q -l -L --count --quiet --silent --files-with-matches")),
    "rg": frozenset(names("-c -q -l --count --quiet --files-with-matches --files")),
    "diff": frozenset(names("-q --brief")),
    "tar": frozenset(names("-t --list")),
}
_TAKES_IN = frozenset(
    names(
        "wc test [ md5sum sha1sum sha256sum sha512sum cksum b2sum true : docker-compose crontab "
        "pbcopy xclip xsel wl-copy kubectl psql mysql sqlite3 mail chpasswd passwd"
    )
)
"""What these are sent does not come out again."""

_DUMPS = frozenset(
    names(
        "mysqldump mariadb-dump pg_dump pg_dumpall mongodump mongoexport cockroach influxd "
        "slapcat ldapsearch clickhouse-backup"
    )
)
_SECRET_WORD = re.compile(
    r"passw|secret|token|api.?key|private.?key|credential|AKIA", re.IGNORECASE
)
WHOLE = frozenset([".", "./", "*", "./*", ".."])


def printed(call: Call) -> str:
    """The secret in what `call` writes to its standard output, in words; "" for none."""
    special = _SOURCES.get(call.name)
    if special is not None and (found := special(call)):
        return found
    if not _COUNTING.get(call.name, frozenset()).isdisjoint(call.args):
        return ""
    if call.name in _ECHOING and any(SECRET in arg for arg in call.args):
        return SOME_SECRET
    if call.name in _NOT_PRINTING:
        return ""
    taken = call.stdin.secret if call.stdin and call.name not in _TAKES_IN else ""
    return taken or _named(call)


_ECHOING = frozenset(
    names(
        "echo printf cat tac rev base64 base32 xxd od hexdump head tail nl grep egrep rg sed awk "
        "tr cut sort jq yq gzip bzip2 xz zstd openssl gpg age strings dd bat less more paste column"
    )
)


def _named(call: Call) -> str:
    """The secret in a file that the words of `call` name."""
    for word in call.args:
        for path in paths_in(word):
            if found := in_file(call, path):
                return found
    return ""


_ATTACHED = re.compile(
    r"(?:--?[\w-]+=|[\w.\[\]-]*(?:=@|=<|:=@|@|=|<)|(?:file|open|gopen|rdonly|create):(?!//))(.+)",
    re.IGNORECASE | re.DOTALL,
)
_MARKED = re.compile(
    r"(?:--?[\w-]+=)?(?:[\w.\[\]-]*(?:=@|=<|:=@|@|<)|(?:file|fileb)://)(.+)",
    re.IGNORECASE | re.DOTALL,
)
_ADDRESS = re.compile(
    r"(?!(?:file|open|gopen|rdonly|create):)(?:[a-z][\w+.-]*://|(?:[\w.-]+@)?[\w.-]{2,}:)",
    re.IGNORECASE,
)


def paths_in(word: str, *, attached: bool = False) -> Iterator[str]:
    """What of a word may be the path of a local file: `@f`, `name=@f`, `--file=f`, `file://f`.

    Args:
        attached: a word without such a mark is text.
    """
    if not word or _ADDRESS.match(word):
        return
    bare = word.removeprefix("file://").removeprefix("fileb://")
    if bare[0] != "-" and not attached:
        yield bare
    if found := (_MARKED if attached else _ATTACHED).match(bare):
        value = found[1].removeprefix("file://").removeprefix("fileb://")
        if not _ADDRESS.match(value):
            yield value.partition(";")[0]


def in_file(call: Call, path: str) -> str:
    """The secret that a file named by `call` holds: by its name, or by what the script did."""
    if path in {"-", ""}:
        return ""
    at = call.at(path)
    return call.flow.files.get(at, "") or held(at, call.home)


def follow(call: Call, output: Stream, *, reads_secret: bool, consumed: bool) -> Stream:
    """`output` of `call` with the secret that is in it; files that it fills are remembered.

    Args:
        reads_secret: the rules have found that the command shows a secret.
        consumed: something reads what it writes.
    """
    if call.name in FILLING and _may_fill(call):
        _fill(call, call.flow)
    if output.secret or not (consumed or reads_secret):
        return output
    found = SOME_SECRET if reads_secret else _printed(call)
    return output._replace(secret=found) if found else output


SHOWING = frozenset(names("echo printf printenv grep egrep fgrep rg awk gawk sed"))


def shown(call: Call) -> str:
    """The secret of the environment that `call` is there to show, in words; "" for none."""
    if call.name in {"echo", "printf"}:
        return SOME_SECRET if any(SECRET in arg for arg in call.args) else ""
    if call.name == "printenv":
        return _printenv(call) if call.args else ""
    quiet = not _COUNTING["grep"].isdisjoint(call.args)
    if _input(call) != ENVIRONMENT or quiet:
        return ""
    patterns = (arg for arg in call.args if arg[:1] != "-")
    return SOME_SECRET if any(map(_SECRET_WORD.search, patterns)) else ""


def _printed(call: Call) -> str:
    """`printed`, for the few commands whose words can name a secret."""
    if call.name in _SOURCES or call.flow.files or _input(call) or _hints(call):
        return printed(call)
    return ""


def _may_fill(call: Call) -> bool:
    if call.name == "git":
        return "remote" in call.args or "config" in call.args
    return bool(call.flow.files or call.name in _FILL_ANYWAY or _input(call) or _hints(call))


def _hints(call: Call) -> bool:
    return _HINT.search("\n".join(call.args)) is not None


def _fill(call: Call, flow: Flow) -> None:
    filling = FILLING.get(call.name)
    if filling is None:
        return
    for target, what in filling(call):
        if what and target:
            flow.files[call.at(target)] = what


def _input(call: Call) -> str:
    return call.stdin.secret if call.stdin else ""


def _env(call: Call) -> str:
    given = options(call.args, "u C S -unset -chdir -split-string", stop=True)
    is_print = all("=" in word for word in given.rest)
    return ENVIRONMENT if is_print and not given.has("-S", "--split-string") else ""


def _printenv(call: Call) -> str:
    names_given = options(call.args).rest
    if not names_given:
        return ENVIRONMENT
    secret = any(is_secret_name(name) or UNKNOWN in name for name in names_given)
    return SOME_SECRET if secret else ""


def _set(call: Call) -> str:
    return "" if call.args else ENVIRONMENT


def _declare(call: Call) -> str:
    given = options(call.args)
    shows = not given.rest and (not given.flags or given.has("-p", "-x"))
    return ENVIRONMENT if shows else ""


def _dump(call: Call) -> str:
    return _DATABASE


def _git(call: Call) -> str:
    words = options(call.args, "C c -git-dir -work-tree -namespace", stop=True).rest
    if words[:1] in (["archive"], ["fast-export"]) or words[:2] == ["bundle", "create"]:
        return WHOLE_FOLDER
    shows = words[:1] == ["log"] and any(_SHOWS_CHANGES.match(word) for word in words[1:])
    return "the history of the code" if shows else ""


_SHOWS_CHANGES = re.compile(r"-p$|-S|-G|--patch$")


def _container(call: Call) -> str:
    """What a container was started with holds its settings; an image holds all of the code."""
    words = options(call.args, "H c l").rest
    if words[:1] in (["save"], ["export"]) or words[1:2] in (["save"], ["export"]):
        return WHOLE_FOLDER
    return ENVIRONMENT if words[:1] == ["inspect"] or words[1:2] == ["inspect"] else ""


def _module(call: Call) -> str:
    """`python -m zipfile -c - .`."""
    words = [word for word in call.args if word != "-m"]
    packs = words[:1] in (["zipfile"], ["tarfile"]) and words[1:3] in (
        ["-c", "-"],
        ["--create", "-"],
    )
    return _members(call, words[3:]) if packs else ""


def _snapshot(call: Call) -> str:
    return WHOLE_FOLDER if call.args[:1] == ["send"] else ""


def _sqlite(call: Call) -> str:
    return _DATABASE if any(".dump" in word for word in call.args) else _named(call)


def _search(call: Call) -> str:
    given = options(call.args, "e f A B C m -include -exclude -exclude-dir -regexp -file g t")
    patterns = given.all_values("-e", "--regexp") or given.rest[:1]
    deep = call.name in {"rg", "ag", "ack"} or given.has("-r", "-R", "--recursive")
    quiet = not _COUNTING["grep"].isdisjoint(given.flags)
    if deep and not quiet and any(_SECRET_WORD.search(pattern) for pattern in patterns):
        return "what a search for secrets finds"
    return ""


_SECRET_NAME_OPTIONS = frozenset(names("-name -iname -path -ipath -wholename"))


def _find(call: Call) -> str:
    """Names of files with secrets: what reads them by these names reads the secrets."""
    if finds_secrets(call):
        return _FILES_OF_SECRETS
    shows = any(f"{run}\ncat\n" in "\n".join(call.args) for run in ("-exec", "-x", "-X"))
    return WHOLE_FOLDER if shows else ""


_FILES_OF_SECRETS = "files that hold secrets"


def sent_on(call: Call) -> Stream:
    """What a program that feeds another one feeds it: its input, or the files that it names."""
    text = call.stdin.text if call.stdin else None
    return Stream(text, secret=_input(call) or _named(call))


def finds_secrets(call: Call) -> bool:
    """Whether `find` or `fd` looks for files with secrets, or in a folder of them."""
    if call.name in {"fd", "fdfind"}:
        pattern = next((word for word in call.args if word[:1] != "-"), "")
        if pattern and _names_secrets(re.sub(r"[\\^$]", "", pattern), call.home):
            return True
    for at, word in enumerate(call.args):
        before = call.args[at - 1] if at else ""
        if before in _SECRET_NAME_OPTIONS and _names_secrets(word, call.home):
            return True
        found = in_file(call, word) if word[:1] in {"/", "~", "."} else ""
        if found and not found.startswith(ALL_OF):
            return True
    return False


def _names_secrets(pattern: str, home: str) -> bool:
    named = held(f"/-/{pattern.replace('*', 'x').lstrip('/')}", home)
    return bool(named or _SECRET_WORD.search(pattern) or re.search(r"\bid_|\.env", pattern))


def _processes(call: Call) -> str:
    """`ps e` shows the environment of every process."""
    given = "".join(arg for arg in call.args if arg[:1] != "-")
    return ENVIRONMENT if "e" in given or "-E" in call.args else ""


def _history(call: Call) -> str:
    return "the shell's history" if not options(call.args).has("-c", "-d", "-w") else ""


def _clipboard(call: Call) -> str:
    """What somebody has copied is a password as often as a text."""
    pastes = call.name in {"pbpaste", "wl-paste"} or options(call.args, "selection sel").has(
        "-o", "-out", "--output"
    )
    return "the clipboard" if pastes else ""


_SOURCES: dict[str, Callable[[Call], str]] = {
    **dict.fromkeys(("pbpaste", "wl-paste", "xclip", "xsel"), _clipboard),
    "env": _env,
    "printenv": _printenv,
    "set": _set,
    **dict.fromkeys(("export", "declare", "typeset", "readonly"), _declare),
    **dict.fromkeys(_DUMPS, _dump),
    "git": _git,
    **dict.fromkeys(("docker", "podman", "nerdctl"), _container),
    **dict.fromkeys(("zfs", "btrfs"), _snapshot),
    **dict.fromkeys(("python", "python3"), _module),
    **dict.fromkeys(("sqlite3", "sqlite", "litecli"), _sqlite),
    **dict.fromkeys(("grep", "egrep", "rg", "ag", "ack"), _search),
    **dict.fromkeys(("find", "fd", "fdfind"), _find),
    "ps": _processes,
    **dict.fromkeys(("history", "fc"), _history),
    **dict.fromkeys(
        ("tar", "bsdtar", "gtar", "zip", "7z", "7za", "rar", "cpio", "pax", "ar"),
        lambda call: _packed(call)[1],
    ),
}
"""Programs that print more than the files that they name: the secret in it, in words."""


def _packed(call: Call) -> tuple[str, str]:
    """The archive that a command makes, and the secret that goes into it."""
    if call.name in {"tar", "bsdtar", "gtar"}:
        return _tar(call)
    if call.name in {"cpio", "pax"}:
        listed = call.stdin.listed if call.stdin else ()
        whole = WHOLE_FOLDER if not WHOLE.isdisjoint(listed) else ""
        return "-", _input(call) or whole
    words = [word for word in call.args if word[:1] != "-" or word == "-"]
    if call.name != "zip":
        words = words[1:] if words[:1] in (["a"], ["u"], ["r"], ["rc"], ["rcs"]) else []
    return (words[0], _members(call, words[1:])) if words else ("", "")


def _tar(call: Call) -> tuple[str, str]:
    args = list(call.args)
    if args and args[0][:1] != "-":
        args[0] = "-" + args[0]
    given = options(args, "f C X b T -file -directory -exclude -transform -files-from")
    if not given.has("-c", "-r", "-u", "--create", "--append", "--update"):
        return "", ""
    members = [*given.rest]
    for folder in given.all_values("-C", "--directory"):
        members += [f"{folder}/{member}" for member in given.rest]
    if given.all_values("-T", "--files-from"):
        members.append(".")
    return given.value("-f", "--file") or "-", _members(call, members)


def _members(call: Call, members: list[str]) -> str:
    found = next(filter(None, (in_file(call, member) for member in members)), "")
    if found:
        return found
    home = f"{call.home}/"
    whole = any(
        member in WHOLE
        or call.at(member) == call.cwd
        or (call.at(member).startswith(home) and not (call.cwd or home).startswith(call.at(home)))
        for member in members
    )
    return WHOLE_FOLDER if whole else _input(call) if "-" in members else ""


def _fill_archive(call: Call) -> Iterator[tuple[str, str]]:
    archive, what = _packed(call)
    if archive != "-":
        yield archive, what
        if call.name in {"zip", "7z", "7za", "rar"}:
            yield (
                f"{archive}.{'7z' if call.name != 'zip' and call.name != 'rar' else call.name}",
                what,
            )


_COMPRESSED = {"gzip": ".gz", "pigz": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}


def _fill_beside(call: Call) -> Iterator[tuple[str, str]]:
    for path in options(call.args, "o T S").rest:
        yield path + _COMPRESSED[call.name], in_file(call, path)


def _fill_copy(call: Call) -> Iterator[tuple[str, str]]:
    given = options(call.args, "t S m o g e -target-directory -exclude -rsh")
    folder = given.value("-t", "--target-directory")
    sources = given.rest if folder else given.rest[:-1]
    target = folder or (given.rest[-1] if len(given.rest) > 1 else "")
    if not target or _ADDRESS.match(target):
        return
    for source in sources:
        what = in_file(call, source)
        yield target, what
        yield f"{target.rstrip('/')}/{source.rstrip('/').rsplit('/', 1)[-1]}", what


def _fill_operands(call: Call) -> Iterator[tuple[str, str]]:
    for word in call.args:
        if word[:1] != "-":
            yield word.removeprefix("of="), _input(call)


_SCREENS = names(
    "screencapture grim scrot maim gnome-screenshot spectacle flameshot imagesnap import xwd "
    "screenshot ksnip shotgun"
)


def _fill_picture(call: Call) -> Iterator[tuple[str, str]]:
    """A picture of the screen, or of who sits before it."""
    for word in call.args:
        if "." in word and word[:1] != "-":
            yield word, "a picture of the screen"


def _fill_device_copy(call: Call) -> Iterator[tuple[str, str]]:
    given = dict(word.split("=", 1) for word in call.args if "=" in word)
    yield given.get("of", ""), in_file(call, given.get("if", "")) or _input(call)


_OUTPUT_OPTIONS = frozenset(names("-o -out --output --out --result-file -r -f --file --outfile -w"))


def _fill_output(call: Call) -> Iterator[tuple[str, str]]:
    what = _DATABASE if call.name in _DUMPS else _input(call) or _named(call)
    for at, word in enumerate(call.args):
        name, equals, value = word.partition("=")
        if name in _OUTPUT_OPTIONS:
            yield value if equals else "".join(call.args[at + 1 : at + 2]), what
    if call.name in {"gpg", "gpg2"}:
        for word in call.args:
            if word[:1] != "-":
                yield f"{word}.gpg", in_file(call, word)
                yield f"{word}.asc", in_file(call, word)
    if call.name == "split":
        yield from ((word + end, what) for word in [*call.args[1:], "x"] for end in ("aa", "*"))
    if call.name == "xxd" and len(options(call.args, "c g l s").rest) > 1:
        yield call.args[-1], what


def _remote(call: Call) -> Iterator[tuple[str, str]]:
    """A remote that the script sets is a place where nothing has gone before."""
    words = options(call.args, "C c -git-dir -work-tree", stop=True).rest
    rest = options(words[2:], "t m f").rest if words[:1] == ["remote"] else []
    if words[1:2] and words[1] in {"add", "set-url"} and rest:
        call.flow.remotes.add(rest[0])
    elif words[:1] == ["config"]:
        for word in words[1:]:
            if found := re.fullmatch(r"remote\.(.+)\.(?:push)?url", word, re.IGNORECASE):
                call.flow.remotes.add(found[1])
    return iter(())


FILLING: dict[str, Callable[[Call], Iterator[tuple[str, str]]]] = {
    **dict.fromkeys(("tar", "bsdtar", "gtar", "zip", "7z", "7za", "rar", "ar"), _fill_archive),
    **dict.fromkeys(_COMPRESSED, _fill_beside),
    **dict.fromkeys(("cp", "mv", "ln", "install", "rsync", "ditto", "scp"), _fill_copy),
    **dict.fromkeys(("tee", "sponge"), _fill_operands),
    "dd": _fill_device_copy,
    **dict.fromkeys(_SCREENS, _fill_picture),
    **dict.fromkeys(
        (*_DUMPS, "gpg", "gpg2", "age", "openssl", "split", "xxd", "base64", "sort", "jq"),
        _fill_output,
    ),
    "git": _remote,
}
"""Programs that write files themselves: each with the secret that goes into it."""
_FILL_ANYWAY = frozenset([*_DUMPS, *_SOURCES, *_SCREENS]) & FILLING.keys()
"""What goes into these files may be a secret whatever words name it."""
