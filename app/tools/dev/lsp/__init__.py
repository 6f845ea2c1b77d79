"""Access to language servers."""
