"""Catalog of this installation: built-in toolsets, plugins, and their schema formats."""
