# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A nut that cracks, and a food that creeps
=========================================

The jaw bites with a wanted force (``masticator demo --force``, action ``~/apply_force``), here in
simulated time. A nut of 30 N/mm cracks at 48 N while the force rises by 100 N/s: the jaw notices it
after 4 ms, turns after 6 ms and has then closed by 0.15 mm more, held back by the stiffness of its
drives. People take 15 to 20 ms and 2 to 5 mm. A food of which half relaxes in 1 s is held at 60 N
for 3 s: it creeps; then the teeth stay where they are, and the force relaxes.
"""

import matplotlib.pyplot as plt
import numpy as np

from masticator_dynamics.control.force_goal import ForceGoal, State
from masticator_dynamics.robot.twin.force_run import press
from masticator_dynamics.robot.twin.force_study import crack, shipped

nut = shipped(30e3, 0.007, break_compression=0.0016, broken_force=0.25)
record, figures = crack(nut, 100.0)
print(record.release.text)
print(f'turns after {figures["turns"]:.1f} ms, after {figures["travel"]:.2f} mm')
broken = nut.food.thickness - nut.food.break_compression
cracked = record.fine_time[np.argmax(record.gap < broken)]
since = 1e3 * (record.fine_time - cracked)

gum = shipped(20e3, 0.010, relaxing_share=0.5, relaxation_time=1.0)
goal = ForceGoal(most=120.0, duration=3.0, relaxation=2.0)
held = press(gum, goal, lambda time: 60.0, longest=8.0)
start, end = held.began(State.FORCE), held.began(State.RELEASE)

figure, panels = plt.subplots(2, 2, figsize=(9.0, 5.0), sharex='col', layout='constrained')
near = np.abs(since - 10.0) < 30.0
whole = (held.fine_time > start - 0.2) & (held.fine_time < end + 0.3)
for (force, gap), time, run, rows in (
    (panels[:, 0], since, record, near),
    (panels[:, 1], held.fine_time - start, held, whole),
):
    force.plot(time[rows], run.force[rows])
    gap.plot(time[rows], 1e3 * run.gap[rows])
told = 1e3 * (record.release.time - cracked)
for panel in panels[:, 0]:
    panel.axvline(told, color='0.6', ls=':', label='noticed')
    panel.axvline(figures['turns'], color='0.6', ls='--', label='turns')
panels[0, 0].legend()
panels[0, 0].set(title='a nut cracks', ylabel='force, N')
panels[0, 1].set(title='creep at 60 N, then relaxation')
panels[1, 0].set(ylabel='gap of the teeth, mm', xlabel='time since the crack, ms')
panels[1, 1].set(xlabel='time since force control began, s')
panels[0, 0].set_xlabel(' ')
panels[0, 1].set_xlabel(' ')
plt.show()
