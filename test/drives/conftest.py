# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
import socket

import pytest


@pytest.fixture
def free_port():
    """A UDP port that nobody uses now, nor the one above it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('', 0))
        port = probe.getsockname()[1]
    return port if port < 65535 else port - 2
