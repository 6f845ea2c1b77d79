"""Tests of what is shipped: image, compose file, dependencies."""
