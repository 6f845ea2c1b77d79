"""Software that is installed or run from an address, and not from the registry of its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.policy.risk.call import UNKNOWN, Answer, Call, RuleTable, ask, options, table
from app.policy.risk.shapes import compiled, together

_ADDRESS = re.compile(
    r"(?:[\w.\[\],-]+ ?@ ?)?(?:git\+|hg\+|svn\+|bzr\+|tarball\+|source:|git::)?"
    r"(?P<scheme>https?|git|ssh|ftp|ftps|svn|git\+ssh|oci)://(?:[^/@\s]*@)?(?P<host>\[[^\]]*\]|"
    r"[^/:?#\s]*)"
)
_GIT_HOST = re.compile(r"(?:[\w.-]+@)?git@[\w.-]+:\S+|[\w.-]+@[\w.-]+\.\w+:\S+\.git\b")
_SHORT = re.compile(
    r"(?:github|gitlab|bitbucket|codeberg)\.(?:com|org)/\S++|"
    r"(?:github|gitlab|bitbucket|gist|gh|gl|bb|codeberg|sourcehut|git):/?/?[\w.-]++/?\S*+"
)
_OWNER_AND_NAME = re.compile(r"[A-Za-z0-9][\w-]*/[\w.-]+(?:#\S*)?")
_NEAR = re.compile(
    r"(?:localhost|127\.[\d.]+|\[::1\]|0\.0\.0\.0|host\.docker\.internal)$", re.IGNORECASE
)
_OWN = re.compile(
    r"(?:[\w-]+\.)*(?:pypi|pythonhosted|npmjs|yarnpkg|rubygems|crates|nuget|packagist|anaconda|"
    r"conda|golang|nixos|jsr|hex|maven|apache|gradle|pytorch)\.(?:org|com|io|dev|pm)$",
    re.IGNORECASE,
)
"""Registries themselves, whose address changes nothing while it is encrypted."""


def foreign(word: str, *, own: bool = True, short: bool = False) -> bool:
    """Whether `word` names a place that software comes from, other than this machine.

    Args:
        own: the address of a registry itself is none, while the way to it is encrypted.
        short: `owner/name` stands for a repository of a forge.
    """
    if found := _ADDRESS.match(word):
        host = found["host"]
        if _NEAR.match(host) or host.startswith(UNKNOWN):
            return False
        is_internal = "." not in host
        return not (own and found["scheme"] == "https" and (is_internal or _OWN.match(host)))
    if _GIT_HOST.match(word) or _SHORT.fullmatch(word):
        return True
    return short and _OWNER_AND_NAME.fullmatch(word) is not None


class Source(NamedTuple):
    """A call that installs or runs what it is given a place of.

    Attributes:
        verb: a pattern that the operands, joined by blanks, begin with.
        having: a pattern that is found among all words, each of them a line.
        not_from: options that hold an address of another kind.
        only: options that alone hold the place.
        lead: of the words behind the verb only the options and the first operand count; those
            after it belong to what runs.
        valued: options in front of that operand which take a word.
        short: `owner/name` is a repository.
        own: the address of a registry is free.
        always: whatever the words are, it is another place.
        pipes: what another command prints comes from where that command says.
    """

    verb: str = ""
    having: str = ""
    not_from: str = ""
    only: str = ""
    lead: bool = False
    valued: str = ""
    short: bool = False
    own: bool = True
    always: bool = False
    pipes: bool = False


_PIP_NOT = "proxy cert client-cert"
_NODE_NOT = "proxy https-proxy noproxy"
_RUN_VALUED = (
    "p c w -python -with -extra -group -env-file -project -directory -with-requirements m -module "
    "-from -index -default-index -index-url -extra-index-url i f -find-links -spec -pip-args "
    "-package -call -registry -allow-insecure-host"
)
_SETS_REGISTRY = (
    r"^(?:set|config\nset|c\nset)\n(?:-\S+\n)*"
    r"(?:\S*registry|npmRegistryServer|npmScopes\S*)(?:=|\n)"
)
_SOURCES: dict[str, tuple[Source, ...]] = {
    "pip pip3": (
        Source(r"(?:install|download|wheel)\b", not_from=_PIP_NOT),
        Source(r"config set \S*(?:index-url|find-links|index)\b"),
    ),
    "uv": (
        Source(
            r"(?:pip (?:install|sync|compile)|add|sync|lock|build|tool install)\b",
            not_from=_PIP_NOT,
        ),
        Source(r"(?:run|tool run|x) ", lead=True, valued=_RUN_VALUED),
    ),
    "uvx": (Source(lead=True, valued=_RUN_VALUED),),
    "pipx": (
        Source(r"run ", lead=True, valued=_RUN_VALUED),
        Source(r"(?:install|inject|upgrade|runpip|install-all)\b", not_from=_PIP_NOT),
    ),
    "easy_install": (Source(),),
    "poetry": (Source(r"(?:add|self add|source add|config repositories\.\S*)\b"),),
    "pdm pipenv rye pixi": (Source(r"(?:add|install|config pypi\.url|source add|self add)\b"),),
    "conda mamba micromamba": (
        Source(r"(?:install|create|env create|update)\b", not_from="proxy"),
        Source(r"config\b", having=r"^--(?:add|append|prepend|set)$"),
    ),
    "npm pnpm yarn bun cnpm": (
        Source(
            r"(?:install|i|in|add|a|ci|it|up|update|upgrade|global add|install-test)(?: |$)",
            not_from=_NODE_NOT,
            short=True,
        ),
        Source(r"(?:exec|x|dlx|create|init) ", lead=True, valued=_RUN_VALUED, short=True),
        Source(having=_SETS_REGISTRY),
    ),
    "npx pnpx bunx": (Source("", lead=True, valued=_RUN_VALUED, short=True),),
    "deno": (Source(r"(?:install|add|compile|serve|bench|test|cache)\b"),),
    "zx jbang groovy": (Source("", lead=True),),
    "streamlit marimo k6": (Source(r"(?:run|edit) ", lead=True),),
    "gem": (Source(r"(?:install|i|update|fetch|sources?)\b", not_from="http-proxy p"),),
    "bundle bundler": (
        Source(r"add\b", having=r"^--(?:git|github|gist|bitbucket)(?:=|$)", always=True),
        Source(r"(?:add|plugin install)\b"),
        Source(r"config (?:set )?mirror"),
    ),
    "cargo": (Source(r"(?:install|add|binstall|generate)\b"),),
    "go": (Source(r"env\b", having=r"^GOPROXY="),),
    "brew": (Source(r"(?:tap|install|reinstall|upgrade)\b"),),
    "apt-add-repository add-apt-repository": (
        Source(having=r"^(?!-)\S|^-(?:P|S|U|p|u)$|^--(?:ppa|uri|sourceslist)", always=True),
    ),
    "apt-key": (Source(r"(?:add|adv)\b", always=True),),
    "yum-config-manager": (Source(having=r"^--add-repo", always=True),),
    "dnf dnf5 yum microdnf tdnf": (
        Source(
            r"(?:install|localinstall|upgrade|update|reinstall|config-manager)\b", not_from="proxy"
        ),
        Source(r"copr enable\b", always=True),
    ),
    "dpkg": (Source(having=r"^(?:-\w*i|--install)$", pipes=True),),
    "rpm": (
        Source(having=r"^(?:-\w*[iUF]\w*|--install|--upgrade|--import|--freshen)$", pipes=True),
    ),
    "zypper": (Source(r"(?:addrepo|ar|install|in|addservice|as|patch|update)\b"),),
    "apk": (Source(r"(?:add|upgrade|fix)\b"),),
    "pacman yay paru": (Source(having=r"^(?:-\w*U|--upgrade)"),),
    "flatpak": (Source(r"(?:remote-add|install|remote-modify)\b"),),
    "nix": (
        Source(r"(?:shell|develop|profile (?:install|add)|build)\b"),
        Source(r"run ", lead=True),
    ),
    "nix-env nix-shell nix-channel nix-build": (Source(),),
    "guix": (Source(r"(?:pull|install|time-machine)\b"),),
    "choco": (Source(r"(?:install|upgrade|sources? add)\b", not_from="proxy"),),
    "scoop": (Source(r"(?:bucket add|install)\b"),),
    "winget": (Source(r"(?:source add|install)\b"),),
    "install-module install-package install-script register-psrepository add-appxpackage "
    "register-packagesource register-psresourcerepository install-psresource": (Source(),),
    "nuget": (Source(r"(?:sources? add|install|restore)\b"),),
    "dotnet": (
        Source(r"(?:nuget add source|tool (?:install|update)|new install|restore|script)\b"),
        Source(r"add\b.* package\b"),
    ),
    "composer": (
        Source(
            r"(?:global )?(?:config|require|create-project|install|update)\b", not_from="http-proxy"
        ),
    ),
    "pecl pear": (Source(r"(?:install|upgrade|channel-discover)\b"),),
    "helm helm3": (
        Source(
            r"(?:repo add|install|upgrade|plugin install)\b",
            not_from="set set-string set-file kube-apiserver description f values",
            own=False,
        ),
    ),
    "kubectl oc k": (
        Source(r"(?:apply|create|replace)\b", only="f filename k kustomize", own=False),
        Source(r"krew (?:index add|install)\b"),
    ),
    "docker podman nerdctl": (
        Source(
            r"(?:buildx )?build\b",
            not_from="build-arg cache-from cache-to label add-host secret annotation",
            own=False,
        ),
        Source(r"(?:image )?import\b", own=False),
    ),
    "vagrant": (Source(r"(?:box add|plugin install)\b"),),
    "terraform tofu": (Source(r"init\b", only="from-module"),),
    "ansible-galaxy": (Source(r"(?:(?:role|collection) )?install\b"),),
    "ansible-pull": (Source(only="U url"),),
    "chezmoi": (Source(r"(?:init|update)\b", having=r"^(?:--apply|-a)$", always=True),),
    "cookiecutter": (Source(),),
    "copier": (Source(r"(?:copy|update|recopy)\b", having=r"^--(?:trust|UNSAFE)$"),),
    "pre-commit prek": (Source(r"try-repo\b"),),
    "gh": (Source(r"(?:extensions?|ext) (?:install|exec)\b", short=True),),
    "asdf mise rtx": (Source(r"(?:plugins?[ -](?:add|install)|use|install)\b"),),
    "opam": (Source(r"(?:pin|repo(?:sitory)?|install|init|remote)\b"),),
    "luarocks": (Source(r"(?:install|build|make)\b"),),
    "cpan cpanm": (Source(not_from="proxy"),),
    "mix": (
        Source(r"(?:archive|escript)\.install\b"),
        Source(r"\S+\.install (?:git|github)\b", always=True),
    ),
    "cabal stack nimble raco": (Source(r"(?:install|pkg install|get|new|setup|v2-install)\b"),),
    "conan": (Source(r"(?:remote add|config install)\b"),),
    "vcpkg spack krew": (Source(r"(?:registry|repo add|mirror add|index add)\b"),),
    "mvn mvnw": (Source(r"\S*dependency:\S*get\b"),),
    "coursier cs": (Source(r"(?:launch|install|bootstrap)\b"),),
    "code code-insiders cursor codium": (Source(having=r"^--install-extension"),),
}
_BY_NAME = {name: sources for listed, sources in _SOURCES.items() for name in listed.split()}
_FLAG = re.compile(r"--?(?:[DSEgOPBWyfq]|save\S*|global|dev|force|yes|exact|optional|peer|no-\S+)$")
"""Options that take no word, so that an operand follows."""


def fetched_from(call: Call) -> str:
    """The place named in `call` that it installs or runs software from; empty where none is."""
    verb = " ".join(options(call.args).rest[:6]) + " "
    lines = "\n".join(call.args)
    for source in _BY_NAME.get(call.name, ()):
        if source.verb and not compiled(source.verb).match(verb):
            continue
        if source.having and not compiled(source.having).search(lines):
            continue
        if source.always:
            return "a source other than its registry"
        for word, is_operand in _places(call, source):
            if foreign(word, own=source.own, short=source.short and is_operand):
                return word
            if source.pipes and word.startswith("/dev/fd/"):
                return "the output of another command"
    return ""


def _places(call: Call, source: Source) -> Iterator[tuple[str, bool]]:
    """Words that may name a place, and whether they are operands."""
    args = call.args
    if source.lead:
        args = _leading(args, source)
    skipped = {"-" * (1 + (len(name) > 1)) + name for name in source.not_from.split()}
    wanted = {"-" * (1 + (len(name) > 1)) + name for name in source.only.split()}
    wanted |= {f"-{name}" for name in source.only.split()}
    previous = ""
    for word in args:
        name, equals, value = word.partition("=")
        if word.startswith("-"):
            attached = value if equals else word[2:] if word[1:2] != "-" else ""
            if (
                attached
                and name not in skipped
                and (not wanted or name in wanted or word[:2] in wanted)
            ):
                yield attached, False
        elif previous not in skipped and (not wanted or previous in wanted):
            after_option = previous.startswith("-") and "=" not in previous
            yield word, not after_option or _FLAG.match(previous) is not None
            if equals:
                yield value, False
        previous = word


def _leading(args: list[str], source: Source) -> list[str]:
    """The words up to the first operand behind the verb."""
    kept, rest = list(args), args
    found = compiled(source.verb).match(" ".join(options(args).rest[:6]) + " ")
    for _ in range(1 + len(found.group().split()) if found else 1):
        given = options(rest, source.valued, stop=True)
        kept = args[: len(args) - len(given.rest) + 1]
        rest = given.rest[1:]
    return kept


def _rule(call: Call) -> Iterator[Answer]:
    if place := fetched_from(call):
        yield ask("foreign_package", f"{call.name} installs software from {place}")


_INSTALLS = re.compile(r"-i$|--install$|-U\w*$|install$|localinstall$|add$")


def _fetched(call: Call) -> Iterator[Answer]:
    """A package file that the same script has fetched."""
    if not any(map(_INSTALLS.match, call.args)):
        return
    for word in call.args:
        if word[:1] != "-" and call.was_written(word) and call.written(word) is None:
            yield ask("foreign_package", f"{call.name} installs {word}, which was just fetched")
            return


FETCHED: RuleTable = table(
    "dpkg rpm apt apt-get dnf yum zypper pacman apk pip pip3 npm gem", _fetched
)
RULES: RuleTable = together(dict.fromkeys(_BY_NAME, _rule), FETCHED)
