# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Odd <visual> elements: each is named with its link and what is wrong; all others are shown."""

import pathlib
import shutil
import struct

import numpy as np
import pytest
import samples

from masticator_dynamics import Mechanism
from masticator_dynamics.cli import main
from masticator_dynamics.description.visuals import shapes

pytest.importorskip('viser', reason='viser is not installed (pip extra "view")')

GOOD = '<geometry><box size="0.1 0.1 0.1"/></geometry>'
TRIANGLE = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n'
GLTF = (
    '{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],'
    '"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[{"bufferView":0,'
    '"componentType":5126,"count":3,"type":"VEC3"}],"bufferViews":[{"buffer":0,"byteLength":36}],'
    '"buffers":[{"uri":"../secret.bin","byteLength":36}]}'
)
FILES = {
    'good.obj': TRIANGLE.encode(),
    'empty.stl': b'',
    'no_faces.stl': b'solid x\nendsolid x\n',
    'cut.stl': b'\0' * 80 + struct.pack('<I', 5) + b'\0' * 60,
    'points.obj': b'v 0 0 0\nv 1 0 0\n',
    'words.obj': b'this is no mesh\n',
    'nan.obj': TRIANGLE.replace('1 0 0', 'nan 0 0').encode(),
    'index.obj': TRIANGLE.replace('1 2 3', '1 2 9').encode(),
    'cut.ply': b'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nend_header\n0\n',
    'noise.glb': bytes(range(256)),
    'outside.gltf': GLTF.encode(),
    'unknown.foo': b'1',
}
# What stands in <visual>, and what is said of it.
NOT_SHOWN = {
    '<geometry><box size="0.1 0.2"/></geometry>': '<box>: size is',
    '<geometry><box size="0.1 0.2 x"/></geometry>': '<box>: size is',
    '<geometry><box size="0.1 0.2 nan"/></geometry>': '<box>: size is',
    '<geometry><box size="0.1 0.2 -0.3"/></geometry>': 'expected above 0 m',
    '<geometry><box size="0.1 0.2 0.3 0.4"/></geometry>': '<box>: size is',
    '<geometry><box/></geometry>': '<box>: size is',
    '<geometry><cylinder/></geometry>': '<cylinder>: radius is',
    '<geometry><cylinder radius="0.1"/></geometry>': '<cylinder>: length is',
    '<geometry><cylinder radius="0" length="1"/></geometry>': 'expected above 0 m',
    '<geometry><cylinder radius="0.1 0.2" length="1"/></geometry>': '<cylinder>: radius is',
    '<geometry><sphere radius="inf"/></geometry>': '<sphere>: radius is',
    '<geometry><sphere radius=""/></geometry>': '<sphere>: radius is',
    '<geometry><capsule radius="0.1" length="1"/></geometry>': 'a <capsule> is not drawn',
    '<geometry/>': '<geometry> has 0 shapes',
    '': '<geometry> has 0 shapes',
    '<geometry><box size="1 1 1"/><sphere radius="1"/></geometry>': '<geometry> has 2 shapes',
    f'<origin xyz="0 0"/>{GOOD}': '<origin>: xyz is',
    f'<origin rpy="0 0 nan"/>{GOOD}': '<origin>: rpy is',
    f'<origin xyz=""/>{GOOD}': '<origin>: xyz is',
    '<geometry><mesh/></geometry>': "the mesh '' is not there",
    '<geometry><mesh filename="."/></geometry>': "the mesh '.' is not there",
    f'<geometry><mesh filename="{"x" * 5000}.stl"/></geometry>': 'is not there',
    '<geometry><mesh filename="http://x/y.stl"/></geometry>': 'is not there',
    '<geometry><mesh filename="good.obj" scale="1 1"/></geometry>': '<mesh>: scale is',
    '<geometry><mesh filename="good.obj" scale="1 1 0"/></geometry>': 'scale is zero',
    **{
        f'<geometry><mesh filename="{name}"/></geometry>': f"the mesh '{name}'"
        for name in FILES
        if name != 'good.obj'
    },
}  # fmt: skip
GREY = {
    f'{GOOD}<material><color rgba="nan 0 0 1"/></material>': '<color>: rgba is',
    f'{GOOD}<material><color rgba="1 0 0"/></material>': '<color>: rgba is',
    f'{GOOD}<material><color rgba="255 0 0 1"/></material>': 'expected 0 to 1',
    f'{GOOD}<material><color/></material>': '<color>: rgba is',
    f'{GOOD}<material name="gold"/>': "'gold' has no colour",
}


@pytest.mark.parametrize(('visual', 'said'), GREY.items())
def test_an_odd_colour_is_grey(visual, said, tmp_path) -> None:
    urdf = f'<robot name="r"><link name="a"><visual>{visual}</visual></link></robot>'
    (shape,), (sentence,) = shapes(urdf, tmp_path)
    assert shape.colour == (150, 150, 150)
    assert sentence.startswith('link a, visual 1: ') and said in sentence and 'grey' in sentence


def test_materials_are_known_by_name_wherever_they_stand() -> None:
    urdf = (
        '<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>'
        f'<link name="a"><visual>{GOOD}<material name="blue"/></visual>'
        f'<visual>{GOOD}<material name="red"/></visual></link>'
        f'<link name="b"><visual>{GOOD}<material name="blue"><color rgba="0 0 1 0.5"/></material>'
        '</visual></link></robot>'
    )
    found, doubts = shapes(urdf, pathlib.Path())
    assert [shape.colour for shape in found] == [(0, 0, 255), (255, 0, 0), (0, 0, 255)]
    assert not doubts


@pytest.fixture(scope='module')
def odd(tmp_path_factory):
    """A five-bar whose ground has all odd visuals, and two good ones at the end."""
    folder = tmp_path_factory.mktemp('odd') / 'robot'
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder.parent / 'secret.bin').write_bytes(np.zeros(9, np.float32).tobytes())
    source = samples.ROOT / 'test/mechanisms'
    shutil.copy(source / 'five_bar.yaml', folder)
    good = [GOOD, '<geometry><mesh filename="good.obj" scale="1 -1 1"/></geometry>']
    visuals = ''.join(f'<visual>{v}</visual>' for v in (*NOT_SHOWN, *GREY, *good))
    text = (source / 'five_bar.urdf.xacro').read_text()
    anchor = '<link name="ground"'
    assert anchor in text
    at = text.index(anchor)
    end = text.index('>', at)
    closed = text[end - 1] == '/'
    text = f'{text[: end - closed]}>{visuals}' + ('</link>' if closed else '') + text[end + 1 :]
    (folder / 'five_bar.urdf.xacro').write_text(text)
    return folder / 'five_bar.yaml'


def test_every_odd_visual_is_named_and_the_rest_is_shown(odd, tmp_path, capsys) -> None:
    from masticator_dynamics.robot.view.scene import Scene
    from masticator_dynamics.robot.view.server import serving

    with serving('127.0.0.1', 0) as server:
        scene = Scene(server.scene, Mechanism.load(odd))
        shown = {name for name in server.scene._handle_from_node_name if 'ground_' in name}
    assert len(shown) == len(GREY) + 2
    assert len(scene.missing) == len(NOT_SHOWN) + len(GREY)
    said = {text.split(': ', 1)[0]: text for text in scene.missing}
    for number, expected in enumerate((*NOT_SHOWN.values(), *GREY.values()), start=1):
        sentence = said[f'link ground, visual {number}']
        assert expected in sentence and '\n' not in sentence
        assert sentence.endswith('it is not shown' if number <= len(NOT_SHOWN) else 'in grey')
    motion, page = tmp_path / 'motion.csv', tmp_path / 'page.html'
    motion.write_text('time,x,y\n0,0,0.325\n0.1,0,0.325\n')
    assert main(['view', str(motion), '--mechanism', str(odd), '--html', str(page)]) == 0
    assert capsys.readouterr().err.splitlines() == scene.missing and page.exists()
