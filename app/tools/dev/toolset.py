"""The `dev` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.dev.git.git import git
from app.tools.dev.lint.lint import lint
from app.tools.dev.lint.lint_fix import lint_fix
from app.tools.dev.lsp.lsp import lsp

TOOLS: tuple[Tool, ...] = (lint, lint_fix, lsp, git)
