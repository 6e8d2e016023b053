# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Property tests are the same on every run and are not failed by a busy machine."""

import hypothesis

hypothesis.settings.register_profile(
    'masticator',
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile('masticator')
