"""Table of files that other programs later run or obey, with the treatment of writes to them.

`git status`, an editor that opens a folder, or a build server after a push run the content of these
files outside the sandbox with the person's rights. So a write to one of them asks in every tool, or
is reported where such writes are common. Each row is for one program; `docs/protected-paths.md`
explains the patterns, and how to allow a path for a project.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple

Treatment = Literal["ask", "report"]
ByProgram = Literal["undo", "report"]


class ProtectedPath(NamedTuple):
    """Row of the table.

    Attributes:
        patterns: `name` and `folder/rest` at any depth, `~/rest` in a home folder; `*` does not
            match `/`, a final `/**` matches everything below a folder, but not the folder itself.
        run_by: program that runs or obeys the files.
        when: when it does.
        treatment: `ask` before a write, or `report` it afterwards.
        by_program: treatment of a change by a program in the sandbox, which cannot ask: `undo` it,
            or `report` it if programs often write such files, or if nothing runs them before a
            person builds or pushes.
    """

    patterns: tuple[str, ...]
    run_by: str
    when: str
    treatment: Treatment = "ask"
    by_program: ByProgram = "undo"

    @property
    def in_home(self) -> bool:
        """True if the files belong to a person's own settings, not to a project."""
        return self.patterns[0].startswith("~/")


def _row(patterns: str, run_by: str, when: str) -> ProtectedPath:
    return ProtectedPath(tuple(patterns.split()), run_by, when)


def _written_by_programs(patterns: str, run_by: str, when: str) -> ProtectedPath:
    return _row(patterns, run_by, when)._replace(by_program="report")


def _only_reported(patterns: str, run_by: str, when: str) -> ProtectedPath:
    return _row(patterns, run_by, when)._replace(treatment="report", by_program="report")


_GIT, _HOOKS = "git", "git hooks"
GIT = frozenset({_GIT, _HOOKS})
"""Repository settings decide which programs run."""

PROTECTED_PATHS = (
    _row(
        ".git .git/config .git/config.worktree .git/commondir .git/gitdir .git/info/attributes"
        " .git/objects/info/alternates .git/modules/** .git/worktrees/**",
        _GIT,
        "at the next git command",
    ),
    _row(".git/hooks/**", _GIT, "at a commit, checkout, push or rebase"),
    _row(
        ".githooks/** .husky/** lefthook.yml .lefthook.yml lefthook-local.yml .overcommit.yml"
        " .pre-commit-config.yaml .pre-commit-hooks.yaml",
        _HOOKS,
        "at the next commit or push",
    ),
    _row(".gitmodules", _GIT, "at a submodule update"),
    _only_reported(".gitattributes", _GIT, "at add and checkout"),
    _row(
        "~/.gitconfig ~/.config/git/** ~/.ssh/config ~/.ssh/rc ~/.ssh/environment"
        " ~/.ssh/authorized_keys ~/.ssh/authorized_keys2",
        "git or ssh",
        "at the next connection or command",
    ),
    _row(
        "~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.profile"
        " ~/.inputrc ~/.kshrc ~/.cshrc ~/.tcshrc ~/.login ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin"
        " ~/.zlogout ~/.config/fish/** ~/.config/powershell/** Microsoft.PowerShell_profile.ps1",
        "the shell",
        "when the next shell starts",
    ),
    _row(
        "~/.xinitrc ~/.xsession ~/.xprofile ~/.pam_environment ~/.config/environment.d/**"
        " ~/.config/autostart/** ~/.local/share/applications/** ~/Library/LaunchAgents/**"
        " ~/Library/LaunchDaemons/**",
        "the desktop",
        "at the next sign-in",
    ),
    _row("~/.config/systemd/** ~/.local/share/systemd/**", "systemd", "at a start or by a timer"),
    _row(
        "~/.tmux.conf ~/.screenrc ~/.config/alacritty/** ~/.config/kitty/** ~/.config/wezterm/**"
        " ~/.config/ghostty/** ~/.lesskey ~/.lessfilter ~/.config/ripgreprc ~/.ripgreprc"
        " ~/.config/bat/** ~/.mailcap ~/.muttrc ~/.config/mimeapps.list",
        "the terminal or its programs",
        "when they start",
    ),
    _row(
        "~/.gnupg/gpg-agent.conf ~/.gnupg/gpg.conf ~/.netrc ~/.curlrc .curlrc ~/.wgetrc .wgetrc"
        " ~/.psqlrc ~/.my.cnf ~/.sqliterc ~/.mongorc.js ~/.mongoshrc.js ~/.aws/config"
        " ~/.aws/credentials ~/.config/gcloud/** ~/.azure/** ~/.kube/config ~/.docker/config.json"
        " ~/.config/containers/** ~/.terraformrc .terraformrc",
        "the program it configures",
        "at its next command",
    ),
    _row(
        ".envrc .mise.toml mise.toml .rtx.toml .config/mise/** .autoenv.zsh .env.zsh",
        "direnv, mise or autoenv",
        "when a shell enters the folder",
    ),
    _only_reported(
        ".tool-versions shell.nix flake.nix default.nix devenv.nix",
        "mise, asdf or nix",
        "when a shell enters the folder",
    ),
    _row(
        ".vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode/extensions.json"
        " *.code-workspace",
        "VS Code",
        "when the folder is opened",
    ),
    _row(
        ".idea/runConfigurations/** .idea/externalTools.xml .run/*.run.xml"
        " .zed/** .fleet/** *.sublime-project .sublime/**",
        "the editor",
        "when the folder is opened",
    ),
    _written_by_programs(".idea/workspace.xml", "the editor", "when the folder is opened"),
    _row(
        ".devcontainer/** .devcontainer.json devcontainer.json",
        "dev containers",
        "when the folder is opened, on the host",
    ),
    _row(
        ".exrc .vimrc .nvimrc .nvim.lua .lvimrc ~/.config/nvim/** .dir-locals.el ~/.emacs"
        " ~/.emacs.d/** ~/.config/emacs/** .gdbinit .lldbinit",
        "vim, emacs or a debugger",
        "when it starts in the folder",
    ),
    _row(
        ".claude/** .codex/** .gemini/** .qwen/** .cursor/** .opencode/** opencode.json"
        " opencode.jsonc .agents/** .factory/** .goose/** .goosehints .aider.conf.yml"
        " .continue/** .openhands/** .roo/** .windsurf/** .copilot/** .github/hooks/** .mcp.json"
        " mcp_config.json .vscode/mcp.json",
        "coding agents",
        "when they start, and at their tool calls",
    ),
    _only_reported(
        "CLAUDE.md AGENTS.md GEMINI.md QWEN.md .cursorrules .windsurfrules .clinerules"
        " .clinerules/** .github/copilot-instructions.md",
        "coding agents",
        "as instructions of later sessions",
    ),
    _written_by_programs(
        ".github/workflows/** .github/actions/** .gitlab-ci.yml .gitlab/ci/** .circleci/**"
        " azure-pipelines*.yml bitbucket-pipelines.yml Jenkinsfile .drone.yml .woodpecker*"
        " .woodpecker/** .buildkite/** .travis.yml appveyor.yml .appveyor.yml cloudbuild.yaml",
        "the CI service",
        "at the next push, with its secrets",
    ),
    _only_reported("renovate.json .github/dependabot.yml", "dependency bots", "by time"),
    _written_by_programs(
        ".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .yarn/releases/** .yarn/plugins/**"
        " bunfig.toml .pnp.cjs .pnp.loader.mjs",
        "npm, yarn, pnpm or bun",
        "at their next command",
    ),
    _row(
        "sitecustomize.py usercustomize.py ~/.pythonrc ~/.ipython/** ~/.jupyter/**",
        "Python",
        "at its next start",
    ),
    _written_by_programs(
        "pip.conf uv.toml .pypirc poetry.toml ~/.pip/** ~/.config/pip/** ~/.config/uv/**"
        " site-packages/*.pth dist-packages/*.pth *.egg-link pyvenv.cfg",
        "Python or its package managers",
        "at their next start",
    ),
    _written_by_programs(
        "~/.local/bin/** ~/bin/** ~/.nvm/** ~/.pyenv/** ~/.rbenv/** ~/.sdkman/** ~/.asdf/**"
        " ~/.cargo/bin/** ~/.cargo/env ~/.cargo/config ~/.cargo/config.toml ~/.rustup/**",
        "every shell",
        "when a program of that name is called",
    ),
    _written_by_programs(
        ".cargo/config .cargo/config.toml rust-toolchain rust-toolchain.toml",
        "cargo",
        "at its next command",
    ),
    _only_reported(".clangd .ccls", "the editor", "when the folder is opened"),
    _only_reported(
        "crontab *.service *.timer supervisord.conf Procfile Vagrantfile",
        "cron, systemd or a process manager",
        "once a person installs it",
    ),
    _only_reported("build.rs", "cargo and Rust editors", "at the next build"),
    _written_by_programs(
        ".bazelrc tools/bazel gradlew gradlew.bat gradle/wrapper/** init.gradle .mvn/** mvnw"
        " mvnw.cmd .bundle/config .irbrc .pryrc .user.ini php.ini .htaccess web.config ansible.cfg",
        "the build or the server",
        "at its next command",
    ),
    _written_by_programs(
        "*.desktop *.lnk *.scf autorun.inf desktop.ini", "the desktop", "when clicked"
    ),
)

OTHER_HOOKS = _written_by_programs("", _HOOKS, "at the next commit or push")
"""Hooks in a folder that git is configured to read them from."""

_NOT_RUN = re.compile(r"(?:^|/)\.git/hooks/[^/]+\.sample$")
_HOME = re.compile(r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/")


class _Pattern(NamedTuple):
    rest: re.Pattern[str]
    row: ProtectedPath


def name_pattern(text: str, end: str = "") -> re.Pattern[str]:
    """Compile a name or path of the table, in which `*` does not match `/`."""
    parts = re.split(r"(\*)", text)
    body = "".join("[^/]*" if part == "*" else re.escape(part) for part in parts)
    return re.compile(body + end, re.IGNORECASE)


def _glob(text: str) -> re.Pattern[str]:
    return name_pattern(text.removesuffix("/**"), "/.+" if text.endswith("/**") else "")


class _RowIndex:
    """Rows by the first name of each pattern; wildcard and home patterns are separate."""

    def __init__(self, rows: Iterable[ProtectedPath]) -> None:
        self.by_name: dict[str, list[_Pattern]] = defaultdict(list)
        self.wild: list[_Pattern] = []
        self.home: list[_Pattern] = []
        for row in rows:
            for text in row.patterns:
                entry = _Pattern(_glob(text.removeprefix("~/")), row)
                first = text.split("/", 1)[0].casefold()
                if text.startswith("~/"):
                    self.home.append(entry)
                elif "*" in first:
                    self.wild.append(entry)
                else:
                    self.by_name[first].append(entry)

    def find(self, path: str, home: str | None) -> ProtectedPath | None:
        parts = path.split("/")
        # Match a pattern at every name of the path, up to the end of the path.
        for at, part in enumerate(parts):
            for entry in self.by_name.get(part.casefold(), ()):
                if entry.rest.fullmatch("/".join(parts[at:])):
                    return entry.row
        for entry in self.wild:
            if entry.rest.fullmatch(parts[-1]):
                return entry.row
        if home is not None:
            return next((entry.row for entry in self.home if entry.rest.fullmatch(home)), None)
        return None


_INDEX = _RowIndex(PROTECTED_PATHS)


@lru_cache(maxsize=4096)
def protected(path: str, home: str | None = None) -> ProtectedPath | None:
    """Return the row that matches a normalised path, or None.

    Names are compared case-insensitively, as in some file systems.

    Args:
        path: absolute path, or relative to any folder.
        home: home folder, if known; `/root`, `/home/*` and `/Users/*` are always home folders.
    """
    if _NOT_RUN.search(path):
        return None
    return _INDEX.find(path, below_home(path, home))


class PathSet:
    """Paths of one project that are exempt from the table.

    Files in git's own folders are never exempt: no project needs to write them by hand.

    Args:
        patterns: patterns as in `ProtectedPath`, relative to the project, without `~/`.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self.patterns = tuple(patterns)
        self._index = _RowIndex([ProtectedPath(self.patterns, "", "")]) if self.patterns else None

    def covers(self, path: str) -> bool:
        """Return whether a normalised path, relative to the project's root, is exempt."""
        if self._index is None or ".git" in path.casefold().split("/"):
            return False
        return self._index.find(path, None) is not None


NO_PATHS = PathSet()


def check_pattern(text: str) -> None:
    """Refuse a pattern of a `PathSet` that could match nothing, or too much.

    Raises:
        ValueError: the pattern is not valid; the message has the reason.
    """
    parts = text.split("/")
    if not text.isprintable() or "\\" in text:
        raise ValueError("must not contain control characters, and uses / between folders")
    if text.startswith("~"):
        raise ValueError("must be relative to the project's root, without ~")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError("must be a plain relative path, without empty parts, . or ..")
    if not parts[0].strip("*"):
        raise ValueError("must start with a name, not with *: name the files or the folder")
    if "*" in parts[0] and len(parts) > 1:
        raise ValueError("a * in the first part matches file names only, not folders")
    if any("**" in part and part != "**" for part in parts) or "**" in parts[:-1]:
        raise ValueError("** is only valid at the end, as folder/**")


def below_home(path: str, home: str | None) -> str | None:
    """Return the part of a path below the home folder, or None outside it."""
    if home and path.startswith(home + "/"):
        return path[len(home) + 1 :]
    found = _HOME.match(path)
    return path[found.end() :] if found else None
