# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The process that plays, to the dynamics node or with ``--drives`` to all, and records."""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException

from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.files.mcap_file import Event, write_mcap
from masticator_dynamics.robot.recording import topics
from masticator_dynamics.robot.recording.player import BitingPlayer, DrivesPlayer
from masticator_dynamics.robot.recording.processes import RunError
from masticator_dynamics.robot.recording.script import Script
from masticator_dynamics.ros import middleware


def _report(content: dict[str, Any]) -> None:
    """Report to the parent process."""
    print(json.dumps(content), flush=True)


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
    middleware.prepare()
    rclpy.init(args=[])
    player = (
        DrivesPlayer(script, _report)
        if arguments.drives
        else BitingPlayer(script, arguments.contacts, _report)
    )
    try:
        player.play()
        _report({'phase': 'writing'})
        _report(_written(arguments.record, {**topics.SENT, **player.received}, player.events))
    except RunError as error:
        _report({'phase': 'failed', 'reason': str(error)})
    except (KeyboardInterrupt, ExternalShutdownException):
        return
    rclpy.shutdown()


if __name__ == '__main__':
    main()
