"""Databases that agents may read: who may, which tables, under which limits."""
