# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""LLVM's intermediate language to this processor's machine code by llvmlite, no compiler needed."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import itertools
import json
import pathlib
from collections.abc import Callable
from typing import Any

import llvmlite

from masticator_dynamics.engine.traced import linking
from masticator_dynamics.engine.traced.llvm_ir import attributes, declarations
from masticator_dynamics.files import file_cache

OPTIMISATION = 2
# In the small code model, code and constants lie together, which `linking` needs.
MODEL = 'small' if linking.supported() else 'jitdefault'
_PROCESSORS = pathlib.Path('/proc/cpuinfo')
_DESCRIBED = ('vendor_id', 'cpu family', 'model', 'model name', 'stepping', 'flags')


@dataclasses.dataclass(frozen=True)
class Processor:
    """What machine code is made for."""

    cpu: str
    features: str
    vector_bits: int

    @property
    def rows(self) -> int:
        """Doubles in a register: so many rows go side by side."""
        return self.vector_bits // 64


@functools.cache
def this_processor() -> Processor:
    """The one that this process runs on.

    LLVM's description is cached by the system's own, since asking LLVM means loading it.
    """
    described = _described() if linking.supported() else []
    if not described:
        return _as_llvm_has_it()

    def from_llvm() -> bytes:
        return json.dumps(dataclasses.astuple(_as_llvm_has_it())).encode()

    name = file_cache.key_of(generator_version(), described)
    return Processor(*json.loads(file_cache.cached('processors', f'{name}.json', from_llvm)))


def _described() -> list[str]:
    """The system's description of the first processor; empty if there is none."""
    try:
        with _PROCESSORS.open(encoding='utf-8') as lines:
            first = [line.strip() for line in itertools.takewhile(str.strip, lines)]
    except (OSError, UnicodeDecodeError):
        return []
    return [line for line in first if line.partition(':')[0].strip() in _DESCRIBED]


def _as_llvm_has_it() -> Processor:
    llvm = _llvm()
    features = llvm.get_host_cpu_features()
    bits = 512 if features.get('avx512f') else 256 if features.get('avx') else 128
    return Processor(llvm.get_host_cpu_name(), features.flatten(), bits)


def generator_version() -> str:
    """Version of what determines the machine code."""
    return f'llvmlite {llvmlite.__version__}, {MODEL} code model'


def object_code(text: str, processor: Processor) -> bytes:
    """An object file for functions given in LLVM's language."""
    llvm = _llvm()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(
        cpu=processor.cpu, features=processor.features, opt=OPTIMISATION, reloc='pic',
        codemodel=MODEL,
    )  # fmt: skip
    ending = attributes(processor.cpu, processor.features, processor.vector_bits)
    module = llvm.parse_assembly(declarations(text) + text + ending)
    module.verify()
    return bytes(machine.emit_object(module))


class Library:
    """Machine code in memory; functions are valid as long as this is kept.

    Attributes
    ----------
    size : int
        Bytes of the object file.
    """

    def __init__(self, code: bytes):
        self.size = len(code)
        # Looked up once: that costs more than a row.
        self._of_row: dict[str, Callable[[int, int], None]] = {}
        self._engine: Any = None
        try:
            self._image = linking.Image(code) if linking.supported() else None
        except (ValueError, OSError):
            self._image = None
        if self._image is None:
            llvm = _llvm()
            machine = llvm.Target.from_default_triple().create_target_machine()
            self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(''), machine)
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, function: str) -> int:
        """Where a function is."""
        if self._image is not None:
            return self._image.addresses[function]
        return int(self._engine.get_function_address(function))

    def of_row(self, function: str) -> Callable[[int, int], None]:
        """A function of the addresses of inputs and outputs."""
        function_of_row = self._of_row.get(function)
        if function_of_row is None:
            function_of_row = self._of_row[function] = _ROW(self.address(function))
        return function_of_row

    def counted(self, function: str) -> Callable[[int, int], int]:
        """A function of a number and an address that returns a number."""
        return _COUNTED(self.address(function))

    @functools.cached_property
    def row(self) -> Callable[[int, int], None]:
        """``row(given, out)``, addresses."""
        return self.of_row('row')

    @functools.cached_property
    def rows(self) -> Callable[[int, int, int], None]:
        """``rows(count, given, out)``, addresses; count is a multiple of the processor's rows."""
        return _ROWS(self.address('rows'))

    @functools.cached_property
    def table(self) -> Callable[[int, int, int, int, int, int], None]:
        """``table(tables, rows, given, apart, constants, out)``, see ``rows_ir.table_function``."""
        return _TABLE(self.address('table'))


_ROW = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_COUNTED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_ROWS = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
_TABLE = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
    ctypes.c_void_p,
)  # fmt: skip


@functools.cache
def _llvm() -> Any:
    """LLVM, loaded only when something is compiled, not in a process that only calls."""
    import llvmlite.binding as llvm

    # Newer versions of llvmlite initialise LLVM themselves, and say so when asked to.
    if llvm.llvm_version_info[0] < 20:
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm
