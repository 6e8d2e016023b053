// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef MASTICATOR_CONTROL__FEEDFORWARD_HPP_
#define MASTICATOR_CONTROL__FEEDFORWARD_HPP_

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "masticator_control/mechanism.h"

namespace masticator_control {
/// Force (N) and torque (N m) on the platform: axes of one of the mechanism's frames, at the origin
/// of another.
struct Wrench {
  int axes = 0, point = 0;  // indices of these frames
  std::array<double, 6> value{};
  double age = 0.0;          // s
  std::uint64_t number = 0;  // of the message; 0: there was none
};

struct Settings {
  std::vector<double> proportional;    // N m/rad or N/m, of each actuator
  std::vector<double> derivative;      // N m s/rad or N s/m
  std::vector<double> feedback_limit;  // largest effort of both together, N m or N
  double closure_tolerance = 0.01;     // largest distance of a joint from the closed mechanism, rad or m
  double least_conditioning = 0.02;    // how well motors determine the pose, 1: as at home, 0: not at all
  double largest_step = 0.1;           // of a joint from the last reference, rad or part of its travel
  double hold_time = 0.05;             // s for which the last efforts stand in for refused ones
  double ramp_time = 0.2;              // s from the efforts at activation to the controller's own
  double cutoff = 300.0;               // rad/s, of the filter that differentiates positions
  double wrench_timeout = 0.1;         // s
};

/// Efforts of the motors for a motion and load: the controller without ROS. step() neither allocates,
/// locks nor throws.
class Feedforward {
public:
  Feedforward(const masticator_mechanism & mechanism, const Settings & settings, std::size_t wrenches)
  : mechanism_(mechanism), settings_(settings), count_(static_cast<std::size_t>(mechanism.actuators)),
    row_(blank()), next_(blank()), computed_(count_), effort_(count_), first_(count_),
    wrenches_(wrenches) {}

  /// The newest wrench of a source; it counts until it is older than the time-out.
  void take(std::size_t source, const Wrench & wrench) {
    if (wrench.number != wrenches_[source].number) {wrenches_[source] = wrench;}
  }

  /// Begins at measured positions, at rest, and at efforts (NaN: 0); wrenches of before do not count.
  /// Returns what is wrong with the positions, or nothing. Not for the cycle: it allocates.
  std::string start(const double * position, const double * effort) {
    if (!finite(position, count_)) {return kNotFinite;}
    row_ = blank();
    row_.position.assign(position, position + count_);
    row_.smooth = row_.position;
    const std::string problem = fit(row_);
    if (problem == kOpen) {
      const double * off = mechanism_.off(row_.motion.data());
      const auto nearer = [](double a, double b) {return std::abs(a) < std::abs(b);};
      const auto farthest = std::max_element(off, off + count_, nearer);
      return problem + ": " + mechanism_.actuator_names[farthest - off] + " is off by " +
             std::to_string(*farthest) + " rad or m";
    }
    if (!problem.empty()) {return problem;}
    for (std::size_t i = 0; i < count_; ++i) {first_[i] = std::isfinite(effort[i]) ? effort[i] : 0.0;}
    effort_ = first_;
    for (Wrench & wrench : wrenches_) {wrench.age = HUGE_VAL;}
    held_ = since_start_ = 0.0;
    refusal_ = "";
    return "";
  }

  /// The reference is positions, velocities and accelerations (3 n_u). NaN in all positions: there is
  /// none, the last one is held at rest; in all velocities or accelerations: positions are
  /// differentiated. Measured positions and velocities are read where there are gains. A refused
  /// reference leaves all as it is; returns false once that has lasted for longer than the hold time.
  bool step(const double * reference, const double * position, const double * velocity, double period) {
    refusal_ = compute(reference, position, velocity, period);
    const bool good = *refusal_ == '\0';
    if (good) {
      std::swap(row_, next_);
      ramp_and_clamp();
    }
    for (Wrench & wrench : wrenches_) {wrench.age += period;}
    held_ = good ? 0.0 : held_ + period;
    since_start_ += period;
    return held_ <= settings_.hold_time;
  }

  /// Of the last step that was not refused.
  const std::vector<double> & position() const {return row_.position;}
  const std::vector<double> & velocity() const {return row_.velocity;}
  const std::vector<double> & acceleration() const {return row_.acceleration;}
  const std::vector<double> & effort() const {return effort_;}
  bool clamped() const {return clamped_;}

  /// Of the last step: why it was refused, "" if it was not.
  const char * refusal() const {return refusal_;}
  /// Wrenches that came, and no longer do.
  std::size_t stale_wrenches() const {
    return std::count_if(wrenches_.begin(), wrenches_.end(), [this](const Wrench & wrench) {
        return wrench.number != 0 && wrench.age > settings_.wrench_timeout;
      });
  }

private:
  static constexpr char kNotFinite[] = "not finite";
  static constexpr char kOutOfReach[] = "out of reach or near a singularity";
  static constexpr char kOpen[] = "the loops do not close";

  struct Row {
    std::vector<unsigned char> motion;  // as the mechanism has it
    std::vector<double> position, velocity, acceleration, smooth;
  };

  static bool finite(const double * x, std::size_t count) {
    return std::all_of(x, x + count, [](double value) {return std::isfinite(value);});
  }

  static bool missing(const double * x, std::size_t count) {
    return std::all_of(x, x + count, [](double value) {return std::isnan(value);});
  }

  const char * compute(
    const double * reference, const double * position, const double * velocity, double period) {
    if (!next_row(reference, period)) {return kNotFinite;}
    next_.motion = row_.motion;
    const char * problem = fit(next_);
    void * motion = next_.motion.data();
    if (*problem != '\0') {return problem;}
    if (!(mechanism_.change(motion) <= settings_.largest_step)) {return "too far from the last pose";}
    if (add_wrenches() != 0 || mechanism_.efforts(motion, wrench_.data(), computed_.data()) != 0) {
      return kOutOfReach;
    }
    return add_feedback(position, velocity) ? "" : kNotFinite;
  }

  // The search begins at the row's motion.
  const char * fit(Row & row) {
    void * motion = row.motion.data();
    const int status = mechanism_.fit(
      row.position.data(), row.velocity.data(), row.acceleration.data(), motion);
    if (status == 2) {return "outside the ranges of joints";}
    if (status == 1 || !(mechanism_.conditioning(motion) >= settings_.least_conditioning)) {return kOutOfReach;}
    return mechanism_.residual(motion) <= settings_.closure_tolerance ? "" : kOpen;
  }

  Row blank() const {
    const std::vector<double> zeros(count_);
    Row row{std::vector<unsigned char>(mechanism_.motion_size), zeros, zeros, zeros, zeros};
    mechanism_.at_home(row.motion.data());
    return row;
  }

  bool next_row(const double * reference, double period) {
    const double * rates[] = {reference + count_, reference + 2 * count_};
    if (missing(reference, count_)) {
      std::copy(row_.position.begin(), row_.position.end(), next_.position.begin());
      for (auto * rate : {&next_.velocity, &next_.acceleration}) {std::fill(rate->begin(), rate->end(), 0.0);}
    } else if (!finite(reference, count_)) {
      return false;
    } else {
      std::copy_n(reference, count_, next_.position.begin());
      if (missing(rates[0], count_) || missing(rates[1], count_)) {
        differentiate(period);
        return true;
      }
      std::copy_n(rates[0], count_, next_.velocity.begin());
      std::copy_n(rates[1], count_, next_.acceleration.begin());
    }
    std::copy(next_.position.begin(), next_.position.end(), next_.smooth.begin());
    return finite(next_.velocity.data(), count_) && finite(next_.acceleration.data(), count_);
  }

  // Critically damped, of second order; beyond half a radian in a cycle it would not be stable.
  void differentiate(double period) {
    const double omega = period > 0.0 ? std::min(settings_.cutoff, 0.5 / period) : 0.0;
    for (std::size_t i = 0; i < count_; ++i) {
      next_.acceleration[i] =
        omega * (omega * (next_.position[i] - row_.smooth[i]) - 2.0 * row_.velocity[i]);
      next_.velocity[i] = row_.velocity[i] + next_.acceleration[i] * period;
      next_.smooth[i] = row_.smooth[i] + next_.velocity[i] * period;
    }
  }

  int add_wrenches() {
    int status = 0;
    wrench_.fill(0.0);
    for (const Wrench & wrench : wrenches_) {
      if (status != 0 || wrench.number == 0 || wrench.age > settings_.wrench_timeout) {continue;}
      status = mechanism_.add_wrench(
        next_.motion.data(), wrench.axes, wrench.point, wrench.value.data(), wrench_.data());
    }
    return status;
  }

  bool add_feedback(const double * position, const double * velocity) {
    const auto times = [](double gain, double error) {return gain > 0.0 ? gain * error : 0.0;};
    for (std::size_t i = 0; i < count_; ++i) {
      const double wanted = times(settings_.proportional[i], next_.position[i] - position[i]) +
        times(settings_.derivative[i], next_.velocity[i] - velocity[i]);
      if (!std::isfinite(wanted)) {return false;}
      const double limit = settings_.feedback_limit[i];
      computed_[i] += std::clamp(wanted, -limit, limit);
    }
    return true;
  }

  void ramp_and_clamp() {
    const double part = since_start_ < settings_.ramp_time ? since_start_ / settings_.ramp_time : 1.0;
    clamped_ = false;
    for (std::size_t i = 0; i < count_; ++i) {
      const double wanted = part < 1.0 ? first_[i] + part * (computed_[i] - first_[i]) : computed_[i];
      effort_[i] = std::clamp(wanted, mechanism_.effort_lower[i], mechanism_.effort_upper[i]);
      clamped_ = clamped_ || effort_[i] != wanted;
    }
  }

  const masticator_mechanism & mechanism_;
  const Settings settings_;
  const std::size_t count_;
  Row row_, next_;
  std::vector<double> computed_, effort_, first_;
  std::vector<Wrench> wrenches_;
  std::array<double, 6> wrench_{};
  double held_ = 0.0, since_start_ = 0.0;
  const char * refusal_ = "";
  bool clamped_ = false;
};
}  // namespace masticator_control

#endif  // MASTICATOR_CONTROL__FEEDFORWARD_HPP_
