# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Where what the function for Python reads lies in memory: objects of Python, and its own tables.

Numpy's are of its published struct of an array, CPython's of ``bytes`` and tuples.
"""

WORD = 8  # bytes of an address, and of a number
BYTES_DATA, TUPLE_ITEMS = 32, 24  # bytes before the contents of such objects
ARRAY_DATA, ARRAY_DIMENSIONS_COUNT, ARRAY_DIMENSIONS = 16, 24, 32
ARRAY_BASE, ARRAY_TYPE, ARRAY_FLAGS, OBJECT_TYPE = 48, 56, 64, 8
CONTIGUOUS_ALIGNED, WRITEABLE = 0x101, 0x400
NEW_ARRAY, DOUBLE = 93, 12  # PyArray_New in numpy's table of functions; its number of float64
# Python's functions that it calls, and their types; by address, since not every Python exports
# them to a linker.
FUNCTIONS = {
    'PyBytes_FromStringAndSize': 'i64 (i64, i64)',
    'PyType_GenericAlloc': 'i64 (i64, i64)',
    'PyObject_Vectorcall': 'i64 (i64, i64, i64, i64)',
    'Py_IncRef': 'void (i64)',
    'Py_DecRef': 'void (i64)',
}
# What the function reads from the bytes that its ``self`` begins with: addresses, in this order.
CONTEXT = (
    'none', 'array', 'double', 'new_array', 'mechanism', 'motion', 'motion_mechanism',
    'motion_numbers', 'fallback', 'chooser', 'positional', 'parameters', 'of_parameters', 'answers',
    *(f'at_{name}' for name in FUNCTIONS),
)  # fmt: skip
MOST_PARAMETERS, MOST_ANSWERS = 10, 24
MOTION = -1  # kind of a parameter; above 0: an array of that length; 0: a choice among answers
SLOTS = ('mechanism', 'numbers', 'view')


class Record(dict[str, int]):
    """Where words of a record are, bytes from its beginning, and its size."""

    def __init__(self, *names: str, first: int = 0):
        super().__init__({name: first + WORD * i for i, name in enumerate(names)})
        self.size = first + WORD * len(names)


# An array's ``axes`` and ``shape``, and its numbers where it is None.
PARAMETER = Record('name', 'default', 'kind', 'axes', 'shape', 'absent')
PART = Record('parameter', 'offset', 'count')
# Values of the parameters come first. Outputs are shown from the byte ``first`` on.
ANSWER = Record(
    'row', 'part_count', 'parts', 'number_count', 'numbers', 'inputs', 'outputs', 'kept', 'first',
    'axes', 'shape', 'flags', 'result', *(f'at_{slot}' for slot in SLOTS), 'next',
    first=WORD * MOST_PARAMETERS,
)  # fmt: skip
