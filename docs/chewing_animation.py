# Copyright 2026 The masticator_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Draw the jaw chewing, for the README: ``python docs/chewing_animation.py``.

The food's force on the jaw (red) and the sockets' on the condyles (green) are to scale, next to the
six torques that the stroke needs.
"""

import pathlib
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import trimesh
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from PIL import Image
from scipy.spatial.transform import Rotation

from masticator_dynamics import Mechanism
from masticator_dynamics.description.visuals import Shape, shapes
from masticator_dynamics.motion import bite_force, chewing_stroke

matplotlib.use('agg')
PICTURE = pathlib.Path(__file__).parent / 'images' / 'chewing.gif'
FRAMES, COLOURS, LIGHT = 30, 40, np.array([0.4, -0.7, 0.6])
LARGEST_FORCE, MM_PER_N = 100.0, 0.35
FOOD, SOCKET, TORQUE = '#d62728', '#2ca02c', '#1f4e79'


def triangles(shape: Shape) -> np.ndarray:
    """Corners (N, 3, 3) of a shape's faces in its link, mm."""
    if shape.kind == 'box':
        mesh = trimesh.creation.box(shape.size)
    elif shape.kind == 'cylinder':
        mesh = trimesh.creation.cylinder(shape.size[0], shape.size[1], sections=14)
    elif shape.kind == 'sphere':
        mesh = trimesh.creation.icosphere(1, shape.size[0])
    else:
        mesh = trimesh.load_mesh(shape.file)
        mesh.apply_scale(shape.size)
    turned = mesh.triangles @ Rotation.from_euler('xyz', shape.angles).as_matrix().T
    return 1e3 * (turned + shape.position)


class Picture:
    """The robot at a moment of the stroke, and its torques."""

    def __init__(self, robot: Mechanism):
        self.robot, described = robot, robot.description
        found, _ = shapes(described.urdf_xml, described.urdf_file.parent)
        self.parts = [(shape, triangles(shape)) for shape in found]
        path = chewing_stroke(strokes=1)
        self.time = np.linspace(0.0, 1.0, FRAMES, endpoint=False)
        y, y_dot, y_ddot = path.sample(self.time)
        food = bite_force(strokes=1, first=LARGEST_FORCE)
        self.bite = food.sample(self.time)  # base axes
        motions = [robot.solve(row) for row in y]
        wrenches = [
            robot.wrench_on_platform(motion, force, np.zeros(3), point=food.frame)
            for motion, force in zip(motions, self.bite, strict=True)
        ]
        self.effort = robot.feedforward_batch(y, y_dot, y_ddot, np.array(wrenches))
        self.figure = plt.figure(figsize=(7.2, 3.6), dpi=80)
        self.scene = self.figure.add_axes(
            (-0.06, -0.08, 0.72, 1.16), projection='3d', computed_zorder=False
        )
        self.bars = self.figure.add_axes((0.70, 0.16, 0.27, 0.68))

    def draw(self, frame: int) -> None:
        """One frame."""
        q, tree = self.effort.q[frame], self.robot.structure.tree
        poses = tree.poses(q)
        faces, colours = [], []
        for shape, corners in self.parts:
            place = tree.frames[shape.link]
            turn = poses.rotations[place.body] @ place.rotation
            moved = corners @ turn.T + 1e3 * poses.point(place.body, place.position)
            normal = np.cross(moved[:, 1] - moved[:, 0], moved[:, 2] - moved[:, 0])
            normal /= np.linalg.norm(normal, axis=1, keepdims=True) + 1e-12
            shade = 0.62 + 0.38 * np.clip(normal @ LIGHT, -0.6, 1.0)
            faces.append(moved)
            colours.append(np.clip(np.outer(shade, np.array(shape.colour) / 255.0), 0.0, 1.0))
        self.scene.cla()
        self.scene.set_axis_off()
        self.scene.add_collection3d(
            Poly3DCollection(
                np.concatenate(faces), facecolors=np.concatenate(colours), linewidth=0.0, zorder=1
            )
        )
        self._arrow(q, 'molar_left', self.bite[frame], FOOD)
        for name, force in zip(self.robot.contacts, self.effort.contact_force[frame], strict=True):
            self._arrow(q, name, force, SOCKET)
        self.scene.set(xlim=(-45, 75), ylim=(-80, 80), zlim=(-75, 45))
        self.scene.set_box_aspect((120, 160, 120), zoom=1.1)
        self.scene.view_init(elev=12, azim=-38)
        self.bars.cla()
        names = [name.replace('_', ' ') for name in self.robot.actuated]
        self.bars.barh(names[::-1], self.effort.actuated[frame][::-1], color=TORQUE)
        largest = 1.1 * np.abs(self.effort.actuated).max()
        self.bars.set(xlim=(-largest, largest), xlabel='torque, N m')
        self.bars.set_title(
            f'food {np.linalg.norm(self.bite[frame]):.0f} N', color=FOOD, fontsize=10
        )
        self.bars.tick_params(labelsize=8)

    def _arrow(self, q: np.ndarray, frame: str, force: np.ndarray, colour: str) -> None:
        """From its tail to the point where it acts."""
        place = self.robot.structure.tree.frames[frame]
        point = 1e3 * self.robot.structure.tree.poses(q).point(place.body, place.position)
        vector = MM_PER_N * force
        self.scene.quiver(*(point - vector), *vector, color=colour, linewidth=2.5, zorder=10)


def main() -> None:
    """Write the animation, in few colours: it is the first thing that a reader downloads."""
    picture = Picture(Mechanism.load('masticator'))
    frames = []
    for frame in range(FRAMES):
        picture.draw(frame)
        picture.figure.canvas.draw()
        image = Image.fromarray(np.asarray(picture.figure.canvas.buffer_rgba())[..., :3])
        frames.append(image.quantize(COLOURS, dither=Image.Dither.NONE))
    first, *others = frames
    first.save(PICTURE, save_all=True, append_images=others, duration=1000 // FRAMES, loop=0)


if __name__ == '__main__':
    warnings.simplefilter('ignore')
    main()
