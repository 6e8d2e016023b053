/* Copyright 2026 The masticator_dynamics authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One mechanism as exported by `masticator export-c`, in a form that is the same for all:
 * masticator_add_mechanism() in CMake makes a library of it. Units, frames and return codes are those
 * of the exported header: SI; 0, 1 (nothing counts), 2 (out of range).
 */
#ifndef MASTICATOR_CONTROL__MECHANISM_H_
#define MASTICATOR_CONTROL__MECHANISM_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MASTICATOR_MECHANISM_VERSION 2

typedef struct masticator_mechanism {
  int version; /* MASTICATOR_MECHANISM_VERSION */
  const char *name;
  int freedoms, actuators, frames;
  const char *const *actuator_names;
  const double *effort_lower, *effort_upper; /* of each actuator */
  const char *const *frame_names;            /* in which wrenches may be given */
  /* A motion is memory of this size, aligned for any type, which belongs to the caller. */
  size_t motion_size;
  void (*at_home)(void *motion);
  int (*fit)(const double *q, const double *q_dot, const double *q_ddot, void *motion);
  /* Of a motion: how it fits, and what follows from it. */
  const double *(*off)(const void *motion); /* of each actuator, from the closed mechanism */
  double (*residual)(const void *motion);   /* the largest of these */
  double (*change)(const void *motion);     /* of an actuator, in the search */
  double (*conditioning)(const void *motion);
  int (*efforts)(const void *motion, const double *wrench, double *effort);
  int (*add_wrench)(const void *motion, int axes, int point, const double *measured, double *wrench);
  int (*equations)(const void *motion, double *mass, double *bias);
  int (*actuated)(const void *motion, double *q, double *jacobian, double *drift);
} masticator_mechanism;

extern const masticator_mechanism masticator_mechanism_table;

#ifdef __cplusplus
}

#include <memory>
#include <string>

namespace masticator_control {
/// The mechanism of this name, which masticator_add_mechanism() made in any package, from its library.
/// Throws std::runtime_error naming what is missing, and the mechanisms that there are.
std::shared_ptr<const masticator_mechanism> load_mechanism(const std::string & name);
}  // namespace masticator_control
#endif

#endif /* MASTICATOR_CONTROL__MECHANISM_H_ */
