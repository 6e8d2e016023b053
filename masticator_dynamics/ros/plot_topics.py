# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""rqt_plot, which looks for a topic once, in a process that already knows the topics.

Nodes of one process share what they have discovered: a node waits here until the topics are
published, and rqt_plot's own, made after it, finds them at its first look.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

_PAUSE = 0.2  # s between two looks
_REMIND = 10.0  # s between two reminders


def unpublished(node: Node, curves: Sequence[str]) -> list[str]:
    """Curves whose topic nobody publishes, as far as a node knows.

    Parameters
    ----------
    curves : sequence of str
        Full names of topics with the path of a field, as rqt_plot takes them: ``/a/b/data[0]``.
        Several may be joined with commas.
    """
    topics = [name for name, _ in node.get_topic_names_and_types() if node.count_publishers(name)]
    singles = [curve for curve in ','.join(curves).split(',') if curve]
    return [s for s in singles if not any(s.startswith(f'{topic}/') for topic in topics)]


def wait_for(node: Node, curves: Sequence[str]) -> None:
    """Wait until the topic of every curve is published."""
    began = reminded = time.monotonic()
    while missing := unpublished(node, curves):
        now = time.monotonic()
        if now - reminded > _REMIND:
            reminded = now
            text = f'waiting since {now - began:.0f} s: nobody publishes {", ".join(missing)}'
            node.get_logger().warning(text)
        time.sleep(_PAUSE)


def main() -> None:
    """Wait for the topics among the arguments, which are those of rqt_plot; then be rqt_plot."""
    try:
        from rqt_plot.main import main as rqt_plot
    except ModuleNotFoundError as error:
        if error.name != 'rqt_plot':
            raise
        sys.exit('rqt_plot is not installed: it is a package of ROS 2')

    # With rclpy's own handlers, SIGTERM would end its context, and the window would stay.
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('plot_topics')
    wait_for(node, [a for a in rclpy.utilities.remove_ros_args(sys.argv)[1:] if a[:1] == '/'])
    rqt_plot()
