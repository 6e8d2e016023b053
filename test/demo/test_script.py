# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The motion played: from home to home at rest, inside the sockets, with the food's force."""

import dataclasses

import numpy as np
import pytest

from masticator_dynamics import Mechanism
from masticator_dynamics.engine.evaluation.frames import frame_poses
from masticator_dynamics.errors import InputError
from masticator_dynamics.robot.recording.demo_motion import built_in_script
from masticator_dynamics.robot.recording.script import Script, recorded_script


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """Half a stroke, rounded to 0.01 mm, cut off while the jaw moves."""
    times = np.arange(0.0, 0.701, 0.005)
    s = np.clip(times / 1.0, 0.0, 1.0)
    depth = -0.012 * np.sin(np.pi * s) ** 2
    rows = np.round(np.column_stack([0.2 * depth, 0.1 * depth, depth]), 5)
    force = np.where((times > 0.5) & (times < 0.6), 30.0, 0.0)
    file = tmp_path_factory.mktemp('recording') / 'incisor.csv'
    np.savetxt(
        file,
        np.column_stack([times + 3.0, rows, force]),
        delimiter=',',
        header='time,incisor_x,incisor_y,incisor_z,bolus_force',
        comments='',
    )
    return file


def forces_in_base(mechanism, script):
    q = mechanism.feedforward_batch(script.path.sample(script.bite_times)[0]).q
    _, rotation = frame_poses(mechanism, q, script.bite_frame)
    return np.einsum('nij,nj->ni', rotation, script.bite_forces)


def assert_from_home_to_home(mechanism, script):
    for end in (0, -1):
        assert script.y[end] == pytest.approx(mechanism.home.y, abs=1e-12)
        assert script.y_dot[end] == pytest.approx(np.zeros(4), abs=1e-12)
        assert script.y_ddot[end] == pytest.approx(np.zeros(4), abs=1e-9)
    assert script.time[0] == 0.0


def test_built_in_script(mechanism):
    script = built_in_script(mechanism, strokes=2)
    assert_from_home_to_home(mechanism, script)
    assert script.duration == pytest.approx(2.0)
    forces = forces_in_base(mechanism, script)
    largest = np.linalg.norm(forces, axis=1).max()
    assert 60.0 <= largest <= 100.0 + 1e-9
    assert forces[:, 2].min() < -0.9 * largest  # food pushes the mandible down


def test_recorded_script_follows_and_returns(mechanism, recording):
    script = recorded_script(mechanism, recording)
    assert_from_home_to_home(mechanism, script)
    data = np.genfromtxt(recording, delimiter=',', names=True)
    lead = script.duration - script.path.end  # 0: the path is all there is
    assert lead == 0.0
    # Where the recording is in the script: find the shift that fits best.
    home = mechanism.frame_pose(mechanism.home, 'incisor').position
    recorded = np.column_stack([data[f'incisor_{axis}'] for axis in 'xyz'])
    shifts = np.arange(0.0, 1.0, 0.005)
    errors = []
    for shift in shifts:
        instants = data['time'] - data['time'][0] + shift
        q = mechanism.feedforward_batch(script.path.sample(instants)[0]).q
        errors.append(np.abs(frame_poses(mechanism, q, 'incisor')[0] - home - recorded).max())
    assert min(errors) < 2e-5
    start = shifts[int(np.argmin(errors))]
    forces = forces_in_base(mechanism, script)
    inside = (script.bite_times > start + 0.51) & (script.bite_times < start + 0.59)
    expected = np.tile([0.0, 0.0, -30.0], (inside.sum(), 1))
    assert forces[inside] == pytest.approx(expected, abs=1e-9)
    assert not forces[script.bite_times > start + 0.62].any()


def test_recorded_script_without_force(mechanism, recording, tmp_path):
    lines = [line.rsplit(',', 1)[0] for line in recording.read_text().splitlines()]
    file = tmp_path / 'path.csv'
    file.write_text('\n'.join(lines))
    assert not recorded_script(mechanism, file).bite_forces.any()


def test_points_keep_the_motion_between_them(mechanism, recording):
    """Quintics through the points give the planned motion, to the resolution of a recording."""
    script = recorded_script(mechanism, recording)
    fields = 'time', 'y', 'y_dot', 'y_ddot'
    halved = dataclasses.replace(script, **{name: getattr(script, name)[::2] for name in fields})
    assert script.time[1] <= 0.005 + 1e-12
    instants = np.linspace(0.0, script.time[::2][-1], 1001)
    difference = script.path.sample(instants)[0] - halved.path.sample(instants)[0]
    assert np.abs(difference).max() < 1e-5


def test_save_and_load(mechanism, tmp_path):
    script = built_in_script(mechanism, strokes=1)
    script.save(tmp_path / 'script.npz')
    loaded = Script.load(tmp_path / 'script.npz')
    assert (loaded.source, loaded.coordinates, loaded.bite_frame) == (
        script.source, script.coordinates, script.bite_frame,
    )  # fmt: skip
    assert np.array_equal(loaded.y, script.y)
    assert np.array_equal(loaded.bite_forces, script.bite_forces)


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ('', 'empty'),
        ('time,incisor_x,incisor_y\n0,0,0\n1,0,0\n', 'incisor_z'),
        ('time,incisor_x,incisor_y,incisor_z\n0,0,0,0\n1,0,x,0\n', 'incisor_y'),
        ('time,incisor_x,incisor_y,incisor_z\n1,0,0,0\n0,0,0,0\n', 'increase'),
        ('time,incisor_x,incisor_y,incisor_z\n1,0,0,0\n', 'two rows'),
        (
            'time,incisor_x,incisor_y,incisor_z\n0,0,0,0\n1e9,0,0,0\n',
            'lasts 1e.09 s; at most 3600 s are played',
        ),
        ('time,incisor_x,incisor_y,incisor_z,bolus_force\n0,0,0,0,1\n1,0,0,0,nan\n', 'bolus_force'),
    ],
)
def test_bad_recordings_are_refused_by_name(mechanism, tmp_path, content, words):
    file = tmp_path / 'bad.csv'
    file.write_text(content)
    with pytest.raises(InputError, match=words) as refusal:
        recorded_script(mechanism, file)
    assert 'bad.csv' in str(refusal.value)


def test_recordings_for_other_coordinates_are_refused(recording):
    with pytest.raises(InputError, match='x, y, alpha, beta'):
        recorded_script(Mechanism.load('rss6'), recording)


@pytest.mark.parametrize('name', ['delta', 'excavator', 'slider_crank', 'rrr4'])
def test_what_cannot_chew_swings_within_its_ranges(name):
    mechanism = Mechanism.load(name)
    script = built_in_script(mechanism, strokes=2)
    assert script.coordinates == mechanism.independent
    assert script.bite_frame == mechanism.description.platform
    for edge in (0, -1):
        assert script.y[edge] == pytest.approx(mechanism.home.y, abs=1e-12)
        assert script.y_dot[edge] == pytest.approx(0.0, abs=1e-9)
    assert (np.ptp(script.y, axis=0) > 0.01).all()
    for row in zip(script.y, script.y_dot, script.y_ddot, strict=True):
        assert mechanism.range_violations(mechanism.solve(*row)) == ()
    assert np.abs(script.bite_forces).max() > 0.01
