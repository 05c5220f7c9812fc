"""Numbers side by side in a vector register, as a type of Numba's with + - * /: its loops are compiled as they stand.

A compiler that vectorises a loop by itself keeps sums in memory, and has the program ask whether arrays overlap: where
they lie near each other another loop runs, which adds up in another order. Here a sum that is to stay in a register is
a variable, and it has one order wherever arrays lie.

Numba's cache doesn't notice an edit of this file: empty it then.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from llvmlite import binding, ir
from numba.core import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

__all__ = ["MANY_REGISTERS", "VECTOR_BYTES", "larger", "load", "spread", "store", "store_totals", "where_positive"]

MANY_REGISTERS = bool(binding.get_host_cpu_features().get("avx512f"))
"""Whether there are 32 registers of 64 bytes; elsewhere loops are made for 16 of 32 bytes."""

VECTOR_BYTES = 64 if MANY_REGISTERS else 32

_CONTRACT = ("contract",)  # a product and a sum may become one instruction
_INT = ir.IntType(32)


class Vector(types.Type):
    """As many numbers as a register has lanes."""

    def __init__(self, element: types.Float) -> None:
        self.element = element
        self.lanes = 8 * VECTOR_BYTES // element.bitwidth
        super().__init__(name=f"Vector({element}, {self.lanes})")


@register_model(Vector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vector) -> None:
        element = manager.lookup(kind.element).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.lanes))


class _LaneByLane(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        return signature(args[0], *args) if isinstance(args[0], Vector) and args[0] == args[1] else None


for _operator in (operator.add, operator.sub, operator.mul, operator.truediv):
    infer_global(_operator)(type(f"_{_operator.__name__}", (_LaneByLane,), {}))


@lower_builtin(operator.add, Vector, Vector)
def _add(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fadd(*args, flags=_CONTRACT)


@lower_builtin(operator.sub, Vector, Vector)
def _subtract(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fsub(*args, flags=_CONTRACT)


@lower_builtin(operator.mul, Vector, Vector)
def _multiply(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fmul(*args, flags=_CONTRACT)


@lower_builtin(operator.truediv, Vector, Vector)
def _divide(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.fdiv(*args)


@intrinsic
def load(typing: Any, array: types.Array, at: types.Integer) -> Any:
    """The vector array[at : at + lanes]; the array is contiguous and long enough."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, sig, args), align=array.dtype.bitwidth // 8)

    return Vector(array.dtype)(array, types.intp), generate


@intrinsic
def store(typing: Any, array: types.Array, at: types.Integer, vector: Vector) -> Any:
    """array[at : at + lanes] = vector"""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, sig, args), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, types.intp, vector), generate


@intrinsic
def spread(typing: Any, number: types.Float) -> Any:
    """The same number in all lanes."""
    kind = Vector(number)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        undefined = ir.Constant(ir.VectorType(args[0].type, kind.lanes), ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(_INT, 0))
        return builder.shuffle_vector(first, undefined, _lanes([0] * kind.lanes))

    return kind(number), generate


@intrinsic
def where_positive(typing: Any, x: Vector, a: Vector, b: Vector) -> Any:
    """np.where(x > 0, a, b)"""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        zero = ir.Constant(args[0].type, [0.0] * x.lanes)
        return builder.select(builder.fcmp_ordered(">", args[0], zero), args[1], args[2])

    return a(x, a, b), generate


@intrinsic
def larger(typing: Any, a: Vector, b: Vector) -> Any:
    """np.maximum(a, b), where nothing is NaN."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *args), *args)

    return a(a, b), generate


@intrinsic
def store_totals(typing: Any, array: types.Array, at: types.Integer, a: Vector, b: Vector, c: Vector, d: Vector) -> Any:
    """array[at : at + 4] = the sums of the lanes of each vector."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        # Vectors are folded together, first in pairs: a third of the instructions that folding each alone takes.
        rest = _folded(builder, *(_folded(builder, args[v], args[v + 1], 1) for v in (2, 4)), 2)
        while rest.type.count > 4:
            rest = _folded(builder, rest, None, 4)
        kind = ir.VectorType(rest.type.element, 4)
        builder.store(rest, _address(context, builder, sig, args, kind), align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.none(array, types.intp, a, b, c, d), generate


def _folded(builder: Any, x: Any, y: Any, n_parts: int) -> Any:
    """Each of the n equal parts of x (and y) becomes half as long: its second half is added to its first."""
    length = x.type.count // n_parts
    starts = range(0, x.type.count if y is None else 2 * x.type.count, length)
    halves = [[start + half + i for start in starts for i in range(length // 2)] for half in (0, length // 2)]
    other = ir.Constant(x.type, ir.Undefined) if y is None else y
    low, high = (builder.shuffle_vector(x, other, _lanes(places)) for places in halves)
    return builder.fadd(low, high)


def _lanes(places: Iterable[int]) -> ir.Constant:
    listed = list(places)
    return ir.Constant(ir.VectorType(_INT, len(listed)), listed)


def _address(context: Any, builder: Any, sig: Any, args: Any, vector: ir.VectorType | None = None) -> Any:
    """Of the element of an array that the second argument numbers, as that of a vector."""
    kind = sig.args[0]
    array = context.make_array(kind)(context, builder, args[0])
    vector = vector or context.get_value_type(Vector(kind.dtype))
    return builder.bitcast(builder.gep(array.data, [args[1]]), vector.as_pointer())
