// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef MASTICATOR_CONTROL__LIBRARY_HPP_
#define MASTICATOR_CONTROL__LIBRARY_HPP_

#include <memory>
#include <string>

#include "masticator_control/mechanism.h"

namespace masticator_control {
/// The mechanism of this name, which masticator_add_mechanism() made in any package, from its library.
/// Throws std::runtime_error naming what is missing, and the mechanisms that there are.
std::shared_ptr<const masticator_mechanism> load_mechanism(const std::string & name);
}  // namespace masticator_control

#endif  // MASTICATOR_CONTROL__LIBRARY_HPP_
