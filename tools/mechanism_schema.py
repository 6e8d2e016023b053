# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Print the JSON Schema of a mechanism file; generates ``config/mechanism.schema.json``."""

import json

from masticator_dynamics.description.reading import json_schema

if __name__ == '__main__':
    print(json.dumps(json_schema(), indent=2))
