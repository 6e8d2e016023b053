// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "masticator_control/feedforward.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace masticator_control {
namespace {
using Vector3 = std::array<double, 3>;

bool finite(const double * x, std::size_t count) {
  return std::all_of(x, x + count, [](double value) {return std::isfinite(value);});
}

void check(const std::vector<double> & values, std::size_t count, const std::string & name) {
  const auto wrong = [](double x) {return !(x >= 0.0);};
  if (values.size() != count || std::any_of(values.begin(), values.end(), wrong)) {
    throw std::invalid_argument(name + ": needs a number for each actuator, none below 0");
  }
}

Vector3 turned(const double * rotation, const double * x) {
  Vector3 result;
  for (std::size_t i = 0; i < 3; ++i) {
    result[i] = rotation[3 * i] * x[0] + rotation[3 * i + 1] * x[1] + rotation[3 * i + 2] * x[2];
  }
  return result;
}

Vector3 cross(const Vector3 & a, const Vector3 & b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Adds a wrench in base axes about the platform's origin.
void add(std::array<double, 6> & sum, const Wrench & wrench, const double * rotation, const double * origin) {
  static constexpr double same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double * axes = wrench.axes_on_platform ? rotation : same;
  const Vector3 force = turned(axes, wrench.value.data()), torque = turned(axes, wrench.value.data() + 3);
  Vector3 arm = wrench.point;
  if (wrench.point_on_platform) {
    arm = turned(rotation, arm.data());
  } else {
    for (std::size_t i = 0; i < 3; ++i) {arm[i] -= origin[i];}
  }
  const Vector3 moment = cross(arm, force);
  for (std::size_t i = 0; i < 3; ++i) {
    sum[i] += force[i];
    sum[i + 3] += torque[i] + moment[i];
  }
}
}  // namespace

const char * text_of(Reason reason) {
  static constexpr const char * texts[] = {
    "", "a reference or measurement is not finite", "the reference is out of reach or near a singularity",
    "the reference is outside the ranges of joints", "the reference does not close the loops"};
  return texts[static_cast<std::size_t>(reason)];
}

Feedforward::Feedforward(
  const masticator_mechanism & mechanism, const Settings & settings, std::size_t wrenches)
: mechanism_(mechanism), settings_(settings), count_(static_cast<std::size_t>(mechanism.actuators)),
  motion_(mechanism), position_(count_), velocity_(count_), acceleration_(count_), smooth_(count_),
  computed_(count_), effort_(count_), first_(count_), ages_(wrenches) {
  check(settings.proportional, count_, "gains.proportional");
  check(settings.derivative, count_, "gains.derivative");
  check(settings.feedback_limit, count_, "gains.limit");
}

std::string Feedforward::start(
  const double * position, const double * effort, const Wrench * wrenches) {
  if (!finite(position, count_)) {return "a measured position is not finite";}
  std::copy(position, position + count_, position_.begin());
  hold_position();
  mechanism_.at_home(motion_.get());
  const int status = mechanism_.fit(position, velocity_.data(), velocity_.data(), motion_.get());
  if (status != 0) {
    return std::string("the measured positions are ") +
           (status == 1 ? "out of reach or near a singularity" : "outside the ranges of joints");
  }
  if (!(mechanism_.residual(motion_.get()) <= settings_.closure_tolerance)) {
    const double * off = mechanism_.off(motion_.get());
    const auto farther = [](double a, double b) {return std::abs(a) < std::abs(b);};
    const auto farthest = std::max_element(off, off + count_, farther);
    return std::string("the measured positions do not close the loops: ") +
           mechanism_.actuator_names[farthest - off] + " is off by " + std::to_string(*farthest) +
           " rad or m, more than closure_tolerance";
  }
  for (std::size_t i = 0; i < count_; ++i) {first_[i] = std::isfinite(effort[i]) ? effort[i] : 0.0;}
  effort_ = first_;
  for (std::size_t i = 0; i < ages_.size(); ++i) {ages_[i] = {wrenches[i].number, HUGE_VAL};}
  held_ = since_start_ = 0.0;
  reason_ = Reason::none;
  return "";
}

Outcome Feedforward::step(
  const Reference & reference, const double * position, const double * velocity,
  const Wrench * wrenches, double period) {
  age_wrenches(wrenches, period);
  const Reason reason = reference_motion(reference, period);
  if (reason != Reason::none) {return refuse(reason, period);}
  int status = mechanism_.fit(position_.data(), velocity_.data(), acceleration_.data(), motion_.get());
  if (status == 0) {
    if (!(mechanism_.residual(motion_.get()) <= settings_.closure_tolerance)) {
      return refuse(Reason::open_loops, period);
    }
    if (!sum_wrenches(wrenches)) {return refuse(Reason::unreachable, period);}
    status = mechanism_.efforts(motion_.get(), wrench_.data(), computed_.data());
  }
  if (status != 0) {return refuse(status == 2 ? Reason::out_of_range : Reason::unreachable, period);}
  if (!add_feedback(position, velocity)) {return refuse(Reason::not_finite, period);}
  ramp_and_clamp();
  since_start_ += period;
  held_ = 0.0;
  reason_ = Reason::none;
  return Outcome::good;
}

Reason Feedforward::reference_motion(const Reference & reference, double period) {
  const auto missing = [](double x) {return std::isnan(x);};
  if (std::all_of(reference.position, reference.position + count_, missing)) {
    hold_position();
    return Reason::none;
  }
  if (!finite(reference.position, count_)) {return Reason::not_finite;}
  if (reference.velocity == nullptr) {
    differentiate(reference.position, period);
  } else {
    if (!finite(reference.velocity, count_) || !finite(reference.acceleration, count_)) {
      return Reason::not_finite;
    }
    std::copy_n(reference.velocity, count_, velocity_.begin());
    std::copy_n(reference.acceleration, count_, acceleration_.begin());
  }
  std::copy_n(reference.position, count_, position_.begin());
  return Reason::none;
}

void Feedforward::hold_position() {
  std::fill(velocity_.begin(), velocity_.end(), 0.0);
  std::fill(acceleration_.begin(), acceleration_.end(), 0.0);
  std::copy(position_.begin(), position_.end(), smooth_.begin());
}

// Critically damped, of second order; beyond half a radian in a cycle it would not be stable.
void Feedforward::differentiate(const double * position, double period) {
  const double omega = period > 0.0 ? std::min(settings_.cutoff, 0.5 / period) : 0.0;
  for (std::size_t i = 0; i < count_; ++i) {
    acceleration_[i] = omega * (omega * (position[i] - smooth_[i]) - 2.0 * velocity_[i]);
    velocity_[i] += acceleration_[i] * period;
    smooth_[i] += velocity_[i] * period;
  }
}

void Feedforward::age_wrenches(const Wrench * wrenches, double period) {
  stale_ = 0;
  for (std::size_t i = 0; i < ages_.size(); ++i) {
    Age & age = ages_[i];
    age.age = age.number == wrenches[i].number ? age.age + period : wrenches[i].age;
    age.number = wrenches[i].number;
    stale_ += age.number != 0 && !fresh(age);
  }
}

bool Feedforward::fresh(const Age & age) const {
  return age.number != 0 && age.age <= settings_.wrench_timeout;
}

bool Feedforward::sum_wrenches(const Wrench * wrenches) {
  double rotation[9], origin[3];
  bool known = false;
  wrench_.fill(0.0);
  for (std::size_t i = 0; i < ages_.size(); ++i) {
    if (!fresh(ages_[i])) {continue;}
    if (!known && mechanism_.platform(motion_.get(), rotation, origin) == 1) {return false;}
    known = true;
    add(wrench_, wrenches[i], rotation, origin);
  }
  return true;
}

bool Feedforward::add_feedback(const double * position, const double * velocity) {
  const auto times = [](double gain, double error) {return gain > 0.0 ? gain * error : 0.0;};
  for (std::size_t i = 0; i < count_; ++i) {
    const double wanted = times(settings_.proportional[i], position_[i] - position[i]) +
      times(settings_.derivative[i], velocity_[i] - velocity[i]);
    if (!std::isfinite(wanted)) {return false;}
    const double limit = settings_.feedback_limit[i];
    computed_[i] += std::clamp(wanted, -limit, limit);
  }
  return true;
}

void Feedforward::ramp_and_clamp() {
  const double part = since_start_ < settings_.ramp_time ? since_start_ / settings_.ramp_time : 1.0;
  const double scale = settings_.effort_limit_scale;
  clamped_ = false;
  for (std::size_t i = 0; i < count_; ++i) {
    const double wanted = part < 1.0 ? first_[i] + part * (computed_[i] - first_[i]) : computed_[i];
    effort_[i] = std::clamp(wanted, scale * mechanism_.effort_lower[i], scale * mechanism_.effort_upper[i]);
    clamped_ = clamped_ || effort_[i] != wanted;
  }
}

Outcome Feedforward::refuse(Reason reason, double period) {
  reason_ = reason;
  held_ += period;
  since_start_ += period;
  return held_ > settings_.hold_time ? Outcome::failed : Outcome::held;
}

std::optional<std::size_t> frame_index(const masticator_mechanism & mechanism, const std::string & name) {
  for (int i = 0; i < mechanism.frames; ++i) {
    if (name == mechanism.frame_names[i]) {return static_cast<std::size_t>(i);}
  }
  return std::nullopt;
}

Wrench placed(
  const masticator_mechanism & mechanism, std::size_t axes, std::size_t point,
  const std::array<double, 6> & given) {
  Wrench wrench;
  wrench.axes_on_platform = mechanism.frame_on_platform[axes] != 0;
  wrench.point_on_platform = mechanism.frame_on_platform[point] != 0;
  const double * rotation = mechanism.frame_rotation + 9 * axes;
  const Vector3 force = turned(rotation, given.data()), torque = turned(rotation, given.data() + 3);
  std::copy(force.begin(), force.end(), wrench.value.begin());
  std::copy(torque.begin(), torque.end(), wrench.value.begin() + 3);
  std::copy_n(mechanism.frame_origin + 3 * point, 3, wrench.point.begin());
  return wrench;
}
}  // namespace masticator_control
