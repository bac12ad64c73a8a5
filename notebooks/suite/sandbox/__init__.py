"""Running code that a model wrote."""

from suite.sandbox.run import run_code, sandbox_status

__all__ = ["run_code", "sandbox_status"]
