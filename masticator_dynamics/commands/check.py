# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator check``: validate a description and show what it describes.

``masticator check --pinocchio``: a second opinion on a mechanism, in ten random states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click
import numpy as np

from masticator_dynamics.analysis.singularity import SingularityMeasures
from masticator_dynamics.commands.options import mechanism_argument
from masticator_dynamics.commands.terminal import Row, section, warn
from masticator_dynamics.description.data import Contact
from masticator_dynamics.description.urdf import Joint
from masticator_dynamics.description.visuals import shapes
from masticator_dynamics.engine.arrays import FloatArray
from masticator_dynamics.engine.closure_equations import unit_names
from masticator_dynamics.engine.evaluation.failures import pose_text
from masticator_dynamics.engine.parameters import frictional, of_joints, quantities
from masticator_dynamics.files.units import QUANTITIES
from masticator_dynamics.interchange.second_opinion import Disagreement, SecondOpinion
from masticator_dynamics.mechanism import Mechanism


@click.command()
@mechanism_argument
@click.option('--pinocchio', is_flag=True, help='Compare ten random states with Pinocchio.')
def check(mechanism: str, pinocchio: bool) -> None:
    """Validate a description and show what it describes.

    Shows the three spaces of joints, how many directions of motion the actuators control, how
    well conditioned loops and actuation are at home, the gaps of closures and contacts there,
    masses, friction and rotors, and limits. A fault in the description is an error.

    With --pinocchio, Pinocchio reads the URDF by itself and judges ten random states: whether loops
    and contacts are closed and stay so, and which efforts are needed. Exit 1 where it differs.
    """
    loaded = Mechanism.load(mechanism)
    warn(*_massless(loaded), *_pictures(loaded))
    sections = {
        loaded.name: _summary(loaded),
        'Spaces': spaces(loaded),
        'At home': _at_home(loaded),
        'Closures and contacts (gap at home as written)': _constraints(loaded),
        'Equations that follow from others (forces of closures not unique)': _redundant(loaded),
        'Masses': _masses(loaded),
        'Friction, rotors and springs': _losses(loaded),
        'Limits of actuated joints': _limits(loaded, actuated=True),
        'Limits of other joints': _limits(loaded, actuated=False),
        'Ranges of contacts': _contact_ranges(loaded),
    }
    blocks = ((title, list(rows)) for title, rows in sections.items())
    click.echo('\n\n'.join(section(title, rows) for title, rows in blocks if rows))
    if pinocchio:
        second_opinion(loaded)


def _summary(mechanism: Mechanism) -> Iterator[Row]:
    description = mechanism.description
    yield 'file', str(description.file)
    yield 'urdf', str(description.urdf_file)
    yield 'base', description.base
    yield 'platform', description.platform
    yield 'gravity', f'{_vector(description.gravity)} m/s^2'


def spaces(mechanism: Mechanism) -> Iterator[Row]:
    """How many joints there are of each kind, and which."""
    kinds = (
        ('tree', mechanism.tree_joints),
        ('independent', mechanism.independent),
        ('actuated', mechanism.actuated),
    )
    for kind, joints in kinds:
        yield kind, str(len(joints)), ' '.join(joints)


def _at_home(mechanism: Mechanism) -> Iterator[Row]:
    home = mechanism.home
    yield (
        'independent',
        ' '.join(
            f'{joint}={value:.6g}'
            for joint, value in zip(mechanism.independent, home.y, strict=True)
        ),
    )
    yield 'actuation rank', _actuation(mechanism)
    # As `masticator workspace` says them: rad and m compared by a length.
    measures, poses = SingularityMeasures(mechanism), mechanism.solve_batch(home.y[None])
    yield 'condition number of loops', f'{measures.loops(poses).condition[0]:.4g}'
    yield 'condition number of actuation', f'{measures.actuation(poses).condition[0]:.4g}'


def _actuation(mechanism: Mechanism) -> str:
    """Rank of the actuation, and its meaning."""
    rank, needed = mechanism.actuation_rank(), len(mechanism.independent)
    spare = len(mechanism.driving) - rank
    kind = f'redundantly actuated, by {spare}' if spare else 'fully actuated'
    if rank < needed:
        kind = f'under-actuated, by {needed - rank}'
    return f'{rank} of {needed}: {kind}'


def _constraints(mechanism: Mechanism) -> Iterator[Row]:
    structure, description = mechanism.structure, mechanism.description
    home = np.array([description.home.get(name, 0.0) for name in mechanism.tree_joints])
    poses = structure.tree.poses(home)
    parts = {closure.name: closure.kind.between(closure) for closure in description.closures} | {
        contact.name: f'{contact.frame} on {_surface(contact)}' for contact in description.contacts
    }
    for constraint in structure.described:
        kind = 'contact' if constraint.contact else 'closure'
        size = constraint.largest_gap(poses)
        turns = constraint.unit_name(structure.tree) == 'rad'
        shown = f'{size:.1e} rad' if turns else f'{size * 1e3:.1e} mm'
        yield kind, constraint.name, shown, parts[constraint.name]


def _surface(contact: Contact) -> str:
    """What a contact touches."""
    on = '' if contact.carrier is None else f' of {contact.carrier}'
    if contact.height is not None:
        return f'surface{on}'
    sign, offset = '-' if contact.offset < 0.0 else '+', abs(contact.offset)
    return f'{_vector(contact.normal)} . p {sign} {offset:.6g} m = 0{on}'


def _redundant(mechanism: Mechanism) -> Iterator[Row]:
    structure = mechanism.structure
    left_out = {redundancy.name: redundancy for redundancy in structure.redundant}
    for name in (*mechanism.closures, *mechanism.contacts):
        redundant = left_out.get(name)
        if redundant is not None:
            equations = f'{redundant.equations - redundant.independent} of {redundant.equations}'
            unit = unit_names(structure.tree, structure.described, name)
            yield name, equations, f'open by {redundant.gap:.1e} {unit} nearby'
        elif name in structure.shared:
            yield name, '0', 'shares its force with others'


def _masses(mechanism: Mechanism) -> Iterator[Row]:
    """Links with mass or inertia: mass and principal moments."""
    links = mechanism.description.tree.links
    for name, inertia in links.items():
        if inertia.mass > 0.0 or inertia.about_center.any():
            moments = np.linalg.eigvalsh(inertia.about_center)
            shown = ' '.join(f'{moment:.4g}' for moment in np.where(moments > 0.0, moments, 0.0))
            yield name, f'{inertia.mass:.6g} kg', f'principal moments {shown} kg m^2'
    yield 'all', f'{sum(inertia.mass for inertia in links.values()):.6g} kg', ''


def _losses(mechanism: Mechanism) -> Iterator[Row]:
    """Friction, rotors, armatures and springs that are not zero, as ``parameters()`` names them."""
    description = mechanism.description
    shown: dict[str, list[str]] = {}
    for name, value in (frictional(description) | of_joints(description)).items():
        if value:
            owner, _, ending = name.rpartition('.')
            unit = next(iter(QUANTITIES[quantities(description, name)[0]]), '')
            shown.setdefault(owner, []).append(f'{ending} {value:.6g} {unit}'.rstrip())
    for owner, ending, velocity in dict.fromkeys(_velocities(mechanism)):  # joint and motor agree
        shown.setdefault(owner, []).append(f'{ending} {velocity}')
    yield from ((owner, ', '.join(parts)) for owner, parts in shown.items())


def _velocities(mechanism: Mechanism) -> Iterator[Row]:
    """Velocities over which friction grows or falls: no parameters, but a part of its laws."""
    description = mechanism.description
    motors = {name: motor.friction for name, motor in description.actuators.items()}
    units = {joint.name: joint.unit for joint in mechanism.structure.tree.joints}
    laws: list[tuple[str, object]] = [*description.joints.items(), *motors.items()]
    for owner, law in laws:
        for ending in ('transition_velocity', 'stiction_velocity'):
            if value := getattr(law, ending, 0.0):
                yield owner, ending, f'{value:.6g} {units[owner]}/s'
    for contact in description.contacts:
        if value := contact.friction.transition_velocity:
            yield contact.name, 'transition_velocity', f'{value:.6g} m/s'


def _massless(mechanism: Mechanism) -> Iterator[str]:
    """A sentence for joints that can move without moving any mass, including rotors."""
    felt = mechanism.mass_matrix(mechanism.home)
    units = np.sqrt(np.where(np.diag(felt) > 0.0, np.diag(felt), 1.0))
    sizes, directions = np.linalg.eigh(felt / np.outer(units, units))
    moved = np.abs(mechanism.home.tangent @ (directions[:, sizes < 1e-12] / units[:, None]))
    names = [
        name for name, row in zip(mechanism.tree_joints, moved, strict=True) if (row > 1e-9).any()
    ]
    if names:
        file = mechanism.description.urdf_file
        yield (
            f'{file}: joints {", ".join(names)} can move without moving any mass: '
            'efforts are those of loads alone, and forward dynamics (twin, MuJoCo) has none; give '
            'what they move an <inertial>, or their motor a rotor_inertia'
        )


def _pictures(mechanism: Mechanism) -> Iterator[str]:
    """A sentence for shapes that cannot be drawn; motion and efforts do not need them."""
    description = mechanism.description
    missing = shapes(description.urdf_xml, description.urdf_file.parent)[1]
    if missing:
        more = f', and {len(missing) - 1} more' if len(missing) > 1 else ''
        yield f'{description.urdf_file}: {missing[0]}{more}; the dynamics are the same'


def _limits(mechanism: Mechanism, actuated: bool) -> Iterator[Row]:
    for joint in mechanism.structure.tree.joints:
        limits = (joint.lower, joint.upper, joint.velocity, joint.effort)
        if (joint.name in mechanism.actuated) == actuated and np.isfinite(limits).any():
            # Nothing drives the others, so their effort limits mean nothing.
            yield _joint_limits(joint) if actuated else _joint_limits(joint)[:-1]


def _joint_limits(joint: Joint) -> Row:
    unit, effort = joint.unit, 'N' if joint.unit == 'm' else 'N m'
    return (
        joint.name,
        f'[{joint.lower:.6g}, {joint.upper:.6g}] {unit}',
        f'{joint.velocity:.6g} {unit}/s',
        f'{joint.effort:.6g} {effort}',
    )


def _contact_ranges(mechanism: Mechanism) -> Iterator[Row]:
    for contact in mechanism.description.contacts:
        for axis in 'xyz':
            interval = getattr(contact.range, axis)
            if interval is not None:
                yield contact.name, axis, f'[{interval[0]:.6g}, {interval[1]:.6g}] m'


def _vector(values: Sequence[float]) -> str:
    return '(' + ', '.join(f'{value:.6g}' for value in values) + ')'


STATES = 10
LARGEST = Disagreement(gap=1e-8, velocity=1e-8, acceleration=1e-5, effort=1e-7)


_HEADINGS = """
gap: by which closures or contacts are open, m or rad; velocity, acceleration: with which they would
open, over the largest of a joint; effort: largest difference from ours, over the largest effort."""


def second_opinion(mechanism: Mechanism) -> None:
    """Print what Pinocchio says; exit 1 where it differs."""
    opinion = SecondOpinion(mechanism.description, mechanism.tree_joints)
    efforts = [mechanism.feedforward(*state) for state in random_states(mechanism)]
    disagreements = [opinion.of(effort, mechanism.driving) for effort in efforts]
    rows: list[Row] = [('', 'gap', 'velocity', 'acceleration', 'effort', 'verdict')]
    rows += [
        (str(k), *(f'{x:.1e}' for x in errors), ', '.join(_exceeded(errors)) or 'agrees')
        for k, errors in enumerate(disagreements, 1)
    ]
    rows.append(('allowed', *(f'{x:.0e}' for x in LARGEST), ''))
    click.echo('\n' + section(f'Pinocchio, {len(disagreements)} random states', rows))
    click.echo(_HEADINGS)
    agreed = sum(not _exceeded(errors) for errors in disagreements)
    click.echo(f'Pinocchio agrees in {agreed} of {len(disagreements)} states.')
    for effort, errors in zip(efforts, disagreements, strict=True):
        if _exceeded(errors):
            amounts = ', '.join(f'{n} by {getattr(errors, n):.2g}' for n in _exceeded(errors))
            where = f'{amounts} at {pose_text(mechanism, effort.y)}'
            click.echo(f'{mechanism.name}: Pinocchio differs in {where}', err=True)
            raise click.exceptions.Exit(1)


def random_states(mechanism: Mechanism) -> Iterator[tuple[FloatArray, ...]]:
    """States anywhere around home: positions, velocities, accelerations and a wrench."""
    rng, home = np.random.default_rng(0), mechanism.home.y
    rows = mechanism.independent_rows
    slides = np.array([mechanism.structure.tree.joints[j].slides for j in rows])
    span = np.where(slides, mechanism.structure.extent(), 1.0)
    half = 0.5 * (mechanism.limits.upper[rows] - mechanism.limits.lower[rows])
    span = np.where(np.isfinite(half) & (half > 0.0), np.minimum(half, span), span)
    for _ in range(STATES):
        direction = rng.uniform(-1.0, 1.0, len(home)) * span
        tries = home + np.geomspace(1.0, 1e-4, 30)[:, None] * direction
        y = tries[np.argmax(mechanism.attempt(tries).closed)]
        y_dot, y_ddot = rng.normal(size=(2, len(home))) * span
        yield y, y_dot, y_ddot, rng.normal(size=6)


def _exceeded(disagreement: Disagreement) -> list[str]:
    """Names of what is beyond rounding."""
    pairs = zip(disagreement._fields, disagreement, LARGEST, strict=True)
    return [name for name, x, most in pairs if not x <= most]
