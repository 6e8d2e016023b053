// Copyright 2026 The masticator_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Class Feedforward, played from standard input, a command a line, for tests without ROS:
//   settings proportional derivative feedback_limit tolerance conditioning step hold ramp cutoff timeout
//   start position.. effort..
//   wrench slot axes point value(6) age
//   step period position.. velocity.. acceleration.. measured.. rates..
// Prints a line for each start and step.
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <sstream>

#include "masticator_control/feedforward.hpp"

namespace {
using masticator_control::Feedforward;
using masticator_control::Wrench;
const auto count = static_cast<std::size_t>(masticator_mechanism_table.actuators);
std::size_t allocations = 0;

std::vector<double> read(std::istream & line, std::size_t size) {
  std::vector<double> values(size);
  std::string word;
  for (auto & value : values) {
    if (!(line >> word)) {std::exit(2);}
    value = std::strtod(word.c_str(), nullptr);  // streams do not read nan
  }
  return values;
}

void step(Feedforward & feedforward, std::istream & line) {
  const double period = read(line, 1)[0];
  const auto reference = read(line, 3 * count), measured = read(line, count), rates = read(line, count);
  const std::size_t before = allocations;
  const bool holds = feedforward.step(reference.data(), measured.data(), rates.data(), period);
  std::printf(
    "%d %d %zu %zu", holds, feedforward.clamped(), feedforward.stale_wrenches(), allocations - before);
  for (const auto * values : {&feedforward.effort(), &feedforward.position(), &feedforward.velocity(),
      &feedforward.acceleration()}) {
    for (const double value : *values) {std::printf(" %.17g", value);}
  }
  std::printf(" # %s\n", feedforward.refusal());
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
  std::uint64_t messages = 0;
  std::unique_ptr<Feedforward> feedforward;
  std::string text, command;
  while (std::getline(std::cin, text)) {
    std::istringstream line(text);
    line >> command;
    if (command == "settings") {
      const auto x = read(line, 10);
      const auto each = [](double value) {return std::vector<double>(count, value);};
      const masticator_control::Settings settings{
        each(x[0]), each(x[1]), each(x[2]), x[3], x[4], x[5], x[6], x[7], x[8], x[9]};
      feedforward = std::make_unique<Feedforward>(masticator_mechanism_table, settings, 2);
    } else if (command == "start") {
      const auto position = read(line, count), effort = read(line, count);
      std::printf("%s\n", feedforward->start(position.data(), effort.data()).c_str());
    } else if (command == "wrench") {
      Wrench wrench;
      std::size_t slot;
      line >> slot >> wrench.axes >> wrench.point;
      const auto x = read(line, 7);
      std::copy_n(x.begin(), 6, wrench.value.begin());
      wrench.age = x[6];
      wrench.number = ++messages;
      feedforward->take(slot, wrench);
    } else if (command == "step") {
      step(*feedforward, line);
    }
  }
}
