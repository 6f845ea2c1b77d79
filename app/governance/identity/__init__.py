"""Tokens and the browsers that signed in with one."""
