"""The method of TRINITY (arXiv 2512.04695), importable in small modules.

Nothing heavy is imported here: torch, transformers and litellm load where they are used.
"""

__version__ = "0.1.0"
