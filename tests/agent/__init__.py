"""Tests of the agent: pure parts, doors, and whole passes against real Slurm."""
