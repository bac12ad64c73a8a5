"""The published benchmarks."""

from suite.benchmarks.loading import read_benchmark

__all__ = ["read_benchmark"]
