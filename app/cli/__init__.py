"""The terminal: `tollgate …`."""
