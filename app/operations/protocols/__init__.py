"""Protocols of operations that tools may perform.

Paths are strings as written by a caller: relative to the workspace root, or absolute inside it. An
implementation refuses everything else with `OutsideWorkspace`, even if a symbolic link or a racing
rename leads outside. All errors are `TollgateError`s.
"""
