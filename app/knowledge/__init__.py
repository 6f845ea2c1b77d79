"""What agents know and keep: memory, skills, data sources, boards. Bound to tools by ports."""
