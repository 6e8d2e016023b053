# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Whether joint states close the loops of a mechanism, from its URDF alone."""

import numpy as np

from masticator_dynamics.robot.acceptance.passes import LinkMotion


def gaps(description, message):
    """Gaps of loops and contacts, m, and the rates at which they open, m/s, from the URDF alone."""
    rows = [np.array([row]) for row in (message.position, message.velocity)]
    links = LinkMotion(description, message.name, *rows)
    lengths, rates = [], []
    for closure in description.closures:
        a, b = closure.frames
        lengths.append(np.abs(links.origin[a] - links.origin[b]).max())
        rates.append(np.abs(links.velocity[a] - links.velocity[b]).max())
    for contact in description.contacts:
        normal = np.array(contact.normal)
        lengths.append(abs(float(links.origin[contact.frame][0] @ normal + contact.offset)))
        rates.append(abs(float(links.velocity[contact.frame][0] @ normal)))
    return max(lengths), max(rates)
