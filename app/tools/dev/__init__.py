"""Developer tools: linters, language servers, git."""
