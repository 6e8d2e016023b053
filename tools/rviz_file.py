# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The configuration of RViz for the masticator, for use without launch files.

``python -m tools.rviz_file`` writes ``rviz/masticator.rviz``.
"""

from masticator_dynamics import Mechanism
from masticator_dynamics.files.share import share_directory
from masticator_dynamics.ros.rviz_configuration import FILE, configuration

if __name__ == '__main__':
    file = share_directory() / FILE
    file.write_text(configuration(Mechanism.load('masticator')), encoding='utf-8')
    print(file)
