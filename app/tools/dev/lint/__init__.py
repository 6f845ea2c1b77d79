"""Checking files for mistakes."""
