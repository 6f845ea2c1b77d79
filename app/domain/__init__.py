"""Entities of the features, and the Protocols of the services that tools use."""
