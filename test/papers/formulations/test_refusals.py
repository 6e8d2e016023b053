# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Mechanisms other than the papers' are refused, with the name and the amount."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import samples

from masticator_dynamics.description import MechanismDescription
from masticator_dynamics.description.data import Actuator, Transmission
from masticator_dynamics.errors import DescriptionError
from papers.formulations import FORMULATIONS, PUS_FORMULATIONS
from papers.formulations.geometry import read_geometry
from papers.formulations.pus_geometry import read_pus_geometry

SHIPPED = samples.mechanism('masticator').description
RCID = samples.mechanism('rcid').description


def with_link(name: str, of=SHIPPED, **changes) -> MechanismDescription:
    links = dict(of.tree.links)
    links[name] = dataclasses.replace(links[name], **changes)
    return dataclasses.replace(of, tree=dataclasses.replace(of.tree, links=links))


def with_joint(name: str, of=SHIPPED, **changes) -> MechanismDescription:
    joints = tuple(
        dataclasses.replace(j, **changes) if j.name == name else j for j in of.tree.joints
    )
    return dataclasses.replace(of, tree=dataclasses.replace(of.tree, joints=joints))


def geared(description: MechanismDescription, name: str) -> MechanismDescription:
    motor = Actuator(transmission=Transmission(ratio=20.0))
    return dataclasses.replace(description, actuators={**description.actuators, name: motor})


def with_contact(**changes) -> MechanismDescription:
    left, right = SHIPPED.contacts
    left = dataclasses.replace(left, **changes)
    return dataclasses.replace(SHIPPED, contacts=(left, right))


def of(joint: str):
    return next(j for j in SHIPPED.tree.joints if j.name == joint)


ROD = SHIPPED.tree.links['coupler_4']
X = np.array([1.0, 0.0, 0.0])
CASES = {
    'another order of turns': (
        samples.mechanism('rcid').description,
        'platform platform: .*sliding joints along x, y, z, then turning joints about x, y, z',
    ),
    'no spatial platform': (samples.mechanism('five_bar').description, 'sliding joints along x'),
    'boom': (samples.mechanism('boom').description, 'sliding joints along x, y, z'),
    'one contact': (
        dataclasses.replace(SHIPPED, contacts=SHIPPED.contacts[:1]), '1 contacts, needed are 0 or 2'
    ),
    'other freedoms': (
        dataclasses.replace(SHIPPED, independent=('y', 'x', 'alpha', 'beta')),
        r"independent: .*needed \['x', 'y', 'alpha', 'beta'\]",
    ),
    'five motors': (
        dataclasses.replace(SHIPPED, actuated=SHIPPED.actuated[:5]), '5 actuated joints and 6'
    ),
    'a passive joint driven': (
        dataclasses.replace(SHIPPED, actuated=(*SHIPPED.actuated[:5], 'universal_6_first')),
        'joint universal_6_first: .*no crank with a coupler',
    ),
    'jaw off its centre': (
        with_link('mandible', center_of_mass=2e-3 * X), 'link mandible: .*2 mm from its origin'
    ),
    'crank off its shaft': (
        with_link('crank_2_link', center_of_mass=1e-3 * X),
        'link crank_2_link: .*1 mm off the shaft',
    ),
    'crooked coupler': (
        with_link('coupler_4', center_of_mass=ROD.center_of_mass + [0.0, 1e-3, 0.0]),
        'link coupler_4: .*off the line',
    ),
    'spinning coupler': (
        with_link('coupler_4', about_center=ROD.about_center + np.diag([1e-9, 0.0, 0.0])),
        'link coupler_4: .*no slender rod',
    ),
    'heavy cross': (with_link('coupler_1_cross', mass=0.01), 'coupler_1_cross: .*0.01 kg between'),
    'heavy platform link': (with_link('mandible_z', mass=0.2), 'link mandible_z: .*0.2 kg between'),
    'axes that do not cross': (
        with_joint('universal_3_second', position=1e-3 * X),
        'joint universal_3_second: .*does not cross that of universal_3_first',
    ),
    'shaft through the pin': (
        with_joint('crank_1', axis=X), 'joint crank_1: .*goes through the crank pin'
    ),
    'raised platform': (
        with_joint('alpha', position=1e-3 * X), "frame at 0 is not the base's"
    ),
    'asymmetric condyles': (
        with_joint(
            'condyle_left_fixed', position=of('condyle_left_fixed').position + [0, 1e-3, 0]
        ),
        'contacts: .*1 mm from symmetry',
    ),
    'leaning plane': (with_contact(normal=(1.1, 0.2, 1.0)), 'contacts: .*normal is not'),
    'level plane': (with_contact(normal=(0.0, 0.0, 1.0)), 'contacts: .*p1 not 0'),
    'two planes': (with_contact(offset=-0.014), 'the two planes are not the same'),
    'gear': (geared(SHIPPED, 'crank_2'), 'actuators.crank_2.transmission: .*those of joints'),
    'contact of a coupler': (with_contact(frame='coupler_1'), r'contacts\[0\].frame: .*coupler_1'),
}  # fmt: skip


@pytest.mark.parametrize('case', CASES)
def test_refused(case: str) -> None:
    description, message = CASES[case]
    with pytest.raises(DescriptionError, match=message) as refusal:
        read_geometry(description)
    assert 'not the 6-RSS mechanism' in str(refusal.value)


@pytest.mark.parametrize('method', FORMULATIONS)
def test_every_formulation_refuses(method: str) -> None:
    with pytest.raises(DescriptionError, match='not the 6-RSS mechanism'):
        FORMULATIONS[method](samples.mechanism('rcid').description)


LINK = RCID.tree.links['link_4']
PUS_CASES = {
    'masticator': (SHIPPED, 'then turning joints about z, y, x'),
    'planar': (samples.mechanism('rrr4').description, 'platform platform: .*sliding joints'),
    'contact': (dataclasses.replace(RCID, contacts=SHIPPED.contacts[:1]), '1 contacts, needed are'),
    'other freedoms': (
        dataclasses.replace(RCID, independent=RCID.independent[::-1]), 'independent: .*needed'
    ),
    'five motors': (dataclasses.replace(RCID, actuated=RCID.actuated[:5]), '5 actuated joints and'),
    'driven universal joint': (
        dataclasses.replace(RCID, actuated=(*RCID.actuated[:5], 'universal_6_first')),
        'joint universal_6_first: .*no slider with a link',
    ),
    'slider across': (with_joint('slider_3', RCID, axis=X), 'joint slider_3: .*not along z'),
    'platform off its centre': (
        with_link('platform', RCID, center_of_mass=2e-3 * X), 'link platform: .*2 mm from its'
    ),
    'flat link': (
        with_link('link_4', RCID, about_center=LINK.about_center + np.diag([0.0, 1e-7, 0.0])),
        'link link_4: .*not the same all round',
    ),
    'crooked link': (
        with_link('link_4', RCID, center_of_mass=LINK.center_of_mass + [0.0, 1e-3, 0.0]),
        'link link_4: .*off the line',
    ),
    'heavy cross': (with_link('link_1_cross', RCID, mass=0.01), 'link_1_cross: .*0.01 kg'),
    'gear': (geared(RCID, 'slider_2'), 'actuators.slider_2.transmission: .*those of joints'),
}  # fmt: skip


@pytest.mark.parametrize('case', PUS_CASES)
def test_refused_by_generalized_momentum(case: str) -> None:
    description, message = PUS_CASES[case]
    with pytest.raises(DescriptionError, match=message) as refusal:
        read_pus_geometry(description)
    assert 'not the 6-PUS mechanism' in str(refusal.value)
    for kind in PUS_FORMULATIONS.values():
        with pytest.raises(DescriptionError, match='not the 6-PUS mechanism'):
            kind(description)
