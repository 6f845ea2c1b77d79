"""`git`: read-only access to a repository."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from app.core.errors import ToolFailed
from app.core.field_problems import FieldError
from app.toolkit.context import ToolContext
from app.toolkit.result import RawResult, ToolResult
from app.toolkit.tool import Alias, ToolArgs, tool
from app.tools.arguments import PathText
from app.tools.dev.git.output import LOG_FORMAT, read_blame, read_log, read_status
from app.tools.dev.git.repository import Repository, open_repository
from app.tools.dev.program_run import ProgramOutput
from app.tools.dev.returns import GIT_RESULT

_MAX_BYTES = 400_000
_MAX_CHARS = 128_000
_PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short")
_SUBMODULES = "--ignore-submodules=dirty"
_SHORT = 10
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_MOST_FOLDERS = 64
_RANGE = re.compile(r"\.{2,3}")
_STAGE = re.compile(r"[0-3]:")


def _revision(text: str) -> str:
    if text.startswith("-") or _CONTROL.search(text):
        raise FieldError(
            "must be a commit, branch, tag or range, not an option", code="bad_revision"
        )
    return text


Revision = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_revision)]


def _plain_path(path: str) -> str:
    if "\0" in path:
        raise FieldError("must not contain NUL characters", code="nul_character")
    return path


class GitArgs(ToolArgs):
    action: Literal["status", "diff", "log", "show", "blame"] = Field(
        default="status", description="Information to read."
    )
    path: Annotated[PathText, AfterValidator(_plain_path)] | None = Field(
        default=None, description="Only this file or folder, from repo; blame requires a file."
    )
    rev: Revision | None = Field(
        default=None, description="Commit, branch or range like main..topic; show: also rev:file."
    )
    staged: bool = Field(default=False, description="diff: only staged changes.")
    stat: bool = Field(default=False, description="diff, show: only counts per file.")
    context: int = Field(default=3, ge=0, le=100, description="diff, show: context lines.")
    limit: int = Field(
        default=20, ge=1, le=1000, description="log: maximum commits; blame: maximum lines."
    )
    offset: int = Field(default=0, ge=0, description="log: commits, blame: lines to skip.")
    repo: Annotated[PathText, AfterValidator(_plain_path)] = Field(
        default=".", description="Folder of the repository."
    )

    @model_validator(mode="after")
    def _complete(self) -> GitArgs:
        if self.action == "blame" and self.path is None:
            raise FieldError("blame requires path", code="needs", given="blame", needed="path")
        if self.staged and self.action != "diff":
            raise FieldError(
                "staged is only valid with action diff",
                code="only_with",
                given="staged",
                needed="diff",
            )
        return self


def _as(action: str) -> Any:
    def adapt(arguments: dict[str, Any]) -> dict[str, Any]:
        return {**arguments, "action": action}

    return adapt


_ACTIONS = {"status": "Status", "diff": "Diff", "log": "Log", "show": "Show", "blame": "Blame"}


def paths_in_git(arguments: Mapping[str, Any]) -> Sequence[str]:
    """Return `repo`, `path` relative to `repo`, and files of revisions such as `HEAD:a.txt`.

    The repository's root is unknown here: a revision's file may be below `repo` or any folder above
    it, so all of these are included.

    Raises:
        ToolFailed: `invalid_path`: too many paths.
    """
    repo = posixpath.normpath(str(arguments.get("repo") or "."))
    found = [repo]
    if path := arguments.get("path"):
        found.append(posixpath.join(repo, str(path)))
    rev = str(arguments.get("rev") or "")
    if ":" in rev and (repo.count("/") > _MOST_FOLDERS or len(_RANGE.findall(rev)) > 1):
        raise ToolFailed("The revision contains too many paths to check", code="invalid_path")
    for piece in (rev, *_RANGE.split(rev)):
        _, _, inner = piece.partition(":")
        found += _in_revision(_STAGE.sub("", inner, count=1), repo)
    return list(dict.fromkeys(found))


def _in_revision(path: str, repo: str) -> Iterator[str]:
    if not path or path.startswith("/"):  # `:/text` searches for a message
        return
    yield posixpath.join(repo, path)
    if path.startswith(("./", "../")):
        return
    folder = repo
    while (above := posixpath.dirname(folder.rstrip("/"))) != folder and folder not in ("", "."):
        yield posixpath.join(above, path)
        folder = above


@tool(
    category="code",
    toolset="dev",
    sandbox="bash",
    kind="read",
    needs_project=True,
    routing_hint="main-process-proxy",
    timeout_s=90,
    max_output_chars=_MAX_CHARS + 8000,
    tags=("git", "code", "read"),
    paths_in=paths_in_git,
    argument_aliases={
        "command": "action",
        "operation": "action",
        "file_path": "path",
        "file": "path",
        "revision": "rev",
        "ref": "rev",
        "commit": "rev",
        "cached": "staged",
        "max_count": "limit",
        "skip": "offset",
    },
    aliases=(
        Alias("Git", families=("jarvis",)),
        *(Alias(f"git_{action}", adapt=_as(action)) for action in _ACTIONS),
        *(Alias(f"Git{name}", adapt=_as(action)) for action, name in _ACTIONS.items()),
    ),
    return_schema=GIT_RESULT,
)
async def git(args: GitArgs, ctx: ToolContext) -> ToolResult:
    """Read a git repository: status, diff, log, show, blame. Read-only.

    Prefer it over git in bash: it runs no hooks, filters or pagers of the repository. Returns
    branch and changed files, a unified diff, commits, or the author of each line.
    """
    repository = await open_repository(ctx.operations, args.repo)
    match args.action:
        case "status":
            return await _status(args, repository)
        case "diff":
            return await _diff(args, repository)
        case "log":
            return await _log(args, repository)
        case "show":
            return await _show(args, repository)
        case "blame":
            return await _blame(args, repository)


def _only(path: str | None) -> tuple[str, ...]:
    return () if path is None else (path,)


async def _status(args: GitArgs, repository: Repository) -> ToolResult:
    done = await repository.git(
        *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", _SUBMODULES),
        *("--", *_only(args.path)),
        max_bytes=_MAX_BYTES,
    )
    data = {**read_status(_whole(done, "\0")), **_facts(args, done)}
    lines = [_branch_line(data)]
    lines += [_file_line(file) for file in data["files"]]
    if data["clean"]:
        lines.append("No changes")
    return ToolResult.ok(
        data, text=_text(lines, done), raw_result=RawResult("table", data["files"])
    )


def _branch_line(data: dict[str, Any]) -> str:
    at = data["branch"] or f"detached at {str(data['commit'])[:_SHORT]}"
    line = f"Branch: {at}" + ("" if data["commit"] else " (no commits yet)")
    if data["upstream"]:
        line += f" | {data['upstream']}: {data['ahead']} ahead, {data['behind']} behind"
    return line


def _file_line(file: dict[str, Any]) -> str:
    if file["state"] != "changed":
        return f"{file['state']}: {file['path']}"
    states = [f"{side} {file[side]}" for side in ("staged", "unstaged") if file[side]]
    moved = f" (from {file['old_path']})" if "old_path" in file else ""
    return f"{', '.join(states)}: {file['path']}{moved}"


async def _diff(args: GitArgs, repository: Repository) -> ToolResult:
    done = await repository.git(
        *("diff", *_PLAIN, _SUBMODULES, "-M", *_shape(args)),
        *(("--cached",) if args.staged else ()),
        *("--end-of-options", *_only(args.rev), "--", *_only(args.path)),
        max_bytes=_MAX_BYTES,
    )
    return _patch(args, done, done.text, "No differences")


def _shape(args: GitArgs) -> tuple[str, ...]:
    return ("--stat=120",) if args.stat else (f"-U{args.context}",)


async def _log(args: GitArgs, repository: Repository) -> ToolResult:
    done = await repository.git(
        *("log", f"--format={LOG_FORMAT}", f"--max-count={args.limit + 1}"),
        *(f"--skip={args.offset}", "--end-of-options", args.rev or "HEAD"),
        *("--", *_only(args.path)),
        max_bytes=_MAX_BYTES,
    )
    found = read_log(done.text)
    commits = found[: args.limit]
    more = len(found) > args.limit or done.truncated
    data = {"commits": commits, "count": len(commits), **_facts(args, done), "truncated": more}
    lines = [
        f"{commit['commit'][:_SHORT]} {commit['date'][:10]} {commit['author']}: {commit['subject']}"
        for commit in commits
    ]
    if more:
        lines.append(f"[More follows: continue with offset={args.offset + len(commits)}]")
    text = "\n".join(lines) or "No commits"
    return ToolResult.ok(data, text=text, raw_result=RawResult("table", commits))


async def _show(args: GitArgs, repository: Repository) -> ToolResult:
    rev = args.rev or "HEAD"
    done = await repository.git(
        *("show", *_PLAIN, "-M", f"--format={LOG_FORMAT}", *_shape(args)),
        *("--end-of-options", rev, "--", *_only(args.path)),
        max_bytes=_MAX_BYTES,
    )
    text = done.text
    commits = read_log(text) if "\x1e" in text else []
    if not commits:
        # A file or folder of a commit, as in HEAD:README.md.
        data = {"content": text, **_facts(args, done)}
        return ToolResult.ok(data, text=_text([text], done), raw_result=RawResult("text", text))
    head = "\n".join(_commit_text(commit) for commit in commits)
    result = _patch(args, done, text.rpartition("\x1e")[2].lstrip("\n"), "No lines changed")
    data = (
        {**commits[0], **result.data} if len(commits) == 1 else {"commits": commits, **result.data}
    )
    return ToolResult.ok(data, text=f"{head}\n\n{result.text}", raw_result=result.raw_result)


def _commit_text(commit: dict[str, Any]) -> str:
    lines = [
        f"commit {commit['commit']}",
        f"Author: {commit['author']} <{commit['email']}>",
        f"Date: {commit['date']}",
        "",
        commit["subject"],
    ]
    if commit["body"]:
        lines += ["", commit["body"]]
    return "\n".join(lines)


def _patch(args: GitArgs, done: ProgramOutput, patch: str, nothing: str) -> ToolResult:
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in patch.split("\n"))
    removed = sum(
        line.startswith("-") and not line.startswith("--- ") for line in patch.split("\n")
    )
    counts: dict[str, Any] = {} if args.stat else {"added": added, "removed": removed}
    data = {"diff": patch, **counts, **_facts(args, done)}
    shown = {"path": args.path or args.repo, "diff": patch, **counts, "truncated": done.truncated}
    text = _text([patch.rstrip("\n") or nothing], done)
    return ToolResult.ok(data, text=text, raw_result=RawResult("diff", shown))


async def _blame(args: GitArgs, repository: Repository) -> ToolResult:
    assert args.path is not None
    first = args.offset + 1
    try:
        done = await repository.git(
            *("blame", "--no-textconv", "--line-porcelain", f"-L{first},+{args.limit}"),
            *(*_only(args.rev), "--", args.path),
            max_bytes=4 * _MAX_BYTES,
        )
    except ToolFailed as error:
        raise _past_the_end(error, args) from None
    lines = read_blame(_whole(done, "\n"))
    for line in lines:
        if "time" in line:
            line["date"] = _date(line.pop("time"))
    data = {"lines": lines, "count": len(lines), **_facts(args, done)}
    shown = [
        f"{line['line']:>5} {line['commit'][:_SHORT]} {str(line.get('date'))[:10]} "
        f"{line.get('author')}: {line['text']}"
        for line in lines
    ]
    return ToolResult.ok(data, text=_text(shown, done), raw_result=RawResult("table", lines))


def _date(seconds: int) -> str | None:
    """Return None for an impossible time: a commit may contain any number."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def _past_the_end(error: ToolFailed, args: GitArgs) -> ToolFailed:
    if "has only" not in error.message:
        return error
    return ToolFailed(
        f"offset {args.offset} is past the end of {args.path!r}", code="line_out_of_range"
    )


def _whole(done: ProgramOutput, separator: str) -> str:
    """Drop the last record if the output was truncated inside it."""
    return done.text.rpartition(separator)[0] if done.truncated else done.text


def _facts(args: GitArgs, done: ProgramOutput) -> dict[str, Any]:
    return {
        "action": args.action,
        "repo": args.repo,
        "truncated": done.truncated,
        "sandbox": done.exit.sandbox.to_dict(),
    }


def _text(lines: list[str], done: ProgramOutput) -> str:
    if done.truncated:
        lines = [*lines, "[Truncated: narrow it with path, rev or limit]"]
    return "\n".join(lines)
