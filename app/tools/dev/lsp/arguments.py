"""Arguments of `lsp`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from app.core.field_problems import FieldError
from app.toolkit.tool import ToolArgs
from app.tools.arguments import PathText

_SHORT = {
    "definition": "goToDefinition",
    "references": "findReferences",
    "symbols": "documentSymbol",
    "implementation": "goToImplementation",
    "implementations": "goToImplementation",
    "incoming_calls": "incomingCalls",
    "outgoing_calls": "outgoingCalls",
    "code_actions": "codeActions",
    "workspace_symbols": "workspaceSymbol",
    "document_symbols": "documentSymbol",
    "workspace_diagnostics": "workspaceDiagnostics",
}
"""Operation names used by other systems."""

AT_A_PLACE = frozenset(
    {
        *("goToDefinition", "findReferences", "hover", "goToImplementation"),
        *("prepareCallHierarchy", "incomingCalls", "outgoingCalls"),
    }
)
WITHOUT_A_FILE = frozenset({"workspaceSymbol", "workspaceDiagnostics"})


def _canonical(name: Any) -> Any:
    return _SHORT.get(name, name) if isinstance(name, str) else name


Operation = Annotated[
    Literal[
        "goToDefinition",
        "findReferences",
        "hover",
        "documentSymbol",
        "workspaceSymbol",
        "goToImplementation",
        "prepareCallHierarchy",
        "incomingCalls",
        "outgoingCalls",
        "diagnostics",
        "workspaceDiagnostics",
        "codeActions",
    ],
    BeforeValidator(_canonical),
]


class LspArgs(ToolArgs):
    operation: Operation = Field(description="Operation to run.")
    path: PathText | None = Field(
        default=None, description="File; omit only for workspace operations."
    )
    line: int | None = Field(default=None, ge=1, description="Line, from 1.")
    column: int | None = Field(default=None, ge=1, description="Character of the line, from 1.")
    symbol: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Instead of column: a name on the line, or anywhere in the file.",
    )
    query: str | None = Field(
        default=None, max_length=200, description="workspaceSymbol: part of a name."
    )
    end_line: int | None = Field(default=None, ge=1, description="codeActions: last line.")
    include_declaration: bool = Field(
        default=True, description="findReferences: include the declaration."
    )
    server: str | None = Field(
        default=None, min_length=1, max_length=64, description="Language server to use."
    )
    limit: int = Field(default=50, ge=1, le=500, description="Maximum results.")

    @model_validator(mode="after")
    def _complete(self) -> LspArgs:
        if self.operation in WITHOUT_A_FILE:
            if self.query is None and self.operation == "workspaceSymbol":
                raise FieldError(
                    f"{self.operation} requires query",
                    code="needs",
                    given=self.operation,
                    needed="query",
                )
            return self
        if self.path is None:
            raise FieldError(
                f"{self.operation} requires path", code="needs", given=self.operation, needed="path"
            )
        if self.operation in AT_A_PLACE and self.line is None and self.symbol is None:
            raise FieldError(
                f"{self.operation} requires line and column, or symbol", code="place_needed"
            )
        if self.operation == "codeActions" and self.line is None:
            raise FieldError(
                "codeActions requires line", code="needs", given="codeActions", needed="line"
            )
        if self.end_line is not None and self.end_line < (self.line or 1):
            raise FieldError(
                "end_line must not be before line",
                code="wrong_order",
                given="end_line",
                needed="line",
            )
        return self
