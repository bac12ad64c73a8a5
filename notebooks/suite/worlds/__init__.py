"""Who plays: compiled worlds, each tested rollout by rollout against the reference loop."""
