# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A drives file moved to a simulated bus: no real device in it, and absolute encoders."""

from __future__ import annotations

import pathlib
import socket

import pytest
import samples

from masticator_dynamics.drives.configuration import Drive, Drives, Motor, load_drives
from masticator_dynamics.errors import DescriptionError
from masticator_dynamics.robot.recording.nodes import free_port, on_simulated_bus

TEXT = (samples.ROOT / 'config/drives.yaml').read_text(encoding='utf-8')
REAL = 'interface: socketcan\n  channel: can0'


def written(folder: pathlib.Path, bus: str = REAL, extra: str = '') -> pathlib.Path:
    assert REAL in TEXT
    file = folder / 'drives.yaml'
    file.write_text(TEXT.replace(REAL, bus) + extra, encoding='utf-8')
    return file


def moved(folder: pathlib.Path, file: pathlib.Path) -> pathlib.Path:
    other = folder / 'elsewhere'
    other.mkdir()
    (other / 'moved.yaml').write_text(on_simulated_bus(file, 45678), encoding='utf-8')
    return other / 'moved.yaml'


def knowing(drives: Drives) -> Drives:
    """The same with absolute encoders."""
    each = {
        name: Drive(**dict(drive) | {'motor': Motor(**dict(drive.motor) | {'absolute': True})})
        for name, drive in drives.drives.items()
    }
    fields = dict(drives) | {'schema': drives.schema_, 'drives': each}
    del fields['schema_']
    return Drives(**fields)


@pytest.mark.parametrize(
    'bus',
    [
        REAL,
        'interface: socketcan\n  channel: vendor0',
        'interface: virtual\n  channel: x',
        'interface: virtual\n  channel: vcan0',
    ],
)
def test_only_the_bus_is_another(tmp_path: pathlib.Path, bus: str) -> None:
    file = written(tmp_path, bus)
    before, after = load_drives(file), load_drives(moved(tmp_path, file))
    assert (after.bus.interface, after.bus.port) == ('udp_multicast', 45678)
    assert after.drives == knowing(before).drives
    assert after.cycle_rate == before.cycle_rate and after.mode == before.mode


@pytest.mark.parametrize(
    'bus',
    ['interface: socketcan\n  channel: vcan3',
     'interface: udp_multicast\n  channel: 239.1.2.3\n  port: 4711'],
)  # fmt: skip
def test_a_simulated_bus_is_kept(tmp_path: pathlib.Path, bus: str) -> None:
    file = written(tmp_path, bus)
    assert load_drives(moved(tmp_path, file)) == knowing(load_drives(file))


def test_an_eds_beside_the_file_is_still_found(tmp_path: pathlib.Path) -> None:
    (tmp_path / 'vendor.eds').write_text('', encoding='utf-8')
    file = written(tmp_path)
    file.write_text(TEXT.replace('cia402_servo.eds', 'vendor.eds'), encoding='utf-8')
    for drive in load_drives(moved(tmp_path, file)).drives.values():
        assert drive.eds == str(tmp_path / 'vendor.eds')


def test_a_wrong_file_is_refused(tmp_path: pathlib.Path) -> None:
    with pytest.raises(DescriptionError, match='nowhere.yaml'):
        on_simulated_bus(tmp_path / 'nowhere.yaml', 45678)
    with pytest.raises(DescriptionError, match='colour'):
        on_simulated_bus(written(tmp_path, extra='colour: red\n'), 45678)


def test_the_port_is_free() -> None:
    ports = {free_port() for _ in range(3)}
    assert len(ports) > 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(('', ports.pop()))
