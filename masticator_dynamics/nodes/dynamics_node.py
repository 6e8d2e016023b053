# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Node ``dynamics``: feedforward efforts for a trajectory and a measured bite force."""

from __future__ import annotations

import gc
import sys

from rcl_interfaces.msg import SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.parameter import Parameter

from masticator_dynamics.errors import InputError, MasticatorError
from masticator_dynamics.nodes import process
from masticator_dynamics.nodes.parameters import declare_parameters, read_settings
from masticator_dynamics.nodes.runtime import Runtime
from masticator_dynamics.nodes.supervision import Supervision

_SWITCH = 0.0002  # s; how long a thread may keep Python's lock from the control cycle


class DynamicsNode(LifecycleNode):
    """Feedforward efforts at a fixed rate; what it does is in `Runtime`."""

    def __init__(self) -> None:
        super().__init__('dynamics')
        declare_parameters(self)
        self._runtime: Runtime | None = None
        self._supervision: Supervision | None = None
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)

    def start(self) -> bool:
        """Configure and activate, if parameter ``autostart`` says so; False when that fails."""
        if not read_settings(self).autostart:
            return True
        success = TransitionCallbackReturn.SUCCESS
        return self.trigger_configure() == success and self.trigger_activate() == success

    def stop(self) -> None:
        """End all threads."""
        if self._runtime is not None:
            self._runtime.deactivate()
            self._destroy()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the mechanism and run everything once, so that the first message is no slower."""
        settings = read_settings(self)
        self.get_logger().info(f'loading mechanism {settings.mechanism}')
        try:
            self._runtime = Runtime(self, settings)
        except (MasticatorError, OSError) as error:
            self.get_logger().error(f'cannot be configured: {error}')
            return TransitionCallbackReturn.FAILURE
        self._supervision = Supervision(self, self._runtime)
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start the control cycle."""
        assert self._runtime is not None
        done = super().on_activate(state)
        sys.setswitchinterval(_SWITCH)
        # What lives until the end needs no visits of the garbage collector, which take 50 ms.
        gc.collect()
        gc.freeze()
        self._runtime.activate()
        mechanism, rate = self._runtime.mechanism, read_settings(self).rate
        self.get_logger().info(
            f'{mechanism.name}: efforts of {", ".join(mechanism.actuated)} at {rate:g} Hz'
        )
        return done

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the control cycle; the motion stays where it is."""
        assert self._runtime is not None
        self._runtime.deactivate()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the mechanism."""
        self._destroy()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop and forget."""
        self.stop()
        return super().on_shutdown(state)

    def _destroy(self) -> None:
        if self._supervision is not None:
            self._supervision.destroy()
        if self._runtime is not None:
            self._runtime.destroy()
        self._runtime = self._supervision = None

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == 'bite_force.point_frame' and parameter.value and self._runtime:
                try:
                    self._runtime.bite.check_frame(parameter.value)
                except InputError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: list[Parameter]) -> None:
        if self._runtime is not None:
            self._runtime.apply(read_settings(self))


def main() -> int:
    """Run the node; returns the exit code."""
    return process.run(DynamicsNode)


if __name__ == '__main__':
    sys.exit(main())
