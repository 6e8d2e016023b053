// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Class Feedforward, played from standard input, a command a line, for tests without ROS:
//   settings proportional derivative feedback_limit scale tolerance hold ramp cutoff timeout
//   start position.. effort..
//   wrench slot axes point value(6) age
//   step kind period position.. [velocity.. acceleration..] measured.. rates..   (kind: full, positions)
// Prints a line for each start and step.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "masticator_control/feedforward.hpp"

namespace {
std::size_t allocations = 0;

using masticator_control::Feedforward;
using masticator_control::Wrench;
using masticator_control::frame_index;
const masticator_mechanism & mechanism = masticator_mechanism_table;
const auto count = static_cast<std::size_t>(mechanism.actuators);

std::vector<double> read(std::istream & line, std::size_t size) {
  std::vector<double> values(size);
  std::string word;
  for (auto & value : values) {
    if (!(line >> word)) {std::exit(2);}
    value = std::strtod(word.c_str(), nullptr);  // streams do not read nan
  }
  return values;
}

void step(Feedforward & feedforward, std::istream & line, const std::vector<Wrench> & wrenches) {
  std::string kind;
  line >> kind;
  const bool full = kind == "full";
  const double period = read(line, 1)[0];
  const auto row = read(line, (full ? 3 : 1) * count), measured = read(line, count), rates = read(line, count);
  const masticator_control::Reference reference{
    row.data(), full ? row.data() + count : nullptr, full ? row.data() + 2 * count : nullptr};
  const std::size_t before = allocations;
  const auto outcome = feedforward.step(reference, measured.data(), rates.data(), wrenches.data(), period);
  std::printf(
    "%d %d %d %zu %zu", static_cast<int>(outcome), static_cast<int>(feedforward.reason()),
    feedforward.clamped(), feedforward.stale_wrenches(), allocations - before);
  for (const auto * values : {&feedforward.effort(), &feedforward.velocity(), &feedforward.acceleration()}) {
    for (const double value : *values) {std::printf(" %.17g", value);}
  }
  std::printf("\n");
}
}  // namespace

[[gnu::noinline]] void * operator new(std::size_t size) {
  ++allocations;
  if (void * memory = std::malloc(size)) {return memory;}
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void * memory) noexcept {std::free(memory);}
[[gnu::noinline]] void operator delete(void * memory, std::size_t) noexcept {std::free(memory);}

int main() {
  masticator_control::Settings settings;
  std::vector<Wrench> wrenches(2);
  std::unique_ptr<Feedforward> feedforward;
  std::string text, command;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    line >> command;
    if (command == "settings") {
      const auto given = read(line, 9);
      settings = {std::vector<double>(count, given[0]), std::vector<double>(count, given[1]),
        std::vector<double>(count, given[2]), given[3], given[4], given[5], given[6], given[7], given[8]};
      feedforward = std::make_unique<Feedforward>(mechanism, settings, wrenches.size());
    } else if (command == "start") {
      const auto position = read(line, count), effort = read(line, count);
      const std::string problem = feedforward->start(position.data(), effort.data(), wrenches.data());
      std::printf("%s\n", problem.empty() ? "started" : problem.c_str());
    } else if (command == "wrench") {
      std::string slot, axes, point;
      line >> slot >> axes >> point;
      std::array<double, 6> value;
      const auto given = read(line, 7);
      std::copy_n(given.begin(), 6, value.begin());
      Wrench & wrench = wrenches.at(std::stoul(slot));
      const auto number = wrench.number + 1;
      wrench = masticator_control::placed(
        mechanism, frame_index(mechanism, axes).value(), frame_index(mechanism, point).value(), value);
      wrench.age = given[6];
      wrench.number = number;
    } else if (command == "step") {
      step(*feedforward, line, wrenches);
    }
  }
}
