"""Recorded LLMs: published files of real LLMs' scores, answers and costs, read strictly, replayed by the question."""
