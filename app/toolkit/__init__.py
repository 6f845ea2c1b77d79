"""API for tool authors: the decorator, the argument model, the context and the result."""
