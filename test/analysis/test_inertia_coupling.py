# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Inertia in actuated space and its coupling, against the papers and sums over bodies by hand."""

import json
import pathlib

import numpy as np
import pytest
import samples
from oracles import rss_oracle as rss

from masticator_dynamics import Mechanism
from masticator_dynamics.analysis.load_inertia.sampling import inertia_elements
from masticator_dynamics.cli import main
from masticator_dynamics.engine.evaluation.inertia_coupling import inertia_coupling
from masticator_dynamics.errors import SingularityError
from masticator_dynamics.files.tables import read_table, write_table

# With S1's geometry at occlusion, computed apart from this project and rounded.
AT_HOME = {
    'masticator': [0.440, 0.440, 0.4995, 0.4995, 0.266, 0.266],
    'rss6': [0.4375, 0.4375, 1.065, 1.065, 0.504, 0.504],
}
# A jaw 6.8 mm forward, to which the printed averages belong.
FORWARD = [0.0068, -0.0019, 0.009, 0.078]
AT_FORWARD = [0.2513, 0.2510, 0.2377, 0.2514, 0.1209, 0.1391]
OF_THE_FREE_JAW = [54.92, 45.49, 37.11, 38.25, 24.78, 28.94]  # per cent


def platform_pose(y) -> samples.Array:
    zero = np.zeros(4)
    return rss.RssOracle('masticator').platform_motion(y, zero, zero).pose


def mass_matrix(name: str, y) -> samples.Array:
    """Mass matrix of the independent coordinates, from the change of torques with acceleration."""
    oracle, zero = rss.RssOracle(name), np.zeros(len(y))
    jacobian = oracle.jacobian(y)
    still = oracle.inverse_dynamics(y, zero, zero).effort
    columns = [
        jacobian.T @ (oracle.inverse_dynamics(y, zero, unit).effort - still)
        for unit in np.eye(len(y))
    ]
    return np.array(columns).T


def inertia_by_hand(name: str, y) -> samples.Array:
    """S0 Sec. 6: cranks and jaw move independently, and each coupler follows its two ends."""
    oracle, count = rss.RssOracle(name), len(y)
    zero, crank_rates = np.zeros(count), np.eye(6, 6 + count)
    motions = [oracle.platform_motion(y, unit, zero) for unit in np.eye(count)]
    _, lever = oracle._crank_vectors(oracle._cranks(motions[0])[0])
    twist = np.zeros((6, 6 + count))
    twist[:, 6:] = np.array([[*m.pose_dot[:3], *m.omega] for m in motions]).T
    rotation = motions[0].rotation
    body = np.zeros((6, 6))
    body[:3, :3] = rss.MANDIBLE_MASS * np.eye(3)
    body[3:, 3:] = rotation @ rss.MANDIBLE_INERTIA @ rotation.T
    mass = twist.T @ body @ twist + crank_rates.T @ np.diag(rss.CRANK_INERTIA) @ crank_rates
    tips = np.array([m.point(rss.PLATFORM_JOINTS)[1] for m in motions])
    for i in range(6):
        foot, tip = np.outer(lever[i], crank_rates[i]), np.zeros((3, 6 + count))
        tip[:, 6:] = tips[:, i].T
        # A slender rod between two velocities: m/6 (|a|^2 + a.b + |b|^2).
        cross = foot.T @ tip
        square = foot.T @ foot + tip.T @ tip + 0.5 * (cross + cross.T)
        mass += oracle.coupler_mass[i] / 3.0 * square
    both = np.vstack([np.eye(6), np.linalg.pinv(oracle.jacobian(y))])
    return both.T @ mass @ both


def some_poses(name: str) -> list[samples.Array]:
    return [s.y for s in samples.states(name, 6, seed=101)]


@pytest.mark.parametrize('name', ['masticator', 'rss6'])
def test_inertia_is_that_of_the_bodies_added_up(name: str) -> None:
    mechanism = samples.mechanism(name)
    for y in some_poses(name):
        inertia = mechanism.actuated_inertia(mechanism.solve(y))
        scale = np.abs(inertia).max()
        assert samples.relative_error(inertia, inertia_by_hand(name, y), scale) < 1e-10
        assert np.abs(inertia - inertia.T).max() < 1e-14 * scale
        assert np.linalg.eigvalsh(inertia).min() > 0.0


@pytest.mark.parametrize('name', ['masticator', 'rss6'])
def test_inertia_is_the_true_one_on_motions_that_the_loops_allow(name: str) -> None:
    mechanism = samples.mechanism(name)
    for y in some_poses(name):
        jacobian, mass = rss.RssOracle(name).jacobian(y), mass_matrix(name, y)
        inertia = mechanism.actuated_inertia(mechanism.solve(y))
        true = jacobian.T @ inertia @ jacobian
        # Metres and radians: each entry on the scale of its own coordinates.
        scale = np.sqrt(np.outer(np.diag(mass), np.diag(mass)))
        assert np.abs((true - mass) / scale).max() < 1e-10
        if name == 'rss6':
            inverse = np.linalg.inv(jacobian)
            assert samples.relative_error(inertia, inverse.T @ mass @ inverse, 0.0) < 1e-9


@pytest.mark.parametrize('name', ['masticator', 'rss6'])
def test_coupling_at_home(name: str) -> None:
    mechanism = samples.mechanism(name)
    assert mechanism.inertia_coupling(mechanism.home) == pytest.approx(AT_HOME[name], abs=5e-4)


def test_coupling_of_a_jaw_moved_forward() -> None:
    masticator, free = samples.mechanism('masticator'), samples.mechanism('rss6')
    coupling = masticator.inertia_coupling(masticator.solve(FORWARD))
    assert coupling == pytest.approx(AT_FORWARD, abs=5.1e-5)
    ratio = 100.0 * coupling / free.inertia_coupling(free.solve(platform_pose(FORWARD)))
    assert ratio == pytest.approx(OF_THE_FREE_JAW, abs=5.1e-3)


def test_coupling_is_what_the_matrix_says() -> None:
    """S0 Eq. 60, written as printed."""
    mechanism = samples.mechanism('masticator')
    for y in some_poses('masticator'):
        motion = mechanism.solve(y)
        inertia, coupling = mechanism.actuated_inertia(motion), mechanism.inertia_coupling(motion)
        for i in range(6):
            others = sum(abs(inertia[i, k]) for k in range(6) if k != i)
            assert coupling[i] == pytest.approx(np.log(others / (5.0 * inertia[i, i]) + 1.0), 1e-13)


def test_a_motor_alone_feels_no_other() -> None:
    assert inertia_coupling(np.array([[2.0]])) == pytest.approx([0.0])


def test_a_mirrored_jaw_swaps_the_cranks() -> None:
    """Except for the products of inertia across the middle plane, 1e-4 of the jaw's inertia."""
    mechanism = samples.mechanism('masticator')
    for x, y, alpha, beta in some_poses('masticator'):
        coupling = mechanism.inertia_coupling(mechanism.solve([x, y, alpha, beta]))
        image = mechanism.inertia_coupling(mechanism.solve([x, -y, -alpha, beta]))
        assert image == pytest.approx(coupling[[1, 0, 3, 2, 5, 4]], rel=1e-4)
        assert np.abs(image - coupling).max() > 1e-3  # the pose is not symmetric itself


def test_rotors_add_to_the_diagonal(tmp_path: pathlib.Path) -> None:
    text = samples.file_of('masticator').read_text(encoding='utf-8')
    urdf = samples.ROOT / 'urdf/masticator.urdf.xacro'
    text = text.replace('../../urdf/masticator.urdf.xacro', str(urdf))
    file = tmp_path / 'with_rotors.yaml'
    file.write_text(
        text.replace('crank_2: {', 'crank_2: {rotor_inertia: 2.0e-5, ')
        .replace('crank_6: {', 'crank_6: {rotor_inertia: 6.0e-5, '), encoding='utf-8',
    )  # fmt: skip
    plain, heavy = samples.mechanism('masticator'), Mechanism.load(file)
    y = some_poses('masticator')[0]
    added = heavy.actuated_inertia(heavy.solve(y)) - plain.actuated_inertia(plain.solve(y))
    assert added == pytest.approx(np.diag([0.0, 2e-5, 0.0, 0.0, 0.0, 6e-5]), abs=1e-16)


@pytest.mark.parametrize('name', ['rcid', 'five_bar', 'boom'])
def test_inertia_of_other_mechanisms_is_what_their_motors_feel(name: str) -> None:
    """Change of efforts with the motors' acceleration, rotors included."""
    mechanism = samples.mechanism(name)
    for state in samples.states(name, 4, seed=102):
        motion, count = mechanism.solve(state.y), len(mechanism.independent)
        still = mechanism.feedforward(state.y).actuated
        columns = [
            mechanism.feedforward(state.y, None, unit).actuated - still for unit in np.eye(count)
        ]
        jacobian = mechanism.jacobian_actuated_from_independent(motion)
        expected = np.array(columns).T @ np.linalg.inv(jacobian)
        assert samples.relative_error(mechanism.actuated_inertia(motion), expected, 0.0) < 1e-9


@pytest.mark.parametrize('name', ['masticator', 'rcid', 'boom'])
def test_rows_of_a_batch_are_single_poses(name: str) -> None:
    """Also across the chunks into which many rows are divided."""
    mechanism = samples.mechanism(name)
    poses = np.array([s.y for s in samples.states(name, 7, seed=103)] * 43)
    batch = mechanism.feedforward_batch(poses)
    inertia, coupling = mechanism.actuated_inertia(batch), mechanism.inertia_coupling(batch)
    for row in (0, 3, 255, 256, 300):
        motion = mechanism.solve(poses[row])
        single = mechanism.actuated_inertia(motion)
        assert samples.relative_error(inertia[row], single, 0.0) < 1e-13
        assert coupling[row] == pytest.approx(mechanism.inertia_coupling(motion), rel=1e-12)


def test_the_command_writes_what_python_says(tmp_path: pathlib.Path) -> None:
    poses = some_poses('masticator')
    table = np.column_stack([np.arange(len(poses)), poses])
    file, out = tmp_path / 'in.csv', tmp_path / 'out.csv'
    write_table(str(file), ['time', 'x', 'y', 'alpha', 'beta'], table)
    assert main(['coupling', 'masticator', '--motion', str(file), '--output', str(out)]) == 0
    written = read_table(str(out))
    header = ['time', *(f'mci_crank_{k}' for k in range(1, 7))]
    assert list(written.columns) == header
    mechanism = samples.mechanism('masticator')
    expected = [mechanism.inertia_coupling(mechanism.solve(y)) for y in poses]
    numbers = written.numbers(header)
    assert np.array_equal(numbers[:, 0], table[:, 0])
    # The command closes the loops of all rows together, to other last digits.
    assert numbers[:, 1:] == pytest.approx(np.array(expected), rel=1e-10)


@pytest.mark.skipif(
    not samples.REFERENCE.is_file(), reason='the reference samples are not beside the project'
)
def test_reproduces_the_reference_samples() -> None:
    references = json.loads(samples.REFERENCE.read_text(encoding='utf-8'))['samples']
    assert references
    for reference in references:
        y, wanted = reference['in']['x'], reference['out']
        for name, pose, numbers in [
            ('masticator', y, wanted), ('rss6', wanted['pose'], wanted['rss6'])
        ]:  # fmt: skip
            mechanism = samples.mechanism(name)
            motion = mechanism.solve(pose)
            inertia = mechanism.actuated_inertia(motion)
            assert samples.relative_error(inertia, numbers['M_A'], 0.0) < 1e-8
            assert mechanism.inertia_coupling(motion) == pytest.approx(numbers['MCI'], rel=1e-8)


FIVE_BAR = pathlib.Path(__file__).parents[1] / 'mechanisms/five_bar.yaml'


def test_where_actuators_lose_control_there_is_no_inertia() -> None:
    """With its rods in line, the motors cannot push the pin."""
    five_bar = Mechanism.load(FIVE_BAR)
    flat = np.array([0.0, np.sqrt(0.2**2 - 0.175**2)])
    with pytest.raises(SingularityError, match=r'motor_1, motor_2 lose control at \[0'):
        five_bar.actuated_inertia(five_bar.solve(flat))
    poses = np.array([five_bar.home.y, flat])
    with pytest.raises(SingularityError, match='row 2: actuators') as caught:
        five_bar.actuated_inertia(five_bar.attempt(poses).motions)
    assert caught.value.row == 1
    finite = np.isfinite(inertia_elements(five_bar, poses))
    assert finite.all(axis=1).tolist() == finite.any(axis=1).tolist() == [True, False]
