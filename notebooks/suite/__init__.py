"""What notebooks, tests and the command share, beside its users."""
