"""Identifiers, clock, errors, logging: what every other room may import."""
