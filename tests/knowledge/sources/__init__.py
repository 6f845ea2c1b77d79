"""Tests of data sources: on real servers wherever a server is meant."""
