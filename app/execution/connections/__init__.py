"""Connections of programs: a row for each, with its call."""
