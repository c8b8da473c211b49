"""Build the site into site/: it asks nobody for anything, neither while it is built nor when it is read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

if __name__ == "__main__":
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # the theme prints a notice about its future otherwise
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet"], cwd=ROOT, env=environment, check=False)
    print("site/index.html (with its search: python3 -m http.server --bind 127.0.0.1 --directory site)")
    sys.exit(done.returncode)
