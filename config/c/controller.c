${constants}

#define MOST_STEPS ${most}
#define LARGEST_CHANGE ${largest} /* of a motor in a step, rad or part of its travel */
#define CONVERGED ${converged} /* what is left after a step is about its square */

int ${name}_forward_kinematics(const double *q, const double *q_dot, const double *q_ddot,
    ${name}_motion *motion)
{
  ${name}_motion at = *motion;
  double step[${upper}_FREEDOMS], next[${upper}_FREEDOMS], change[1];
  double part;
  int i, within, home = 0;

  at.steps = 1;
  while (approach(at.y, q, step, change, at.off, &at.conditioning) != 0) {
    if (home++) { /* there, too */
      return 1;
    }
    for (i = 0; i < ${upper}_FREEDOMS; ++i) {
      at.y[i] = ${name}_home[i];
    }
  }
  at.change = change[0];
  while (change[0] > CONVERGED) {
    part = change[0] > LARGEST_CHANGE ? LARGEST_CHANGE / change[0] : 1.0;
    for (;; part *= 0.5) {
      if (++at.steps > MOST_STEPS) {
        return 1;
      }
      for (i = 0; i < ${upper}_FREEDOMS; ++i) {
        next[i] = at.y[i] + part * step[i];
      }
      if (approach(next, q, step, change, at.off, &at.conditioning) == 0) {
        break;
      }
    }
    for (i = 0; i < ${upper}_FREEDOMS; ++i) {
      at.y[i] = next[i];
    }
  }
  at.residual = 0.0;
  for (i = 0; i < ${upper}_FREEDOMS; ++i) {
    at.y[i] += step[i];
  }
  for (i = 0; i < ${upper}_ACTUATORS; ++i) {
    at.residual = fabs(at.off[i]) > at.residual ? fabs(at.off[i]) : at.residual;
  }
  within = ${name}_rates(at.y, q_dot, q_ddot, at.y_dot, at.y_ddot);
  if (within != 1) {
    *motion = at;
  }
  return within;
}

static void turned(const double *rotation, const double *x, double *result)
{
  const double a = x[0], b = x[1], c = x[2];
  int i;

  for (i = 0; i < 3; ++i) {
    result[i] = rotation[3 * i] * a + rotation[3 * i + 1] * b + rotation[3 * i + 2] * c;
  }
}

int ${name}_add_wrench(const double *y, int axes, int point, const double *measured, double *wrench)
{
  const double *frame = ${name}_frame_rotation + 9 * axes, *at = ${name}_frame_origin + 3 * point;
  double rotation[9], origin[3], force[3], torque[3], arm[3];
  int i, status = ${name}_platform(y, rotation, origin);

  if (status == 1) {
    return status;
  }
  turned(frame, measured, force);
  turned(frame, measured + 3, torque);
  if (${name}_frame_on_platform[axes]) {
    turned(rotation, force, force);
    turned(rotation, torque, torque);
  }
  for (i = 0; i < 3; ++i) {
    arm[i] = at[i] - (${name}_frame_on_platform[point] ? 0.0 : origin[i]);
  }
  if (${name}_frame_on_platform[point]) {
    turned(rotation, arm, arm);
  }
  for (i = 0; i < 3; ++i) {
    wrench[i] += force[i];
    wrench[3 + i] += torque[i] + arm[(i + 1) % 3] * force[(i + 2) % 3] -
      arm[(i + 2) % 3] * force[(i + 1) % 3];
  }
  return status;
}

int ${name}_mass_matrix(const double *y, double *mass)
{
  const double still[${upper}_FREEDOMS] = {0.0};
  double bias[${upper}_FREEDOMS];

  return ${name}_equations(y, still, mass, bias);
}

int ${name}_bias(const double *y, const double *y_dot, double *bias)
{
  double mass[${upper}_FREEDOMS * ${upper}_FREEDOMS];

  return ${name}_equations(y, y_dot, mass, bias);
}

int ${name}_feedforward_actuated(const double *q, const double *q_dot, const double *q_ddot,
    const double *wrench, ${name}_motion *motion, double *effort)
{
  ${name}_motion at = *motion;
  int status = ${name}_forward_kinematics(q, q_dot, q_ddot, &at);

  if (status != 1) {
    status = ${name}_inverse_dynamics(at.y, at.y_dot, at.y_ddot, wrench, effort);
  }
  if (status != 1) {
    *motion = at;
  }
  return status;
}
