// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// How late an idle thread wakes: the lateness due to kernel and machine alone.

#include <time.h>

// Sleeps `count` times until `period` ns after the previous due time; writes to `late` how late it
// woke each time, ns.
extern "C" void wake(long count, long period, double *late) {
  timespec due;
  clock_gettime(CLOCK_MONOTONIC, &due);
  for (long i = 0; i < count; ++i) {
    due.tv_nsec += period;
    if (due.tv_nsec >= 1000000000) {
      due.tv_nsec -= 1000000000;
      ++due.tv_sec;
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, nullptr);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    late[i] = 1e9 * (now.tv_sec - due.tv_sec) + (now.tv_nsec - due.tv_nsec);
  }
}
