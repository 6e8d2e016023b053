# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random content from a seeded generator, half of it plausible, so that some is accepted."""

import importlib
import re

import numpy as np

COUNTS = (0, 1, 4, 6, 6, 6, 7, 100)
NUMBERS = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 1e6, -1e3)
INTEGERS = (0, 1, -1, 3, 127, 255, 65535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1)
TEXTS = ('', 'x', '..', '/', '\x1b[31m', 'a\nb', 'é' * 40, '%s%n', '{}', 'x' * 5000, '9**9**9')
_SEQUENCE = re.compile(r'(?:sequence<(.+?)(?:, \d+)?>|(.+)\[(\d+)\])$')
_BOUNDS = {'byte': (0, 255), 'octet': (0, 255), 'char': (0, 255)} | {
    f'{sign}int{bits}': (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for bits in (8, 16, 32, 64)
    for sign in ('', 'u')
}


class Nasty:
    """Content from a generator.

    Parameters
    ----------
    rng : numpy.random.Generator
    words : sequence of str
        Names that have a meaning for the receiver.
    """

    def __init__(self, rng, words):
        self.rng, self.words = rng, list(words)
        self.plausible = False

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def number(self):
        if self.plausible or self.rng.random() < 0.5:
            return float(self.rng.normal() * self.pick((1e-3, 1e-2, 0.1)))
        return float(self.pick(NUMBERS))

    def integer(self, kind):
        low, high = _BOUNDS[kind]
        value = int(self.rng.integers(0, 3)) if self.plausible else self.pick(INTEGERS)
        return min(max(value, low), high)

    def text(self):
        known = self.plausible or self.rng.random() < 0.7
        return str(self.pick(self.words if known else TEXTS))

    def value(self, kind):
        """A value of a type given as rosidl writes it."""
        sequence = _SEQUENCE.match(kind)
        if sequence:
            count = int(sequence[3]) if sequence[3] else self.pick(COUNTS)
            return self.several(sequence[1] or sequence[2], count)
        if '/' in kind:
            package, name = kind.split('/')[0], kind.split('/')[-1]
            kinds = importlib.import_module(f'{package}.msg')
            if not hasattr(kinds, name):  # a part of an action
                action, _, name = name.partition('_')
                kinds = getattr(importlib.import_module(f'{package}.action'), action)
            return self.message(getattr(kinds, name))
        if kind in ('boolean', 'bool'):
            return bool(self.rng.integers(2))
        if kind in ('double', 'float', 'float32', 'float64', 'long double'):
            return self.number() if kind != 'float' else float(np.float32(self.rng.normal()))
        if kind == 'octet':
            return bytes([self.integer(kind)])
        return self.integer(kind) if kind in _BOUNDS else self.text()

    def several(self, kind, count):
        """Several values; often names of all cranks, and a number for each."""
        if kind == 'string' and self.rng.random() < 0.6:
            return [f'crank_{k}' for k in range(1, 7)]
        if kind == 'double' and (self.plausible or self.rng.random() < 0.5):
            count = 6
        return [self.value(kind) for _ in range(count)]

    def message(self, kind):
        """A message or a request of a class."""
        message = kind()
        for field, type_name in kind.get_fields_and_field_types().items():
            setattr(message, field, self.value(type_name))
        return message

    def begin(self):
        """Decide how bad the next message is."""
        self.plausible = bool(self.rng.random() < 0.3)

    def spoiled(self, data):
        """The bytes with some of them cut off, exchanged, doubled or made large."""
        data = bytearray(data)
        for _ in range(int(self.rng.integers(1, 4))):
            at = int(self.rng.integers(len(data))) if data else 0
            way = int(self.rng.integers(5))
            if way == 0:
                del data[at:]
            elif way == 1 and data:
                data[at] = int(self.rng.integers(256))
            elif way == 2:
                data[at : at + 4] = b'\xff\xff\xff\xff'
            elif way == 3:
                data[at:at] = self.rng.bytes(int(self.rng.integers(1, 64)))
            else:
                data += bytes(int(self.pick((1, 100, 20_000))))
        return bytes(data)
