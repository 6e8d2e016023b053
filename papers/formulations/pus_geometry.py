# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The properties of a 6-PUS mechanism that S2's equations use, in its symbols, and their reader."""

from __future__ import annotations

import dataclasses

import numpy as np

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.engine.arrays import FloatArray
from papers.formulations.rotations import rotation_zyx
from papers.formulations.tree_reading import RATIO, SLIDING, TreeReader


@dataclasses.dataclass(frozen=True)
class PusGeometry:
    """A platform on six sliders and links (S2 Sec. 2). SI units; limbs in actuated order.

    Attributes
    ----------
    b : array, shape (6, 3)
        Universal joints on the sliders, in {B} at l_i = 0; S2's B_i.
    p : array, shape (6, 3)
        Spherical joints P_i on the platform, in {P}.
    L, kappa : array, shape (6,)
        Lengths of links, and distances of their centres of mass from P_i over L (S2's b_cm / L).
    branch : array, shape (6,)
        Sign of the height of P_i above its slider; 1 in S2, which has the platform above.
    m_P, I_P : float, array (3, 3)
        Mass of the platform, and inertia in {P} about P, its centre of mass.
    m_A, m_rotor : array, shape (6,)
        Mass of actuators, and what rotors add to their inertia but not to their weight.
    m_L, I_Lxx, I_Lyy : array, shape (6,)
        Mass of links, and inertia about their centre of mass, along and across their line.
    g : array, shape (3,)
        Acceleration of free fall in {B}.
    """

    b: FloatArray
    p: FloatArray
    L: FloatArray
    kappa: FloatArray
    branch: FloatArray
    m_P: float
    I_P: FloatArray
    m_A: FloatArray
    m_rotor: FloatArray
    m_L: FloatArray
    I_Lxx: FloatArray
    I_Lyy: FloatArray
    g: FloatArray
    names: tuple[str, ...]


def read_pus_geometry(description: MechanismDescription) -> PusGeometry:
    """Points and masses of a 6-PUS mechanism.

    Raises
    ------
    DescriptionError
        If the mechanism is not one that S2 treats; names the joint or link.
    """
    return _PusReader(description).geometry()


class _PusReader(TreeReader):
    """Reads a 6-PUS mechanism."""

    mechanism = '6-PUS'
    limb = 'slider with a link on two crossed axes'
    drive = SLIDING

    def geometry(self) -> PusGeometry:
        description = self.description
        names, pose = self.check_platform('zyx')
        if description.contacts:
            self.refuse('contacts', f'{len(description.contacts)} contacts, needed are none')
        self.check_independent(names)
        self.check_counts()
        limbs = [self._limb(name) for name in description.actuated]
        columns = {key: np.array([limb[key] for limb in limbs]) for key in limbs[0]}
        platform = self.centred_platform()
        l_home = np.array([description.home.get(name, 0.0) for name in description.actuated])
        arms = columns['p'] @ rotation_zyx(pose[3:]).T
        height = pose[2] + arms[:, 2] - columns['b'][:, 2] - l_home
        return PusGeometry(
            **columns, branch=np.where(height < 0.0, -1.0, 1.0), m_P=platform.mass,
            I_P=platform.about_center, g=np.array(description.gravity),
            names=description.actuated,
        )  # fmt: skip

    def _limb(self, name: str) -> dict[str, FloatArray | float]:
        """Actuator and link of an actuated joint, as fields of :class:`PusGeometry`."""
        (slider, _, second), tip, seat = self.chain(name)
        axis = self.placed[slider.child][1] @ slider.axis
        if np.abs(axis - [0.0, 0.0, 1.0]).max() > RATIO:
            self.refuse(f'joint {name}', f'it slides along {axis.tolist()}, not along z')
        b = self.placed[second.child][0]
        span = self.placed[tip][0] - b
        L, fraction, body = self.rod(second.child, span)
        along = float(span @ body.about_center @ span) / L**2
        across = 0.5 * (float(np.trace(body.about_center)) - along)
        n = np.outer(span, span) / L**2
        round_rod = across * (np.eye(3) - n) + along * n
        if np.abs(body.about_center - round_rod).max() > RATIO * max(across, along, 1e-300):
            self.refuse(f'link {second.child}', 'its inertia is not the same all round its line')
        return {
            'b': b, 'p': self.placed[seat][0], 'L': L, 'kappa': 1.0 - fraction,
            'm_A': self.body(slider.child).mass, 'm_rotor': self.rotor(name),
            'm_L': body.mass, 'I_Lxx': along, 'I_Lyy': across,
        }  # fmt: skip
