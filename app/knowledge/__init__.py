"""Stored knowledge of agents: memory, skills, data sources, boards; bound to tools by
the Protocols of `app.domain`.
"""
