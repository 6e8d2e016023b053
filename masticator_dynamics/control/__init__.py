# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Force control: what a point of a mechanism does along one way to press with a wanted force.

- `force_goal`: what is asked, the bounds, and what is known of sensor and robot; all checked.
- `pressing_path`: how a mechanism moves when a point of it presses: the only part that knows one.
- `stiffness`: what is pressed, estimated while it is compressed.
- `sensor_watch`: whether the sensor can be trusted.
- `fracture`: whether what is pressed has cracked, or yields.
- `wanted_force`: what is asked for, shaped so that the point can travel with it.
- `force_control`: the law and its states, a function of measurement and reference, without a clock.

In each cycle: ``path.measured(...)`` makes a `Measured` of joint positions and a wrench,
``ForceControl.step(measured, reference)`` answers a `Commanded`, and ``path.state(...)`` and
``path.wrench(...)`` make of it what `Mechanism.feedforward` takes.
"""
