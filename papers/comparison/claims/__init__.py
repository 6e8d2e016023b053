# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every table, figure and number of the papers, judged by the results of the sections.

One YAML file per paper lists its claims; ``ledger.judge`` gives verdicts from the sections' tables.
"""

from papers.comparison.claims.ledger import (
    CLAIMS,
    JudgedClaim,
    as_section,
    judge,
)
from papers.comparison.claims.ledger import SECTION as CLAIMS_SECTION

__all__ = ['CLAIMS', 'CLAIMS_SECTION', 'JudgedClaim', 'as_section', 'judge']
