"""Web tools: search, and reading of pages."""
