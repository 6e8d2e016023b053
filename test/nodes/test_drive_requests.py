# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to drives in this process: what waits for what, and for how long."""

import dataclasses
import threading
import time
import types

import pytest

rclpy = pytest.importorskip('rclpy', reason='rclpy is not installed')

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from drives.ideal_drives import IdealDrives  # noqa: E402
from processes import PATIENCE, meanwhile, wait_for  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from masticator_dynamics.drives.command import Command  # noqa: E402
from masticator_dynamics.drives.configuration import load_drives  # noqa: E402
from masticator_dynamics.drives.drive_cycle import DriveGoal  # noqa: E402
from masticator_dynamics.drives.drive_faults import Finding, Phase  # noqa: E402
from masticator_dynamics.drives.real_time import Longest  # noqa: E402
from masticator_dynamics.drives.supervisor import Outcome, Supervisor  # noqa: E402
from masticator_dynamics.ros.common.guard import GuardedExecutor  # noqa: E402
from masticator_dynamics.ros.servo_drives import drive_requests  # noqa: E402
from masticator_dynamics.ros.servo_drives.drive_diagnostics import DriveDiagnostics  # noqa: E402
from masticator_dynamics.ros.servo_drives.drive_requests import DriveRequests  # noqa: E402
from masticator_dynamics.ros.servo_drives.drive_runtime import DriveRuntime  # noqa: E402

pytestmark = pytest.mark.waiting


@pytest.fixture
def served(ros_node, mechanism):
    """Requests to homed drives, which run until the end."""
    supervisor = Supervisor(load_drives('drives.yaml'), mechanism)
    drives = IdealDrives(supervisor, mechanism.home.position)
    drives.cycle(3)
    drives.find_home()
    exchange = types.SimpleNamespace(running=True, failure=None)
    as_set_up = types.SimpleNamespace(
        verify=lambda: None, lost=tuple, altered=tuple, restore=lambda names: None
    )
    home = mechanism.home.position
    requests = DriveRequests(ros_node, supervisor, as_set_up, exchange, home, 1.0)
    requests.active = True

    def run(ended):
        while not ended.wait(0.001):
            drives.cycle()

    with meanwhile(run):
        yield requests, supervisor, exchange
    requests.destroy()


def test_a_request_under_way_cannot_enable_drives_that_are_given_up(served):
    requests, supervisor, _ = served
    waiting, go_on, outcomes = threading.Event(), threading.Event(), []

    def slow():
        waiting.set()
        assert go_on.wait(PATIENCE)
        return requests.enable()

    under_way = threading.Thread(target=lambda: outcomes.append(requests.run(slow)))
    under_way.start()
    assert waiting.wait(PATIENCE)
    queued = threading.Thread(target=lambda: outcomes.append(requests.run(requests.enable)))
    queued.start()
    end = threading.Thread(target=requests.end)
    end.start()
    while requests.active:
        time.sleep(0.001)
    go_on.set()
    for thread in (under_way, queued, end):
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert supervisor.report().phase is Phase.OFF
    assert Outcome(False, 'the node is not active') in outcomes


@pytest.fixture
def ask(ros_node):
    """Make a request through ROS; returns what its answer will be in."""
    context = ros_node.context
    client, executor = (
        rclpy.create_node('asking', context=context),
        GuardedExecutor(context=context),
    )
    executor.add_node(ros_node)
    executor.add_node(client)
    thread = threading.Thread(target=executor.spin)
    thread.start()

    def request(name):
        service = client.create_client(Trigger, f'/here/dynamics/{name}')
        assert service.wait_for_service(PATIENCE)
        return service.call_async(Trigger.Request())

    yield request
    executor.shutdown()
    thread.join()
    executor.remove_node(ros_node)
    client.destroy_node()


def test_drives_are_disabled_before_an_approach_arrives(served, ask, mechanism):
    requests, supervisor, _ = served
    assert requests.enable().success
    open_mouth = mechanism.solve(mechanism.home.y + [0.0, 0.0, 0.0, 0.2]).position
    now = supervisor.report().feedback.time
    supervisor.submit(Command(open_mouth, None, None, now, now, 0.0))
    wait_for(lambda: supervisor.report().refused, 'a command too far away')
    requests.approach_velocity = 0.02
    approach = ask('approach')
    wait_for(lambda: supervisor.report().phase is Phase.APPROACHING, 'an approach')
    disable = ask('disable')
    wait_for(lambda: disable.done() and approach.done(), 'answers')
    assert disable.result().success and not approach.result().success
    assert supervisor.report().phase is Phase.OFF


def test_what_was_requested_before_disabling_is_withdrawn(served, ask, mechanism):
    requests, supervisor, _ = served
    verifying, go_on = threading.Event(), threading.Event()

    def verify():
        verifying.set()
        assert go_on.wait(PATIENCE)

    requests._network.verify = verify
    first = ask('enable')
    assert verifying.wait(PATIENCE)
    waiting = [ask('enable'), ask('approach')]
    wait_for(lambda: sum(t.is_alive() for t in requests._threads) == 3, 'requests that wait')
    disable = ask('disable')
    wait_for(lambda: requests._disabled, 'its arrival')
    go_on.set()
    answers = [first, *waiting, disable]
    wait_for(lambda: all(answer.done() for answer in answers), 'answers')
    withdrawn = (False, 'not carried out: the drives were disabled or stopped meanwhile')
    assert all((a.result().success, a.result().message) == withdrawn for a in answers[:-1])
    assert disable.result().success and supervisor.report().phase is Phase.OFF
    later = ask('enable')
    wait_for(later.done, 'an answer')
    assert later.result().success and supervisor.report().phase is Phase.HOLDING


@pytest.mark.parametrize('stop', ['emergency stop', 'fault'])
def test_what_was_requested_before_a_stop_does_not_undo_it(served, ask, stop):
    """A reset and an enabling that wait behind something slow came before the stop."""
    requests, supervisor, _ = served
    assert requests.enable().success
    with requests._one_at_a_time:
        waiting = []
        for name in ('reset', 'enable'):
            waiting.append(ask(name))
            wait_for(lambda: len(requests._threads) == len(waiting), 'its arrival')
        if stop == 'fault':
            supervisor.stop(Finding('crank_1', 'fault', 'is in fault', DriveGoal.TORQUE_FREE))
        else:
            supervisor.emergency_stop()
        wait_for(lambda: supervisor.met() is not None, 'torque-free drives')
    wait_for(lambda: all(answer.done() for answer in waiting), 'answers')
    assert not any(answer.result().success for answer in waiting)
    assert supervisor.report().phase is Phase.LATCHED
    assert requests.run(requests.reset).success and requests.run(requests.enable).success


def test_a_stop_while_drives_are_set_up_again_is_not_forgotten(served):
    requests, supervisor, _ = served
    supervisor.stop(Finding('crank_1', 'lost', 'PDOs missing', DriveGoal.TORQUE_FREE))

    def restore(names):
        supervisor.stop(Finding('crank_2', 'lost', 'PDOs missing', DriveGoal.TORQUE_FREE))
        supervisor.emergency_stop()

    requests._network.restore = restore
    outcome = requests.run(requests.reset)
    assert not outcome.success and 'stopped meanwhile' in outcome.message
    assert supervisor.report().phase is Phase.LATCHED
    requests._network.restore = lambda names: None
    assert requests.run(requests.reset).success


@pytest.mark.parametrize('which', ['lost', 'altered'])
def test_drives_that_are_set_up_again_must_be_homed(served, which):
    requests, supervisor, _ = served
    setattr(requests._network, which, lambda: ('crank_2',))
    assert requests.run(requests.reset).success
    outcome = requests.run(requests.enable)
    assert outcome == (False, 'crank_2 is not homed since it was switched on: service ~/home')


def test_only_so_many_requests_wait_and_disabling_works_all_the_same(served, ask):
    requests, supervisor, _ = served
    assert requests.enable().success
    with requests._one_at_a_time:
        waiting = []
        for count in range(1, 11):  # the middleware keeps only so many at once
            waiting.append(ask('reset'))
            wait_for(lambda count=count: len(requests._threads) == count, 'its arrival')
        refused = [ask('reset') for _ in range(5)]
        wait_for(lambda: all(answer.done() for answer in refused), 'refusals')
        assert not any(answer.result().success for answer in refused)
        disable = ask('disable')
        wait_for(lambda: supervisor.report().phase is Phase.OFF, 'torque-free drives')
        for count in range(12, 21):
            waiting.append(ask('disable'))
            wait_for(lambda count=count: len(requests._threads) == count, 'its arrival')
        one_more = ask('disable')
        wait_for(one_more.done, 'an answer')
        assert not one_more.result().success
        assert one_more.result().message.startswith('drives are being disabled')
    waiting.append(disable)
    wait_for(lambda: all(answer.done() for answer in waiting), 'answers')
    for answer in waiting:
        success, message = answer.result().success, answer.result().message
        assert success == (message == 'drives are torque-free'), message
    assert disable.result().success and sum(answer.result().success for answer in waiting) == 10


def test_what_lasts_by_itself_is_waited_for(served, monkeypatch):
    requests, supervisor, _ = served
    monkeypatch.setattr(drive_requests, '_PATIENCE', 0.05)
    begun = Outcome(True, 'begun')
    monkeypatch.setattr(supervisor, 'met', lambda: None)
    outcome = requests._begin(lambda: begun)
    assert outcome == (False, 'drives are torque-free after 0.1 s')
    begin = time.monotonic()
    requests._begin(lambda: begun, lambda: 0.4)
    assert time.monotonic() - begin >= 0.45


def test_the_end_of_the_exchange_is_told(served):
    requests, _, exchange = served
    exchange.running, exchange.failure = False, ValueError('no such frame')
    outcome = requests.enable()
    assert not outcome.success and outcome.message.endswith('has ended: no such frame')


def test_nothing_calls_ros_after_the_end(served):
    """A thread that is still in rclpy while Python ends aborts the process."""
    requests, _, _ = served
    done = []

    def late():
        requests.run(requests.enable)
        time.sleep(0.3)  # as long as a busy computer may take between the answer and its telling
        done.append(True)

    requests.start('late', late)
    requests.end()
    assert done


def test_an_emergency_stop_does_not_wait_to_know_who_asked(served, monkeypatch):
    """A stranger's name may be such that it cannot even be read."""
    requests, supervisor, _ = served

    def fails(topic, no_mangle):
        raise UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'invalid start byte')

    monkeypatch.setattr(requests._node, 'get_publishers_info_by_topic', fails)
    response = requests._emergency_stop(Trigger.Request(), Trigger.Response())
    assert supervisor.report().phase is Phase.LATCHED and response.success
    assert requests.latest.endswith('by somebody whose name cannot be read')


def test_a_request_is_answered_after_one_with_another_outcome(served):
    """One line of code that logs at two severities raises in rclpy, and the client would hang."""
    requests, _, _ = served
    for outcome in (Outcome(True, 'done'), Outcome(False, 'refused'), Outcome(True, 'done')):
        response = requests._fill('home', Trigger.Response(), outcome)
        assert (response.success, response.message) == outcome


def runtime(calls, fails):
    """A runtime whose parts only note what is called; one of the calls fails."""

    def part(name):
        def call(*_):
            calls.append(name)
            if name == fails:
                raise RuntimeError("can't start new thread")

        return call

    found = object.__new__(DriveRuntime)
    found._active, found._watched = False, False
    found._settings = types.SimpleNamespace(auto_enable=False)
    for name, methods in {
        '_network': ('listen', 'watch', 'powered', 'gone'), '_topics': ('discard',),
        '_supervisor': ('restart',), '_exchange': ('start', 'stop'), '_requests': ('end',),
        '_loops': ('start', 'stop'), '_reading': ('start', 'stop'),
    }.items():  # fmt: skip
        parts = {method: part(f'{name} {method}') for method in methods}
        setattr(found, name, types.SimpleNamespace(**parts))
    found._network.powered = found._network.gone = tuple
    found._node = types.SimpleNamespace(get_logger=lambda: None)
    return found


@pytest.mark.parametrize('fails', ['_network watch', '_loops start', '_reading start'])
def test_an_activation_that_fails_leaves_no_cycles(fails):
    """A second activation would begin a second thread on the same bus."""
    calls = []
    with pytest.raises(RuntimeError, match='new thread'):
        runtime(calls, fails).activate()
    assert calls[-1] == '_exchange stop' and calls.count('_exchange start') == 1


@pytest.mark.parametrize('fails', ['_requests end', '_loops stop', '_reading stop'])
def test_a_deactivation_that_fails_ends_the_cycles(fails):
    calls = []
    found = runtime(calls, fails)
    found._active = True
    with pytest.raises(RuntimeError, match='new thread'):
        found.deactivate()
    assert calls[-1] == '_exchange stop'


def test_diagnostics_tell_of_cycles_that_stand_still_and_of_stops_while_inactive(ros_node, served):
    _, supervisor, exchange = served
    requests = types.SimpleNamespace(active=True, latest='')
    diagnostics = DriveDiagnostics(
        ros_node, 'robot', load_drives('drives.yaml'), exchange, None, supervisor.report,
        requests, memory_locked=False,
    )  # fmt: skip
    try:

        def told(since):
            report = supervisor.report()
            feedback = report.feedback._replace(time=time.monotonic() - since)
            status = diagnostics._supervision(dataclasses.replace(report, feedback=feedback))
            return status.level, status.message

        assert told(0.1) == (DiagnosticStatus.OK, 'torque-free')
        level, message = told(2.0)
        assert level == DiagnosticStatus.ERROR and message.startswith('no cycle for 2 s')
        supervisor.emergency_stop()
        requests.active = False
        assert told(2.0) == (
            DiagnosticStatus.WARN, 'not active; stopped until reset: operator: emergency stop',
        )  # fmt: skip
    finally:
        diagnostics.reporter.destroy()


def test_the_log_tells_a_stop_and_not_each_of_its_many_consequences(ros_node, served, capfd):
    _, supervisor, exchange = served
    exchange.late = exchange.held_back = Longest()
    requests = types.SimpleNamespace(active=True, latest='')
    diagnostics = DriveDiagnostics(
        ros_node, 'robot', load_drives('drives.yaml'), exchange, None, supervisor.report,
        requests, memory_locked=False,
    )  # fmt: skip

    def logged(*findings):
        for kind, goal in findings:
            supervisor.stop(Finding('crank_1', kind, kind, goal))
            diagnostics._log(supervisor.report(), time.monotonic())
        return capfd.readouterr().err.count('all drives')

    try:
        kinds = [f'kind {k}' for k in range(12)]
        assert logged(*((kind, DriveGoal.STOPPED) for kind in kinds)) == 4
        assert supervisor.report().text.endswith('kind 3 and 8 more)')
        assert logged(('worse', DriveGoal.TORQUE_FREE)) == 1  # another reaction is news
        assert logged(*((f'late {k}', DriveGoal.TORQUE_FREE) for k in range(5))) == 0
    finally:
        diagnostics.reporter.destroy()
