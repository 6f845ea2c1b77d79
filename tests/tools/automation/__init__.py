"""Tools of the automation toolset."""
