# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Forces of the surroundings on the bodies: stops and food."""

import math

from masticator_dynamics.actuation.causes import point_velocity
from masticator_dynamics.engine.jit import kernel
from masticator_dynamics.engine.pose import point_in_base
from masticator_dynamics.twin import food as bolus
from masticator_dynamics.twin import layout
from masticator_dynamics.twin.laws import push


@kernel
def stop_points(model, stops, v):
    """Relieve bodies of what the stops of their points supply."""
    for s in range(len(stops)):
        stop = stops[s]
        i, axis = int(stop[layout.BODY]), int(stop[layout.AXIS])
        x, y, z = point_in_base(model.bodies[i], stop[layout.POINT : layout.POINT + 3])
        value = (x, y, z)[axis]
        low, high = stop[layout.LOWER] - value, value - stop[layout.UPPER]
        if low <= 0.0 and high <= 0.0:
            continue
        rate = point_rate(model, i, x, y, z, axis, v)
        force = range_force(low, high, rate, stop[layout.STIFFNESS :])
        fx = force if axis == 0 else 0.0
        fy = force if axis == 1 else 0.0
        fz = force if axis == 2 else 0.0
        relieve(model.bodies[i], x, y, z, fx, fy, fz)


@kernel
def stop_joints(model, stops, q, v):
    """Take off the load of the tree what the stops of its joints supply."""
    for s in range(len(stops)):
        stop = stops[s]
        j = int(stop[layout.JOINT])
        low = stop[layout.JOINT_LOWER] - q[j]
        high = q[j] - stop[layout.JOINT_LOWER + 1]
        if low > 0.0 or high > 0.0:
            model.load[j] -= range_force(low, high, v[j], stop[layout.JOINT_LOWER + 2 :])


@kernel
def stop_limbs(model, stops, v):
    """Take off the load of the rods' joints what keeps limbs away from their dead points.

    The lever of a rod is the sine of its angle with the link that drives it: how fast its foot
    moves along the rod, over how fast it moves at all. Only the rod's own joints change it.
    """
    for s in range(len(stops)):
        stop = stops[s]
        first, rod = int(stop[layout.FIRST]), int(stop[layout.ROD])
        foot = model.bodies[rod].position
        x, y, z = point_in_base(model.bodies[rod], stop[layout.TIP : layout.TIP + 3])
        x, y, z = x - foot[0], y - foot[1], z - foot[2]
        rx, ry, rz = point_velocity(
            model.joints[first], model.bodies[first], foot[0], foot[1], foot[2]
        )
        scale = stop[layout.SIGN] / math.sqrt(
            (x * x + y * y + z * z) * (rx * rx + ry * ry + rz * rz)
        )
        depth = stop[layout.LEAST] - scale * (rx * x + ry * y + rz * z)
        if depth <= 0.0:
            continue
        # Derivative of the lever for a turn about an axis: axis . (rod x foot velocity).
        lx = scale * (y * rz - z * ry)
        ly = scale * (z * rx - x * rz)
        lz = scale * (x * ry - y * rx)
        rate, j = 0.0, rod
        while j != first:
            axis = model.bodies[j].rotation
            rate += (axis[0, 2] * lx + axis[1, 2] * ly + axis[2, 2] * lz) * v[j]
            j = model.joints[j].parent
        law = stop[layout.LIMB_LAW :]
        force = push(law[0] * depth, depth, -rate, law[1], law[2])
        j = rod
        while j != first:
            axis = model.bodies[j].rotation
            model.load[j] -= force * (axis[0, 2] * lx + axis[1, 2] * ly + axis[2, 2] * lz)
            j = model.joints[j].parent


@kernel
def range_force(low, high, rate, law):
    """Force of a stop at either end of a range; ``low`` and ``high`` are the depths."""
    if low > 0.0:
        return push(law[0] * low, low, -rate, law[1], law[2])
    return -push(law[0] * high, high, rate, law[1], law[2])


@kernel
def feed(model, food, v, results, settle):
    """Relieve the bitten body of what the food supplies, and note it.

    ``settle``: whether the food may yield and break for good, or is only tried.
    """
    for i in range(6):
        results.wrench[i] = 0.0
    for i in range(3):
        results.food_force[i] = 0.0
    if len(food) == 0:
        return
    body = model.bodies[int(food[bolus.BODY])]
    x, y, z = point_in_base(body, food[bolus.POINT : bolus.POINT + 3])
    gap = food[bolus.HEIGHT] - z
    rate = 0.0
    if gap < food[bolus.THICKNESS]:
        rate = point_rate(model, int(food[bolus.BODY]), x, y, z, 2, v)
    force = bolus.crush(food, gap, rate, settle)
    relieve(body, x, y, z, 0.0, 0.0, -force)
    px, py, pz = point_in_base(model.bodies[model.platform_body[0]], model.platform_point)
    results.food_force[2] = -force
    results.wrench[2] = -force
    results.wrench[3] = -(y - py) * force
    results.wrench[4] = (x - px) * force


@kernel
def point_rate(model, i, x, y, z, axis, v):
    """Velocity along an axis of the base of a point of body ``i``, given in the base."""
    rate = 0.0
    while i >= 0:
        rate += point_velocity(model.joints[i], model.bodies[i], x, y, z)[axis] * v[i]
        i = model.joints[i].parent
    return rate


@kernel
def relieve(body, x, y, z, fx, fy, fz):
    """Take a force at a point off what a body's joint has to supply; all in the base."""
    x, y, z = x - body.position[0], y - body.position[1], z - body.position[2]
    body.force[0] -= fx
    body.force[1] -= fy
    body.force[2] -= fz
    body.moment[0] -= y * fz - z * fy
    body.moment[1] -= z * fx - x * fz
    body.moment[2] -= x * fy - y * fx
