"""Processes that the kernel confines: the service's side of the sandbox."""
