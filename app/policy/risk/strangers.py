"""Unknown programs, assessed by the form of their words.

Command lines follow the form `program noun verb`, or `program --verb-noun`, and the program's name
may contain the verb. A destructive verb asks for any program; a removing one asks for objects
outside a project, or all of them; explaining, listing and simulating does not ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import CommandCall, RuleMatch, ask, names
from app.policy.risk.model import RiskLevel
from app.policy.risk.verbs import DESTROYING, READING, STOPPING, names_it, pieces, says

_VERBS = (
    "delete|destroy|purge|wipe|erase|drop|revoke|obliterate|nuke|expunge|unregister|decommission"
)
"""As options some other verbs are weak: `--prune`, `--truncate`."""
_ALL = "all|nodes?|files?|users?|data|duplicates|dupes|chip|flash|disk|keys?|volumes?"
# `--add-drop-table` writes a text, and `--no-delete` means that nothing is deleted.
_OPTION = re.compile(
    rf"--(?!(?:add|no|not|dont|skip|without|never|keep)-)(?:[a-z]+-)?(?:{_VERBS}|remove|"
    rf"factory-?reset|power-?off|reboot|(?:{_VERBS}|remove)(?:{_ALL}))(?:-[a-z][\w-]*)?(?:=.*)?"
)
_DASHED = re.compile(rf"-(?:{_VERBS}|(?:{_VERBS}|remove)(?:{_ALL}))")
_MILD = frozenset(
    names(
        "remove rm rmi del uninstall reset flush unlink rmr evict clear reformat free detach "
        "deactivate unbind disable suspend lock poweroff shutdown reboot halt disconnect"
    )
)
_LIGHT = frozenset(names("clear free detach disable suspend lock disconnect"))
_OF_A_NOUN = frozenset(names("remove rm rmi del unlink rmr evict deactivate unbind"))
"""Verbs above that count after a noun of a service's objects: `program noun remove x`."""
"""Verbs above that are severe only for some objects."""
_OWN_NOUNS = frozenset(
    names(
        "repo remote plugin plugins extension extensions alias context config "
        "source sources dep deps "
        "dependency package packages tap channel profile theme tag tags label env module modules "
        "tool target lib library addon hook hooks pkg component bookmark workspace feature"
    )
)
"""Objects of such a verb among a developer's settings, or in a project."""
_WHOLESALE = frozenset(
    names("--all --force -f --recursive -rf --everything --purge --hard -y --yes")
)
"""Words that make a mild removing verb severe."""
_THINGS = frozenset(
    names(
        "fido fido2 piv oath otp openpgp card token chip flash disk drive "
        "partition volume volumes vol "
        "lun raid pool snapshot snapshots snap backup backups archive vm vms "
        "domain instance instances "
        "cluster member peer database databases db schema table index collection "
        "topic queue stream "
        "bucket user users account group role tenant org organization zone record certificate cert "
        "secret secrets host server device devices machine machines container "
        "containers image images "
        "guest replica shard datastore dataset filesystem network subnet firewall "
        "loadbalancer eeprom "
        "firmware tpm keyring keychain mailbox subscription deployment environment site app apps "
        "factory service services job jobs member members zone zones shard node nodes"
    )
)
"""Objects beyond a part of a project: with data, or used by others."""
_PLACES = 3
"""A verb is the first word, or follows a noun or two."""
_MOST_PLACES = 6
"""Few programs have more nouns; after those a verb stands alone."""

_HARMLESS = frozenset(
    names(
        "--help -help --version --dry-run --dryrun --dry_run --simulate --what-if --whatif "
        "--no-act --preview --list --show --explain --noop --pretend --just-print -dry-run -dryrun "
        "-noop -whatif"
    )
)
# Their words are data, or they remove restorable parts of a project.
_DATA = frozenset(
    names(
        "echo printf test [ [[ grep egrep fgrep rg ag ack sed awk gawk cat head tail less more man "
        "ls cd pwd export local declare typeset read set unset alias true false sleep basename "
        "dirname expr seq tr cut sort uniq wc tee diff cmp jq yq column fold say espeak cowsay "
        "figlet notify-send code vim vi nano emacs open xdg-open type which whereis command tldr "
        "yarn pnpm bun poetry uv pdm pip pip3 cargo composer gem bundle go make just task rake "
        "pytest tox nox jest vitest mocha phpunit rspec coverage apropos whatis info dict curl "
        "wget http xh ssh-keygen esbuild terser hyperfine "
        "log turbo nx gradle gradlew mvn mvnw sbt bazel bazelisk buck2 ng ember expo "
        "react-native flutter dart "
        "mix rebar3 elm cabal stack opam dune zig nimble rustup pyenv nvm fnm volta rbenv sdk asdf "
        "mise pipx pre-commit husky lefthook direnv ccache sccache storybook vite webpack rollup "
        "parcel next nuxt astro gatsby svelte hugo jekyll mkdocs sphinx-build tsx "
        "ts-node deno node "
        "playwright cypress puppeteer watchman "
        "python python3 ruby perl php lua java kotlin scala swift xcodebuild pod fastlane tuist"
    )
)
_POWER = frozenset(names("off down cycle reset soft"))
_ADMINISTERS = re.compile(
    r"^(?!(?:player|brightness|pa|wp|hypr|asus|light|media|volume|music)ctl$|kdeconnect)"
    r"[\w.-]+(?:ctl|adm|admin|-control|-service|-mgr|-manager|admin\.sh|rndc)$|^rndc$"
)
"""Names of administrative programs: what they stop serves others."""
_GLUED_NAME = re.compile(
    r"[a-z0-9_]{2,}(?:delete|destroy|remove|uninstall|purge|wipe|erase)|"
    r"(?:delete|destroy|remove|uninstall|purge|wipe|erase)[a-z0-9_]{2,}"
)
_NAME_ENDS = re.compile(r"\.(?:sh|bash|py|pl|rb|js|ts|cmd|ps1)$")
_NAMED = frozenset(
    names(
        "delete destroy remove uninstall purge wipe erase nuke shred teardown drop undeploy "
        "decommission deprovision factoryreset obliterate cleanse killall"
    )
)
_OF_CMDLETS = frozenset(names("remove"))
"""Prefixes of cmdlets with separate rules."""
_NO_NAME = frozenset(names("dropbox dropbear droplet"))


def stranger(call: CommandCall, *, options_too: bool = True) -> Iterator[RuleMatch]:
    """Ask about a program whose words no rule knows.

    Args:
        options_too: nothing is known about it; otherwise its rules know at least its options.
    """
    if call.name in _DATA or _explains(call.args) or _says_what(call.name):
        return
    found = _verb(call) or ((_option(call) or _name(call)) if options_too else None)
    if found is not None:
        why = f"{call.name} {found} may destroy something"
        yield ask(
            "unknown_destroy", why.replace(f"{call.name} {call.name}", call.name), RiskLevel.MEDIUM
        )


def _says_what(name: str) -> bool:
    """Return whether the name shows that the program is harmless: `get-help`, `create-app`."""
    verb, dash, _ = name.partition("-")
    return bool(dash) and verb in READING


def _explains(args: list[str]) -> bool:
    """Return whether help or a simulation is requested; `-h` only alone or at the end, since it
    may name a host.
    """
    for word in args:
        if word == "--":
            return False
        if word.partition("=")[0] in _HARMLESS:
            return not word.endswith(("=false", "=none"))
    return args[-1:] == ["-h"] or args[:1] == ["help"]


def _verb(call: CommandCall) -> str | None:
    """Return the first words, if one of them is a destructive verb."""
    words = _operands(call.args)
    for at, word in enumerate(words):
        if word in DESTROYING or (at < _PLACES and says(word, DESTROYING)):
            return word
        if at >= _PLACES and not word.isalpha():
            return None
        if word in READING:
            return None
        if at and word in _OF_A_NOUN and words[at - 1] not in _OWN_NOUNS:
            return word
        if says(word, _MILD) and _takes_much(call, word, [*words[:at], *words[at + 1 : at + 2]]):
            return word
        if _ADMINISTERS.search(call.name) and says(word, STOPPING):
            return word
        if word == "power" and not _POWER.isdisjoint(words[at + 1 : at + 2]):
            return f"{word} {words[at + 1]}"
    return None


def _operands(args: list[str]) -> list[str]:
    """Return the first operands; a word after an option may be its value, unless it is a verb
    alone.
    """
    found: list[str] = []
    behind_option = False
    for word in args:
        if word == "--" or len(found) == _MOST_PLACES:
            break
        if word[:1] == "-":
            behind_option = "=" not in word and word not in _WHOLESALE
        else:
            if not behind_option or word in DESTROYING:
                found.append(word)
            behind_option = False
    return found


def _takes_much(call: CommandCall, verb: str, around: list[str]) -> bool:
    parts = {piece for word in [verb, *around] for piece in pieces(word)}
    if not _THINGS.isdisjoint(parts) or {"factory", "reset"} <= parts:
        return True
    return _LIGHT.isdisjoint(parts) and not _WHOLESALE.isdisjoint(call.args)


_SETTING = re.compile(
    r"(?:--?)?(?:action|op|operation|command|cmd|verb|state|ensure)="
    r"(?:\w*[-_])?(?:delete|destroy|remove|erase|wipe|purge|absent|uninstall|drop)\w*"
)
_RESET = re.compile(
    r"--(?!no-)(?:[a-z]+-)*reset-(?:[a-z]+-)*(?:all|db|database|data|everything|"
    r"disk|users?)"
)


def _option(call: CommandCall) -> str | None:
    """Return a destructive long option or setting."""
    for word in call.args:
        if word == "--":
            return None
        if _SETTING.fullmatch(word) or _RESET.fullmatch(word):
            return word
        if _OPTION.fullmatch(word) or _DASHED.fullmatch(word):
            return word.partition("=")[0]
    return None


def _name(call: CommandCall) -> str | None:
    """Return the name of a program named by its effect: `lxc-destroy`, `cluster-uninstall.sh`."""
    parts = pieces(_NAME_ENDS.sub("", call.name))
    if not parts or parts[0] in _NO_NAME:
        return None
    if len(parts) == 1:
        glued = _GLUED_NAME.fullmatch(parts[0]) is not None or names_it(parts[0])
        return call.name if glued else None
    return call.name if parts[0] in _NAMED - _OF_CMDLETS or parts[-1] in _NAMED else None
