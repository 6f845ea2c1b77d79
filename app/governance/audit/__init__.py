"""Audit log: hash-chained entries, queries and verification."""
