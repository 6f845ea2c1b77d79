"""The `delegation` toolset: tasks for sub-agents."""
