# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the papers print, next to what this package computes, and why they differ.

A section is one module here with a function ``compare(inputs) -> list[ComparisonTable]``, and one
line in ``sections.SECTIONS``.
"""
