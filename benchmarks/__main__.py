"""`python -m benchmarks` from the repository's root: every bench_*.py, one after the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

for file in sorted(Path(__file__).parent.glob("bench_*.py")):
    print(f"== {file.name}", flush=True)
    subprocess.run([sys.executable, str(file), *sys.argv[1:]], check=True)
