// The schema of a CustomResourceDefinition: prunes, defaults and validates.
//
// It works like the API server, on the files that an administrator applies. Immutable. Bound: the
// size of the file. Not modelled: ratcheting, which accepts values that an older schema accepted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pkg/json/value.h"

namespace simulation {

class Schema {
 public:
  // Parses a CustomResourceDefinition with one version. Ends the process for an unsupported CEL
  // rule or keyword: a guess would make the simulation wrong.
  static Schema FromCrd(const std::string& yaml);
  ~Schema();
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;

  // Drops unknown fields, then fills in defaults.
  void Complete(json::Value& object) const;
  // Returns the errors of `object`, one sentence each. `old` is null on creation.
  std::vector<std::string> Validate(const json::Value& object, const json::Value* old) const;

 private:
  struct Node;
  explicit Schema(std::unique_ptr<const Node> root);
  std::unique_ptr<const Node> root_;
};

}  // namespace simulation
