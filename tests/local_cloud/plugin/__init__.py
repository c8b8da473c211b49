"""HyperPod for ministack: what runs inside the loopback cloud's own process.

ministack's hooks are private, so its version is pinned exactly; all touching of them is in this folder.
"""

from __future__ import annotations

__all__: list[str] = []
