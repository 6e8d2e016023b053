// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef MASTICATOR_CONTROL__FEEDFORWARD_HPP_
#define MASTICATOR_CONTROL__FEEDFORWARD_HPP_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "masticator_control/mechanism.h"

namespace masticator_control {
/// A motion of a mechanism, in memory of its own: the pose from which the next search begins.
class Motion {
public:
  explicit Motion(const masticator_mechanism & mechanism)
  : memory_(new unsigned char[mechanism.motion_size]) {mechanism.at_home(memory_.get());}
  void * get() {return memory_.get();}
  const void * get() const {return memory_.get();}

private:
  std::unique_ptr<unsigned char[]> memory_;
};

/// Force (N) at a point of the platform, and torque (N m) about it. Axes and point are those of
/// the platform's frame or of the base.
struct Wrench {
  bool axes_on_platform = true, point_on_platform = true;
  std::array<double, 6> value{};
  std::array<double, 3> point{};
  double age = 0.0;          // s, when it was received
  std::uint64_t number = 0;  // of the message; 0: there was none
};

/// Joint by joint; NaN in all positions: no reference. Velocities and accelerations may be null
/// together: positions are then differentiated.
struct Reference {
  const double * position;
  const double * velocity;
  const double * acceleration;
};

struct Settings {
  std::vector<double> proportional;    // N m/rad or N/m, of each actuator
  std::vector<double> derivative;      // N m s/rad or N s/m
  std::vector<double> feedback_limit;  // largest effort of both together, N m or N
  double effort_limit_scale = 1.0;     // part of the mechanism's limits that may be used
  double closure_tolerance = 0.01;     // largest distance of a joint from the closed mechanism, rad or m
  double hold_time = 0.05;             // s for which the last efforts stand in for refused ones
  double ramp_time = 0.2;              // s from the efforts at activation to the controller's own
  double cutoff = 300.0;               // rad/s, of the filter that differentiates positions
  double wrench_timeout = 0.1;         // s
};

enum class Outcome { good, held, failed };

/// Why a row was refused.
enum class Reason { none, not_finite, unreachable, out_of_range, open_loops };

const char * text_of(Reason reason);

/// Efforts of the motors for a motion and load: the controller without ROS. step() neither allocates,
/// locks nor throws.
class Feedforward {
public:
  /// Throws std::invalid_argument naming the setting that does not fit the mechanism.
  Feedforward(const masticator_mechanism & mechanism, const Settings & settings, std::size_t wrenches);

  /// Begins at measured positions, at rest, and at efforts (NaN: 0); wrenches of before do not count.
  /// Returns what is wrong with the positions, or nothing.
  std::string start(const double * position, const double * effort, const Wrench * wrenches);

  /// Measured positions and velocities are read where there are gains. `wrenches` has the newest of
  /// each source; each counts until it is older than the time-out.
  Outcome step(
    const Reference & reference, const double * position, const double * velocity,
    const Wrench * wrenches, double period);

  /// Of the last step.
  const std::vector<double> & effort() const {return effort_;}
  const std::vector<double> & position() const {return position_;}
  const std::vector<double> & velocity() const {return velocity_;}
  const std::vector<double> & acceleration() const {return acceleration_;}
  const std::array<double, 6> & wrench() const {return wrench_;}  // base axes, platform's origin
  Reason reason() const {return reason_;}
  bool clamped() const {return clamped_;}
  std::size_t stale_wrenches() const {return stale_;}

private:
  struct Age { std::uint64_t number = 0; double age = 0.0; };

  Reason reference_motion(const Reference & reference, double period);
  void hold_position();
  void differentiate(const double * position, double period);
  void age_wrenches(const Wrench * wrenches, double period);
  bool fresh(const Age & age) const;
  bool sum_wrenches(const Wrench * wrenches);
  bool add_feedback(const double * position, const double * velocity);
  void ramp_and_clamp();
  Outcome refuse(Reason reason, double period);

  const masticator_mechanism & mechanism_;
  const Settings settings_;
  const std::size_t count_;
  Motion motion_;
  std::vector<double> position_, velocity_, acceleration_, smooth_;
  std::vector<double> computed_, effort_, first_;
  std::vector<Age> ages_;
  std::array<double, 6> wrench_{};
  std::size_t stale_ = 0;
  double held_ = 0.0, since_start_ = 0.0;
  Reason reason_ = Reason::none;
  bool clamped_ = false;
};

/// Index of a frame of the mechanism by name; nothing if it has none that is fixed to platform or base.
std::optional<std::size_t> frame_index(const masticator_mechanism & mechanism, const std::string & name);

/// A wrench given in the axes of a frame, its force acting at the origin of another.
Wrench placed(
  const masticator_mechanism & mechanism, std::size_t axes, std::size_t point,
  const std::array<double, 6> & given);
}  // namespace masticator_control

#endif  // MASTICATOR_CONTROL__FEEDFORWARD_HPP_
