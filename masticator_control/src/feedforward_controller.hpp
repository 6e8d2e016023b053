// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef FEEDFORWARD_CONTROLLER_HPP_
#define FEEDFORWARD_CONTROLLER_HPP_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "control_msgs/msg/joint_trajectory_controller_state.hpp"
#include "controller_interface/chainable_controller_interface.hpp"
#include "diagnostic_updater/diagnostic_updater.hpp"
#include "geometry_msgs/msg/wrench_stamped.hpp"
#include "masticator_control/feedforward.hpp"
#include "masticator_control/feedforward_controller_parameters.hpp"
#include "realtime_tools/realtime_buffer.hpp"
#include "realtime_tools/realtime_publisher.hpp"
#include "trajectory_msgs/msg/joint_trajectory_point.hpp"

namespace masticator_control {
/// Efforts of a closed-loop mechanism's motors for reference motions of its actuated joints and
/// measured wrenches on its platform, in the cycle of the hardware.
class FeedforwardController : public controller_interface::ChainableControllerInterface {
public:
  using CallbackReturn = controller_interface::CallbackReturn;
  using return_type = controller_interface::return_type;

  CallbackReturn on_init() override;
  CallbackReturn on_configure(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  return_type update_and_write_commands(const rclcpp::Time &, const rclcpp::Duration &) override;

protected:
  std::vector<hardware_interface::CommandInterface> on_export_reference_interfaces() override;
  return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) override;

private:
  using Point = trajectory_msgs::msg::JointTrajectoryPoint;
  using WrenchStamped = geometry_msgs::msg::WrenchStamped;
  using State = control_msgs::msg::JointTrajectoryControllerState;
  struct Row { std::vector<double> values; std::uint64_t number = 0; };

  void check_parameters();
  Settings settings() const;
  void subscribe();
  void take_reference(const Point & point);
  void take_wrench(const WrenchStamped & message, bool bite);
  std::size_t frame_of(const std::string & name) const;
  void read_inputs();
  void write_commands();
  void publish_state(const rclcpp::Time & time, double period);
  void diagnose(diagnostic_updater::DiagnosticStatusWrapper & status);

  std::shared_ptr<::feedforward_controller::ParamListener> parameter_listener_;
  ::feedforward_controller::Params parameters_;
  std::vector<std::string> joints_;
  std::size_t count_ = 0;
  bool derivatives_given_ = false;
  std::shared_ptr<const masticator_mechanism> mechanism_;
  std::unique_ptr<Feedforward> feedforward_;
  std::vector<double> measured_, rates_;  // (n_u,)

  rclcpp::Subscription<Point>::SharedPtr reference_subscription_;
  realtime_tools::RealtimeBuffer<Row> received_;
  Row written_;  // by the subscription's thread alone
  std::uint64_t reference_number_ = 0;
  double reference_age_ = 0.0;

  std::vector<rclcpp::Subscription<WrenchStamped>::SharedPtr> wrench_subscriptions_;
  // The bite force, and external wrenches by frame.
  std::vector<realtime_tools::RealtimeBuffer<Wrench>> received_wrenches_;
  std::vector<Wrench> wrenches_;
  std::uint64_t wrench_number_ = 0;

  std::unique_ptr<realtime_tools::RealtimePublisher<State>> state_publisher_;
  double since_state_ = 0.0;
  std::unique_ptr<diagnostic_updater::Updater> diagnostics_;
  std::atomic<std::uint64_t> cycles_{0}, refused_{0}, clamped_{0}, stale_{0};
  std::atomic<Reason> reason_{Reason::none};
};
}  // namespace masticator_control

#endif  // FEEDFORWARD_CONTROLLER_HPP_
