// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include <Eigen/Core>
#include <Eigen/LU>
#include <memory>
#include <stdexcept>
#include <string>

#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"
#include "masticator_control/feedforward.hpp"
#include "masticator_control/library.hpp"
#include "rclcpp/logging.hpp"

namespace masticator_control {
/// Dynamics of a closed-loop mechanism at its actuated joints, behind the interface that
/// other inverse dynamics have. Vectors are those of the actuated joints, n_u of them.
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver {
public:
  using Vector = Eigen::VectorXd;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters,
    const std::string & name_space, const std::string &) override {
    const std::string prefix = name_space.empty() ? "" : name_space + ".";
    rclcpp::Parameter given;
    if (!parameters || !parameters->get_parameter(prefix + "mechanism", given)) {
      throw std::invalid_argument("parameter " + prefix + "mechanism is missing");
    }
    use(load_mechanism(given.as_string()));
    if (parameters->get_parameter(prefix + "closure_tolerance", given)) {tolerance_ = given.as_double();}
    const int motors = mechanism_->actuators, freedoms = mechanism_->freedoms;
    if (motors > freedoms) {
      RCLCPP_WARN(
        rclcpp::get_logger("masticator_control"),
        "%s: %d motors move %d freedoms: the inertia matrix has rank %d and no inverse", mechanism_->name,
        motors, freedoms, freedoms);
    }
    RCLCPP_INFO(
      rclcpp::get_logger("masticator_control"),
      "%s: this interface passes no wrench, and friction, which needs pose and load, is in the torques "
      "alone if it was exported", mechanism_->name);
  }

  Eigen::MatrixXd getInertiaMatrix(const Vector & q) const override {
    const At at = equations(q, still(), still());
    return at.inverse.transpose() * at.mass * at.inverse;
  }

  Vector getCoriolisVector(const Vector & q, const Vector & v) const override {
    const At at = equations(q, v, still());
    const Vector needed = at.bias - at.mass * (at.inverse * at.drift);
    return at.inverse.transpose() * needed - getGravityVector(q);
  }

  Vector getGravityVector(const Vector & q) const override {
    const At at = equations(q, still(), still());
    return at.inverse.transpose() * at.bias;
  }

  Vector getFrictionVector(const Vector & v) const override {return Vector::Zero(v.size());}

  Vector getTorques(const Vector & q, const Vector & v, const Vector & a) const override {
    fit(q, v, a);
    const double wrench[6] = {};
    Vector effort(mechanism_->actuators);
    require(mechanism_->efforts(motion_->get(), wrench, effort.data()), "no efforts for this motion");
    return effort;
  }

private:
  struct At { Matrix mass; Vector bias, drift; Matrix inverse; };  // inverse: of the Jacobian, (n_y, n_u)

  void use(std::shared_ptr<const masticator_mechanism> mechanism) {
    mechanism_ = std::move(mechanism);
    motion_ = std::make_unique<Motion>(*mechanism_);
  }

  Vector still() const {return Vector::Zero(mechanism_->actuators);}

  static void require(int status, const char * text) {if (status == 1) {throw std::domain_error(text);}}

  void fit(const Vector & q, const Vector & v, const Vector & a) const {
    if (!mechanism_) {throw std::logic_error("not initialized");}
    for (const Vector * part : {&q, &v, &a}) {
      if (part->size() != mechanism_->actuators) {
        throw std::invalid_argument("vectors need a number for each motor of " + std::string(mechanism_->name));
      }
    }
    require(
      mechanism_->fit(q.data(), v.data(), a.data(), motion_->get()), "out of reach or near a singularity");
    if (!(mechanism_->residual(motion_->get()) <= tolerance_)) {
      throw std::domain_error("these joints do not close the loops");
    }
  }

  At equations(const Vector & q, const Vector & v, const Vector & a) const {
    fit(q, v, a);
    const int freedoms = mechanism_->freedoms, motors = mechanism_->actuators;
    At at{Matrix(freedoms, freedoms), Vector(freedoms), Vector(motors), {}};
    Matrix jacobian(motors, freedoms);
    Vector position(motors);
    require(mechanism_->equations(motion_->get(), at.mass.data(), at.bias.data()), "no equations here");
    require(
      mechanism_->actuated(motion_->get(), position.data(), jacobian.data(), at.drift.data()),
      "no Jacobian here");
    at.inverse = (jacobian.transpose() * jacobian).inverse() * jacobian.transpose();
    return at;
  }

  std::shared_ptr<const masticator_mechanism> mechanism_;
  std::unique_ptr<Motion> motion_;  // where the next search begins: one thread at a time
  double tolerance_ = 0.01;         // rad or m
};
}  // namespace masticator_control

#include "pluginlib/class_list_macros.hpp"
PLUGINLIB_EXPORT_CLASS(
  masticator_control::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
