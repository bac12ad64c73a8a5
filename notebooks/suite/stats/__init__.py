"""What the numbers say: separability, the audit of the printed tables, statistics."""
