// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#if __has_include("inverse_dynamics_solver/inverse_dynamics_solver.hpp")
#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"
#else
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"  // before 2.0
#endif

#include <Eigen/LU>
#include <stdexcept>

#include "masticator_control/mechanism.h"
#include "pluginlib/class_list_macros.hpp"
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
    rclcpp::Parameter value;
    if (!parameters || !parameters->get_parameter(prefix + "mechanism", value)) {
      throw std::invalid_argument("parameter " + prefix + "mechanism is missing");
    }
    mechanism_ = load_mechanism(value.as_string());
    motion_.resize(mechanism_->motion_size);
    mechanism_->at_home(motion_.data());
    if (parameters->get_parameter(prefix + "closure_tolerance", value)) {tolerance_ = value.as_double();}
    RCLCPP_WARN(
      rclcpp::get_logger("masticator_control"),
      "%s: no wrench is passed here, friction is in the torques alone, the inertia matrix has rank %d",
      mechanism_->name, mechanism_->freedoms);
  }

  Eigen::MatrixXd getInertiaMatrix(const Vector & q) const override {
    const At at = equations(q, Vector::Zero(q.size()));
    return at.inverse.transpose() * at.mass * at.inverse;
  }

  Vector getCoriolisVector(const Vector & q, const Vector & v) const override {
    const At at = equations(q, v);
    return at.inverse.transpose() * (at.bias - at.mass * (at.inverse * at.drift)) - getGravityVector(q);
  }

  Vector getGravityVector(const Vector & q) const override {
    const At at = equations(q, Vector::Zero(q.size()));
    return at.inverse.transpose() * at.bias;
  }

  Vector getFrictionVector(const Vector & v) const override {return Vector::Zero(v.size());}

  Vector getTorques(const Vector & q, const Vector & v, const Vector & a) const override {
    fit(q, v, a);
    const double wrench[6] = {};
    Vector effort(mechanism_->actuators);
    require(mechanism_->efforts(motion_.data(), wrench, effort.data()) != 1, "no efforts for this motion");
    return effort;
  }

private:
  struct At { Matrix mass, jacobian, inverse; Vector bias, position, drift; };  // inverse: (n_y, n_u)

  static void require(bool right, const char * text) {if (!right) {throw std::domain_error(text);}}

  void fit(const Vector & q, const Vector & v, const Vector & a) const {
    require(mechanism_ != nullptr, "not initialized");
    for (const Vector * part : {&q, &v, &a}) {
      require(part->size() == mechanism_->actuators, "vectors need a number for each motor");
    }
    const int status = mechanism_->fit(q.data(), v.data(), a.data(), motion_.data());
    require(status != 1, "out of reach or near a singularity");
    require(mechanism_->residual(motion_.data()) <= tolerance_, "these joints do not close the loops");
  }

  At equations(const Vector & q, const Vector & v) const {
    fit(q, v, Vector::Zero(q.size()));
    const int n = mechanism_->freedoms, motors = mechanism_->actuators;
    At at{Matrix(n, n), Matrix(motors, n), Matrix(n, motors), Vector(n), Vector(motors), Vector(motors)};
    void * motion = motion_.data();
    require(mechanism_->equations(motion, at.mass.data(), at.bias.data()) != 1, "no equations here");
    int status = mechanism_->actuated(motion, at.position.data(), at.jacobian.data(), at.drift.data());
    require(status != 1, "no Jacobian here");
    at.inverse = (at.jacobian.transpose() * at.jacobian).inverse() * at.jacobian.transpose();
    return at;
  }

  std::shared_ptr<const masticator_mechanism> mechanism_;
  mutable std::vector<unsigned char> motion_;  // where the next search begins: one thread at a time
  double tolerance_ = 0.01;                    // rad or m
};
}  // namespace masticator_control

PLUGINLIB_EXPORT_CLASS(
  masticator_control::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
