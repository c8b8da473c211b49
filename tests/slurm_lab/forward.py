"""Make servers of this machine's loopback reachable inside a box, at the same ports. Run as root, outside.

``forward.py PID PORT…``: listens on 127.0.0.1:PORT in the network namespace of PID and connects each caller to
127.0.0.1:PORT out here, until standard input ends. A socket belongs to the namespace that it was made in, so: enter,
listen, come back, connect. Prints "ready" when all ports listen. Only the standard library, so that any Python runs it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import sys

CLONE_NEWNET = 0x40000000


def enter_network(namespace: int) -> None:
    """Enter the network namespace of a file descriptor. Raises OSError without the right to."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def listen_inside(pid: int, ports: list[int]) -> list[socket.socket]:
    """Listening sockets inside; we are outside again when this returns."""
    outside = os.open("/proc/self/ns/net", os.O_RDONLY)
    inside = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
    enter_network(inside)
    sockets = [socket.create_server(("127.0.0.1", port), backlog=128) for port in ports]
    enter_network(outside)
    return sockets


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction until it ends, then pass the end on."""
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One caller; it is hung up on when nobody listens outside."""
    port = writer.get_extra_info("sockname")[1]
    with contextlib.suppress(OSError):
        out_reader, out_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(pump(reader, out_writer), pump(out_reader, writer))
        out_writer.close()
    writer.close()


async def main(pid: int, ports: list[int]) -> None:
    for listener in listen_inside(pid, ports):
        await asyncio.start_server(serve, sock=listener)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), [int(port) for port in sys.argv[2:]]))
