"""Variables whose value is a program or loaded as code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.policy.risk.call import OWN_PROGRAMS, UNKNOWN, UNTOLD, Answer, ask, names, script
from app.policy.risk.rules import protections
from app.policy.risk.rules.git import may_run

_COMMANDS = frozenset(
    names(
        "GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR "
        "GIT_EXTERNAL_DIFF GIT_ASKPASS GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS "
        "PAGER MANPAGER BROWSER EDITOR VISUAL LESSOPEN LESSCLOSE PROMPT_COMMAND "
        "RSYNC_RSH BAT_PAGER DELTA_PAGER GH_PAGER GH_EDITOR AWS_PAGER SYSTEMD_PAGER "
        "KUBE_EDITOR HGEDITOR SVN_EDITOR SYSTEMD_EDITOR SUDO_EDITOR "
        "PSQL_EDITOR PSQL_PAGER FCEDIT CC CXX BORG_RSH BORG_PASSCOMMAND CVS_RSH SVN_SSH "
        "RESTIC_PASSWORD_COMMAND RCLONE_PASSWORD_COMMAND KUBECTL_EXTERNAL_DIFF RUSTC_WRAPPER "
        "RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER CMAKE_C_COMPILER_LAUNCHER "
        "CMAKE_CXX_COMPILER_LAUNCHER FZF_DEFAULT_COMMAND SKIM_DEFAULT_COMMAND DIFFPROG "
        "MANROFF_PAGER "
        "NPM_CONFIG_SCRIPT_SHELL npm_config_script_shell"
    )
)
_BUILDING = frozenset(names("CC CXX NPM_CONFIG_SCRIPT_SHELL npm_config_script_shell"))
"""Variables that are run with words only: one of them is meant for a shell."""
_PROMPTS = frozenset(["PS0", "PS1", "PS2", "PS3", "PS4"])
_LOADED = frozenset(
    names(
        "LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PERL5OPT PERL5DB "
        "RUBYOPT PYTHONSTARTUP JAVA_TOOL_OPTIONS GIT_EXEC_PATH GIT_CONFIG_GLOBAL "
        "GIT_CONFIG_SYSTEM GIT_TEMPLATE_DIR RIPGREP_CONFIG_PATH"
    )
)


_OPTIONS = {
    "TAR_OPTIONS": re.compile(r"--(?:checkpoint-action|to-command|use-compress)"),
    "NODE_OPTIONS": re.compile(r"--(?:require|import|loader)|-r\b"),
    "MAKEFLAGS": re.compile(
        r"--eval|SHELL\s*:?=|(?:^|\s)-?[a-zA-Z]*[fI]\b|--(?:file|makefile|include-dir)"
    ),
}
_OPTIONS["GREP_OPTIONS"] = re.compile(r"(?:^|\s)-(?:\w*[ef]|-(?:file|regexp))")
_OPTIONS["GNUMAKEFLAGS"] = _OPTIONS["MAKEFLAGS"]
"""Variables with a program's options, and options that make it run or load something."""


_TELLING = _LOADED | _COMMANDS | _PROMPTS | _OPTIONS.keys() | {"BASH_ALIASES"}
_PROGRAM_ENDS = ("PAGER", "EDITOR", "ASKPASS")
_TELLING_STARTS = ("GIT_CONFIG_", "BASH_FUNC_", "TF_CLI_ARGS")


def assignment(name: str, value: str) -> Iterator[Answer]:
    """Yield what setting `name` makes later programs run."""
    if name == "PATH" or UNKNOWN in name:
        yield OWN_PROGRAMS
    elif name in _TELLING or name.startswith(_TELLING_STARTS):
        yield from _telling(name, value)
    elif name.endswith(_PROGRAM_ENDS) and value:
        yield script(value, stdin=UNTOLD)
    elif name in protections.TELLING:
        yield from protections.switched_off(name, value)


def _telling(name: str, value: str) -> Iterator[Answer]:
    if name == "ENV" and re.fullmatch(r"[A-Za-z]*", value):
        return
    if name in _LOADED and value:
        yield ask("loaded_code", f"{name} makes the next program load other code")
    elif name.startswith("GIT_CONFIG_"):
        yield from _git_setting(name, value)
    elif name.startswith("BASH_FUNC_"):
        yield ask("loaded_code", "passes a function to the next shell")
    elif name == "BASH_ALIASES" or (name in _PROMPTS and re.search(r"[$]\(|`", value)):
        yield ask("deferred", f"{name} makes the shell run its value")
    elif name == "GIT_SEQUENCE_EDITOR" and re.search(r"\b(?:exec|x)\b", value):
        yield ask("deferred", "writes commands into a rebase")
    elif name in _COMMANDS and value:
        fed = None if name in _BUILDING else UNTOLD
        yield script(value.lstrip("|-").replace("%s", ""), stdin=fed)
    elif name.startswith("TF_CLI_ARGS") and re.search(r"-auto-approve|-destroy", value):
        yield ask("infra_apply", f"{name} changes infrastructure without showing the plan")
    elif name in _OPTIONS and _OPTIONS[name].search(value):
        yield ask("loaded_code", f"{name} makes a program run or load other code")


def _git_setting(name: str, value: str) -> Iterator[Answer]:
    """Handle git settings in the environment: name and value in two variables, or in one text."""
    if name == "GIT_CONFIG_PARAMETERS" and value:
        yield ask("loaded_code", f"{name} passes settings to git that may be programs")
    elif name.startswith("GIT_CONFIG_KEY_") and (UNKNOWN in value or may_run(value)):
        yield ask("loaded_code", f"{name} passes a setting to git that is a program")
    elif UNKNOWN not in value and value.startswith("!"):
        yield script(value[1:])
