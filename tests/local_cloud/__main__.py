"""`python -m local_cloud [--auth]`: a loopback cloud by hand, until Ctrl-C. Prints what to export for aws and cdk."""

from __future__ import annotations

import argparse
import shlex
import signal
import threading

from local_cloud.cloud import LocalCloud

__all__ = ["main"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="local_cloud", description=__doc__)
    parser.add_argument("--auth", action="store_true", help="enforce IAM, serve TLS")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with LocalCloud(auth=parser.parse_args().auth) as cloud:
        for name, value in cloud.environ().items():
            if name.startswith(("AWS_", "CDK_", "NODE_")) or name in ("SSL_CERT_FILE", "PATH"):
                print(f"export {name}={shlex.quote(value)}")
        print(f"# {cloud.endpoint} is up; its log: {cloud.logs / 'server.log'}; Ctrl-C ends it", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
