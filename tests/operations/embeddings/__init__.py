"""Makers of images."""
