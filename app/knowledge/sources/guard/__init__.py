"""SQL guard: permitted statements and their rewritten form. Pure code without I/O."""
