# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The demo end to end over real ROS 2, and what a user sees when it cannot run."""

import dataclasses
import importlib.util
import json
import os
import re

import numpy as np
import pytest

from demo.perfect_run import perfect_record, with_series
from masticator_dynamics import Mechanism
from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.files.bag import read_bag
from masticator_dynamics.files.bag_writer import write_mcap
from masticator_dynamics.files.tables import read_table
from masticator_dynamics.robot import demo
from masticator_dynamics.robot.acceptance.checks import TIMING
from masticator_dynamics.robot.demo import run_demo
from masticator_dynamics.robot.recording import nodes, processes, topics
from masticator_dynamics.robot.recording.demo_motion import script_for

Reader = pytest.importorskip('rosbags.rosbag2', reason='rosbags is not installed').Reader

NEEDED = [name for names in demo.PACKAGES.values() for name in names]
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.waiting,
    pytest.mark.early,
    pytest.mark.skipif(bool(MISSING), reason=f'not installed: {", ".join(MISSING)}'),
]

RATE = 200.0  # Hz; enough to see everything, and a busy test machine keeps up


@pytest.fixture(autouse=True)
def own_domain(monkeypatch):
    """One that no other process of this test run takes, as a random one may be."""
    monkeypatch.setattr(processes.random, 'randint', lambda *_: 1 + os.getpid() % 101)


def assert_passed(code, output):
    """Check everything except timing, which depends on the computer."""
    summary = json.loads((output / 'summary.json').read_text())
    failed = {check['name']: check['detail'] for check in summary['checks'] if not check['passed']}
    assert code == (1 if failed else 0)
    assert summary['passed'] is not bool(failed)
    assert set(failed) <= TIMING, failed
    return summary


def test_built_in_motion(tmp_path, capsys):
    output = tmp_path / 'results'
    code = run_demo(output, strokes=2, rate=RATE)
    names = [*demo.RESULTS, *([demo.PAGE] if importlib.util.find_spec('viser') else [])]
    assert sorted(path.name for path in output.iterdir()) == sorted(names)
    if demo.PAGE in names:
        page = (output / demo.PAGE).read_text(encoding='utf-8')
        assert 100_000 < len(page) < 5e6 and 'crank_1' in page  # the robot, and curves of efforts
    printed = capsys.readouterr()
    assert (output / 'summary.txt').read_text() in printed.out
    assert str(output) in printed.out
    assert 'Traceback' not in printed.err

    summary = assert_passed(code, output)
    assert summary['bite_force_peak_n'] == pytest.approx(100.0, abs=1.0)
    assert summary['largest_closure_residual_m'] < 1e-10
    assert 0.0 < summary['latency_median_ms'] < 1000.0  # a busy computer's, too

    table = read_table(str(output / 'run.csv'))
    times = table.increasing('time')
    assert times[0] < 0.0 and times[-1] > 2.0
    cycles = np.diff(times) * RATE
    assert cycles == pytest.approx(np.rint(cycles), abs=1e-3)
    efforts = table.numbers([f'effort_crank_{i}' for i in range(1, 7)])
    peaks = np.abs(efforts).max(axis=0)
    assert peaks == pytest.approx(list(summary['torque_peak_nm'].values()))

    events = read_bag(output).events  # the folder is a bag
    assert_bag(output, {topic: len(messages) for topic, messages in events.items()})
    assert len(events['/feedforward_state']) == len(times) == summary['cycles']
    assert abs(len(events['/feedforward_effort']) - len(times)) <= 1
    assert len(events['/joint_trajectory']) == len(events['/feedforward_trajectory']) == 1
    assert len(events['/bite_force']) > 150 * 2
    drawn = {marker.ns for event in events['/dynamics/markers'] for marker in event.content.markers}
    assert drawn == {'efforts', 'contacts', 'bite_force'} and len(events['/dynamics/markers']) > 20
    row = len(times) // 2
    assert list(events['/feedforward_state'][row].content.effort) == list(efforts[row])
    bites = [event.content.wrench.force.z for event in events['/bite_force']]
    assert min(bites) < -95.0

    with open(output / 'run.png', 'rb') as stream:
        header = stream.read(24)
    assert header[:8] == b'\x89PNG\r\n\x1a\n'
    assert np.frombuffer(header[16:24], '>u4').tolist() == [1600, 1200]


def assert_bag(folder, counts):
    """Another reader finds what `ros2 bag info` shows."""
    with Reader(folder) as reader:
        found = {c.topic: c.msgcount for c in reader.connections}
        assert {topic: count for topic, count in found.items() if count} == counts
        assert reader.message_count == len(list(reader.messages())) == sum(counts.values())
        for connection in reader.connections:
            offers = connection.ext.offered_qos_profiles
            assert offers and all(offer.reliability.name == 'RELIABLE' for offer in offers)
            assert connection.digest.startswith('RIHS01_')


def test_recorded_motion_that_ends_moving(tmp_path):
    times = np.arange(0.0, 0.6, 0.004)
    depth = -0.012 * np.sin(np.pi * times) ** 2
    rows = np.round(np.column_stack([0.2 * depth, 0.1 * depth, depth]), 5)
    file = tmp_path / 'incisor.csv'
    header = 'time,incisor_x,incisor_y,incisor_z,bolus_force'
    np.savetxt(
        file,
        np.column_stack([times, rows, 20.0 * (times > 0.3)]),
        delimiter=',',
        header=header,
        comments='',
    )
    output = tmp_path / 'results'
    output.mkdir()
    (output / 'notes.txt').write_text('mine')
    (output / 'summary.json').write_text('of an earlier run')
    summary = assert_passed(run_demo(output, file, rate=RATE), output)
    assert (output / 'notes.txt').read_text() == 'mine'
    assert summary['motion'] == 'incisor.csv'
    assert summary['bite_force_peak_n'] == pytest.approx(20.0, abs=0.1)


def test_node_that_dies(tmp_path, capsys, monkeypatch):
    (tmp_path / 'dying_node.py').write_text('raise SystemExit("dynamics: out of luck")\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=':')
    output = tmp_path / 'results'
    monkeypatch.setattr(processes, 'NODE_MODULE', 'dying_node')
    assert run_demo(output, strokes=1) == 1
    shown = capsys.readouterr()
    assert 'dynamics node ended with exit code 1' in shown.err
    assert 'out of luck' in shown.err
    assert 'Traceback' not in shown.err
    assert shown.out == ''
    assert not output.exists()


def test_node_that_does_not_listen(tmp_path, capsys, monkeypatch):
    (tmp_path / 'deaf_node.py').write_text(
        'import time; print("efforts of none"); time.sleep(600)\n'
    )
    (tmp_path / 'waiting_player.py').write_text(
        'import json, time\n'
        "print(json.dumps({'phase': 'waiting', 'lacking': ['nobody listens']}), flush=True)\n"
        'time.sleep(600)\n'
    )
    monkeypatch.setenv('PYTHONPATH', str(tmp_path), prepend=':')
    monkeypatch.setattr(nodes, 'PLAYER_MODULE', 'waiting_player')
    monkeypatch.setitem(nodes._PATIENCE, 'waiting', 4.0)
    monkeypatch.setattr(processes, 'NODE_MODULE', 'deaf_node')
    assert run_demo(tmp_path / 'results', strokes=1) == 1
    assert 'not there after 4 s: nobody listens' in capsys.readouterr().err


def test_failed_check_is_named_and_results_stay(tmp_path, capsys, monkeypatch):
    """From a faultless record with wrong efforts."""
    mechanism = Mechanism.load('masticator')
    record = perfect_record(mechanism, script_for(mechanism, None, 1))
    tampered = with_series(record, topics.STATE, effort=record[topics.STATE].effort * 1.1)
    tampered = dataclasses.replace(tampered, effort=record.effort * 1.1)

    def recorded(work, *_):
        write_mcap(work / 'run.mcap', {}, [])

    monkeypatch.setattr(demo, 'record_session', recorded)
    monkeypatch.setattr(demo, 'read_record', lambda *_: tampered)
    monkeypatch.setattr(demo, 'load_run', lambda *_: None)
    monkeypatch.setattr(demo, 'page_of', lambda runs: ('', len(runs)))
    output = tmp_path / 'results'
    assert run_demo(output, strokes=1) == 1
    shown = capsys.readouterr()
    # Power, and forces of the sockets, follow from the torques that were recorded.
    assert '1 of 12 checks failed: torques as expected: off by ' in shown.err
    text = (output / 'summary.txt').read_text()
    assert re.search('FAILED +torques as expected', text)
    for name in ('contact forces as expected', 'energy balance'):
        assert re.search(f"not judged +{name} +'torques as expected' failed", text)
    assert json.loads((output / 'summary.json').read_text())['passed'] is False


def test_missing_recording(tmp_path):
    with pytest.raises(InputError, match='nowhere.csv'):
        run_demo(tmp_path / 'results', tmp_path / 'nowhere.csv')
    assert not (tmp_path / 'results').exists()


def test_output_that_is_a_file(tmp_path):
    (tmp_path / 'results').write_text('in the way')
    with pytest.raises(InputError, match='results'):
        run_demo(tmp_path / 'results', strokes=1)


def test_missing_package_names_the_extra(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, 'find_spec', lambda name: None if name == 'mcap' else find(name)
    )
    with pytest.raises(MasticatorError, match=r'mcap.*\[demo\]'):
        run_demo(tmp_path / 'results')
