"""Stored knowledge of agents: memory, skills, data sources, boards; bound to tools through
ports.
"""
