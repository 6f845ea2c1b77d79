"""Programs that are in no table, judged by the shape of their words.

Command lines are made alike: `program noun verb`, or `program --verb-noun`. A verb that destroys
asks, whatever program it belongs to; what only explains, lists or tries does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import Call, Hit, ask, names, options
from app.policy.risk.model import RiskLevel

_VERBS = (
    "delete|destroy|purge|wipe|erase|drop|revoke|obliterate|nuke|expunge|unregister|decommission"
)
_SUBCOMMANDS = (
    f"{_VERBS}|prune|forget|terminate|deprovision|teardown|truncate|zap|shred|deregister|eradicate"
)
"""As an option some of these say little: `--prune`, `--truncate`."""
_WORD = re.compile(rf"(?:[a-z]+[-_:])?(?:{_SUBCOMMANDS})(?:[-_:][a-z][\w-]*)?")
# `--add-drop-table` writes a text, and `--no-delete` says that nothing is deleted.
_OPTION = re.compile(
    rf"--(?!(?:add|no|not|dont|skip|without|never|keep)-)(?:[a-z]+-)?(?:{_VERBS}|"
    rf"remove)(?:-[a-z][\w-]*)?(?:=.*)?"
)
_MILD = re.compile(r"(?:remove|rm|uninstall|reset|flush|unlink)(?:[-_:][a-z][\w-]*)?")
_WHOLESALE = frozenset(names("--all --force -f --recursive -rf --everything --purge --hard"))
"""What makes a verb that takes away a little take away much."""
_DASHED = re.compile(rf"-(?:{_VERBS})")
_PLACES = 2
"""A verb is the first word, or the second behind a noun."""

_HARMLESS = frozenset(
    names(
        "--help -h -help --version --dry-run --dryrun --dry_run --simulate --what-if --whatif "
        "--no-act --preview --list --show --explain"
    )
)
# What stands behind these is a text, a name or a command of its own.
_NO_VERB_AFTER = frozenset(
    names(
        "help man list ls show get describe info status search find grep log logs explain which "
        "docs doc print echo test check lint format run exec view cat open watch"
    )
)
# Their words are data, or what they remove belongs to a project and comes back with it.
_DATA = frozenset(
    names(
        "echo printf test [ [[ grep egrep fgrep rg ag ack sed awk gawk cat head tail less more man "
        "ls cd pwd export local declare typeset read set unset alias true false sleep basename "
        "dirname expr seq tr cut sort uniq wc tee diff cmp jq yq column fold say espeak cowsay "
        "figlet notify-send code vim vi nano emacs open xdg-open type which whereis command tldr "
        "yarn pnpm bun poetry uv pdm pip pip3 cargo composer gem bundle go make just task rake "
        "pytest tox nox jest vitest mocha phpunit rspec coverage apropos whatis info dict curl "
        "wget http xh ssh-keygen esbuild terser hyperfine bazel bazelisk turbo nx gradle mvn sbt"
    )
)


def stranger(call: Call, *, options_too: bool = True) -> Iterator[Hit]:
    """The question about a program of which no rule knows what its words do.

    Args:
        options_too: nothing is known of it; else its rules know at least its options.
    """
    if call.name in _DATA or any(word.partition("=")[0] in _HARMLESS for word in call.args):
        return
    found = _verb(call) or (_option(call) if options_too else None)
    if found is not None:
        why = f"{call.name} {found} may destroy something"
        yield ask("unknown_destroy", why, RiskLevel.MEDIUM)


def _verb(call: Call) -> str | None:
    """The first words, where one of them is a verb that destroys."""
    for word in options(call.args).rest[:_PLACES]:
        if word in _NO_VERB_AFTER:
            return None
        if _WORD.fullmatch(word):
            return word
        if _MILD.fullmatch(word) and not _WHOLESALE.isdisjoint(call.args):
            return word
    return None


def _option(call: Call) -> str | None:
    """A long option that destroys."""
    for word in call.args:
        if word == "--":
            return None
        if _OPTION.fullmatch(word) or _DASHED.fullmatch(word):
            return word.partition("=")[0]
    return None
