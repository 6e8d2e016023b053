# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every table, figure and number of the papers, judged by what the sections compute.

One module per paper lists them; ``ledger.judge`` reads the sections' tables and gives verdicts.
"""

from masticator_dynamics.papers.comparison.claims.ledger import (
    CLAIMS,
    JudgedClaim,
    as_section,
    judge,
)
from masticator_dynamics.papers.comparison.claims.ledger import SECTION as CLAIMS_SECTION

__all__ = ['CLAIMS', 'CLAIMS_SECTION', 'JudgedClaim', 'as_section', 'judge']
