# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all nodes have in common: a life cycle, checked parameters, autostart.

A node's settings are a frozen dataclass whose fields are made by `parameter`; what is declared,
read and documented comes from there.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter

from masticator_dynamics import interrupt
from masticator_dynamics.errors import InputError, MasticatorError, in_words
from masticator_dynamics.files import code_cache
from masticator_dynamics.ros.common.diagnostics import shortened
from masticator_dynamics.ros.common.guard import Guard

Settings = TypeVar('Settings')


class Declaration(NamedTuple):
    """A parameter, as :func:`parameter` describes it; ``field`` is that of the settings."""

    name: str
    field: str
    default: Any
    descriptor: ParameterDescriptor


def parameter(
    default: Any,
    description: str,
    *,
    interval: tuple[float, float] | None = None,
    constraints: str = '',
    read_only: bool = True,
    name: str = '',
) -> Any:
    """A field of settings that is a parameter; the type of its default is the parameter's.

    Parameters
    ----------
    default, description
        What ROS shows of it.
    interval : tuple of float, optional
        Its range.
    constraints : str
        What no interval can say, in words.
    read_only : bool
        Whether it may not change while the node runs.
    name : str
        By default the field's.
    """
    ranges = []
    if interval is not None:
        ranges = [FloatingPointRange(from_value=interval[0], to_value=interval[1])]
    descriptor = ParameterDescriptor(
        name=name, description=description, additional_constraints=constraints,
        read_only=read_only, floating_point_range=ranges,
    )  # fmt: skip
    return dataclasses.field(default=default, metadata={'descriptor': descriptor})


@dataclasses.dataclass(frozen=True)
class NodeSettings:
    """Values of the parameters that all nodes have."""

    mechanism: str = parameter(
        'masticator', 'Name of a shipped mechanism, or path to a mechanism YAML.'
    )
    autostart: bool = parameter(
        True, 'Configure and activate at the start, without a lifecycle manager.'
    )


# Of several nodes.
FRAME_PREFIX = parameter(
    '',
    'Goes before every frame_id on topics, as in robot_state_publisher: several robots on one TF.',
    constraints="such as 'left/'",
)


def declarations(settings: type) -> list[Declaration]:
    """Parameters that the fields of a settings class stand for."""
    declarations = []
    for field in dataclasses.fields(settings):
        descriptor: ParameterDescriptor = field.metadata['descriptor']
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        name = descriptor.name or field.name
        declarations.append(Declaration(name, field.name, default, descriptor))
    return declarations


def declare(node: Node, settings: type) -> None:
    """Declare parameters on a node; values from files and the command line are applied."""
    for name, _, default, descriptor in declarations(settings):
        node.declare_parameter(name, default, descriptor)


def read(node: Node, settings: type[Settings], changes: Sequence[Parameter] = ()) -> Settings:
    """Current values of all parameters, or what they would be after changes.

    Parameters
    ----------
    node : Node
        Has declared the parameters.
    settings : type
        The dataclass that they were declared from.
    changes : sequence of Parameter
        Values to replace the current ones.

    Raises
    ------
    InputError
        When the ``__post_init__`` of the settings refuses the values.
    """
    fields = {p.name: p.field for p in declarations(settings)}
    values = {field: node.get_parameter(name).value for name, field in fields.items()}
    values |= {fields[p.name]: p.value for p in changes if p.name in fields}
    return settings(**values)


_SWITCH = 0.0002  # s; how long one thread may hold Python's lock while another waits


class Runtime(Protocol):
    """Everything that exists while a node is configured; created and warmed up on configuring.

    The last three do nothing unless a node has something to do there.
    """

    def activate(self) -> str:
        """Start working; returns a sentence for the log. Raises `MasticatorError` if it cannot."""

    def deactivate(self) -> None:
        """Stop working; may be called more than once."""

    def destroy(self) -> None:
        """Destroy topics, services and threads."""

    def check(self, settings: Any) -> None:
        """Refuse parameters that only a configured node can judge (`MasticatorError`)."""
        return

    def apply(self, settings: Any) -> None:
        """Apply the parameters that may change."""
        return

    def fail(self, reason: str) -> None:
        """Make safe what can be, after a bug of ours made a callback fail. For any thread."""
        return


class _ToNode(logging.Handler):
    """Passes what the package logs to the node's log."""

    def __init__(self, node: LifecycleNode):
        super().__init__()
        self._logger = node.get_logger()

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        self._logger.info(record.getMessage())


class ManagedNode(LifecycleNode):
    """A lifecycle node around a `Runtime`.

    Configuring the node loads the mechanism and runs everything once, so the first message is
    answered as fast as the thousandth.

    Parameters
    ----------
    settings : type
        A `NodeSettings`, whose fields are the parameters.
    create : callable
        Makes the runtime from a node and its settings, warmed up. Raises `MasticatorError` or
        OSError when it cannot; the node then stays unconfigured and says why.
    """

    def __init__(
        self,
        name: str,
        settings: type,
        create: Callable[[ManagedNode, Any], Runtime],
    ):
        super().__init__(name)
        service = self._service_change_state
        service.callback = functools.partial(self._change_state, service.callback)
        self._runtime: Runtime | None = None
        self.loading = False  # and perhaps compiling; nothing has begun to work
        self.guard = Guard(self, self._callback_failed)
        self._settings_type, self._create = settings, create
        declare(self, settings)
        code_cache.LOG.addHandler(_ToNode(self))
        code_cache.LOG.setLevel(logging.INFO)
        self.add_on_set_parameters_callback(self._check_parameters)
        self.add_post_set_parameters_callback(self._apply_parameters)

    def start(self) -> bool:
        """Configure and activate if the parameter ``autostart`` says so.

        Returns
        -------
        bool
            False if that fails, or the process is told to end before anything has begun to work.
        """
        if not self.get_parameter('autostart').value:
            return True
        success = TransitionCallbackReturn.SUCCESS
        if self.trigger_configure() != success or interrupt.requested():
            return False
        return self.trigger_activate() == success

    def stop(self) -> None:
        """End all threads."""
        if self._runtime is not None:
            self._runtime.deactivate()
            self._runtime.destroy()
            self._runtime = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Make the runtime."""
        self.get_logger().info(
            f'loading mechanism {self.get_parameter("mechanism").value} '
            '(the first time, compiling takes some seconds)'
        )
        self.loading = True
        try:
            self._runtime = self._create(self, self._read_settings())
        except Exception as error:  # of others, rclpy would say nothing
            self.get_logger().error(f'cannot be configured: {in_words(error)}')
            return TransitionCallbackReturn.FAILURE
        finally:
            self.loading = False
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Start working."""
        assert self._runtime is not None
        done = super().on_activate(state)
        sys.setswitchinterval(_SWITCH)
        # The garbage collector, which takes 50 ms, need not visit what lives until the end.
        gc.collect()
        gc.freeze()
        try:
            self.get_logger().info(self._runtime.activate())
        except Exception as error:
            self.get_logger().error(f'cannot be activated: {in_words(error)}')
            super().on_deactivate(state)
            return TransitionCallbackReturn.FAILURE
        return done

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop working but keep everything."""
        assert self._runtime is not None
        try:
            self._runtime.deactivate()
        except Exception as error:
            self.get_logger().error(f'cannot be deactivated: {in_words(error)}')
            return TransitionCallbackReturn.ERROR
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop, and forget the mechanism and everything that was managed."""
        self.stop()
        return super().on_cleanup(state)

    on_shutdown = on_error = on_cleanup

    def _change_state(
        self, change: Callable[..., Any], request: ChangeState.Request, response: Any
    ) -> Any:
        """Change the state; `InputError` for a transition that the present one does not have."""
        wanted = request.transition
        possible = {row[0]: row[1] for row in self._state_machine.available_transitions}
        if wanted.label not in possible.values() if wanted.label else wanted.id not in possible:
            there_are = ', '.join(f'{label} ({number})' for number, label in possible.items())
            raise InputError(
                f'no transition {wanted.label or wanted.id} in state '
                f'{self._state_machine.current_state[1]}; there are: {there_are or "none"}'
            )
        return change(request, response)

    def _read_settings(self, changes: Sequence[Parameter] = ()) -> Any:
        return read(self, self._settings_type, changes)

    def _check_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            settings = self._read_settings(parameters)
            if self._runtime is not None:
                self._runtime.check(settings)
        except MasticatorError as error:
            return SetParametersResult(successful=False, reason=shortened(str(error)))
        return SetParametersResult(successful=True)

    def _apply_parameters(self, parameters: list[Parameter]) -> None:
        if self._runtime is not None:
            self._runtime.apply(self._read_settings())

    def _callback_failed(self, reason: str) -> None:
        if self._runtime is not None:
            self._runtime.fail(reason)
