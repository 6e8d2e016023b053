# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process that plays, to the dynamics node or with ``--drives`` to all, and records."""

from __future__ import annotations

import argparse
import functools
import json
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.files.mcap_file import Event, write_mcap
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.drives_player import DrivesPlayer
from masticator_dynamics.robot.recording.player import BitingPlayer
from masticator_dynamics.robot.recording.recorder import Recorder
from masticator_dynamics.robot.recording.script import Script
from masticator_dynamics.ros import middleware


def print_report(content: dict[str, Any]) -> None:
    """Report to the parent process."""
    print(json.dumps(content), flush=True)


def play(make: Callable[[], Recorder], record: pathlib.Path, datatypes: Mapping[str, str]) -> None:
    """Run a recorder until it is done, then write its record to an MCAP file.

    Parameters
    ----------
    make : callable
        Creates the recorder once rclpy is ready.
    record : pathlib.Path
        The MCAP file.
    datatypes : mapping
        Message type of every topic.
    """
    middleware.prepare()
    rclpy.init(args=[])
    recorder = make()
    try:
        # rclpy.spin_once would add and remove the node for every message.
        executor = SingleThreadedExecutor()
        executor.add_node(recorder)
        while not recorder.done:
            executor.spin_once(timeout_sec=0.1)
    except (KeyboardInterrupt, ExternalShutdownException):
        return
    print_report({'phase': 'writing'})
    print_report(_written(record, datatypes, recorder.events))
    rclpy.shutdown()


def _written(
    record: pathlib.Path, datatypes: Mapping[str, str], events: Sequence[Event]
) -> dict[str, Any]:
    """Write the record; return the last report."""
    try:
        write_mcap(record, datatypes, events)
    except MasticatorError as error:
        return {'phase': 'failed', 'reason': str(error)}
    except OSError as error:
        return {'phase': 'failed', 'reason': f'{record.name} cannot be written: {error.strerror}'}
    return {'phase': 'recorded'}


def main() -> None:
    """Play the script in a file and write the record to another."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument('--script', type=pathlib.Path, required=True, help='written by the parent')
    parser.add_argument('--record', type=pathlib.Path, required=True, help='MCAP file to write')
    parser.add_argument('--contacts', nargs='*', default=[], help='contacts whose force to record')
    parser.add_argument('--drives', action='store_true', help='enable drives; twin and food bite')
    arguments = parser.parse_args()
    script = Script.load(arguments.script)
    make: Callable[[], Recorder]
    if arguments.drives:
        received = topics.CLOSED_LOOP
        make = functools.partial(DrivesPlayer, script, print_report)
    else:
        received = topics.received_topics(arguments.contacts)
        make = functools.partial(BitingPlayer, script, arguments.contacts, print_report)
    play(make, arguments.record, topics.SENT | received)


if __name__ == '__main__':
    main()
