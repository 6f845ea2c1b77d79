"""Web access restricted to allowed destinations."""
