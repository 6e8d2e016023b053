# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Refused messages: all counted, few logged."""

import pytest

pytest.importorskip('rclpy', reason='rclpy is not installed')

from masticator_dynamics.nodes import diagnostics  # noqa: E402


def test_all_are_counted_and_one_in_a_second_is_logged(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(diagnostics.time, 'monotonic', lambda: now[0])
    rejections = diagnostics.Rejections()
    logged = []
    for k in range(2500):  # 1 kHz
        now[0] = 100.0 + 1e-3 * k
        if rejections.reject(f'mistake {k}'):
            logged.append(k)
    assert len(logged) == 3
    assert logged[0] == 0
    assert rejections.rejected == 2500
    assert rejections.last == 'mistake 2499'
    assert rejections.alarming
