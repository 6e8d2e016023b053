# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Steps of all servos and of the plant they drive, in one call of machine code.

Both have machine code of their own. This calls one after the other and moves numbers from where
one leaves them to where the other expects them, for as many steps as nobody else has to look at.
"""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from masticator_dynamics.engine.arrays import FloatArray, IntArray
from masticator_dynamics.engine.traced.llvm_ir import pointer
from masticator_dynamics.engine.traced.machine_code import Library
from masticator_dynamics.engine.traced.row_code import address, library


@dataclasses.dataclass(frozen=True)
class DrivenPlant:
    """What moves a plant on, and where its numbers are in memory."""

    # Addresses of functions of a row, whose first output is 1 where the others are valid.
    advance: int
    report: int
    times: int  # calls of `advance` in a step; `report` follows
    given: FloatArray  # inputs and outputs of `advance`
    out: FloatArray
    report_given: FloatArray  # of `report`
    report_out: FloatArray
    changing: int  # first numbers of the inputs, which `advance` gives anew
    settled: slice  # those of them that `report` gives anew, too, first of all
    before: FloatArray  # gets the changing numbers as they are when a step begins
    positions: IntArray  # where those of the joints are in the report
    velocities: IntArray
    efforts: IntArray  # where those of the joints are in the inputs, a row for each copy of them
    report_efforts: IntArray  # in those of the report


def places(array: FloatArray) -> IntArray:
    """Addresses of all numbers of an array, in its shape."""
    offsets = sum(
        np.ix_(*(s * np.arange(n) for s, n in zip(array.strides, array.shape, strict=True)))
    )
    return np.asarray(array.__array_interface__['data'][0] + offsets, dtype=np.int64)


class DrivenSteps:
    """Advances servos and plant together.

    Parameters
    ----------
    servos : int
        Address of their function ``rows``.
    inputs, outputs : arrays
        Its tables, a row for each servo.
    states : int
        First columns of the inputs, which are those of the outputs.
    effort, asks : int
        Columns of the outputs; where the latter is positive, somebody has to look at the servo.
    rows : int array
        Of the plant's joints, for each servo.
    plant : DrivenPlant
    """

    def __init__(
        self,
        servos: int,
        inputs: FloatArray,
        outputs: FloatArray,
        states: int,
        effort: int,
        asks: int,
        rows: IntArray,
        plant: DrivenPlant,
    ):
        used, row, p = slice(len(rows)), places(inputs), plant
        given, report, out = places(p.given), places(p.report_given), places(p.report_out)
        efforts, change = places(outputs[used, effort]), slice(p.changing)
        moves = [
            (out[p.positions[rows]], row[used, states]),
            (out[p.velocities[rows]], row[used, states + 1]),
            (given[change], places(p.before)),
        ], [
            (places(outputs)[:, :states], row[:, :states]),
            *((efforts, given[copy[rows]]) for copy in p.efforts),
            (efforts, report[p.report_efforts[rows]]),
        ], [
            (places(p.out)[1 : 1 + p.changing], given[change]),
        ], [
            (given[change], report[change]),
        ], [
            (out[1:][: p.settled.stop - p.settled.start], given[p.settled]),
        ]  # fmt: skip
        self._tables = [
            np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
            for pairs in moves
        ]
        self._asks = places(outputs[used, asks])
        self._kept = inputs, outputs, plant
        self._program = np.array([
            servos, len(inputs), address(inputs), address(outputs),
            p.advance, address(p.given), address(p.out), p.times,
            p.report, address(p.report_given), address(p.report_out),
            *(x for table in self._tables for x in (len(table), table.ctypes.data)),
            len(self._asks), self._asks.ctypes.data,
        ])  # fmt: skip
        self._run, self._at = machine_code().counted('driven'), self._program.ctypes.data

    def __call__(self, steps: int) -> int:
        """Make so many steps, or fewer: until a servo asks.

        Returns
        -------
        int
            Steps made; -1 - steps if the plant could not make the next one, for which the servos
            have given their efforts; its ``before`` is then where it is.
        """
        return self._run(steps, self._at)


@functools.cache
def machine_code() -> Library:
    """Function ``driven(steps, program)``."""
    return library('driven steps', _text, [_TEXT])


def _text() -> str:
    return _TEXT.replace('double*', pointer('double')).replace('i64*', pointer('i64'))


def _field(number: int) -> str:
    return f"""
  %a{number} = getelementptr inbounds i64, i64* %program, i64 {number}
  %f{number} = load i64, i64* %a{number}"""


_FIELDS = ''.join(map(_field, range(23)))
_TEXT = f"""
define void @moved(i64 %count, i64 %table) nounwind #0 {{
entry:
  %pairs = inttoptr i64 %table to i64*
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %loop, label %done
loop:
  %k = phi i64 [0, %entry], [%next, %loop]
  %first = shl i64 %k, 1
  %second = or i64 %first, 1
  %at_from = getelementptr inbounds i64, i64* %pairs, i64 %first
  %at_to = getelementptr inbounds i64, i64* %pairs, i64 %second
  %from = load i64, i64* %at_from
  %to = load i64, i64* %at_to
  %source = inttoptr i64 %from to double*
  %target = inttoptr i64 %to to double*
  %x = load double, double* %source
  store double %x, double* %target
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}

define i1 @asked(i64 %count, i64 %table) nounwind #0 {{
entry:
  %places = inttoptr i64 %table to i64*
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%next, %loop]
  %at = getelementptr inbounds i64, i64* %places, i64 %k
  %from = load i64, i64* %at
  %source = inttoptr i64 %from to double*
  %x = load double, double* %source
  %asks = fcmp ogt double %x, 0.0
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %count
  %on = xor i1 %asks, true
  %again = and i1 %more, %on
  br i1 %again, label %loop, label %done
done:
  ret i1 %asks
}}

define i64 @driven(i64 %steps, i64* %program) nounwind #0 {{
entry:{_FIELDS}
  %servos = inttoptr i64 %f0 to void (i64, i64, i64)*
  %advance = inttoptr i64 %f4 to void (i64, i64)*
  %report = inttoptr i64 %f8 to void (i64, i64)*
  %valid = inttoptr i64 %f6 to double*
  %report_valid = inttoptr i64 %f10 to double*
  br label %step
step:
  %k = phi i64 [0, %entry], [%next, %again]
  call void @moved(i64 %f11, i64 %f12)
  call void %servos(i64 %f1, i64 %f2, i64 %f3)
  call void @moved(i64 %f13, i64 %f14)
  br label %part
part:
  %j = phi i64 [0, %step], [%following, %went]
  call void %advance(i64 %f5, i64 %f6)
  %ok = load double, double* %valid
  %went_on = fcmp oeq double %ok, 1.0
  br i1 %went_on, label %went, label %failed
went:
  call void @moved(i64 %f15, i64 %f16)
  %following = add i64 %j, 1
  %parts = icmp slt i64 %following, %f7
  br i1 %parts, label %part, label %whole
whole:
  call void @moved(i64 %f17, i64 %f18)
  call void %report(i64 %f9, i64 %f10)
  %also = load double, double* %report_valid
  %reported = fcmp oeq double %also, 1.0
  br i1 %reported, label %made, label %failed
made:
  call void @moved(i64 %f19, i64 %f20)
  %next = add i64 %k, 1
  %looked = call i1 @asked(i64 %f21, i64 %f22)
  br i1 %looked, label %done, label %again
again:
  %more = icmp slt i64 %next, %steps
  br i1 %more, label %step, label %done
done:
  ret i64 %next
failed:
  %not = xor i64 %k, -1
  ret i64 %not
}}
"""
