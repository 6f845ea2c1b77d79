"""Image generation: orders and providers."""
