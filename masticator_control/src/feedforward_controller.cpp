// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_updater/diagnostic_updater.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "masticator_control/feedforward.hpp"
#include "masticator_control/feedforward_controller_parameters.hpp"
#include "pluginlib/class_list_macros.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace masticator_control {
namespace {
using controller_interface::InterfaceConfiguration;
using Names = std::vector<std::string>;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

InterfaceConfiguration interfaces(const Names & joints, const Names & kinds) {
  InterfaceConfiguration configuration{controller_interface::interface_configuration_type::INDIVIDUAL, {}};
  for (const auto & kind : kinds) {
    for (const auto & joint : joints) {configuration.names.push_back(joint + "/" + kind);}
  }
  return configuration;
}

bool ends_with(const std::string & text, const std::string & end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}
}  // namespace

/// Efforts of a closed-loop mechanism's motors for reference motions of its actuated joints and
/// measured wrenches on its platform, in the cycle of the hardware.
class FeedforwardController : public controller_interface::ChainableControllerInterface {
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using return_type = controller_interface::return_type;

  CallbackReturn on_init() override {
    try {
      parameter_listener_ = std::make_shared<::feedforward_controller::ParamListener>(get_node());
      return CallbackReturn::SUCCESS;
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::ERROR;
    }
  }

  CallbackReturn on_configure(const rclcpp_lifecycle::State & state) override {
    on_cleanup(state);  // after an error there was none
    try {
      parameters_ = parameter_listener_->get_params();
      mechanism_ = load_mechanism(parameters_.mechanism);
      count_ = static_cast<std::size_t>(mechanism_->actuators);
      check_joints();
      if (!parameters_.bite_force.point_frame.empty()) {frame_of(parameters_.bite_force.point_frame);}
      const std::size_t sources = 1 + static_cast<std::size_t>(mechanism_->frames);
      received_wrenches_ = std::vector<realtime_tools::RealtimeBuffer<Wrench>>(sources);
      feedforward_ = std::make_unique<Feedforward>(*mechanism_, settings(), sources);
    } catch (const std::exception & error) {
      RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
      return CallbackReturn::FAILURE;
    }
    for (auto * values : {&measured_, &rates_, &commanded_}) {values->assign(count_, kUnknown);}
    subscribe();
    prepare_state();
    diagnostics_ = std::make_unique<diagnostic_updater::Updater>(get_node());
    diagnostics_->setHardwareID("none");
    diagnostics_->add("feedforward", this, &FeedforwardController::diagnose);
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override {
    for (const auto & interface : references_) {(void)interface->set_value(kUnknown);}
    std::fill(reference_.begin(), reference_.end(), kUnknown);
    reference_number_ = received_.readFromRT()->number;  // older ones do not count
    reference_age_ = 0.0;
    refused_ = clamped_ = 0;
    refusal_ = "";
    read_inputs();
    for (std::size_t i = 0; i < command_interfaces_.size(); ++i) {
      if (command_interfaces_[i].get_interface_name() == "effort") {
        commanded_[i % count_] = command_interfaces_[i].get_optional().value_or(kUnknown);
      }
    }
    const std::string problem = feedforward_->start(measured_.data(), commanded_.data());
    if (problem.empty()) {return CallbackReturn::SUCCESS;}
    RCLCPP_ERROR(get_node()->get_logger(), "not activated, measured positions: %s", problem.c_str());
    return CallbackReturn::FAILURE;
  }

  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override {
    for (auto & command : command_interfaces_) {
      if (command.get_interface_name() != "position") {(void)command.set_value(0.0);}
    }
    if (const std::string refusal = refusal_.load(); !refusal.empty()) {
      RCLCPP_ERROR(get_node()->get_logger(), "deactivated, reference: %s", refusal.c_str());
    }
    return CallbackReturn::SUCCESS;
  }

  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override {
    state_timer_.reset();
    reference_subscription_.reset();
    wrench_subscriptions_.clear();
    return CallbackReturn::SUCCESS;
  }

  InterfaceConfiguration command_interface_configuration() const override {
    return interfaces(joints_, parameters_.command_interfaces);
  }

  InterfaceConfiguration state_interface_configuration() const override {
    const auto & gains = parameters_.gains.derivative;
    const bool damped = std::any_of(gains.begin(), gains.end(), [](double x) {return x > 0.0;});
    return interfaces(joints_, damped ? Names{"position", "velocity"} : Names{"position"});
  }

  return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override {
    read_inputs();
    const bool holds = feedforward_->step(
      reference_.data(), measured_.data(), rates_.data(), period.seconds());
    refusal_ = feedforward_->refusal();
    refused_ += *feedforward_->refusal() != '\0';
    clamped_ += feedforward_->clamped();
    stale_ = feedforward_->stale_wrenches();
    if (!holds) {return return_type::ERROR;}
    write_commands();
    keep_state(time);
    return return_type::OK;
  }

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list() override {
    references_.clear();
    for (const char * kind : {"position", "velocity", "acceleration"}) {
      for (const auto & joint : joints_) {
        references_.push_back(
          std::make_shared<hardware_interface::CommandInterface>(get_node()->get_name() + ("/" + joint), kind));
      }
    }
    return references_;
  }

  return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration & period) override {
    const Row & row = *received_.readFromRT();
    if (row.number != reference_number_) {
      std::copy(row.values.begin(), row.values.end(), reference_.begin());
      reference_number_ = row.number;
      reference_age_ = 0.0;
    } else if ((reference_age_ += period.seconds()) > parameters_.reference_timeout) {
      std::fill(reference_.begin(), reference_.end(), kUnknown);
    }
    return return_type::OK;
  }

private:
  using Point = trajectory_msgs::msg::JointTrajectoryPoint;
  using WrenchStamped = geometry_msgs::msg::WrenchStamped;
  using State = control_msgs::msg::JointTrajectoryControllerState;
  struct Row { std::vector<double> values; std::uint64_t number = 0; };

  void check_joints() {
    const Names names(mechanism_->actuator_names, mechanism_->actuator_names + count_);
    joints_ = parameters_.joints.empty() ? names : parameters_.joints;
    if (!std::equal(joints_.begin(), joints_.end(), names.begin(), names.end(), ends_with)) {
      std::string text = "joints: needs these in their order, each after a prefix if any:";
      for (const auto & name : names) {text += " " + name;}
      throw std::invalid_argument(text);
    }
  }

  Settings settings() const {
    const auto each = [this](const std::vector<double> & gains) {
        const auto values = gains.size() == 1 ? std::vector<double>(count_, gains[0]) : gains;
        if (values.size() != count_) {throw std::invalid_argument("gains: needs one for all joints, or each");}
        return values;
      };
    const auto & gains = parameters_.gains;
    return {
      each(gains.proportional), each(gains.derivative), each(gains.limit), parameters_.closure_tolerance,
      parameters_.least_conditioning, parameters_.largest_step, parameters_.hold_time, parameters_.ramp_time,
      2.0 * M_PI * parameters_.differentiation_cutoff, parameters_.bite_force.timeout};
  }

  void subscribe() {
    written_ = Row{std::vector<double>(3 * count_, kUnknown), 0};
    reference_ = written_.values;
    received_.initRT(written_);
    reference_subscription_ = get_node()->create_subscription<Point>(
      "~/reference", rclcpp::SystemDefaultsQoS(), [this](const Point & point) {take_reference(point);});
    for (const bool bite : {true, false}) {
      wrench_subscriptions_.push_back(
        get_node()->create_subscription<WrenchStamped>(
          bite ? "bite_force" : "external_wrench", rclcpp::SensorDataQoS(),
          [this, bite](const WrenchStamped & message) {take_wrench(message, bite);}));
    }
  }

  void prepare_state() {
    const std::lock_guard lock(state_mutex_);  // a timer of before may still publish
    state_ = State();
    state_.joint_names = joints_;
    for (Point * point : {&state_.reference, &state_.feedback, &state_.output}) {
      for (auto * part : {&point->positions, &point->velocities, &point->accelerations, &point->effort}) {
        part->assign(count_, kUnknown);
      }
    }
    state_is_new_ = false;
    state_publisher_ = get_node()->create_publisher<State>("~/state", rclcpp::SystemDefaultsQoS());
    if (parameters_.state_rate > 0.0) {
      state_timer_ = get_node()->create_wall_timer(
        std::chrono::duration<double>(1.0 / parameters_.state_rate), [this] {publish_state();});
    }
  }

  void take_reference(const Point & point) {
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

  int frame_of(const std::string & name) const {
    const std::string & prefix = parameters_.frame_prefix;
    const std::string frame = name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
    const auto begin = mechanism_->frame_names, end = begin + mechanism_->frames;
    const auto place = std::find(begin, end, frame);
    if (place == end) {
      throw std::invalid_argument(
              "frame '" + name + "' is fixed neither to the platform nor to the base of " + mechanism_->name);
    }
    return static_cast<int>(place - begin);
  }

  void take_wrench(const WrenchStamped & message, bool bite) {
    const auto & force = message.wrench.force, & torque = message.wrench.torque;
    Wrench wrench;
    wrench.value = {force.x, force.y, force.z, torque.x, torque.y, torque.z};
    try {
      for (const double x : wrench.value) {
        if (!(std::abs(x) <= 1e6)) {throw std::invalid_argument("is not finite or above 1e6 N or N m");}
      }
      const std::string & point = parameters_.bite_force.point_frame;
      wrench.axes = frame_of(message.header.frame_id);
      wrench.point = bite && !point.empty() ? frame_of(point) : wrench.axes;
    } catch (const std::invalid_argument & error) {
      RCLCPP_ERROR_THROTTLE(
        get_node()->get_logger(), *get_node()->get_clock(), 1000, "%s: %s",
        bite ? "bite_force" : "external_wrench", error.what());
      return;
    }
    // A stamp from the future (unsynchronised clocks) must not keep a force alive; 0 is none.
    const rclcpp::Time stamp(message.header.stamp, get_node()->get_clock()->get_clock_type());
    if (stamp.nanoseconds() != 0) {wrench.age = std::max(0.0, (get_node()->now() - stamp).seconds());}
    wrench.number = ++wrench_number_;
    received_wrenches_[bite ? 0 : 1 + static_cast<std::size_t>(wrench.axes)].writeFromNonRT(wrench);
  }

  // Where another thread holds a value for a moment, the last one serves.
  void read_inputs() {
    for (std::size_t i = 0; i < received_wrenches_.size(); ++i) {
      feedforward_->take(i, *received_wrenches_[i].readFromRT());
    }
    for (std::size_t i = 0; i < state_interfaces_.size(); ++i) {
      double & value = (i < count_ ? measured_ : rates_)[i % count_];
      value = state_interfaces_[i].get_optional().value_or(value);
    }
    for (std::size_t i = 0; i < references_.size() && is_in_chained_mode(); ++i) {
      reference_[i] = references_[i]->get_optional().value_or(reference_[i]);
    }
  }

  void write_commands() {
    std::size_t at = 0;
    for (const auto & kind : parameters_.command_interfaces) {
      const auto & values = kind == "effort" ? feedforward_->effort() :
        kind == "position" ? feedforward_->position() : feedforward_->velocity();
      for (const double value : values) {(void)command_interfaces_[at++].set_value(value);}
    }
  }

  // In the cycle: the state is left for a timer of the executor's, since to wake a thread that
  // publishes is a system call. While the timer publishes, the next cycle's serves.
  void keep_state(const rclcpp::Time & time) {
    const std::unique_lock lock(state_mutex_, std::try_to_lock);
    if (!lock) {return;}
    state_.header.stamp = time;
    state_.reference.positions = feedforward_->position();
    state_.reference.velocities = feedforward_->velocity();
    state_.reference.accelerations = feedforward_->acceleration();
    state_.feedback.positions = measured_;
    state_.output.effort = feedforward_->effort();
    state_is_new_ = true;
  }

  void publish_state() {
    const std::lock_guard lock(state_mutex_);
    if (std::exchange(state_is_new_, false)) {state_publisher_->publish(state_);}
  }

  void diagnose(diagnostic_updater::DiagnosticStatusWrapper & status) {
    using diagnostic_msgs::msg::DiagnosticStatus;
    status.summary(DiagnosticStatus::OK, "feedforward");
    if (stale_ > 0) {status.summary(DiagnosticStatus::WARN, "a wrench no longer comes, and counts as zero");}
    if (*refusal_ != '\0') {status.summary(DiagnosticStatus::ERROR, "refused: " + std::string(refusal_));}
    status.add("refused cycles", refused_.load());
    status.add("clamped cycles", clamped_.load());
  }

  std::shared_ptr<::feedforward_controller::ParamListener> parameter_listener_;
  ::feedforward_controller::Params parameters_;
  std::vector<std::string> joints_;
  std::size_t count_ = 0;
  std::shared_ptr<const masticator_mechanism> mechanism_;
  std::unique_ptr<Feedforward> feedforward_;
  std::vector<double> measured_, rates_, commanded_;  // (n_u,)

  // Positions, velocities and accelerations: of a controller before this one, and of the topic.
  std::vector<hardware_interface::CommandInterface::SharedPtr> references_;
  std::vector<double> reference_;
  rclcpp::Subscription<Point>::SharedPtr reference_subscription_;
  realtime_tools::RealtimeBuffer<Row> received_;
  Row written_;  // by the subscription's thread alone
  std::uint64_t reference_number_ = 0;
  double reference_age_ = 0.0;

  // The bite force, and external wrenches by frame.
  std::vector<rclcpp::Subscription<WrenchStamped>::SharedPtr> wrench_subscriptions_;
  std::vector<realtime_tools::RealtimeBuffer<Wrench>> received_wrenches_;
  std::uint64_t wrench_number_ = 0;

  rclcpp::Publisher<State>::SharedPtr state_publisher_;
  rclcpp::TimerBase::SharedPtr state_timer_;
  std::mutex state_mutex_;  // of the publisher and the next two
  State state_;
  bool state_is_new_ = false;
  std::unique_ptr<diagnostic_updater::Updater> diagnostics_;
  std::atomic<std::uint64_t> refused_{0}, clamped_{0}, stale_{0};
  std::atomic<const char *> refusal_{""};
};
}  // namespace masticator_control

PLUGINLIB_EXPORT_CLASS(
  masticator_control::FeedforwardController, controller_interface::ChainableControllerInterface)
