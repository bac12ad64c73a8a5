"""The command `trinity`: thin faces over what the notebooks call too."""
