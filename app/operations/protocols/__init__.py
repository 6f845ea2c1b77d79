"""What tools may do to the world, as Protocols.

Paths are strings as a caller wrote them: relative to the workspace root, or absolute
inside it. An implementation refuses everything else with `OutsideWorkspace`, also when
a symbolic link or a racing rename leads outside. All errors are `TollgateError`s.
"""
