"""Scripted model provider on loopback, with the real wire protocol."""
