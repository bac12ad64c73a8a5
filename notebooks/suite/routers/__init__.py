"""Choosing an LLM per question from recorded scores."""
