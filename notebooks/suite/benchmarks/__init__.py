"""The published benchmarks."""

from suite.benchmarks.loading import load_benchmark

__all__ = ["load_benchmark"]
