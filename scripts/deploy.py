"""Deploy or destroy app.py on the account of the caller's credentials: `python scripts/deploy.py deploy|destroy`.

Looks first whether there are credentials and whether the account is bootstrapped, because the CDK CLI says so late.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

ROOT = Path(__file__).resolve().parents[1]
BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"  # CDK developer guide, "Bootstrap template contract"
OLDEST_BOOTSTRAP = 6


def main(arguments: Sequence[str]) -> int:
    command, *rest = arguments or ["help"]
    if command not in ("deploy", "destroy"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        account, region = whose()
        problem = bootstrap_problem(region) if command == "deploy" else None
    except (BotoCoreError, ClientError) as error:
        problem = f"AWS can't be asked: {error}\nSet AWS_PROFILE, or AWS_ACCESS_KEY_ID and so on; then AWS_REGION."
    if problem:
        print(f"{command}: {problem}", file=sys.stderr)
        return 1
    print(f"{command}: account {account}, region {region}", flush=True)
    cdk = str(ROOT / "node_modules" / ".bin" / "cdk")
    environment = {**os.environ, "CDK_DEFAULT_ACCOUNT": account, "CDK_DEFAULT_REGION": region, "AWS_REGION": region}
    return subprocess.run([cdk, command, "--all", *rest], env=environment, cwd=ROOT, check=False).returncode


def whose() -> tuple[str, str]:
    """Account and region of the credentials in force.

    AWS_REGION is the CDK CLI's and every newer SDK's variable, and boto3 doesn't read it.
    """
    session = boto3.session.Session()
    region = os.environ.get("AWS_REGION") or session.region_name or "us-west-2"
    return session.client("sts", region_name=region).get_caller_identity()["Account"], region


def bootstrap_problem(region: str) -> str | None:
    """What is missing before the CDK can deploy there; None if nothing."""
    try:
        parameter = boto3.client("ssm", region_name=region).get_parameter(Name=BOOTSTRAP_PARAMETER)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ParameterNotFound":
            raise
        return f"{region} isn't bootstrapped for the CDK. Once an account and region: `make bootstrap`."
    version = int(parameter["Parameter"]["Value"])
    if version < OLDEST_BOOTSTRAP:
        return f"the bootstrap stack in {region} is version {version}, {OLDEST_BOOTSTRAP} is needed: `make bootstrap`."
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
