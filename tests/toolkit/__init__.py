"""What tool authors import."""
