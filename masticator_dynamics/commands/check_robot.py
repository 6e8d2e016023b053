# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""``masticator check-robot``: whether this computer is ready for the robot."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click

from masticator_dynamics.commands.terminal import section
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.optional import remedy

_LISTEN = 2.0  # s, for nodes to be discovered
_PRIORITY = 40  # of the thread that exchanges data with the drives
_RECEIVED = 4194304  # bytes that a socket may hold, as config/fastdds.xml has it
_LARGEST_BUFFER = '/proc/sys/net/core/rmem_max'
_LIMITS = "in /etc/security/limits.d, for the operator's group; then log in again"


class CheckResult(NamedTuple):
    """Result of one check; without a remedy all is well."""

    what: str
    status: str
    remedy: str = ''


@click.command('check-robot')
@click.option('--drives', default='drives.yaml', show_default=True, help='Drives file.')
@click.option('--listen/--no-listen', default=True, help='Look for nodes on the network, too.')
@click.pass_context
def check_robot(context: click.Context, drives: str, listen: bool) -> None:
    """Say whether this computer is ready for the robot, and what to do where it is not.

    Looks at versions, clocks, real-time rights, the CAN device of the drives file, the middleware,
    and nodes that run twice. Changes nothing and sends nothing to the drives. Exit status 1 when
    there is something to do.
    """
    checks: list[Callable[[], Iterator[CheckResult]]] = [
        versions, clocks, rights, processors, lambda: bus(drives), middleware,
    ]  # fmt: skip
    if listen:
        checks.append(nodes)
    findings = [finding for check in checks for finding in check()]
    rows = [(('ok' if not f.remedy else 'TO DO'), f.what, f.status) for f in findings]
    click.echo(section('This computer', rows))
    to_do = [(f'{f.what}:', f.remedy) for f in findings if f.remedy]
    if to_do:
        click.echo('\n' + section('To do', to_do))
        context.exit(1)


def versions() -> Iterator[CheckResult]:
    """Versions of Python, ROS 2, and of what the drives need."""
    yield CheckResult('Python', '.'.join(map(str, sys.version_info[:3])))
    distribution = os.environ.get('ROS_DISTRO', '')
    if importlib.util.find_spec('rclpy') is None:
        yield CheckResult('ROS 2', 'rclpy is not there', '. /opt/ros/jazzy/setup.bash')
    elif distribution not in ('', 'jazzy'):
        yield CheckResult('ROS 2', distribution, 'ROS 2 Jazzy is what this package is made for')
    else:
        yield CheckResult('ROS 2', distribution or 'rclpy without an installation')
    for package, module in (('python-can', 'can'), ('canopen', 'canopen'), ('msgpack', 'msgpack')):
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            missing = ModuleNotFoundError(name=module)
            yield CheckResult(package, 'not installed', remedy(missing))
        else:
            yield CheckResult(package, version)


def clocks() -> Iterator[CheckResult]:
    """Whether the system clock is synchronised, and from what source it is read."""
    source = _read('/sys/devices/system/clocksource/clocksource0/current_clocksource')
    slow = source in ('hpet', 'acpi_pm', 'jiffies')
    yield CheckResult(
        'clock source',
        source or 'unknown',
        'a clock that is slow to read: see dmesg' if slow else '',
    )
    synchronised = _synchronised()
    if synchronised is None:
        yield CheckResult('clock', 'not known whether it is synchronised')
    elif synchronised:
        yield CheckResult('clock', 'synchronised')
    else:
        how = 'sudo timedatectl set-ntp true; computers of one robot need one time (chrony, PTP)'
        yield CheckResult('clock', 'not synchronised', how)


def rights() -> Iterator[CheckResult]:
    """Whether this user gets real-time priority and locked memory."""
    priority = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    root = os.geteuid() == 0
    enough = root or priority == resource.RLIM_INFINITY or priority >= _PRIORITY
    text = 'unlimited' if root or priority == resource.RLIM_INFINITY else f'up to {priority}'
    yield CheckResult('real-time priority', text, '' if enough else f'rtprio {_PRIORITY} {_LIMITS}')
    unlimited = root or resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    text = 'unlimited' if unlimited else 'limited'
    yield CheckResult('locked memory', text, '' if unlimited else f'memlock unlimited {_LIMITS}')
    share = _read('/proc/sys/kernel/sched_rt_runtime_us')
    kernel = _read('/sys/kernel/realtime') == '1' or 'PREEMPT_RT' in _read('/proc/version')
    yield CheckResult('kernel', 'PREEMPT_RT' if kernel else 'without PREEMPT_RT: good to 500 Hz')
    period = _read('/proc/sys/kernel/sched_rt_period_us')
    if share == '0':
        yield CheckResult('real-time share', '0', 'sudo sysctl kernel.sched_rt_runtime_us=950000')
    elif share.isdecimal() and period.isdecimal():
        rest = 'if they want more, all real-time threads there wait until the next period'
        every = f'of every {int(period) / 1e6:g} s of a processor is for real-time threads'
        yield CheckResult(
            'real-time share', f'{100 * int(share) / int(period):g} % {every}; {rest}'
        )


def processors() -> Iterator[CheckResult]:
    """How many processors there are, how busy they are, and whether they sleep."""
    count, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    few = 'use rate:=250 and a computer with more processors for 500 Hz' if count < 2 else ''
    yield CheckResult('processors', str(count), few)
    busy = load > 0.5 * count
    yield CheckResult(
        'load', f'{load:.1f}', 'end what else computes on this computer' if busy else ''
    )
    governors = {
        path.read_text(encoding='ascii').strip()
        for path in pathlib.Path('/sys/devices/system/cpu').glob('cpu*/cpufreq/scaling_governor')
    }
    if governors:
        slow = governors != {'performance'}
        how = 'sudo cpupower frequency-set --governor performance' if slow else ''
        yield CheckResult('governor', ', '.join(sorted(governors)), how)


def bus(file: str) -> Iterator[CheckResult]:
    """The CAN device that a drives file names."""
    drives = load_drives(file)
    if drives.bus.interface != 'socketcan':
        yield CheckResult('bus', f'{drives.bus.interface}: no device')
        return
    name, device = drives.bus.channel, pathlib.Path('/sys/class/net') / drives.bus.channel
    up = f'sudo ip link set {name} up type can bitrate {drives.bus.bitrate}'
    if not device.exists():
        yield CheckResult('CAN device', f'there is no {name}', f'plug it in; then {up}')
        return
    state = _read(str(device / 'operstate'))
    yield CheckResult('CAN device', f'{name} is {state}', '' if state in ('up', 'unknown') else up)
    length = _read(str(device / 'tx_queue_len'))
    if length.isdigit() and int(length) < 100:
        how = f'sudo ip link set {name} txqueuelen 100'
        yield CheckResult('transmit queue', f'{length} frames', how)


def middleware() -> Iterator[CheckResult]:
    """Which middleware is used, its profile and domain, and what limits its reach."""
    name = os.environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp (default)')
    yield CheckResult('middleware', name)
    for variable in ('FASTRTPS_DEFAULT_PROFILES_FILE', 'FASTDDS_DEFAULT_PROFILES_FILE'):
        file = os.environ.get(variable)
        if file:
            there = pathlib.Path(file).is_file()
            how = '' if there else f'{variable} names a file that is not there'
            yield CheckResult('profile', file, how)
    size = _read(_LARGEST_BUFFER)
    if size.isdecimal() and int(size) < _RECEIVED:
        how = f'long trajectories may get lost: sudo sysctl net.core.rmem_max={_RECEIVED}'
        yield CheckResult('receive buffers', f'{int(size) // 1024} kB at most', how)
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    yield CheckResult('domain', domain)
    if os.environ.get('ROS_LOCALHOST_ONLY'):
        how = 'unset it and use ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST'
        yield CheckResult('ROS_LOCALHOST_ONLY', 'is set, which Jazzy deprecates', how)


def nodes() -> Iterator[CheckResult]:
    """Nodes of the same name, left behind by an earlier launch or started by somebody else."""
    try:
        names = _discovered()
    except ImportError:
        return
    except Exception as error:
        yield CheckResult('nodes', 'cannot be listed', f'{type(error).__name__}: {error}')
        return
    doubles = sorted(name for name, count in Counter(names).items() if count > 1)
    if doubles:
        how = 'end one of each: those of an earlier launch, or choose another ROS_DOMAIN_ID'
        yield CheckResult('nodes', f'twice: {", ".join(doubles)}', how)
    else:
        yield CheckResult('nodes', f'{len(names)} on the network, none twice')


def _discovered() -> list[str]:
    """Full names of all nodes except the one that looks; needs rclpy (`ImportError`)."""
    import time

    import rclpy
    import rclpy.context

    context = rclpy.context.Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node('_check_robot', context=context)
        time.sleep(_LISTEN)
        nodes = node.get_node_names_and_namespaces()
        node.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    full = [f'{namespace.rstrip("/")}/{name}' for name, namespace in nodes]
    return [name for name in full if not name.rpartition('/')[2].startswith('_')]


def _synchronised() -> bool | None:
    """Whether the kernel's clock is synchronised (adjtimex(2)); None: not Linux, or unavailable."""
    import ctypes

    try:
        state = ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512))
    except (OSError, AttributeError):
        return None
    return None if state < 0 else bool(state != 5)  # TIME_ERROR


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text(encoding='utf-8').strip()
    except (OSError, UnicodeDecodeError):
        return ''
