# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nearly valid files are refused in one line, or read, in bounded time."""

import pathlib
import time
import warnings

from masticator_dynamics.description import load_description
from masticator_dynamics.drives.configuration import load_drives
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.estimation.storage import from_text
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.tables import Table
from masticator_dynamics.twin import load_food

LONGEST = 30.0  # s for one file, on a busy computer
SNIPPETS = (
    b'!!int x', b'2026-99-99', b'[[[[', b'{', b'}', b'.nan', b'.inf', b'-1e308', b'null', b'~',
    b'*a', b'&a', b': ', b'\n- ', b'\x00', b'\xff', b'"', b"'", b'9' * 5000, b'[' * 500,
    b'1e999', b'${1/0}', b'<', b'/>', b'&lt;', b'<joint/>', b',', b'yes', b'0', b'-1',
)  # fmt: skip


class Files:
    """Reads edited copies of the shipped files.

    Parameters
    ----------
    nasty : Nasty
    folder : pathlib.Path
        Folder for the copies.
    """

    def __init__(self, nasty, folder):
        self._nasty, self._folder = nasty, pathlib.Path(folder)
        config, urdf = share_directory() / 'config', share_directory() / 'urdf'
        self._robot = (config / 'mechanisms/masticator.yaml').read_bytes()
        self._robot = self._robot.replace(b'../../urdf', str(urdf).encode())
        self._urdf = load_description('masticator').urdf_xml.encode()
        self._drives = (config / 'drives.yaml').read_bytes()
        self._food = next(iter(sorted((config / 'foods').glob('*.yaml')))).read_bytes()
        self._ways = [
            self.description,
            self.urdf,
            self.drives,
            self.food,
            self.table,
            self.estimator,
        ]

    def one(self):
        """Read one file; returns what went wrong, if anything."""
        read = self._nasty.pick(self._ways)
        begin = time.monotonic()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                read()
        except MasticatorError as error:
            if '\n' in str(error):
                return f'{read.__name__}: more than one line: {error!r}'
        except Exception as error:
            return f'{read.__name__}: {type(error).__name__}: {error} ({self._folder})'
        taken = time.monotonic() - begin
        return f'{read.__name__}: took {taken:.1f} s' if taken > LONGEST else ''

    def edited(self, content):
        content = bytearray(content)
        for _ in range(int(self._nasty.rng.integers(1, 4))):
            at = int(self._nasty.rng.integers(len(content)))
            end = at + int(self._nasty.pick((0, 1, 3, 10, 100)))
            content[at:end] = self._nasty.pick(SNIPPETS)
        return bytes(content)

    def _write(self, name, content):
        file = self._folder / name
        file.write_bytes(self.edited(content))
        return file

    def description(self):
        load_description(self._write('robot.yaml', self._robot))

    def urdf(self):
        self._write('robot.urdf', self._urdf)
        lines = [
            b'urdf: robot.urdf' if line.startswith(b'urdf:') else line
            for line in self._robot.splitlines()
        ]
        file = self._folder / 'plain.yaml'
        file.write_bytes(b'\n'.join(lines))
        load_description(file)

    def drives(self):
        load_drives(str(self._write('drives.yaml', self._drives)))

    def food(self):
        load_food(str(self._write('food.yaml', self._food)))

    def table(self):
        text = self.edited(b'time,x,y\n' + b'0.0,1.0,2.0\n' * 20).decode('utf-8', 'replace')
        Table('table', text).numbers(['time', 'x'])

    def estimator(self):
        content = b'{"format": "masticator_dynamics estimator", "version": 1, "error": {}}'
        from_text(self.edited(content).decode('utf-8', 'replace'), 'estimator')
