"""git: losing work, rewriting shared history, running programs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from app.core.git_config import is_risky
from app.policy.risk.call import (
    UNKNOWN,
    UNTOLD,
    Answer,
    CommandCall,
    Options,
    RuleMatch,
    RuleTable,
    ask,
    is_pattern,
    may_be_option,
    options,
    run,
    script,
    table,
)
from app.policy.risk.model import RiskLevel
from app.policy.risk.rules.delete import removing
from app.policy.risk.rules.protections import git_setting

GLOBAL_OPTIONS = (
    "C c -git-dir -work-tree -namespace -exec-path -config-env -super-prefix "
    "-attr-source -list-cmds"
)

_RUN_KEYS = re.compile(
    r"core\.(?:sshcommand|pager|editor|fsmonitor|askpass|gitproxy|"
    r"alternaterefscommand)|(?:diff|sequence)\.(?:external|editor)"
    r"|diff\..*\.(?:command|textconv)|pager\..*|credential(?:\..*)?\.helper|"
    r"gpg(?:\..*)?\.program|filter\..*\.(?:clean|smudge|process)"
    r"|merge\..*\.driver|(?:merge|diff)tool\..*\.(?:cmd|path)|browser\..*\.cmd|"
    r"man\..*\.cmd|interactive\.difffilter|remote\..*\.(?:uploadpack|receivepack|vcs)"
    r"|uploadpack\.packobjectshook|web\.browser|trailer\..*\.(?:command|cmd)|"
    r"sendemail\..*cmd|submodule\..*\.update"
)
_Handler = Callable[[CommandCall, list[str]], Iterator[Answer]]


def _git(call: CommandCall) -> Iterator[Answer]:
    before = options(call.args, GLOBAL_OPTIONS, stop=True)
    before.flags = [
        flag for flag in before.flags if flag != "--exec-path" or "--exec-path" in before.values
    ]
    aliases: dict[str, str] = {}
    for setting in before.all_values("-c"):
        key, _, value = setting.partition("=")
        if key.lower().startswith("alias."):
            aliases[key[6:]] = value
        else:
            yield from _setting(key, value)
    if any(before.values.get("--exec-path", ())) or before.values.get("--config-env"):
        yield ask("git_config", "git loads its programs or settings from elsewhere")
    if not before.rest:
        return
    verb, args = before.rest[0], before.rest[1:]
    if UNKNOWN in verb or is_pattern(verb) or any(UNKNOWN in flag for flag in before.flags):
        yield ask("unresolved_command", "the git subcommand is not known before it runs")
    elif any(arg.startswith("ext::") for arg in args):
        yield ask("git_transport", "the address names a program to run")
    elif verb in aliases:
        yield from _alias(aliases[verb], args)
    elif handler := _VERBS.get(verb):
        inner = moved(call, before)
        yield from handler(inner, args)
        if verb != "grep" and any(map(may_be_option, args)):
            yield ask("unresolved_command", f"an option of git {verb} is not known before it runs")
    else:
        yield from _extension(verb, args)


_DESTROYS = re.compile(
    r"(?:[a-z]+-)?(?:delete|destroy|purge|wipe|erase|drop|obliterate|nuke|clear|kill|sweep|trim|"
    r"reset|undo|force|reauthor|forget)(?:-.*)?"
)
_NOUNS_FIRST = frozenset(
    ["flow", "town", "annex", "machete", "bug", "subrepo", "branchless", "tower"]
)


def _extension(verb: str, args: list[str]) -> Iterator[Answer]:
    """Handle a command that git lacks, such as `git delete-merged-branches`."""
    words = [verb, *(args[:2] if verb in _NOUNS_FIRST else ())]
    if any(map(_DESTROYS.fullmatch, words)) and not (
        _help(args) or options(args).has("-n", "--dry-run", "--help")
    ):
        yield _lossy("git_extension", f"git {verb} may lose work or branches")


def moved(call: CommandCall, before: Options) -> CommandCall:
    if not before.values and call.name == "git":
        return call
    cwd = call.cwd
    for path in before.all_values("-C", "--work-tree"):
        resolved = CommandCall("", [], cwd, call.home).at(path)
        cwd = None if UNKNOWN in resolved else resolved
    return CommandCall("git", call.args, cwd, call.home, call.stdin, call.contained)


def _alias(value: str, args: list[str]) -> Iterator[Answer]:
    if value.startswith("!"):
        yield script(value[1:])
    else:
        yield run(["git", *value.split(), *args])


def _setting(key: str, value: str) -> Iterator[Answer]:
    """Handle a setting that makes git run something."""
    yield from git_setting(key, value)
    lowered = key.lower()
    if lowered == "core.hookspath":
        if value not in {"/dev/null", ""}:
            yield ask("git_config", "makes git run hooks from another folder")
    elif lowered in {"protocol.ext.allow", "init.templatedir"} or lowered.startswith(
        ("include.", "includeif.")
    ):
        yield ask("git_config", f"{key} allows git to run or load other code")
    elif lowered == "clean.requireforce":
        yield ask("git_config", "allows git clean to delete without --force")
    elif _RUN_KEYS.fullmatch(lowered) and value.lower() not in {
        "",
        "true",
        "false",
        "cat",
        "never",
    }:
        yield script(value.removeprefix("!"), stdin=UNTOLD)


def may_run(key: str) -> bool:
    """Return whether a setting with this name may make git run or load something."""
    lowered = key.lower()
    return bool(_RUN_KEYS.fullmatch(lowered)) or lowered.startswith(
        (
            "alias.",
            "core.hookspath",
            "init.templatedir",
            "protocol.ext.allow",
            "include.",
            "includeif.",
        )
    )


def _lossy(code: str, why: str) -> RuleMatch:
    return ask(code, why, RiskLevel.HIGH)


def _help(args: list[str]) -> bool:
    return args[:1] in (["-h"], ["--help"])


def _push(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "o -push-option -repo -receive-pack -exec")
    for program in given.all_values("--receive-pack", "--exec"):
        yield script(program, stdin=UNTOLD)
    if given.has("-n", "--dry-run") and "--d" not in given.flags:
        return
    if _long_or(
        given, "-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--prune"
    ):
        yield _lossy("git_force_push", "rewrites or deletes shared history")
    elif given.has("-d", "--delete"):
        yield _lossy("git_delete_remote", "deletes remote branches")
    for refspec in given.rest[1:]:
        if refspec.startswith("+"):
            yield _lossy("git_force_push", "a + refspec is a forced update")
        elif refspec.startswith(":") and len(refspec) > 1:
            yield _lossy("git_delete_remote", "an empty source deletes the remote branch")
    if given.rest and given.rest[0].startswith("ext::"):
        yield ask("git_transport", "the address names a program to run")


def _long_or(given: Options, *names: str) -> bool:
    return any(
        flag in names or (flag not in _SAFE and given_has(flag, names)) for flag in given.flags
    )


_SAFE = frozenset(
    ["--follow-tags", "--progress", "--porcelain", "--push-option", "--recurse-submodules"]
)


def given_has(flag: str, names: tuple[str, ...]) -> bool:
    """Return whether git accepts the long `flag` as one of `names`: unique prefixes suffice."""
    return len(flag) > 2 and flag.startswith("--") and any(name.startswith(flag) for name in names)


def _reset(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if options(args).has("--hard", "--merge"):
        yield _lossy("git_reset_hard", "discards uncommitted work")


def _clean(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "e -exclude")
    if given.has("-n", "--dry-run") or _help(args):
        return
    if given.has("-f", "--force", "-i", "--interactive"):
        yield _lossy("git_clean", "deletes untracked files")


def _looks_like_path(operand: str) -> bool:
    return (
        operand in {".", "..", ":/", "*"}
        or operand.startswith(("./", "../", ":", "/", "~"))
        or operand.endswith("/")
        or "*" in operand
        or bool(re.search(r"(?:^|/)[^/]*\.[A-Za-z][A-Za-z0-9]{0,5}$", operand))
    )


def _checkout(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "b B -orphan -conflict -pathspec-from-file")
    if given.has(
        "-f", "--force", "--ours", "--theirs", "-p", "--patch", "-B", "--pathspec-from-file"
    ):
        yield _lossy("git_checkout", "overwrites uncommitted work")
        return
    if given.has("-b", "--orphan", "-t", "--track"):
        return
    after = args[args.index("--") + 1 :] if "--" in args else []
    if after or len(given.rest) > 1 or any(_looks_like_path(operand) for operand in given.rest):
        yield _lossy("git_checkout", "overwrites files with another version")


def _restore(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "s -source -conflict -pathspec-from-file")
    if _help(args) or (given.has("-S", "--staged") and not given.has("-W", "--worktree")):
        return
    yield _lossy("git_restore", "overwrites files with another version")


def _switch(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if options(args, "c -create -orphan").has(
        "-f", "--force", "--discard-changes", "-C", "--force-create"
    ):
        yield _lossy("git_switch", "discards uncommitted work or a branch")


def _branch(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "u -set-upstream-to -sort -format -contains -points-at")
    remote_delete = given.has("-d", "--delete") and given.has("-r", "--remotes")
    if given.has("-D", "-M", "-C", "-f", "--force") or remote_delete:
        yield _lossy("git_branch", "deletes or overwrites a branch without a merge check")


def _tag(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if options(args, "m F u -message -file -sort -format").has("-d", "--delete", "-f", "--force"):
        yield _lossy("git_tag", "deletes or moves a tag")


def _stash(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    words = options(args, stop=True).rest
    if words[:1] in (["drop"], ["clear"]):
        yield _lossy("git_stash", "deletes stashed work")


def _worktree(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if args[:1] == ["remove"] and options(args).has("-f", "--force"):
        yield _lossy("git_worktree", "deletes a work tree with its changes")


def _rm(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "-pathspec-from-file")
    if not _help(args) and not given.has("--cached", "-n", "--dry-run"):
        yield from removing(call, given.rest, recursive=given.has("-r"))


def _reflog(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if args[:1] in (["expire"], ["delete"]):
        yield _lossy("git_reflog", "deletes the references to lost commits")


def _gc(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if options(args, "-prune=").value("--prune") not in {None, "never"}:
        yield _lossy("git_gc", "deletes unreachable commits")


def _always(code: str, why: str) -> _Handler:
    def handler(call: CommandCall, args: list[str]) -> Iterator[Answer]:
        if not _help(args) and not options(args).has("-n", "--dry-run"):
            yield _lossy(code, why)

    return handler


def _when(code: str, why: str, *flags: str) -> _Handler:
    def handler(call: CommandCall, args: list[str]) -> Iterator[Answer]:
        if options(args).has(*flags):
            yield _lossy(code, why)

    return handler


def _programs(valued: str, *flags: str) -> _Handler:
    def handler(call: CommandCall, args: list[str]) -> Iterator[Answer]:
        given = options(args, valued, optional="O" if "-O" in flags else "")
        for program in given.all_values(*flags):
            yield script(program, stdin=UNTOLD)
        for setting in given.all_values("-c", "--config"):
            key, _, value = setting.partition("=")
            yield from _setting(key, value)
        for operand in given.rest:
            if operand.startswith("ext::"):
                yield ask("git_transport", "the address names a program to run")

    return handler


def _bisect(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if args[:1] == ["run"] and len(args) > 1:
        yield run(args[1:])


def _submodule(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    words = options(args, stop=True).rest
    if words[:1] == ["foreach"]:
        yield script(" ".join(options(words[1:], stop=True).rest))
    elif words[:1] in (["deinit"], ["update"]) and options(args, "-reference -depth j").has(
        "-f", "--force", "--all"
    ):
        yield _lossy("git_submodule", "deletes a submodule's work tree")


def _config(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "f -file -type -default -blob")
    words = given.rest[1:] if given.rest[:1] == ["set"] else given.rest
    if given.rest[:1] in (["get"], ["list"], ["unset"]):
        return
    if given.has("--get", "--list", "-l", "--get-all", "--unset", "--get-regexp") or len(words) < 2:
        return
    key, value = words[0].lower(), words[1]
    if not given.has("--global", "--system") and is_risky(key, value):
        # The sandbox restores such a setting, unless a person has approved it.
        yield ask("git_config", f"{key} may make git run or load code at its next command")
    if key.startswith("alias."):
        yield from _alias(value, [])
    elif key != "core.editor" or given.has("--system") or _deletes(value):
        yield from _setting(key, value)
        if (
            _RUN_KEYS.fullmatch(key)
            and given.has("--global", "--system")
            and not key.startswith("credential")
        ):
            yield ask("git_config", f"{key} makes git run a program everywhere", RiskLevel.MEDIUM)


def _deletes(program: str) -> bool:
    """Return whether the editor is harmful; the user's own choice of editor is not."""
    return bool(re.match(r"\s*!?\s*(?:\S*/)?(?:rm|sh|bash|git|find|dd|shred)\b", program))


def _lfs(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if args[:1] == ["install"]:
        yield ask("git_code", "git lfs install sets up hooks and filters, which git runs")
    if args[:1] == ["prune"] and "--dry-run" not in args:
        yield _lossy("git_prune", "deletes stored large files")


def _remote(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if args[:1] in (["remove"], ["rm"]):
        yield ask("git_config", "removes a remote and its branches", RiskLevel.MEDIUM)


def _fetched(handler: _Handler) -> _Handler:
    def also(call: CommandCall, args: list[str]) -> Iterator[Answer]:
        yield from handler(call, args)
        given = options(args, "j o s X -upload-pack -depth")
        forced = given.has("-f", "--force")
        for operand in given.rest[1:]:
            source, _, target = operand.partition(":")
            if (
                (forced or source.startswith("+"))
                and target
                and not target.startswith("refs/remotes/")
            ):
                yield _lossy("git_branch", "overwrites a local branch")

    return also


def _templated(handler: _Handler) -> _Handler:
    def also(call: CommandCall, args: list[str]) -> Iterator[Answer]:
        yield from handler(call, args)
        if options(args, "-template b o c").all_values("--template"):
            yield ask("git_config", "copies hooks from a template")

    return also


def _update_ref(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    if options(args, "m").has("-d", "--stdin"):
        yield _lossy("git_refs", "deletes references")


def _send_pack(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    given = options(args, "-receive-pack -exec")
    for program in given.all_values("--receive-pack", "--exec"):
        yield script(program, stdin=UNTOLD)
    if given.has("--force", "--mirror") or any(word.startswith("+") for word in given.rest):
        yield _lossy("git_force_push", "rewrites or deletes shared history")


def _credential(call: CommandCall, args: list[str]) -> Iterator[Answer]:
    words = options(args, "-file -timeout -socket").rest
    if words[:1] in (["fill"], ["get"]) or words[-1:] == ["get"]:
        yield ask("secret_read", "shows stored credentials")


_FETCH = _programs(
    "u j o -upload-pack -depth -config c b -branch -reference", "-u", "--upload-pack"
)


_VERBS: dict[str, _Handler] = {
    "push": _push,
    "reset": _reset,
    "clean": _clean,
    "checkout": _checkout,
    "restore": _restore,
    "switch": _switch,
    "branch": _branch,
    "tag": _tag,
    "stash": _stash,
    "worktree": _worktree,
    "rm": _rm,
    "reflog": _reflog,
    "gc": _gc,
    "config": _config,
    "bisect": _bisect,
    "submodule": _submodule,
    "update-ref": _update_ref,
    "send-pack": _send_pack,
    "credential": _credential,
    "credential-store": _credential,
    "credential-cache": _credential,
    "filter-branch": _always("git_rewrite", "rewrites history"),
    "filter-repo": _always("git_rewrite", "rewrites history"),
    "prune": _always("git_prune", "deletes unreachable commits"),
    "checkout-index": _when("git_checkout", "overwrites files", "-f", "--force"),
    "read-tree": _when("git_reset_hard", "overwrites the work tree", "-u", "--reset"),
    "symbolic-ref": _when("git_refs", "deletes a reference", "-d", "--delete"),
    "replace": _when("git_refs", "deletes or overwrites a replacement", "-d", "--delete", "-f"),
    "rebase": _programs("x s X -exec -onto -strategy", "-x", "--exec"),
    "difftool": _programs("x t -extcmd -tool", "-x", "--extcmd"),
    "grep": _programs("e f A B C m -open-files-in-pager=", "-O", "--open-files-in-pager"),
    "clone": _templated(_FETCH),
    "init": _templated(_programs("b -initial-branch -template")),
    "lfs": _lfs,
    "apply": _when("git_checkout", "writes outside the work tree", "--unsafe-paths"),
    "ls-remote": _programs("-upload-pack -exec -sort", "--upload-pack", "--exec"),
    "send-email": _programs("-sendmail-cmd -to -cc -from -smtp-server", "--sendmail-cmd"),
    "fetch": _fetched(_programs("j o -upload-pack -depth", "--upload-pack")),
    "pull": _fetched(_programs("j o s X -upload-pack -depth", "--upload-pack")),
    "archive": _programs("o -output -format -remote -exec -prefix", "--exec"),
    "remote": _remote,
}


def _hook_manager(call: CommandCall) -> Iterator[Answer]:
    """Ask about hooks installed by a hook manager, which run at the next commit."""
    given = options(call.args)
    verb = given.rest[0] if given.rest else ""
    installs = verb in {"install", "init", "init-templatedir", "add", "set"}
    if (installs and not _help(call.args[1:])) or given.has("--install"):
        yield ask("git_code", f"{call.name} sets up hooks, which git runs")


RULES: RuleTable = {
    **table("git hub", _git),
    **table("pre-commit prek husky lefthook overcommit git-lfs", _hook_manager),
}
