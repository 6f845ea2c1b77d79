"""Codes of questions that tools look for among the approvals of their call."""

NETWORK_HOST = "network_host"
"""The call may reach hosts that its project does not allow."""
