"""Tokens, and browsers that signed in with one."""
