"""The `files` toolset."""

from __future__ import annotations

from app.toolkit.tool import Tool
from app.tools.files.edit_file import edit_file
from app.tools.files.file_delete import file_delete
from app.tools.files.file_exists import file_exists
from app.tools.files.file_mkdir import file_mkdir
from app.tools.files.list_dir import list_dir
from app.tools.files.patch import patch
from app.tools.files.read_file import read_file
from app.tools.files.write_file import write_file

TOOLS: tuple[Tool, ...] = (
    read_file,
    write_file,
    edit_file,
    patch,
    list_dir,
    file_exists,
    file_mkdir,
    file_delete,
)
