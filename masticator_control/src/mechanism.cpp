// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "masticator_control/mechanism.h"

#include <dlfcn.h>

#include <stdexcept>

#include "ament_index_cpp/get_resource.hpp"
#include "ament_index_cpp/get_resources.hpp"

namespace masticator_control {
std::shared_ptr<const masticator_mechanism> load_mechanism(const std::string & name) {
  constexpr char resource[] = "masticator_mechanisms";
  std::string content, prefix, there_are;
  if (name.empty() || !ament_index_cpp::get_resource(resource, name, content, &prefix)) {
    for (const auto & other : ament_index_cpp::get_resources(resource)) {there_are += " " + other.first;}
    throw std::runtime_error(
            "there is no exported mechanism '" + name + "'; there are:" + there_are +
            ". masticator_add_mechanism() in a package's CMakeLists.txt makes one");
  }
  const std::string file = prefix + "/" + content.substr(0, content.find(';'));
  const std::shared_ptr<void> library(
    dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL), [](void * handle) {if (handle) {dlclose(handle);}});
  if (!library) {throw std::runtime_error("mechanism '" + name + "': " + dlerror());}
  const auto table = static_cast<const masticator_mechanism *>(
    dlsym(library.get(), "masticator_mechanism_table"));
  if (table == nullptr || table->version != MASTICATOR_MECHANISM_VERSION) {
    throw std::runtime_error(
            "mechanism '" + name + "': " + file + " was made for another version of masticator_control");
  }
  return {library, table};  // the library stays as long as the table is used
}
}  // namespace masticator_control
