"""Names of a command's program, and the start of its words after global options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Words = tuple[str | None, ...]

_STANDARD = re.compile(
    r"(?:/usr|/usr/local|/opt/homebrew|/snap)?/s?bin/[^/]+|/usr/local/sbin/[^/]+"
)
_VERSIONED = re.compile(r"(python|pypy|perl|ruby|node|lua|php|bash|zsh|ksh|tclsh|pip)[\d.]+")
MAX_SKIPPED = 24

_COMPOSE = "f p -file -project-name -profile -env-file -project-directory"
_DOCKER = "H l c -host -log-level -context -config -tlscacert -tlscert -tlskey"
_KUBECTL = (
    "n s v -namespace -server -context -cluster -user -kubeconfig -token -as -as-group "
    "-request-timeout -cache-dir -certificate-authority -client-certificate -client-key"
)
_PIP = "-proxy -log -python -cache-dir -timeout -retries -cert -client-cert"
_VALUED = {
    program: frozenset("-" + name for name in valued.split())
    for names, valued in (
        (
            "git hub",
            "C c -git-dir -work-tree -namespace -config-env -super-prefix -attr-source -list-cmds",
        ),
        ("docker podman nerdctl", _DOCKER),
        ("docker-compose podman-compose", _COMPOSE),
        ("kubectl oc k", _KUBECTL),
        ("helm", "n -namespace -kube-context -kubeconfig -registry-config"),
        ("npm", "C -prefix -cache -userconfig -registry w -workspace"),
        ("pnpm", "C -dir F -filter -prefix -store-dir"),
        ("yarn", "-cwd -modules-folder -cache-folder"),
        ("cargo", "C Z -config -color -manifest-path -target-dir"),
        ("make gmake", "C f I o W -directory -file -makefile -include-dir"),
        ("terraform tofu", ""),
        ("gh", "R -repo"),
        ("go", "C"),
        ("systemctl journalctl", "H M t p n o -host -machine -root -type"),
        ("aws", "-profile -region -endpoint-url -output -query -color -ca-bundle"),
        ("gcloud gsutil", "-project -account -configuration -format -verbosity -zone -region"),
        ("az", "-subscription -output o -query"),
        ("pip uv poetry", _PIP + " C -directory P -project"),
        ("apt apt-get aptitude", "o c t a -option -config-file -target-release"),
        ("dnf yum", "c -config -releasever -installroot -setopt"),
        ("hg", "R -repository -cwd -config"),
        ("svn", "-config-dir -config-option -username -password"),
    )
    for program in names.split()
}


_STANDS_FOR = {"hub": "git", "gmake": "make", "nodejs": "node"}
"""Programs equivalent to another one, with the same words."""
SAME_VERBS = {"send-pack": "push", "http-push": "push", "fetch-pack": "fetch"}
"""Subcommands of git that perform another one."""


def names_of(word: str, *, windows: bool = False) -> tuple[str, ...]:
    """Return every name by which a deny or ask may know the program."""
    base = word.replace("\\", "/").rsplit("/", 1)[-1] or word
    lowered = base.lower().removesuffix(".exe")
    versioned = _VERSIONED.fullmatch(lowered)
    found = [word, base, lowered, versioned.group(1) if versioned else lowered]
    if lowered in _STANDS_FOR:
        found.append(_STANDS_FOR[lowered])
    if windows:
        found = [name.casefold() for name in found]
    return tuple(dict.fromkeys(found))


def certain_names(word: str) -> tuple[str, ...]:
    """Return the names by which an allow may know it: a program elsewhere is another program."""
    if _STANDARD.fullmatch(word):
        return (word, word.rsplit("/", 1)[-1])
    return (word,)


def readings(program: str, args: Words, *, operands: bool) -> Iterator[Words]:
    """Yield argument lists equivalent to `args` for most programs.

    Global options and the first `--` are omitted; with `operands` all options are.
    """
    seen: set[Words] = set()
    for start in sorted(_starts(program, args)):
        rest = args[start:]
        choices = [rest]
        if "--" in rest:
            cut = rest.index("--")
            choices.append(rest[:cut] + rest[cut + 1 :])
        if operands:
            choices.append(tuple(w for w in rest if w is None or not w.startswith("-")))
        if program == "git" and rest and rest[0] in SAME_VERBS:
            choices.append((SAME_VERBS[rest[0]], *rest[1:]))
        for choice in choices:
            if choice not in seen:
                seen.add(choice)
                yield choice


def _starts(program: str, args: Sequence[str | None]) -> set[int]:
    """Return possible starts of the words after the global options; always including 0."""
    valued = _VALUED.get(program)
    found, front = {0}, [0]
    while front:
        at = front.pop()
        word = args[at] if at < min(len(args), MAX_SKIPPED) else ""
        if word is None or not _is_option(word, program):
            continue
        takes = _takes_value(word, valued)
        for step in {True: (2,), False: (1,), None: (1, 2)}[takes]:
            if at + step <= len(args) and at + step not in found:
                found.add(at + step)
                front.append(at + step)
    return found


def _is_option(word: str, program: str) -> bool:
    if word.startswith("+"):
        return program in {"cargo", "rustc", "rustup"}
    return word.startswith("-") and word not in {"-", "--"}


def _takes_value(word: str, valued: frozenset[str] | None) -> bool | None:
    """Return whether the next word is the option's value; None: unknown."""
    if "=" in word or word.startswith("+"):
        return False
    return None if valued is None else word in valued
