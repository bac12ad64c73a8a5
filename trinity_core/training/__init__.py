"""Learning to coordinate under a budget of atomic evaluations (section 3.3; Tables 3 and 4, Figure 6)."""

from trinity_core.training.task import Task
from trinity_core.training.train import METHODS, PAPER_BUDGET, TrainingResult, train

__all__ = ["METHODS", "PAPER_BUDGET", "Task", "TrainingResult", "train"]
