"""Running notebooks."""
