"""LocalCloud: a loopback cloud with SageMaker HyperPod, for tests and for `make local`.

    with LocalCloud() as cloud:
        cloud.cdk("bootstrap")
        cloud.cdk("deploy", "--all")
        cloud.client("sagemaker").list_clusters()

It listens on 127.0.0.1 only, on a free port; nothing of it outlives the `with`, nor the process that started it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

import boto3

from local_cloud.cdk_cli import CdkResult, run_cdk
from local_cloud.environment import ROOT, clean_environment
from local_cloud.racks import Racks

__all__ = ["ACCOUNT", "REGION", "LocalCloud", "LocalCloudError"]

ACCOUNT = "123456789012"
REGION = "us-west-2"
ROOT_KEY = "testing"
START_SECONDS = 60
_numbers = itertools.count(1)


class LocalCloudError(Exception):
    """The loopback cloud didn't start, or refused a control request."""


class LocalCloud:
    """A context manager; every instance is a cloud of its own, empty at the start.

    `auth`: IAM is enforced and all is TLS, as on AWS (the bootstrap bucket refuses plain HTTP). `racks`: shape of the
    fabric. `ec2_sees_nodes`: let DescribeInstanceTopology show HyperPod's instances, which it doesn't on AWS.
    `progress` gets a line for each thing worth telling. Logs are kept in `logs` (build/local_cloud/<n> by default).
    """

    def __init__(
        self,
        *,
        auth: bool = False,
        racks: Racks | None = None,
        ec2_sees_nodes: bool = False,
        region: str = REGION,
        logs: Path | None = None,
        progress: Callable[[str], None] = print,
    ) -> None:
        self.auth = auth
        self.region = region
        self.port = _free_port()
        self.endpoint = f"{'https' if auth else 'http'}://127.0.0.1:{self.port}"
        self.logs = logs or ROOT / "build" / "local_cloud" / f"{os.getpid()}-{next(_numbers)}"
        self._racks = racks or Racks()
        self._ec2_sees_nodes = ec2_sees_nodes
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self._state: Path | None = None
        self._commands = itertools.count(1)
        self._assembly = self.logs / "cdk.out"

    def __enter__(self) -> LocalCloud:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    # -- life ------------------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Start the server and wait until it answers."""
        self.logs.mkdir(parents=True, exist_ok=True)
        self._state = Path(tempfile.mkdtemp(prefix="local-cloud-"))
        with (self.logs / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local_cloud.server"],
                env=self._server_environ(self._state),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us, who then stop the server
            )
        try:
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, with the Lambdas in it, and forget its state. Does nothing if it isn't running."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)  # its own group; nothing in it is worth saving
            self._process.wait()
            if self._process.stdin:
                self._process.stdin.close()
            self._process = None
        if self._state is not None:
            shutil.rmtree(self._state, ignore_errors=True)
            self._state = None

    @property
    def pid(self) -> int:
        """The server's process id; LocalCloudError if it isn't running."""
        if self._process is None:
            raise LocalCloudError("the loopback cloud isn't running")
        return self._process.pid

    # -- use -------------------------------------------------------------------------------------------------------
    def environ(self) -> dict[str, str]:
        """Environment for AWS clients, CDK apps and shells: this cloud's endpoint and keys, Node and cdk on PATH."""
        variables = {
            "AWS_ACCESS_KEY_ID": ROOT_KEY,
            "AWS_SECRET_ACCESS_KEY": ROOT_KEY,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.endpoint,
            "CDK_DEFAULT_ACCOUNT": ACCOUNT,
            "CDK_DEFAULT_REGION": self.region,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_HOME": str(self.logs / "cdk-home"),
            "CDK_VALIDATION": os.environ.get("CDK_VALIDATION", "true"),
            "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
            "CI": "1",
        }
        return clean_environment(variables | self._trust())

    def client(self, service: str, *, key: str = ROOT_KEY, secret: str = ROOT_KEY, **options: Any) -> Any:
        """A boto3 client for this cloud, as the account's root unless another key is given."""
        session = boto3.session.Session(aws_access_key_id=key, aws_secret_access_key=secret, region_name=self.region)
        verify = str(self._certificate) if self.auth else None
        return session.client(service, endpoint_url=self.endpoint, verify=verify, **options)

    def cdk(
        self, *arguments: str, app: str | None = None, folder: Path = ROOT, variables: Mapping[str, str] | None = None
    ) -> CdkResult:
        """Run the CDK CLI: `cloud.cdk("deploy", "--all", app="python3 app.py")`.

        `bootstrap` runs where no app is and gets this account and region; `destroy` takes what was synthesized last,
        unless told otherwise. `variables` join the environment. Raises CdkError with the last lines of its log.
        """
        if arguments == ("bootstrap",):
            arguments = ("bootstrap", f"aws://{ACCOUNT}/{self.region}")
            folder = self.logs
        if arguments[0] == "destroy" and app is None and self._assembly.exists():
            app = str(self._assembly)
        log = self.logs / f"{next(self._commands):02d}-cdk-{arguments[0]}.log"
        self._progress(f"cdk {' '.join(arguments)}  (log: {log})")
        result = run_cdk(
            arguments,
            environ=self.environ() | dict(variables or {}),
            log=log,
            app=app,
            assembly=self._assembly,
            folder=folder,
            progress=self._progress,
        )
        self._progress(f"cdk {arguments[0]}: {result.seconds:.1f} s")
        return result

    # -- HyperPod beyond the API -----------------------------------------------------------------------------------
    def resource_config(self, cluster: str) -> dict[str, Any]:
        """The controller's resource_config.json of a cluster (name or ARN), as parsed JSON."""
        return self.control("GET", f"resource-config?{urlencode({'cluster': cluster})}")

    def inject_fault(self, operation: str, message: str, *, kind: str = "fail", times: int = 1) -> None:
        """Let the next calls of a SageMaker operation fail: `reject` the call, or `fail` after accepting it."""
        self.control("POST", "faults", {"operation": operation, "message": message, "kind": kind, "times": times})

    def replace_node(self, cluster: str, node: str, *, leaf: int | None = None) -> dict[str, Any]:
        """Replace a node by its name, choosing its new leaf (0-based); gives instance_id and network_nodes."""
        return self.control("POST", "replace", {"cluster": cluster, "node": node, "leaf": leaf})

    def add_training_plan(self, name: str, *, ultraservers: int = 2, spares: int = 1, zone: str | None = None) -> str:
        """Reserve GB200 UltraServers; gives the training plan's ARN."""
        zone = zone or f"{self.region}a"
        plan = {"name": name, "ultraservers": ultraservers, "spares": spares, "zone": zone}
        return str(self.control("POST", "training-plans", plan)["arn"])

    def control(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request to the plugin's control paths; LocalCloudError with its message if it is refused."""
        request = urllib.request.Request(  # noqa: S310 (always this server)
            f"{self.endpoint}/_hyperpod/{path}", method=method, data=json.dumps(body or {}).encode()
        )
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._tls()) as answer:  # noqa: S310
                document: dict[str, Any] = json.load(answer)
                return document
        except urllib.error.HTTPError as error:
            raise LocalCloudError(f"{method} {path}: {json.load(error)['error']}") from error

    # -- inside ----------------------------------------------------------------------------------------------------
    def _server_environ(self, state: Path) -> dict[str, str]:
        variables = {
            "BIND_HOST": "127.0.0.1",
            "MINISTACK_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(self.port),
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "MINISTACK_REGION": self.region,
            "AWS_ACCESS_KEY_ID": ROOT_KEY,
            "AWS_SECRET_ACCESS_KEY": ROOT_KEY,
            "AWS_EC2_METADATA_DISABLED": "true",
            "TMPDIR": str(state),
            "STATE_DIR": str(state / "state"),
            "S3_DATA_DIR": str(state / "s3"),
            "LOCAL_CLOUD_RACKS": self._racks.to_text(),
            "LOCAL_CLOUD_EC2_SEES_NODES": "1" if self._ec2_sees_nodes else "0",
            "PYTHONPATH": str(ROOT / "tests"),
        }
        if self.auth:
            variables |= {"AUTH": "true", "USE_SSL": "1"}
        return clean_environment(variables)

    @property
    def _certificate(self) -> Path:
        if self._state is None:
            raise LocalCloudError("the loopback cloud isn't running")
        return self._state / "ministack-tls" / "server.crt"

    def _trust(self) -> dict[str, str]:
        if not self.auth:
            return {}
        certificate = str(self._certificate)
        return {
            "AWS_CA_BUNDLE": certificate,
            "SSL_CERT_FILE": certificate,
            "REQUESTS_CA_BUNDLE": certificate,
            "NODE_EXTRA_CA_CERTS": certificate,
        }

    def _tls(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=str(self._certificate)) if self.auth else None

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        for _ in _polls(0.05):
            if self._process.poll() is not None:
                raise LocalCloudError(f"the loopback cloud ended with {self._process.returncode}:\n{self._log_tail()}")
            if self._answers():
                return
            if time.monotonic() > deadline:
                raise LocalCloudError(f"no answer from {self.endpoint} in {START_SECONDS} s:\n{self._log_tail()}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(  # noqa: S310 (always this server)
                f"{self.endpoint}/_ministack/health", timeout=5, context=self._tls()
            ) as answer:
                return bool(answer.status == 200)
        except (OSError, ssl.SSLError):
            return False

    def _log_tail(self) -> str:
        return "\n".join((self.logs / "server.log").read_text(errors="replace").splitlines()[-20:])


def _polls(seconds: float) -> Iterator[None]:
    while True:
        yield
        time.sleep(seconds)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
