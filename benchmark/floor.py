# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The floor: ``floor.cpp``, compiled when needed if there is a C++ compiler."""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
from typing import Any

import numpy as np

from benchmark.states import Array
from benchmark.timing import Method
from papers.formulations.geometry import Geometry

_FLAGS = ('-std=c++17', '-O3', '-march=native', '-ffast-math', '-shared', '-fPIC')


class CompilerMissingError(Exception):
    """There is no C++ compiler, or it cannot compile the source; the message says which."""


def floor_method(geometry: Geometry, directory: pathlib.Path) -> Method:
    """Compile and load the floor; a call passes addresses of packed numbers, the least overhead.

    Parameters
    ----------
    directory : pathlib.Path
        Where the library is written; it may be deleted afterwards.

    Raises
    ------
    CompilerMissingError
    """
    function = compiled('floor.cpp', directory).torques
    function.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = None
    numbers, effort = _numbers(geometry), np.empty(6)
    numbers_at, effort_at = numbers.ctypes.data, effort.ctypes.data
    kept = [numbers]  # keeps alive the memory that addresses point to

    def prepare(state: tuple[Array, ...]) -> tuple[Any, ...]:
        kept.append(np.concatenate(state))
        return (kept[-1].ctypes.data,)

    def call(state_at: int) -> Array:
        function(numbers_at, 1, state_at, effort_at)
        return effort

    def batch(*columns: Array) -> Array:
        states = np.concatenate(columns, axis=1)
        efforts = np.empty((len(states), 6))
        function(numbers_at, len(states), states.ctypes.data, efforts.ctypes.data)
        return efforts

    return Method('C++ floor', call, prepare, batch)


def _numbers(g: Geometry) -> Array:
    """Dimensions and masses in the order in which ``floor.cpp`` reads them."""
    sockets = g.sockets
    assert sockets is not None
    fields = (
        g.G, g.X_C, g.Y_C, g.Z_C, g.M, g.r, g.L, g.I_G, g.m_S, g.branch,
        sockets.middle, sockets.M_H, sockets.p2, g.m_EE, g.I_EE, g.g,
    )  # fmt: skip
    return np.concatenate([np.ravel(field) for field in fields])


def compiled(source: str, directory: pathlib.Path) -> ctypes.CDLL:
    """Compile and load a source file of this folder.

    Parameters
    ----------
    source : str
        Name of the file.
    directory : pathlib.Path
        Where the library is written; it may be deleted afterwards.

    Raises
    ------
    CompilerMissingError
    """
    file = pathlib.Path(__file__).with_name(source)
    library = directory / f'{file.stem}.so'
    compiler = os.environ.get('CXX') or next(filter(shutil.which, ('c++', 'g++', 'clang++')), None)
    if compiler is None:
        raise CompilerMissingError('no C++ compiler (c++, g++, clang++ or $CXX)')
    command = [*compiler.split(), *_FLAGS, '-o', str(library), str(file)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except OSError as error:
        raise CompilerMissingError(f'{compiler}: {error}') from error
    except subprocess.CalledProcessError as error:
        raise CompilerMissingError(f'{compiler} failed: {error.stderr.strip()[:500]}') from error
    return ctypes.CDLL(str(library))
