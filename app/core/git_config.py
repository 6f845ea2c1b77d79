"""Detection of git settings that make git run or load a program."""

from __future__ import annotations

import re
from collections.abc import Iterator

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:\\.|[^"\\])*)")?\s*\]\s*')
_SETTING = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
_SAFE_ADDRESS = re.compile(r'"?(?:[a-z][a-z0-9+.-]*://|[A-Za-z0-9_./~][^:]*(?::(?!:)|$))')

# Settings that cannot run a program. All others count as risky, because each version of git adds
# settings.
_HARMLESS = re.compile(
    r"user\.(?:name|email|signingkey|useconfigonly)|author\..*|committer\..*"
    r"|core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks"
    r"|precomposeunicode|autocrlf|eol|safecrlf|quotepath|abbrev|compression|longpaths"
    r"|sparsecheckout|sparsecheckoutcone|untrackedcache|splitindex|preloadindex|whitespace"
    r"|commentchar|protecthfs|protectntfs|fsync\w*|sharedrepository|bigfilethreshold"
    r"|trustctime|checkstat|multipackindex|commitgraph|maxtreedepth)"
    r"|remote\.\*\.(?:fetch|push|mirror|prune|prunetags|tagopt|promisor|partialclonefilter"
    r"|skipdefaultupdate|skipfetchall|followremotehead)"
    r"|branch\.\*\.(?:remote|merge|rebase|pushremote|description|mergeoptions|\w+-merge-base)"
    r"|branch\.(?:autosetupmerge|autosetuprebase|sort)|submodule\.\*\.(?:active|branch|ignore"
    r"|fetchrecursesubmodules)|submodule\.(?:active|recurse)"
    r"|extensions\.(?:objectformat|worktreeconfig|partialclone|noop|preciousobjects|refstorage"
    r"|compatobjectformat|relativeworktrees)"
    r"|init\.defaultbranch|(?:pull|push|fetch|merge|rebase|rerere|color|advice|status|log|gc"
    r"|pack|index|feature|maintenance|tag|format|stash|blame|help|column|checkout|clone|worktree"
    r"|transfer|receive|commit|apply|am|bundle|repack|http\.\*|http)\."
    r"(?!(?:.*\.)?(?:\w*cmd|command|\w*program|\w*hook\w*|\w*file|ssl\w*|proxy\w*|\w*path|helper"
    r"|extraheader|signature\w*|template|driver|cookiefile|delegation|useragent)$)[\w.*]*"
    r"|diff\.(?:algorithm|renames|renamelimit|colormoved\w*|mnemonicprefix|noprefix|context"
    r"|ignoresubmodules|submodule|wserrorhighlight|indentheuristic)"
    r"|lfs\.repositoryformatversion"
)
_INCLUDES = re.compile(r"include(?:if\.\*)?\.path")
_COMMENT = re.compile(r"\s+[#;][^\"]*$")
_ADDRESSES = re.compile(r"remote\.\*\.(?:url|pushurl)|submodule\.\*\.url")
_PROGRAMS = re.compile(r"core\.(?:editor|pager)|sequence\.editor|pager\.[\w-]+")
_USUAL = frozenset(
    {
        *("", "true", "false", "cat", "less", "more", "vi", "vim", "nvim", "nano", "emacs"),
        *("micro", "bat", "delta", "less -FRX", "less -R", "code --wait"),
    }
)
# A git command with plain words that cannot run another program.
_PLAIN_ALIAS = re.compile(
    r"(?!(?:config|bisect|rebase|submodule|filter-branch|difftool|mergetool|send-email|daemon)\b)"
    r"[a-z][a-z-]*(?:\s+(?!-c\b|-x\b|--exec|--upload-pack|--receive-pack|--ext|--textconv|-O"
    r"|--open-files)[\w./:=%@{}^~,'<>()\\\"-]+)*"
)


def risky_settings(text: str) -> frozenset[str]:
    """Return the settings of a configuration that may make git run or load a program.

    Every line is checked separately, even a continuation line; an unreadable line counts as risky.

    Returns:
        Each setting as `section.name=value`, with names in lower case.
    """
    return frozenset(
        f"{name}={value}" for name, value in settings(text) if not _is_harmless(name, value)
    )


def led_to(text: str) -> tuple[list[str], list[str]]:
    """Return the included files and the hook folders of a configuration, as written."""
    included, hooks = [], []
    for name, value in settings(text):
        path = _COMMENT.sub("", value).strip().strip('"')
        if path and _INCLUDES.fullmatch(name):
            included.append(path)
        elif path and name == "core.hookspath":
            hooks.append(path)
    return included, hooks


def settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each line's setting; `?` and the line if it is not a setting.

    Names are in lower case, and `*` replaces a quoted subsection.
    """
    section = ""
    for raw in text.splitlines():
        line, at = raw.strip(), 0
        while match := _SECTION.match(line, at):
            section, at = match[1].lower() + ("" if match[2] is None else ".*"), match.end()
        line = line[at:]
        if not line or line[0] in "#;":
            continue
        setting = _SETTING.fullmatch(line)
        name = f"{section}.{setting[1].lower()}" if setting else "?"
        yield name, (setting[2] or "") if setting else line


def is_risky(key: str, value: str) -> bool:
    """Return whether `git config KEY VALUE` may make git run or load a program."""
    section, _, rest = key.lower().partition(".")
    between, dot, last = rest.rpartition(".")
    return not _is_harmless(
        f"{section}.*.{last}" if dot and between else f"{section}.{rest}", value
    )


def _is_harmless(name: str, value: str) -> bool:
    if _PROGRAMS.fullmatch(name):
        return value.strip('"') in _USUAL
    if name.startswith("alias."):
        return _PLAIN_ALIAS.fullmatch(value.strip('"')) is not None
    if _ADDRESSES.fullmatch(name):
        return _SAFE_ADDRESS.match(value) is not None
    return _HARMLESS.fullmatch(name) is not None
