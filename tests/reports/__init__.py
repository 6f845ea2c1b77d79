"""Inputs that public reports of comparable systems describe, each with its right value."""
