"""Db tests."""
