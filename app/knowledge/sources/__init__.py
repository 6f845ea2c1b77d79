"""Databases readable by agents: permissions, tables and limits."""
