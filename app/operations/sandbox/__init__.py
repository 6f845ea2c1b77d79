"""Sandbox of processes, confined by the kernel: the service's side."""
