"""Drivers of each kind of database, imported at first use."""
