"""Variables whose value is a program or is loaded as code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import UNKNOWN, Answer, ask, names, script

_COMMANDS = frozenset(
    names(
        "GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR "
        "GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS "
        "PAGER MANPAGER BROWSER EDITOR VISUAL LESSOPEN LESSCLOSE PROMPT_COMMAND "
        "RSYNC_RSH PSQL_EDITOR PSQL_PAGER FCEDIT TAR_OPTIONS PYTHONBREAKPOINT"
    )
)
_PROMPTS = frozenset(["PS0", "PS1", "PS2", "PS3", "PS4"])
_LOADED = frozenset(
    names(
        "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PERL5OPT PERL5DB "
        "RUBYOPT PYTHONSTARTUP JAVA_TOOL_OPTIONS GIT_EXEC_PATH GIT_CONFIG_GLOBAL "
        "GIT_CONFIG_SYSTEM GIT_TEMPLATE_DIR"
    )
)


def assignment(name: str, value: str) -> Iterator[Answer]:
    """What setting `name` lets later programs run."""
    if name == "ENV" and re.fullmatch(r"[A-Za-z]*", value):
        return
    if name in _LOADED and value:
        yield ask("loaded_code", f"{name} makes the next program load other code")
    elif name.startswith("GIT_CONFIG_") and UNKNOWN not in value and value.startswith("!"):
        yield script(value[1:])
    elif name.startswith("BASH_FUNC_"):
        yield ask("loaded_code", "hands a function to the next shell")
    elif name == "BASH_ALIASES" or (
        re.fullmatch(r"PS[0-4]", name) and re.search(r"[$]\(|`", value)
    ):
        yield ask("deferred", f"{name} makes the shell run its text")
    elif name == "GIT_SEQUENCE_EDITOR" and re.search(r"\b(?:exec|x)\b", value):
        yield ask("deferred", "writes commands into a rebase")
    elif name in _COMMANDS and value and name not in {"TAR_OPTIONS", "PYTHONBREAKPOINT"}:
        yield script(value.lstrip("|"))
    elif name == "TAR_OPTIONS" and re.search(
        r"--(?:checkpoint-action|to-command|use-compress)", value
    ):
        yield ask("loaded_code", "TAR_OPTIONS makes tar run a program")
    elif name == "NODE_OPTIONS" and re.search(r"--(?:require|import|loader)|-r\b", value):
        yield ask("loaded_code", "NODE_OPTIONS makes node load other code")
