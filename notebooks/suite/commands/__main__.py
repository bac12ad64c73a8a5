"""`python -m suite.commands VERB ...`, where the command `trinity` is not installed."""

from suite.commands import run_trinity

run_trinity()
