"""Faults that others had, or that Slurm, HyperPod or CloudFormation invite, and that are tested nowhere else.

docs/design/faults.md is the list of all of them: what prevents each, and the test that shows it.
"""
