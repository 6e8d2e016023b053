# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nearly valid files are refused in one line, or read, in bounded time and memory."""

import contextlib
import io
import os
import pathlib
import re
import signal
import tempfile
import warnings

import can
import numpy as np
import yaml
from interchange import five_bars
from mcap.reader import make_reader
from mcap.writer import Writer as McapWriter

from masticator_dynamics import Mechanism, cli
from masticator_dynamics.analysis.load_inertia.storage import from_text
from masticator_dynamics.description import load_description
from masticator_dynamics.design.study_file import load_study
from masticator_dynamics.drives.configuration import find_file, load_drives
from masticator_dynamics.drives.simulator.simulation_file import load_simulation
from masticator_dynamics.drives.simulator.simulator import DriveSimulator
from masticator_dynamics.errors import MasticatorError
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.files.tables import Table
from masticator_dynamics.robot.laboratory.mouthful import Series
from masticator_dynamics.robot.laboratory.mouthful_bag import read_recording, write_recording
from masticator_dynamics.robot.laboratory.protocol import load_protocol, plan
from masticator_dynamics.robot.twin import load_food

LONGEST = 60  # s for one file, on a busy computer
MOST = 1500.0  # MB for one file
SNIPPETS = (
    b'!!int x', b'2026-99-99', b'[[[[', b'{', b'}', b'.nan', b'.inf', b'-1e308', b'null', b'~',
    b'*a', b'&a', b': ', b'\n- ', b'\x00', b'\xff', b'"', b"'", b'9' * 5000, b'[' * 500,
    b'1e999', b'${1/0}', b'<', b'/>', b'&lt;', b'<joint/>', b',', b'yes', b'0', b'-1',
    b'{a: ' * 3000, b'<link>' * 3000, b'<body>' * 3000 + b'</body>' * 3000, b'\xff' * 8, b'\n',
)  # fmt: skip
NUMBERS = (b'0', b'-1', b'1e308', b'1e-320', b'nan', b'1e9', b'4294967296', b'9' * 400, b'0x7f')
_TOLD = 'masticator: warning', '/'  # a line that begins with the name of a file is about it
_NUMBER = re.compile(rb'-?\d+(?:\.\d+)?')


class Files:
    """Reads edited copies of the shipped files.

    Parameters
    ----------
    nasty : Nasty
    folder : pathlib.Path
        Folder for the copies.

    Attributes
    ----------
    kinds : dict
        By file name: examples, and what reads a file (a command returns its exit code).
    """

    def __init__(self, nasty, folder):
        self._nasty, self._folder = nasty, pathlib.Path(folder)
        config, urdf = share_directory() / 'config', share_directory() / 'urdf'
        robot = (config / 'mechanisms/masticator.yaml').read_bytes()
        robot = robot.replace(b'../../urdf', str(urdf).encode())
        plain = re.sub(rb'(?m)^urdf:.*', b'urdf: robot.urdf', robot)
        (self._folder / 'plain.yaml').write_bytes(plain)
        drives = (config / 'drives.yaml').read_bytes()
        self._own_eds = yaml.safe_load(drives)
        for drive in self._own_eds['drives'].values():
            drive['eds'] = 'servo.eds'
        self._own_eds['bus'] = {'interface': 'virtual', 'channel': 'fuzz'}
        shipped = load_drives('drives.yaml')
        self.kinds = {
            'robot.yaml': ([robot], load_description),
            'robot.urdf': (
                [load_description('masticator').urdf_xml.encode()],
                lambda file: load_description(file.with_name('plain.yaml')),
            ),
            'drives.yaml': ([drives], load_drives),
            'motors.yaml': (
                [(config / 'simulated_drives.yaml').read_bytes()],
                lambda file: load_simulation(file, shipped),
            ),
            'food.yaml': (_contents(config / 'foods', '*.yaml'), load_food),
            'protocol.yaml': (
                _contents(share_directory() / 'examples', 'nut_or_bread.yaml'),
                lambda file: plan(load_protocol(file), file),
            ),
            'study.yaml': (
                _contents(share_directory() / 'examples', 'jaw_design.yaml'),
                load_study,
            ),
            'table.csv': (
                [b'time,x,y\n' + b''.join(b'%d.0,1.0,2.0\n' % k for k in range(20))],
                lambda file: Table('table', text(file)).numbers(['time', 'x']),
            ),
            'estimator.json': (
                _contents(config / 'estimators', '*.json'),
                lambda file: from_text(text(file), 'estimator'),
            ),
            'servo.eds': ([find_file('cia402_servo.eds').read_bytes()], self._eds),
            'run.mcap': (self._recordings(), self._view),
            'loop.urdf': (
                [
                    five_bars.urdf(loop + five_bars.TRANSMISSIONS).encode()
                    for loop in five_bars.DIALECTS.values()
                ],
                self._import,
            ),
            'loop.sdf': ([five_bars.sdf().encode()], self._import),
            'loop.xml': ([five_bars.mjcf().encode()], self._import),
        }
        # What is not edited is accepted. What this loads is there for all processes to come.
        for name, (examples, read) in self.kinds.items():
            file = self._folder / name
            file.write_bytes(examples[0])
            assert read(file) is not cli.BAD_INPUT, name

    def one(self, name=None):
        """Read one edited file; returns its name and what went wrong, if anything."""
        name = name or self._nasty.pick(list(self.kinds))
        return name, self.read(name, self.edited(self._nasty.pick(self.kinds[name][0])))

    def read(self, name, content):
        """What went wrong with a file of this content, if anything."""
        file = self._folder / name
        file.write_bytes(content)
        return apart(lambda: outcome(self.kinds[name][1], file))

    def edited(self, content):
        """The content with some of it replaced, cut off, turned over, doubled or made large."""
        rng, content = self._nasty.rng, bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(content) + 1))
            end = at + int(self._nasty.pick((0, 1, 3, 10, 100, 1000)))
            way = int(rng.integers(8))
            numbers = [*_NUMBER.finditer(content)] if way > 4 else []
            if way == 0:
                del content[at:]
            elif way == 1 and at < len(content):
                content[at] ^= 1 << int(rng.integers(8))
            elif way == 2:
                content[at:at] = content[at:end] * int(self._nasty.pick((1, 1, 100)))
            elif numbers:
                content[slice(*self._nasty.pick(numbers).span())] = self._nasty.pick(NUMBERS)
            else:
                content[at:end] = self._nasty.pick(SNIPPETS)
        return bytes(content)

    def _recordings(self):
        """A mouthful at rest, as ``masticator experiment`` records it, and not compressed."""
        jaw, file, zero = Mechanism.load('masticator'), self._folder / 'whole.mcap', np.zeros(20)
        q, u, c = (np.zeros((20, len(n))) for n in (jaw.tree_joints, jaw.actuated, jaw.contacts))
        time = np.arange(20) / 25.0
        rows = time, zero, zero + 7.0, q + jaw.home.q, u, u, u, c
        write_recording(file, Series(*rows, (0, 0), 'done'), jaw, {'motion': {'side': 'left'}})
        return [file.read_bytes(), flat(file)]

    def _view(self, file):
        with contextlib.suppress(MasticatorError):
            read_recording(file)
        return command('view', file, '--html', self._folder / 'view.html')

    def _import(self, file):
        return command('import', file, '--output', self._folder / 'made')

    def _eds(self, file):
        """Check an EDS; where it will do, simulate drives of it and read every object."""
        drives_file = file.with_name('eds.yaml')
        drives_file.write_text(yaml.safe_dump(self._own_eds), encoding='utf-8')
        code = command('check-drives', drives_file)
        if code:
            return code
        drives = load_drives(drives_file)
        with (
            can.Bus(interface='virtual', channel='fuzz') as bus,
            can.Bus(interface='virtual', channel='fuzz') as reader,
        ):
            simulation = load_simulation('simulated_drives.yaml', drives)
            simulator = DriveSimulator(drives, simulation, bus, file=drives_file)
            for index, subindex in next(iter(simulator.slaves.values())).objects.entries:
                request = bytes((0x40, *index.to_bytes(2, 'little'), subindex, 0, 0, 0, 0))
                reader.send(can.Message(arbitration_id=0x601, is_extended_id=False, data=request))
                simulator.step()
        return code


def text(file):
    return file.read_bytes().decode('utf-8', 'replace')


def _contents(folder, pattern):
    return [file.read_bytes() for file in sorted(folder.glob(pattern))]


def flat(file):
    """A recording as others write it: not compressed, so that edits reach its messages."""
    made = io.BytesIO()
    writer = McapWriter(made, use_chunking=False)
    writer.start('ros2')
    schemas, channels = {}, {}
    with open(file, 'rb') as stream:
        reader = make_reader(stream)
        for record in reader.iter_metadata():
            writer.add_metadata(record.name, record.metadata)
        for schema, channel, message in reader.iter_messages():
            if schema.id not in schemas:
                kind = schema.name, schema.encoding, schema.data
                schemas[schema.id] = writer.register_schema(*kind)
            if channel.id not in channels:
                place = channel.topic, channel.message_encoding, schemas[schema.id]
                channels[channel.id] = writer.register_channel(*place)
            times = message.log_time, message.data, message.publish_time
            writer.add_message(channels[channel.id], *times)
    writer.finish()
    return made.getvalue()


def command(*words):
    """Run ``masticator`` with words; returns its exit code, checked with what it says."""
    with tempfile.TemporaryFile('w+', errors='replace') as said, to_file(said):
        code = cli.main([str(word) for word in words])
        said.seek(0)
        lines = said.read().splitlines()
    errors = [line for line in lines if not line.startswith(_TOLD)]
    if code not in (0, 2) or len(errors) != bool(code):
        raise AssertionError(f'{words[0]} ended with {code}: {errors[:3]}')
    return code


@contextlib.contextmanager
def to_file(said):
    """Redirect what is printed; what libraries in C print to standard error, too."""
    kept = os.dup(2)
    os.dup2(said.fileno(), 2)
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def outcome(read, file):
    """What went wrong in reading a file, if anything."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            read(file)
    except MasticatorError as error:
        if '\n' in str(error):
            return f'more than one line: {error!r}'
    except BaseException as error:
        return f'{type(error).__name__}: {error}'
    return ''


def apart(action):
    """Answer of a function run in a process of its own, or how that process fared instead."""
    receiver, sender = os.pipe()
    process = os.fork()
    if not process:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends any code, at any place
            signal.alarm(LONGEST)
            os.write(sender, action().encode('utf-8', 'replace')[:4000])
            os._exit(0)
        finally:
            os._exit(1)
    os.close(sender)
    with open(receiver, 'rb') as stream:
        answer = stream.read().decode('utf-8', 'replace')
    _, status, used = os.wait4(process, 0)
    if status:
        number = os.WTERMSIG(status)
        return f'took {LONGEST} s' if number == signal.SIGALRM else f'died: {status}'
    used = used.ru_maxrss / 1024.0
    return answer or (f'took {used:.0f} MB' if used > MOST else '')
