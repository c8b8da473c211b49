"""Network topology of a SageMaker HyperPod Slurm cluster: computed, checked, applied and kept right."""

__version__ = "0.1.0"
