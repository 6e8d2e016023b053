// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "feedforward_controller.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "masticator_control/library.hpp"

namespace masticator_control {
namespace {
using controller_interface::InterfaceConfiguration;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargest = 1e6;  // N and N m; more is not a measurement
constexpr double kTwoPi = 6.283185307179586;

using Names = std::vector<std::string>;

bool contains(const Names & names, const std::string & name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

InterfaceConfiguration interfaces(const Names & joints, const Names & kinds) {
  InterfaceConfiguration configuration{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & kind : kinds) {
    for (const auto & joint : joints) {configuration.names.push_back(joint + "/" + kind);}
  }
  return configuration;
}

}  // namespace

controller_interface::CallbackReturn FeedforwardController::on_init() {
  try {
    parameter_listener_ = std::make_shared<::feedforward_controller::ParamListener>(get_node());
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn FeedforwardController::on_configure(const rclcpp_lifecycle::State &) {
  try {
    parameters_ = parameter_listener_->get_params();
    mechanism_ = load_mechanism(parameters_.mechanism);
    count_ = static_cast<std::size_t>(mechanism_->actuators);
    check_parameters();
    const std::size_t sources = 1 + static_cast<std::size_t>(mechanism_->frames);
    feedforward_ = std::make_unique<Feedforward>(*mechanism_, settings(), sources);
    received_wrenches_ = std::vector<realtime_tools::RealtimeBuffer<Wrench>>(sources);
    wrenches_.assign(sources, Wrench{});
  } catch (const std::exception & error) {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  measured_.assign(count_, kUnknown);
  rates_.assign(count_, 0.0);
  subscribe();
  state_publisher_ = std::make_unique<realtime_tools::RealtimePublisher<State>>(
    get_node()->create_publisher<State>("~/state", rclcpp::SystemDefaultsQoS()));
  State & state = state_publisher_->msg_;
  state.joint_names = joints_;
  for (Point * point : {&state.reference, &state.feedback, &state.output}) {
    for (auto * part : {&point->positions, &point->velocities, &point->accelerations, &point->effort}) {
      part->assign(count_, kUnknown);
    }
  }
  diagnostics_ = std::make_unique<diagnostic_updater::Updater>(get_node());
  diagnostics_->setHardwareID("none");
  diagnostics_->add("feedforward", this, &FeedforwardController::diagnose);
  return CallbackReturn::SUCCESS;
}

void FeedforwardController::check_parameters() {
  const auto refuse = [](const std::string & text) {throw std::invalid_argument(text);};
  const Names names(mechanism_->actuator_names, mechanism_->actuator_names + count_);
  joints_ = parameters_.joints.empty() ? names : parameters_.joints;
  if (joints_.size() != count_) {
    refuse("joints: " + std::to_string(joints_.size()) + " names; mechanism " + mechanism_->name +
      " has " + std::to_string(count_) + " motors");
  }
  for (std::size_t i = 0; i < count_; ++i) {
    const std::string & joint = joints_[i];
    if (joint.size() < names[i].size() || joint.substr(joint.size() - names[i].size()) != names[i]) {
      refuse("joints: " + joint + " is in the place of the mechanism's " + names[i] +
        ", whose name, after a prefix if any, it must have");
    }
  }
  const auto & kinds = parameters_.reference_interfaces;
  if (!contains(kinds, "position") || kinds.size() == 2) {
    refuse("reference_interfaces: needs position alone, or position, velocity and acceleration");
  }
  derivatives_given_ = kinds.size() == 3;
  if (!contains(parameters_.command_interfaces, "effort")) {
    refuse("command_interfaces: needs effort");
  }
  if (!parameters_.bite_force.point_frame.empty()) {frame_of(parameters_.bite_force.point_frame);}
}

Settings FeedforwardController::settings() const {
  const auto & given = parameters_;
  const auto each = [this](const std::vector<double> & gains) {
      return gains.size() == 1 ? std::vector<double>(count_, gains[0]) : gains;
    };
  return {
    each(given.gains.proportional), each(given.gains.derivative), each(given.gains.limit),
    given.effort_limit_scale, given.closure_tolerance, given.hold_time, given.ramp_time,
    kTwoPi * given.differentiation_cutoff, given.bite_force.timeout};
}

void FeedforwardController::subscribe() {
  written_ = Row{std::vector<double>(3 * count_, kUnknown), 0};
  received_.initRT(written_);
  reference_subscription_ = get_node()->create_subscription<Point>(
    "~/reference", rclcpp::SystemDefaultsQoS(), [this](const Point & point) {take_reference(point);});
  wrench_subscriptions_.clear();
  for (const bool bite : {true, false}) {
    wrench_subscriptions_.push_back(
      get_node()->create_subscription<WrenchStamped>(
        bite ? "bite_force" : "external_wrench", rclcpp::SensorDataQoS(),
        [this, bite](const WrenchStamped & message) {take_wrench(message, bite);}));
  }
}

void FeedforwardController::take_reference(const Point & point) {
  std::fill(written_.values.begin(), written_.values.end(), 0.0);
  auto to = written_.values.begin();
  for (const auto * part : {&point.positions, &point.velocities, &point.accelerations}) {
    if (part->size() != count_ && !(part->empty() && part != &point.positions)) {
      RCLCPP_ERROR_THROTTLE(
        get_node()->get_logger(), *get_node()->get_clock(), 1000,
        "~/reference: needs %zu positions, and as many velocities and accelerations or none (0)", count_);
      return;
    }
    std::copy(part->begin(), part->end(), to);
    to += static_cast<std::ptrdiff_t>(count_);
  }
  ++written_.number;
  received_.writeFromNonRT(written_);
}

std::size_t FeedforwardController::frame_of(const std::string & name) const {
  const std::string & prefix = parameters_.frame_prefix;
  const std::string frame = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
  const auto index = frame_index(*mechanism_, frame);
  if (!index) {
    throw std::invalid_argument(
            "frame '" + name + "' is fixed neither to the platform nor to the base of " + mechanism_->name);
  }
  return *index;
}

void FeedforwardController::take_wrench(const WrenchStamped & message, bool bite) {
  const auto & force = message.wrench.force, & torque = message.wrench.torque;
  const std::array<double, 6> given{force.x, force.y, force.z, torque.x, torque.y, torque.z};
  try {
    const std::size_t axes = frame_of(message.header.frame_id);
    const std::string & point = parameters_.bite_force.point_frame;
    if (std::any_of(given.begin(), given.end(), [](double x) {return !(std::abs(x) <= kLargest);})) {
      throw std::invalid_argument("a wrench is not finite or above 1e6 N or N m");
    }
    Wrench wrench = placed(*mechanism_, axes, bite && !point.empty() ? frame_of(point) : axes, given);
    const rclcpp::Time stamp(message.header.stamp);
    // A stamp from the future (unsynchronised clocks) must not keep a force alive.
    if (stamp.nanoseconds() != 0) {
      const auto now = get_node()->now().nanoseconds();
      wrench.age = std::max(0.0, 1e-9 * static_cast<double>(now - stamp.nanoseconds()));
    }
    wrench.number = ++wrench_number_;
    received_wrenches_[bite ? 0 : 1 + axes].writeFromNonRT(wrench);
  } catch (const std::invalid_argument & error) {
    RCLCPP_ERROR_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), 1000, "%s: %s",
      bite ? "bite_force" : "external_wrench", error.what());
  }
}

InterfaceConfiguration FeedforwardController::command_interface_configuration() const {
  return interfaces(joints_, parameters_.command_interfaces);
}

InterfaceConfiguration FeedforwardController::state_interface_configuration() const {
  const auto & gains = parameters_.gains.derivative;
  const bool damped = std::any_of(gains.begin(), gains.end(), [](double x) {return x > 0.0;});
  return interfaces(joints_, damped ? Names{"position", "velocity"} : Names{"position"});
}

std::vector<hardware_interface::CommandInterface> FeedforwardController::on_export_reference_interfaces() {
  reference_interfaces_.assign(3 * count_, kUnknown);
  std::vector<hardware_interface::CommandInterface> exported;
  std::size_t at = 0;
  for (const char * kind : {"position", "velocity", "acceleration"}) {
    if (!derivatives_given_ && at > 0) {break;}
    for (const auto & joint : joints_) {
      exported.emplace_back(get_node()->get_name(), joint + "/" + kind, &reference_interfaces_[at++]);
    }
  }
  reference_interfaces_.resize(at);
  return exported;
}

controller_interface::CallbackReturn FeedforwardController::on_activate(const rclcpp_lifecycle::State &) {
  std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), kUnknown);
  reference_number_ = received_.readFromRT()->number;  // older ones do not count
  reference_age_ = since_state_ = 0.0;
  cycles_ = refused_ = clamped_ = 0;
  reason_ = Reason::none;
  read_inputs();
  std::vector<double> effort(count_, kUnknown);
  for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
    if (command_interfaces_[i].get_interface_name() == "effort") {
      effort[i % count_] = command_interfaces_[i].get_optional().value_or(kUnknown);
    }
  }
  const std::string problem = feedforward_->start(measured_.data(), effort.data(), wrenches_.data());
  if (!problem.empty()) {
    RCLCPP_ERROR(get_node()->get_logger(), "not activated: %s", problem.c_str());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn FeedforwardController::on_deactivate(const rclcpp_lifecycle::State &) {
  for (auto & command : command_interfaces_) {
    if (command.get_interface_name() == "effort") {(void)command.set_value(0.0);}
  }
  if (const Reason reason = reason_; reason != Reason::none) {
    RCLCPP_ERROR(get_node()->get_logger(), "deactivated: %s", text_of(reason));
  }
  return CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn FeedforwardController::on_cleanup(const rclcpp_lifecycle::State &) {
  reference_subscription_.reset();
  wrench_subscriptions_.clear();
  diagnostics_.reset();
  state_publisher_.reset();
  feedforward_.reset();
  mechanism_.reset();
  return CallbackReturn::SUCCESS;
}

void FeedforwardController::read_inputs() {
  for (std::size_t i = 0; i < wrenches_.size(); ++i) {wrenches_[i] = *received_wrenches_[i].readFromRT();}
  for (std::size_t i = 0; i < state_interfaces_.size(); ++i) {
    auto & values = i < count_ ? measured_ : rates_;
    // Where another thread holds the value for a moment, the last one serves.
    values[i % count_] = state_interfaces_[i].get_optional().value_or(values[i % count_]);
  }
}

controller_interface::return_type FeedforwardController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration & period) {
  const Row & row = *received_.readFromRT();
  if (row.number != reference_number_) {
    std::copy_n(row.values.begin(), reference_interfaces_.size(), reference_interfaces_.begin());
    reference_number_ = row.number;
    reference_age_ = 0.0;
  } else if ((reference_age_ += period.seconds()) > parameters_.reference_timeout) {
    std::fill(reference_interfaces_.begin(), reference_interfaces_.end(), kUnknown);
  }
  return return_type::OK;
}

controller_interface::return_type FeedforwardController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period) {
  const double seconds = period.seconds(), * given = reference_interfaces_.data();
  read_inputs();
  const Reference reference{
    given, derivatives_given_ ? given + count_ : nullptr, derivatives_given_ ? given + 2 * count_ : nullptr};
  const Outcome outcome = feedforward_->step(
    reference, measured_.data(), rates_.data(), wrenches_.data(), seconds);
  cycles_ += 1;
  refused_ += outcome != Outcome::good;
  clamped_ += feedforward_->clamped();
  stale_ = feedforward_->stale_wrenches();
  reason_ = feedforward_->reason();
  if (outcome == Outcome::failed) {return return_type::ERROR;}
  write_commands();
  publish_state(time, seconds);
  return return_type::OK;
}

void FeedforwardController::write_commands() {
  std::size_t at = 0;
  for (const auto & kind : parameters_.command_interfaces) {
    const auto & values = kind == "effort" ? feedforward_->effort() :
      kind == "position" ? feedforward_->position() : feedforward_->velocity();
    for (const double value : values) {(void)command_interfaces_[at++].set_value(value);}
  }
}

void FeedforwardController::publish_state(const rclcpp::Time & time, double period) {
  since_state_ += period;
  if (!(parameters_.state_rate > 0.0 && since_state_ * parameters_.state_rate >= 1.0 - 1e-6)) {return;}
  if (!state_publisher_->trylock()) {return;}
  since_state_ = 0.0;
  State & state = state_publisher_->msg_;
  state.header.stamp = time;
  const auto copy = [](const std::vector<double> & from, std::vector<double> & to) {
      std::copy(from.begin(), from.end(), to.begin());
    };
  copy(feedforward_->position(), state.reference.positions);
  copy(feedforward_->velocity(), state.reference.velocities);
  copy(feedforward_->acceleration(), state.reference.accelerations);
  copy(measured_, state.feedback.positions);
  copy(feedforward_->effort(), state.output.effort);
  state_publisher_->unlockAndPublish();
}

void FeedforwardController::diagnose(diagnostic_updater::DiagnosticStatusWrapper & status) {
  using diagnostic_msgs::msg::DiagnosticStatus;
  const Reason reason = reason_;
  if (reason != Reason::none) {
    status.summary(DiagnosticStatus::ERROR, text_of(reason));
  } else if (stale_ > 0) {
    status.summary(DiagnosticStatus::WARN, "a wrench no longer comes, and counts as zero");
  } else {
    status.summary(DiagnosticStatus::OK, "feedforward");
  }
  status.add("mechanism", parameters_.mechanism);
  status.add("cycles", cycles_.load());
  status.add("refused cycles", refused_.load());
  status.add("clamped cycles", clamped_.load());
  status.add("stale wrenches", stale_.load());
}
}  // namespace masticator_control

#include "pluginlib/class_list_macros.hpp"
PLUGINLIB_EXPORT_CLASS(
  masticator_control::FeedforwardController, controller_interface::ChainableControllerInterface)
