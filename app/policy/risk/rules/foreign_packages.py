"""Software installed or run from an address instead of its registry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from app.policy.risk.call import UNKNOWN, Answer, CommandCall, RuleTable, ask, options, table
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
"""Registries whose address is harmless while encrypted."""


def foreign(word: str, *, own: bool = True, short: bool = False) -> bool:
    """Return whether `word` is a source of software other than this machine.

    Args:
        own: an encrypted address of the registry itself does not count.
        short: `owner/name` is a repository of a forge.
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


class PackageSource(NamedTuple):
    """Call that installs or runs software from a given source.

    Attributes:
        verb: pattern at the start of the operands, joined by blanks.
        having: pattern found among all words, one per line.
        not_from: options with an address of another kind.
        only: only these options contain the source.
        lead: after the verb only the options and the first operand count; later words belong to the
            program.
        valued: valued options before that operand.
        short: `owner/name` is a repository.
        own: the address of a registry is harmless.
        always: the source is foreign for any words.
        pipes: piped input comes from the other command's source.
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
_SOURCES: dict[str, tuple[PackageSource, ...]] = {
    "pip pip3": (
        PackageSource(r"(?:install|download|wheel)\b", not_from=_PIP_NOT),
        PackageSource(r"config set \S*(?:index-url|find-links|index)\b"),
    ),
    "uv": (
        PackageSource(
            r"(?:pip (?:install|sync|compile)|add|sync|lock|build|tool install)\b",
            not_from=_PIP_NOT,
        ),
        PackageSource(r"(?:run|tool run|x) ", lead=True, valued=_RUN_VALUED),
    ),
    "uvx": (PackageSource(lead=True, valued=_RUN_VALUED),),
    "pipx": (
        PackageSource(r"run ", lead=True, valued=_RUN_VALUED),
        PackageSource(r"(?:install|inject|upgrade|runpip|install-all)\b", not_from=_PIP_NOT),
    ),
    "easy_install": (PackageSource(),),
    "poetry": (PackageSource(r"(?:add|self add|source add|config repositories\.\S*)\b"),),
    "pdm pipenv rye pixi": (
        PackageSource(r"(?:add|install|config pypi\.url|source add|self add)\b"),
    ),
    "conda mamba micromamba": (
        PackageSource(r"(?:install|create|env create|update)\b", not_from="proxy"),
        PackageSource(r"config\b", having=r"^--(?:add|append|prepend|set)$"),
    ),
    "npm pnpm yarn bun cnpm": (
        PackageSource(
            r"(?:install|i|in|add|a|ci|it|up|update|upgrade|global add|install-test)(?: |$)",
            not_from=_NODE_NOT,
            short=True,
        ),
        PackageSource(r"(?:exec|x|dlx|create|init) ", lead=True, valued=_RUN_VALUED, short=True),
        PackageSource(having=_SETS_REGISTRY),
    ),
    "npx pnpx bunx": (PackageSource("", lead=True, valued=_RUN_VALUED, short=True),),
    "deno": (PackageSource(r"(?:install|add|compile|serve|bench|test|cache)\b"),),
    "zx jbang groovy": (PackageSource("", lead=True),),
    "streamlit marimo k6": (PackageSource(r"(?:run|edit) ", lead=True),),
    "gem": (PackageSource(r"(?:install|i|update|fetch|sources?)\b", not_from="http-proxy p"),),
    "bundle bundler": (
        PackageSource(r"add\b", having=r"^--(?:git|github|gist|bitbucket)(?:=|$)", always=True),
        PackageSource(r"(?:add|plugin install)\b"),
        PackageSource(r"config (?:set )?mirror"),
    ),
    "cargo": (PackageSource(r"(?:install|add|binstall|generate)\b"),),
    "go": (PackageSource(r"env\b", having=r"^GOPROXY="),),
    "brew": (PackageSource(r"(?:tap|install|reinstall|upgrade)\b"),),
    "apt-add-repository add-apt-repository": (
        PackageSource(having=r"^(?!-)\S|^-(?:P|S|U|p|u)$|^--(?:ppa|uri|sourceslist)", always=True),
    ),
    "apt-key": (PackageSource(r"(?:add|adv)\b", always=True),),
    "yum-config-manager": (PackageSource(having=r"^--add-repo", always=True),),
    "dnf dnf5 yum microdnf tdnf": (
        PackageSource(
            r"(?:install|localinstall|upgrade|update|reinstall|config-manager)\b", not_from="proxy"
        ),
        PackageSource(r"copr enable\b", always=True),
    ),
    "dpkg": (PackageSource(having=r"^(?:-\w*i|--install)$", pipes=True),),
    "rpm": (
        PackageSource(
            having=r"^(?:-\w*[iUF]\w*|--install|--upgrade|--import|--freshen)$", pipes=True
        ),
    ),
    "zypper": (PackageSource(r"(?:addrepo|ar|install|in|addservice|as|patch|update)\b"),),
    "apk": (PackageSource(r"(?:add|upgrade|fix)\b"),),
    "pacman yay paru": (PackageSource(having=r"^(?:-\w*U|--upgrade)"),),
    "flatpak": (PackageSource(r"(?:remote-add|install|remote-modify)\b"),),
    "nix": (
        PackageSource(r"(?:shell|develop|profile (?:install|add)|build)\b"),
        PackageSource(r"run ", lead=True),
    ),
    "nix-env nix-shell nix-channel nix-build": (PackageSource(),),
    "guix": (PackageSource(r"(?:pull|install|time-machine)\b"),),
    "choco": (PackageSource(r"(?:install|upgrade|sources? add)\b", not_from="proxy"),),
    "scoop": (PackageSource(r"(?:bucket add|install)\b"),),
    "winget": (PackageSource(r"(?:source add|install)\b"),),
    "install-module install-package install-script register-psrepository add-appxpackage "
    "register-packagesource register-psresourcerepository install-psresource": (PackageSource(),),
    "nuget": (PackageSource(r"(?:sources? add|install|restore)\b"),),
    "dotnet": (
        PackageSource(r"(?:nuget add source|tool (?:install|update)|new install|restore|script)\b"),
        PackageSource(r"add\b.* package\b"),
    ),
    "composer": (
        PackageSource(
            r"(?:global )?(?:config|require|create-project|install|update)\b", not_from="http-proxy"
        ),
    ),
    "pecl pear": (PackageSource(r"(?:install|upgrade|channel-discover)\b"),),
    "helm helm3": (
        PackageSource(
            r"(?:repo add|install|upgrade|plugin install)\b",
            not_from="set set-string set-file kube-apiserver description f values",
            own=False,
        ),
    ),
    "kubectl oc k": (
        PackageSource(r"(?:apply|create|replace)\b", only="f filename k kustomize", own=False),
        PackageSource(r"krew (?:index add|install)\b"),
    ),
    "docker podman nerdctl": (
        PackageSource(
            r"(?:buildx )?build\b",
            not_from="build-arg cache-from cache-to label add-host secret annotation",
            own=False,
        ),
        PackageSource(r"(?:image )?import\b", own=False),
    ),
    "vagrant": (PackageSource(r"(?:box add|plugin install)\b"),),
    "terraform tofu": (PackageSource(r"init\b", only="from-module"),),
    "ansible-galaxy": (PackageSource(r"(?:(?:role|collection) )?install\b"),),
    "ansible-pull": (PackageSource(only="U url"),),
    "chezmoi": (PackageSource(r"(?:init|update)\b", having=r"^(?:--apply|-a)$", always=True),),
    "cookiecutter": (PackageSource(),),
    "copier": (PackageSource(r"(?:copy|update|recopy)\b", having=r"^--(?:trust|UNSAFE)$"),),
    "pre-commit prek": (PackageSource(r"try-repo\b"),),
    "gh": (PackageSource(r"(?:extensions?|ext) (?:install|exec)\b", short=True),),
    "asdf mise rtx": (PackageSource(r"(?:plugins?[ -](?:add|install)|use|install)\b"),),
    "opam": (PackageSource(r"(?:pin|repo(?:sitory)?|install|init|remote)\b"),),
    "luarocks": (PackageSource(r"(?:install|build|make)\b"),),
    "cpan cpanm": (PackageSource(not_from="proxy"),),
    "mix": (
        PackageSource(r"(?:archive|escript)\.install\b"),
        PackageSource(r"\S+\.install (?:git|github)\b", always=True),
    ),
    "cabal stack nimble raco": (
        PackageSource(r"(?:install|pkg install|get|new|setup|v2-install)\b"),
    ),
    "conan": (PackageSource(r"(?:remote add|config install)\b"),),
    "vcpkg spack krew": (PackageSource(r"(?:registry|repo add|mirror add|index add)\b"),),
    "mvn mvnw": (PackageSource(r"\S*dependency:\S*get\b"),),
    "coursier cs": (PackageSource(r"(?:launch|install|bootstrap)\b"),),
    "code code-insiders cursor codium": (PackageSource(having=r"^--install-extension"),),
}
_BY_NAME = {name: sources for listed, sources in _SOURCES.items() for name in listed.split()}
_FLAG = re.compile(r"--?(?:[DSEgOPBWyfq]|save\S*|global|dev|force|yes|exact|optional|peer|no-\S+)$")
"""Options without a value, so that an operand follows."""


def fetched_from(call: CommandCall) -> str:
    """Return the source from which `call` installs or runs software, or an empty text."""
    verb = " ".join(options(call.args).rest[:6]) + " "
    for source in _BY_NAME.get(call.name, ()):
        if source.verb and not compiled(source.verb).match(verb):
            continue
        if source.having and not compiled(source.having).search("\n".join(call.args)):
            continue
        if source.always:
            return "a source other than its registry"
        for word, is_operand in _places(call, source):
            if foreign(word, own=source.own, short=source.short and is_operand):
                return word
            if source.pipes and word.startswith("/dev/fd/"):
                return "the output of another command"
    return ""


def _places(call: CommandCall, source: PackageSource) -> Iterator[tuple[str, bool]]:
    """Yield words that may be a source, and whether they are operands."""
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


def _leading(args: list[str], source: PackageSource) -> list[str]:
    """Return the words up to the first operand after the verb."""
    kept, rest = list(args), args
    found = compiled(source.verb).match(" ".join(options(args).rest[:6]) + " ")
    for _ in range(1 + len(found.group().split()) if found else 1):
        given = options(rest, source.valued, stop=True)
        kept = args[: len(args) - len(given.rest) + 1]
        rest = given.rest[1:]
    return kept


def _rule(call: CommandCall) -> Iterator[Answer]:
    if place := fetched_from(call):
        yield ask("foreign_package", f"{call.name} installs software from {place}")


_INSTALLS = re.compile(r"-i$|--install$|-U\w*$|install$|localinstall$|add$")


def _fetched(call: CommandCall) -> Iterator[Answer]:
    """Handle a package file fetched by the same script."""
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
