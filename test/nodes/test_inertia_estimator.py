# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node `inertia_estimator` as a process: service, topic, parameters, life cycle, bad input."""

import contextlib

import interfaces
import numpy as np
import pytest

from masticator_dynamics.analysis.load_inertia import storage

pytest.importorskip('rclpy', reason='rclpy is not installed')
EstimateInertia = interfaces.estimate_inertia()

from lifecycle_msgs.msg import Transition  # noqa: E402
from processes import START, wait_for  # noqa: E402
from rclpy.qos import qos_profile_sensor_data  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from nodes.harness import NodeProcess, Peer, send_until  # noqa: E402

pytestmark = pytest.mark.waiting

NAME = 'inertia_estimator'
NOWHERE = (0.0, 0.0, 0.0, 2.0)
OUTSIDE = (0.0, 0.005, 0.0, 0.0)  # of the sockets; the loops close
KINDS = ('ellipse', 'circle', 'grid')


class Caller(Peer):
    """Calls the service, sends joint states and receives the results."""

    def __init__(self, namespace):
        super().__init__(NAME, namespace)
        self.inertia = self.record(Float64MultiArray, f'{NAME}/load_inertia')
        self.joint_states = self.node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data
        )
        self.client = self.node.create_client(EstimateInertia, f'{NAME}/estimate')

    def begin(self, request):
        assert self.client.wait_for_service(START)
        return self.client.call_async(request)

    def estimate(self, names, positions, estimator='', off_diagonals=False):
        request = EstimateInertia.Request(
            joint_names=list(names),
            positions=np.ravel(positions).astype(float).tolist(),
            estimator=estimator,
            off_diagonals=off_diagonals,
        )
        future = self.begin(request)
        wait_for(future.done, 'estimate', START)
        return future.result()

    def send(self, names, positions):
        self.joint_states.publish(
            JointState(name=list(names), position=[float(p) for p in positions])
        )

    def answer(self, names, positions):
        """The node's answer to a joint state."""
        before = len(self.inertia)
        answers = send_until(
            lambda: self.send(names, positions), lambda: self.inertia[before:], 'load_inertia'
        )
        return np.array(answers[0].data)

    def refused(self, names, positions, reason):
        """Send a state until diagnostics refuse it with a reason; whether nothing was published."""
        before = len(self.inertia)

        def told():
            level, message, _ = self.status('joint_states')
            return level == 'ERROR' and reason in message

        send_until(lambda: self.send(names, positions), told, reason)
        return len(self.inertia) == before


@contextlib.contextmanager
def running(namespace, **parameters):
    process, caller = NodeProcess(NAME, namespace=namespace, **parameters), Caller(namespace)
    try:
        yield caller
    finally:
        caller.close()
        code = process.end()
    assert code == 0
    assert not process.log('Traceback')


@pytest.fixture(scope='module')
def peer(ros_domain):
    with running('estimating') as peer:
        wait_for(peer.joint_states.get_subscription_count, 'joint_states')
        wait_for(lambda: peer.status('joint_states'), 'diagnostics')
        yield peer


@pytest.fixture(scope='module')
def poses(mechanism):
    """Configurations with closed loops inside the region of the shipped estimators."""
    file = storage.shipped_file('masticator', 'ellipse')
    region = storage.read_estimator(file, mechanism).region
    drawn = region.sample(40, np.random.default_rng(3))
    return np.array([y for y in drawn if closes(mechanism, y)])[:25]


def closes(mechanism, y):
    try:
        mechanism.solve(y)
    except ValueError:
        return False
    return True


def truth(mechanism, poses):
    return np.array([mechanism.actuated_inertia(mechanism.solve(y)) for y in poses])


@pytest.mark.parametrize('kind', ['', 'model', *KINDS])
def test_estimates_are_within_their_stated_error_of_the_model(peer, mechanism, poses, kind):
    model = truth(mechanism, poses)
    answer = peer.estimate(mechanism.independent, poses, kind)
    assert (answer.success, answer.message) == (True, '')
    assert answer.estimator == (kind or 'model')
    assert tuple(answer.actuated_joints) == mechanism.actuated
    inertia, expected = np.reshape(answer.inertia, (-1, 6)), np.array(answer.expected_error)
    error = np.abs(inertia - model.diagonal(axis1=1, axis2=2))
    assert (error <= expected + 1e-15).all()
    assert (expected == 0.0).all() == (answer.estimator == 'model')
    whole = peer.estimate(mechanism.independent, poses, kind, off_diagonals=True)
    matrices, bound = (
        np.reshape(whole.inertia, (-1, 6, 6)),
        np.reshape(whole.expected_error, (6, 6)),
    )
    assert matrices.diagonal(axis1=1, axis2=2) == pytest.approx(inertia, rel=1e-12)
    assert (np.abs(matrices - model) <= bound + 1e-15).all()


def test_joints_in_any_order_actuated_ones_and_names_that_do_not_matter(peer, mechanism, poses):
    few = poses[:3]
    model = truth(mechanism, few).diagonal(axis1=1, axis2=2)
    names = [*mechanism.independent[::-1], 'tail']
    table = np.column_stack([few[:, ::-1], np.full(len(few), 7.0)])
    cranks = [mechanism.solve(y).position for y in few]
    for answer in (
        peer.estimate(names, table, 'model'),
        peer.estimate(mechanism.actuated, cranks, 'model'),
    ):
        assert answer.success, answer.message
        assert np.reshape(answer.inertia, (-1, 6)) == pytest.approx(model, rel=1e-6)


MALFORMED = {
    'neither all independent': ([], []),
    'missing: beta': (['x', 'y', 'alpha'], [0.0] * 3),
    "'x' is named 2 times": (['x', 'y', 'alpha', 'beta', 'x'], [0.0] * 5),
    'there are 0 positions for 4 joints': (['x', 'y', 'alpha', 'beta'], []),
    'there are 6 positions for 4 joints': (['x', 'y', 'alpha', 'beta'], [0.0] * 6),
    'configuration 2: position of y is nan': (
        ['x', 'y', 'alpha', 'beta'], [0.0] * 5 + [float('nan'), 0.0, 0.0]
    ),
    'position of beta is inf': (['x', 'y', 'alpha', 'beta'], [0.0, 0.0, 0.0, float('inf')]),
    'there are 100001 configurations': (['x', 'y', 'alpha', 'beta'], [0.0] * 400004),
}  # fmt: skip


@pytest.mark.parametrize('reason', MALFORMED)
def test_malformed_requests_are_refused_whole(peer, reason):
    answer = peer.estimate(*MALFORMED[reason])
    assert not answer.success
    assert reason in answer.message
    assert not len(answer.inertia) and not len(answer.expected_error)


def test_unknown_estimator_is_refused_naming_those_there_are(peer, mechanism):
    answer = peer.estimate(mechanism.independent, mechanism.home.y, 'fuzzy')
    assert not answer.success
    assert "no estimator 'fuzzy'; there are: model, ellipse, circle, grid" in answer.message


@pytest.mark.parametrize('kind', ['model', *KINDS])
def test_far_configurations_have_no_estimate_and_the_others_do(peer, mechanism, poses, kind):
    assert closes(mechanism, OUTSIDE)
    table = [poses[0], NOWHERE, OUTSIDE, poses[1]]
    answer = peer.estimate(mechanism.independent, table, kind)
    alone = peer.estimate(mechanism.independent, poses[:2], kind)
    inertia = np.reshape(answer.inertia, (4, 6))
    assert not answer.success
    missing = 1 if kind == 'model' else 2
    assert (
        f'{missing} of 4 configurations have no estimate; first, configuration 2' in answer.message
    )
    assert np.isnan(inertia).all(axis=1).tolist() == [False, True, kind != 'model', False]
    assert inertia[[0, 3]].ravel() == pytest.approx(np.array(alone.inertia), rel=1e-12)
    if kind != 'model':
        answer = peer.estimate(mechanism.independent, OUTSIDE, kind)
        assert 'outside the region that the' in answer.message


def test_actuated_joints_off_the_manifold_have_no_estimate(peer, mechanism):
    crooked = mechanism.home.position + [0.3, 0.0, 0.0, 0.0, 0.0, 0.0]
    answer = peer.estimate(mechanism.actuated, [mechanism.home.position, crooked])
    assert not answer.success
    assert 'configuration 2: the loops stay open by' in answer.message
    assert np.isfinite(answer.inertia[:6]).all() and np.isnan(answer.inertia[6:]).all()


def test_many_configurations_while_the_node_does_other_things(peer, mechanism, poses):
    table = np.tile(poses, (4000, 1))
    request = EstimateInertia.Request(
        joint_names=list(mechanism.independent),
        positions=table.ravel().tolist(),
        estimator='model',
    )
    for _ in range(5):  # a busy computer may keep this process from asking in time
        future = peer.begin(request)
        # Another service, the timer of diagnostics and the topic do not wait for its end.
        assert peer.set_parameter('estimator', 'circle')[0]
        peer.wait_for_status('estimator', 'OK', 'using circle')
        for _ in range(3):
            peer.answer(mechanism.independent, mechanism.home.y)
        others_first = not future.done()
        assert peer.set_parameter('estimator', 'model')[0]
        peer.wait_for_status('estimator', 'OK', 'using model')
        wait_for(future.done, 'estimate', START)
        if others_first:
            break
    assert others_first
    answer = future.result()
    assert answer.success, answer.message
    inertia = np.reshape(answer.inertia, (4000, len(poses), 6))
    assert np.abs(inertia / inertia[0] - 1.0).max() < 1e-9
    model = truth(mechanism, poses).diagonal(axis1=1, axis2=2)
    assert inertia[0] == pytest.approx(model, rel=1e-9)


def test_joint_states_independent_or_actuated_in_any_order(peer, mechanism, poses):
    motion = mechanism.solve(poses[0])
    model = mechanism.actuated_inertia(motion).diagonal()
    everything = dict(zip(mechanism.tree_joints, motion.q, strict=True))
    crooked = everything | dict.fromkeys(mechanism.actuated, 9.0)
    for named in (
        dict(zip(mechanism.independent, poses[0], strict=True)),
        dict(reversed(list(zip(mechanism.actuated, motion.position, strict=True)))),
        everything | {'tail': float('nan')},
        crooked,  # independent coordinates come first, others are ignored
    ):
        assert peer.answer(named, named.values()) == pytest.approx(model, rel=1e-6)


def test_bad_joint_states_are_told_and_nothing_is_published(peer, mechanism):
    home = dict(zip(mechanism.independent, mechanism.home.y, strict=True))
    cranks = dict(zip(mechanism.actuated, mechanism.home.position, strict=True))
    for named, reason in (
        ({'x': 0.0}, 'missing: y, alpha, beta'),
        (home | {'y': float('nan')}, 'position of y is nan'),
        (cranks | {'crank_2': 0.3}, 'the loops stay open by'),
        (home | {'beta': 2.0}, 'beta = 2'),
    ):
        assert peer.refused(named, named.values(), reason)
    assert peer.refused(mechanism.independent, [0.0], 'there are 1 positions for 4 joints')
    model = mechanism.actuated_inertia(mechanism.home).diagonal()
    assert peer.answer(home, home.values()) == pytest.approx(model, rel=1e-9)


def test_estimator_changes_at_run_time_and_never_extrapolates(peer, mechanism, poses):
    try:
        for kind in KINDS:
            assert peer.set_parameter('estimator', kind)[0]
            found = storage.read_estimator(storage.shipped_file('masticator', kind), mechanism)
            expected, bound = found.estimate(poses[0])

            def new(expected=expected):
                answer = peer.answer(mechanism.independent, poses[0])
                return np.allclose(answer, expected, rtol=1e-12)

            wait_for(new, f'answers of {kind}')
            wait_for(lambda kind=kind: kind in peer.status('estimator')[1], kind)
            stated = float(peer.status('estimator')[2]['expected error crank_1'])
            assert stated == pytest.approx(bound[0], rel=1e-5)
            reason = f'outside the region that the {kind} estimator was fitted on'
            assert peer.refused(mechanism.independent, OUTSIDE, reason)
        done, reason = peer.set_parameter('estimator', 'fuzzy')
        assert not done
        assert "no estimator 'fuzzy'" in reason
    finally:
        assert peer.set_parameter('estimator', 'model')[0]


def test_inactive_node_refuses(ros_domain, mechanism):
    with running('managed', autostart=False, wait=False) as peer:
        peer.change(Transition.TRANSITION_CONFIGURE)
        answer = peer.estimate(mechanism.independent, mechanism.home.y)
        assert (answer.success, answer.message) == (False, 'the node is not active')
        peer.change(Transition.TRANSITION_ACTIVATE)
        assert peer.estimate(mechanism.independent, mechanism.home.y).success


def test_stale_and_missing_files_end_the_node_with_a_sentence(ros_domain, mechanism, tmp_path):
    file = storage.shipped_file('masticator', 'circle')
    found = storage.read_estimator(file, mechanism)
    stale = tmp_path / 'stale.json'
    stale.write_text(file.read_text().replace(found.fingerprint, 'f' * 64))
    cases = (
        ({'estimator_files': f'[{stale}]'}, 'built for another version of it'),
        ({'estimator_files': f'[{tmp_path}/none.json]'}, 'No such file'),
        ({'mechanism': 'rcid', 'estimator': 'grid'}, 'there is no grid estimator of rcid'),
    )
    started = [
        NodeProcess(NAME, wait=False, namespace='refused', **parameters) for parameters, _ in cases
    ]
    for process, (_, reason) in zip(started, cases, strict=True):
        try:
            assert process.process.wait(START) == 1
        finally:
            process.end()
        assert process.log(reason), process.lines
        assert not process.log('Traceback')
