"""What administrators stored, as an immutable snapshot."""
