"""CloudWatch: metric data points, in as few calls as the service allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .call import Patience, call

__all__ = ["put_metric_data"]

POINTS_A_CALL = 1000  # CloudWatch API reference, PutMetricData: "Up to 1000 different metrics"


def put_metric_data(client: Any, namespace: str, points: Sequence[Mapping[str, Any]], patience: Patience) -> None:
    """Report points in PutMetricData's own shape (``MetricName``, ``Dimensions``, ``Value`` …). Raises AwsError."""
    for start in range(0, len(points), POINTS_A_CALL):
        batch = [dict(point) for point in points[start : start + POINTS_A_CALL]]
        call(client, "cloudwatch:PutMetricData", patience, Namespace=namespace, MetricData=batch)
