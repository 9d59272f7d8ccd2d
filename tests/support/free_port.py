# SPDX-License-Identifier: Apache-2.0
"""Ports for servers that must be told theirs."""

import random
import socket

LOWEST = 10240


def free_port():
    """A loopback port that nobody has, and that the kernel gives to no outgoing connection: it is
    still free when the server gets to it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as outgoing:
        end = max(int(outgoing.read().split()[0]), LOWEST + 1000)
    while True:
        port = random.SystemRandom().randrange(LOWEST, end)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # another one is tried
