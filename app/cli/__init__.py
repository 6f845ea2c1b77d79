"""Command line interface, `tollgate …`."""
