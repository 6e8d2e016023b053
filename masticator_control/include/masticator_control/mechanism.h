/* Copyright 2026 The masticator_dynamics authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * One mechanism as exported by `masticator export-c --controller`, in a form that is the same for all:
 * masticator_add_mechanism() in CMake makes a library of it. Units, frames and return codes are those
 * of the exported header: SI; 0, 1 (nothing counts), 2 (out of range).
 */
#ifndef MASTICATOR_CONTROL__MECHANISM_H_
#define MASTICATOR_CONTROL__MECHANISM_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MASTICATOR_MECHANISM_VERSION 1

typedef struct masticator_mechanism {
  int version; /* MASTICATOR_MECHANISM_VERSION */
  const char *name;
  int freedoms, actuators, frames;
  const char *const *actuator_names;
  const double *effort_lower, *effort_upper; /* of each actuator */
  /* Frames in which wrenches may be given: fixed to the platform, in its axes and from its origin, or
   * to the base. Rotations row by row. */
  const char *const *frame_names;
  const int *frame_on_platform;
  const double *frame_rotation, *frame_origin;
  /* A motion is memory of this size, aligned for any type, which belongs to the caller. */
  size_t motion_size;
  void (*at_home)(void *motion);
  int (*fit)(const double *q, const double *q_dot, const double *q_ddot, void *motion);
  double (*residual)(const void *motion);
  const double *(*off)(const void *motion); /* of each actuator, from the closed mechanism */
  /* At a motion. */
  int (*efforts)(const void *motion, const double *wrench, double *effort);
  int (*platform)(const void *motion, double *rotation, double *origin);
  int (*equations)(const void *motion, double *mass, double *bias);
  int (*actuated)(const void *motion, double *q, double *jacobian, double *drift);
} masticator_mechanism;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const masticator_mechanism masticator_mechanism_table;

#ifdef __cplusplus
}
#endif

#endif /* MASTICATOR_CONTROL__MECHANISM_H_ */
