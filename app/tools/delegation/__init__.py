"""The `delegation` toolset: work for sub-agents."""
