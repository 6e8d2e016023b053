// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The floor: the masticator's minimum-norm torques written by hand for this one mechanism. Closed
// form for contacts and cranks, force balance by virtual power, 4 x 4 Cholesky for the least norm.
// It gives torques only: no contact forces, no tree positions, no refusals.
// Compiled by floor.py with -O3; loops over the six limbs are left to the vectoriser.

#include <cmath>

namespace {

constexpr int LIMBS = 6, FREEDOMS = 4;

struct Vector {
  double x, y, z;
};

inline Vector operator+(Vector a, Vector b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vector operator-(Vector a, Vector b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vector operator*(double s, Vector a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vector cross(Vector a, Vector b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// Field by field as written by floor.py.
struct Geometry {
  Vector shaft[LIMBS], crank_x[LIMBS], crank_y[LIMBS], crank_z[LIMBS], joint[LIMBS];
  double crank_length[LIMBS], coupler_length[LIMBS], crank_inertia[LIMBS], coupler_mass[LIMBS];
  double branch[LIMBS];
  Vector condyle, normal;
  double offset, mass;
  double inertia[3][3];
  Vector gravity;
};

struct State {
  double y[FREEDOMS], y_dot[FREEDOMS], y_ddot[FREEDOMS];
  Vector force, torque;
};

// Pose and motion of the mandible; turn and shift are the columns of its twist map.
struct Platform {
  Vector position, x_axis, y_axis, z_axis;
  Vector turn[FREEDOMS], shift[FREEDOMS];
  Vector velocity, omega, acceleration, omega_dot;
};

inline Platform close_contacts(const Geometry& g, const State& s) {
  const Vector n = g.normal;
  const double sa = std::sin(s.y[2]), ca = std::cos(s.y[2]);
  const double sb = std::sin(s.y[3]), cb = std::cos(s.y[3]);
  const Vector first{1, 0, 0}, second{0, ca, sa}, untwisted{cb, sa * sb, -ca * sb};
  Platform p;
  p.z_axis = {sb, -sa * cb, ca * cb};
  const double sine = dot(n, second), cosine = dot(n, untwisted);
  const double length = std::sqrt(sine * sine + cosine * cosine);
  p.x_axis = (cosine / length) * untwisted + (sine / length) * second;
  p.y_axis = (cosine / length) * second - (sine / length) * untwisted;
  const double along = 1.0 / dot(n, p.x_axis);
  const double gamma_a = dot(n, cross(first, p.y_axis)) * along;
  const double gamma_b = dot(n, cross(second, p.y_axis)) * along;
  const Vector arm = g.condyle.x * p.x_axis + g.condyle.y * p.y_axis + g.condyle.z * p.z_axis;
  const double nz = 1.0 / n.z;
  p.position = {s.y[0], s.y[1], -nz * (n.x * s.y[0] + n.y * s.y[1] + dot(n, arm) + g.offset)};

  p.turn[0] = p.turn[1] = {0, 0, 0};
  p.turn[2] = first + gamma_a * p.z_axis;
  p.turn[3] = second + gamma_b * p.z_axis;
  p.shift[0] = {1, 0, -nz * n.x};
  p.shift[1] = {0, 1, -nz * n.y};
  p.shift[2] = {0, 0, -nz * dot(n, cross(p.turn[2], arm))};
  p.shift[3] = {0, 0, -nz * dot(n, cross(p.turn[3], arm))};
  p.velocity = p.omega = {0, 0, 0};
  for (int k = 0; k < FREEDOMS; ++k) {
    p.velocity = p.velocity + s.y_dot[k] * p.shift[k];
    p.omega = p.omega + s.y_dot[k] * p.turn[k];
  }
  const double a_dot = s.y_dot[2], b_dot = s.y_dot[3];
  const double gamma_dot = gamma_a * a_dot + gamma_b * b_dot;
  Vector bias = (a_dot * b_dot) * cross(first, second) +
                gamma_dot * cross(a_dot * first + b_dot * second, p.z_axis);
  const Vector turned = cross(bias, p.y_axis) + cross(p.omega, cross(p.omega, p.y_axis));
  bias = bias + (dot(n, turned) * along) * p.z_axis;
  p.omega_dot = bias;
  p.acceleration = {0, 0, -nz * dot(n, cross(bias, arm) + cross(p.omega, cross(p.omega, arm)))};
  for (int k = 0; k < FREEDOMS; ++k) {
    p.acceleration = p.acceleration + s.y_ddot[k] * p.shift[k];
    p.omega_dot = p.omega_dot + s.y_ddot[k] * p.turn[k];
  }
  return p;
}

// Force and torque about the origin that the mandible requires, minus the environment's wrench.
inline void platform_load(
    const Geometry& g, const State& s, const Platform& p, Vector& force, Vector& torque) {
  const Vector w{dot(p.x_axis, p.omega), dot(p.y_axis, p.omega), dot(p.z_axis, p.omega)};
  const Vector d{dot(p.x_axis, p.omega_dot), dot(p.y_axis, p.omega_dot), dot(p.z_axis, p.omega_dot)};
  const auto& i = g.inertia;
  const Vector momentum{i[0][0] * w.x + i[0][1] * w.y + i[0][2] * w.z,
                        i[1][0] * w.x + i[1][1] * w.y + i[1][2] * w.z,
                        i[2][0] * w.x + i[2][1] * w.y + i[2][2] * w.z};
  const Vector change{i[0][0] * d.x + i[0][1] * d.y + i[0][2] * d.z,
                      i[1][0] * d.x + i[1][1] * d.y + i[1][2] * d.z,
                      i[2][0] * d.x + i[2][1] * d.y + i[2][2] * d.z};
  const Vector m = change + cross(w, momentum);
  torque = m.x * p.x_axis + m.y * p.y_axis + m.z * p.z_axis - s.torque;
  force = g.mass * (p.acceleration - g.gravity) - s.force;
}

// Least-norm solution of transpose(jacobian) effort = load.
inline void least_norm(const double (&jacobian)[FREEDOMS][LIMBS], double* load, double* effort) {
  double l[FREEDOMS][FREEDOMS];
  for (int r = 0; r < FREEDOMS; ++r) {
    for (int c = 0; c <= r; ++c) {
      double sum = 0;
      for (int i = 0; i < LIMBS; ++i) sum += jacobian[r][i] * jacobian[c][i];
      for (int k = 0; k < c; ++k) sum -= l[r][k] * l[c][k];
      l[r][c] = r == c ? 1.0 / std::sqrt(sum) : sum * l[c][c];  // inverse on the diagonal
    }
  }
  for (int r = 0; r < FREEDOMS; ++r) {
    for (int k = 0; k < r; ++k) load[r] -= l[r][k] * load[k];
    load[r] *= l[r][r];
  }
  for (int r = FREEDOMS - 1; r >= 0; --r) {
    for (int k = r + 1; k < FREEDOMS; ++k) load[r] -= l[k][r] * load[k];
    load[r] *= l[r][r];
  }
  for (int i = 0; i < LIMBS; ++i) {
    effort[i] = 0;
    for (int k = 0; k < FREEDOMS; ++k) effort[i] += jacobian[k][i] * load[k];
  }
}

inline void evaluate(const Geometry& g, const State& s, double* effort) {
  const Platform p = close_contacts(g, s);
  Vector force, torque;
  platform_load(g, s, p, force, torque);
  double jacobian[FREEDOMS][LIMBS], on_crank[LIMBS];
  Vector tip_force[LIMBS], tip_torque[LIMBS];
  for (int i = 0; i < LIMBS; ++i) {
    const Vector joint = g.joint[i];
    const Vector arm = joint.x * p.x_axis + joint.y * p.y_axis + joint.z * p.z_axis;
    const Vector arm_dot = cross(p.omega, arm);
    const Vector joint_dot = p.velocity + arm_dot;
    const Vector joint_ddot = p.acceleration + cross(p.omega_dot, arm) + cross(p.omega, arm_dot);

    const Vector reach = p.position + arm - g.shaft[i];
    const double r = g.crank_length[i], l = g.coupler_length[i];
    const double a = dot(reach, g.crank_x[i]), b = dot(reach, g.crank_y[i]);
    const double c = (dot(reach, reach) + r * r - l * l) / (2.0 * r);
    const double square = 1.0 / (a * a + b * b);
    const double root = g.branch[i] * std::sqrt(a * a + b * b - c * c);
    const double cosine = (a * c - b * root) * square, sine = (b * c + a * root) * square;
    const Vector crank = r * (cosine * g.crank_x[i] + sine * g.crank_y[i]);
    const Vector lever = r * (cosine * g.crank_y[i] - sine * g.crank_x[i]);

    const Vector coupler = reach - crank;
    const double gain = 1.0 / dot(coupler, lever);
    const double rate = dot(coupler, joint_dot) * gain;
    const Vector coupler_dot = joint_dot - rate * lever;
    const double bend = dot(coupler_dot, coupler_dot) + rate * rate * dot(coupler, crank);
    const double rate_dot = (dot(coupler, joint_ddot) + bend) * gain;

    // The ends of a uniform rod carry a third of its mass each, coupled by a sixth.
    const Vector pin = rate_dot * lever - (rate * rate) * crank - g.gravity;
    const Vector tip = joint_ddot - g.gravity;
    const double sixth = g.coupler_mass[i] / 6.0;
    tip_force[i] = sixth * (pin + 2.0 * tip);
    tip_torque[i] = cross(arm, tip_force[i]);
    on_crank[i] = g.crank_inertia[i] * rate_dot + sixth * dot(lever, 2.0 * pin + tip);
    const Vector push = gain * coupler, twist = gain * cross(arm, coupler);
    for (int k = 0; k < FREEDOMS; ++k)
      jacobian[k][i] = dot(push, p.shift[k]) + dot(twist, p.turn[k]);
  }
  for (int i = 0; i < LIMBS; ++i) {
    force = force + tip_force[i];
    torque = torque + tip_torque[i];
  }
  double load[FREEDOMS];
  for (int k = 0; k < FREEDOMS; ++k) {
    load[k] = dot(p.shift[k], force) + dot(p.turn[k], torque);
    for (int i = 0; i < LIMBS; ++i) load[k] += jacobian[k][i] * on_crank[i];
  }
  least_norm(jacobian, load, effort);
}

}  // namespace

// Rows of y, y_dot, y_ddot, wrench (18 numbers) to rows of six torques.
extern "C" void torques(const double* geometry, long rows, const double* states, double* efforts) {
  const auto& g = *reinterpret_cast<const Geometry*>(geometry);
  for (long row = 0; row < rows; ++row)
    evaluate(g, reinterpret_cast<const State*>(states)[row], efforts + LIMBS * row);
}
