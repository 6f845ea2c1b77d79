"""Tools for the web: search it, read its pages."""
