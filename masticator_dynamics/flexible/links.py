# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Flexible links of a description as beams: their axes, bending and mass.

Mode shapes of a uniform Euler-Bernoulli beam for the supported boundary conditions.

Shapes are dimensionless functions of xi = s / L from 0 to 1, normalised so that the mean of
their squares is 1; modal coordinates are then lengths (m), every modal mass is that of the beam,
and modal stiffness is E I beta^4 / L^3. Source: Rao, Vibration of Continuous Systems, Table 8.1;
S3 Eq. 3 has the fixed-free shapes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import scipy.optimize

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.data import FlexibleLink
from masticator_dynamics.description.urdf import Inertia
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.errors import DescriptionError

QUADRATURE_POINTS = 60  # integrals of shapes up to MOST_MODES are exact to rounding
MOST_MODES = 12


@dataclasses.dataclass(frozen=True)
class Shapes:
    """Values of n shapes at points: ``value``, ``slope``, ``curvature``, (n, points).

    Slope and curvature are derivatives with respect to xi.
    """

    value: FloatArray
    slope: FloatArray
    curvature: FloatArray


def frequency_roots(boundary: str, modes: int) -> FloatArray:
    """Roots beta (n,) of the frequency equation; omega = beta^2 sqrt(E I / (rho A)) / L^2."""
    number: FloatArray = np.arange(1.0, modes + 1.0)
    if boundary == 'pinned-pinned':
        return np.asarray(number * np.pi)
    if boundary == 'fixed-free':
        return _roots(lambda b: np.cos(b) + 1.0 / np.cosh(b), (number - 0.5) * np.pi)
    if boundary == 'clamped-pinned':
        return _roots(lambda b: np.sin(b) - np.cos(b) * np.tanh(b), (number + 0.25) * np.pi)
    raise ValueError(boundary)


def shapes(boundary: str, modes: int, xi: FloatArray) -> Shapes:
    """Shapes of the first modes at positions ``xi`` (points,) between 0 and 1.

    Parameters
    ----------
    boundary : str
        How the ends are held, e.g. 'pinned-pinned'.
    modes : int
        Number of modes, the lowest frequency first.
    xi : (points,) array
        Positions in lengths of the beam, 0 to 1.
    """
    beta = frequency_roots(boundary, modes)[:, None]
    sine, cosine = np.sin(beta * xi), np.cos(beta * xi)
    if boundary == 'pinned-pinned':
        root = np.sqrt(2.0)
        return Shapes(root * sine, root * beta * cosine, -root * beta**2 * sine)
    growing, sigma = _coefficients(boundary, beta)
    # cosh - sigma sinh, without the difference of two large numbers
    up, down = growing * np.exp(beta * xi), (1.0 - growing) * np.exp(-beta * xi)
    return Shapes(
        up + down - cosine + sigma * sine,
        beta * (up - down + sine + sigma * cosine),
        beta**2 * (up + down + cosine - sigma * sine),
    )


def quadrature() -> tuple[FloatArray, FloatArray]:
    """Points and weights for integrals over xi from 0 to 1 (Gauss-Legendre)."""
    points, weights = np.polynomial.legendre.leggauss(QUADRATURE_POINTS)
    return 0.5 * (points + 1.0), 0.5 * weights


def _coefficients(boundary: str, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Half of 1 - sigma, and sigma, of ``cosh - cos - sigma (sinh - sin)``.

    The frequency equation is substituted where terms would cancel.
    """
    decay = np.exp(-beta)
    if boundary == 'fixed-free':
        sign = np.sign(np.sin(beta))
        sine, cosine = sign * np.tanh(beta), -1.0 / np.cosh(beta)
        rest = (sine - cosine - decay) / (np.sinh(beta) + sine)
    else:
        cosine = np.cos(beta)
        difference = cosine * 2.0 * decay**2 / (1.0 + decay**2)  # cos - sin
        rest = (difference - decay) / (np.sinh(beta) - np.sin(beta))
    return 0.5 * rest, 1.0 - rest


def _roots(function: Callable[[float], float], guesses: FloatArray) -> FloatArray:
    return np.array(
        [scipy.optimize.brentq(function, g - 0.5, g + 0.5, xtol=1e-14, rtol=1e-15) for g in guesses]
    )


# Half a wave of the highest mode, in thicknesses: shear and rotary inertia, which the beam lacks,
# would lower the frequency of one of four thicknesses by about 10 %.
SHORTEST_HALF_WAVE = 4.0
SAME_INERTIA = 0.01  # relative; between the URDF's link and density times cross-section
WITHIN = 1e-9  # of the length: a joint at an end is on the beam


@dataclasses.dataclass(frozen=True)
class Beam:
    """A uniform beam along an axis of its link's frame, whose origin is at ``s = 0``."""

    link: str
    axis: FloatArray  # (3,): along the beam, link axes
    names: tuple[str, ...]
    directions: FloatArray  # (d, 3): directions of bending, link axes; `names` are their letters
    # Near and far end, m along the axis; ``start < end``.
    start: float
    end: float
    stiffness: FloatArray  # (d,): e I, N m^2, by direction
    mass_per_length: float  # kg/m
    # Of the link about the axis, kg m^2: the spin inertia of its cross-section.
    axial_inertia: float
    modes: int
    boundary: str

    @property
    def length(self) -> float:
        """Distance between the ends, m."""
        return self.end - self.start

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the modal coordinates: by direction, then by mode."""
        return tuple(f'{self.link}_{d}{k + 1}' for d in self.names for k in range(self.modes))

    def shape(self, s: float) -> tuple[FloatArray, FloatArray]:
        """Deflection and slope (1/m) (modes,) at ``s`` per modal coordinate."""
        at = shapes(self.boundary, self.modes, np.array([(s - self.start) / self.length]))
        return at.value[:, 0], at.slope[:, 0] / self.length

    def tip_deflection(self) -> FloatArray:
        """Deflection (modes,) of the far end from the tangent at the link's origin."""
        (value, slope), far = self.shape(0.0), self.shape(self.end)[0]
        return far - value - slope * self.end

    def middle_deflection(self) -> FloatArray:
        """Deflection (modes,) of the middle from the chord between the ends."""
        near, middle, far = (
            self.shape(s)[0] for s in (self.start, 0.5 * (self.start + self.end), self.end)
        )
        return middle - 0.5 * (near + far)

    def modal_stiffness(self) -> FloatArray:
        """Stiffness (d * modes,) of the modal coordinates, N/m; shapes are orthogonal."""
        fourth = frequency_roots(self.boundary, self.modes) ** 4 / self.length**3
        return np.outer(self.stiffness, fourth).ravel()

    def rigid(self, a: float, b: float) -> Inertia:
        """A rigid piece of the beam from ``a`` to ``b`` along the axis, m."""
        length, along = b - a, np.outer(self.axis, self.axis)
        mass, axial = self.mass_per_length * length, self.axial_inertia * length / self.length
        across = (mass * length**2 / 12.0 + 0.5 * axial) * (np.eye(3) - along)
        return Inertia(mass, 0.5 * (a + b) * self.axis, across + axial * along)

    def gram(self) -> FloatArray:
        """Mass integrals (4 + d * modes square) of the terms in a material point's position.

        Material points are at ``O + x e_x + y e_y + z e_z + sum_k psi_k(s) eta_k e_k``: the
        integrals of the products of 1, x, y, z and psi_k over the mass.
        """
        xi, weights = quadrature()
        s = self.start + self.length * xi
        parts = np.zeros((4 + len(self.names) * self.modes, len(xi)))
        parts[0] = 1.0
        parts[1:4] = np.outer(self.axis, s)
        value = shapes(self.boundary, self.modes, xi).value
        parts[4:] = np.tile(value, (len(self.names), 1))
        gram = self.mass_per_length * self.length * (parts * weights) @ parts.T
        across = np.eye(3) - np.outer(self.axis, self.axis)
        gram[1:4, 1:4] += 0.5 * self.axial_inertia * across
        return gram


def beams(description: MechanismDescription) -> dict[str, Beam]:
    """Flexible links of a description.

    Raises
    ------
    DescriptionError
        Naming link and key, for no or too many modes, ends that make no beam, and masses that
        disagree with the URDF.
    """
    return {name: _beam(description, name) for name in description.flexible}


def _beam(description: MechanismDescription, link: str) -> Beam:
    declared = description.flexible[link]

    def refusal(key: str, reason: str) -> DescriptionError:
        return DescriptionError(description.file, f'flexible.{link}{key}', reason)

    if link == description.base:
        raise refusal('', 'the base does not bend')
    axis = np.eye(3)['xyz'.index(declared.axis)]
    start, end = (_along(description, link, declared, k) for k in (0, 1))
    if not end > start:
        raise refusal('.ends', f'the far end, {end:.6g} m, is not beyond the near end {start:.6g}')
    names = tuple(sorted(declared.section.second_moment))
    if not names or declared.axis in names:
        across = ' or '.join(sorted({'x', 'y', 'z'} - {declared.axis}))
        raise refusal(
            '.section.second_moment', f'a beam along {declared.axis} bends along {across}'
        )
    moments = np.array([declared.section.second_moment[d] for d in names])
    thickness = np.sqrt(12.0 * moments.max() / declared.section.area)
    most = min(MOST_MODES, int((end - start) / (SHORTEST_HALF_WAVE * thickness) + WITHIN))
    if not 1 <= declared.modes <= most:
        raise refusal(
            '.modes',
            f'{declared.modes} is not between 1 and {most}: half a wave must be '
            f'{SHORTEST_HALF_WAVE:g} times the thickness {thickness * 1e3:.3g} mm or longer',
        )
    inertia = description.tree.links[link]
    beam = Beam(
        link, axis, names, np.eye(3)[['xyz'.index(d) for d in names]], start, end,
        declared.material.youngs_modulus * moments,
        declared.material.density * declared.section.area,
        float(axis @ inertia.about_center @ axis), declared.modes, declared.boundary,
    )  # fmt: skip
    problem = _disagreement(beam, inertia)
    if problem:
        raise refusal('', f'{problem}; other masses belong on links fixed to it')
    return beam


def _along(
    description: MechanismDescription, link: str, declared: FlexibleLink, which: int
) -> float:
    """Position of an end along the axis, m."""
    end = declared.ends[which]
    if not isinstance(end, str):
        return float(end)
    if end == link:
        return 0.0
    for joint in description.tree.joints:
        if joint.parent == link and joint.child == end:
            return float(joint.position['xyz'.index(declared.axis)])
    joined = [link, *(j.child for j in description.tree.joints if j.parent == link)]
    raise DescriptionError(
        description.file,
        f'flexible.{link}.ends[{which}]',
        f'link {end!r} is not joined to it; there are: {", ".join(joined)}',
    )


def _disagreement(beam: Beam, inertia: Inertia) -> str:
    """How the URDF's link differs from the beam, or an empty text."""
    rod = beam.rigid(beam.start, beam.end)
    if abs(inertia.mass - rod.mass) > SAME_INERTIA * rod.mass:
        return f'density and section make {rod.mass:.6g} kg, the URDF says {inertia.mass:.6g} kg'
    off = float(np.linalg.norm(inertia.center_of_mass - rod.center_of_mass))
    if off > SAME_INERTIA * beam.length:
        return f'the URDF has its centre of mass {off * 1e3:.4g} mm off the middle of the beam'
    error = float(np.abs(inertia.about_center - rod.about_center).max())
    if error > SAME_INERTIA * float(rod.about_center.max()):
        return f"its inertia differs from the beam's by {error:.3g} kg m^2"
    return ''
