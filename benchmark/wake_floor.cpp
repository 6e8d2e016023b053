// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
// How late a thread wakes that does nothing else: what is left to the kernel and the machine.

#include <time.h>

// Sleeps `count` times until `period` ns after the time before; `late` gets by how much it woke
// after that, ns.
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
