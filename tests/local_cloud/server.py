"""`python -m local_cloud.server`: ministack with HyperPod, set up by the environment (see cloud.py)."""

from __future__ import annotations

import os
import sys

from ministack import app

from local_cloud.plugin import cloudformation, control, ec2_api, lifeline, sagemaker_api

__all__ = ["main"]


def main() -> None:
    sagemaker_api.install()
    ec2_api.install()
    cloudformation.install()
    app.app = control.with_control(app.app)
    app._port_is_bindable = lambda *_: False  # with TLS it would take port 443 as well
    lifeline.hold_on(os.environ["TMPDIR"])
    os.environ.pop("PYTHONPATH", None)  # Lambdas see their own code only
    sys.argv[1:] = []  # ministack reads the command line too
    app.main()


if __name__ == "__main__":
    main()
