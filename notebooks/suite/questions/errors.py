"""What every part of the tasks raises for bad data."""

from __future__ import annotations


class DataError(ValueError):
    """A question's own data (reference, tests, options) cannot be used. Never raised for an answer, however odd."""
