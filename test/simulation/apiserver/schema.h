// The structural schema of a CustomResourceDefinition: it prunes, fills in defaults and validates,
// as the API server does. Read from the very files that an administrator applies.
//
// Immutable. Bound: the size of the file. Not modelled: ratcheting, that is the leniency towards
// values which an older schema let in.
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
  // From the text of a CustomResourceDefinition with one version. Ends the process for a CEL rule
  // or a keyword that it has not been taught: guessing would make the simulation lie.
  [[nodiscard]] static Schema FromCrd(const std::string& yaml);
  ~Schema();
  Schema(Schema&&) noexcept;
  Schema& operator=(Schema&&) noexcept;

  // Drops what the schema does not know, then fills in what it has defaults for.
  void Complete(json::Value& object) const;
  // What is wrong with `object`, one sentence each; `old` is null when it is being created.
  [[nodiscard]] std::vector<std::string> Validate(const json::Value& object,
                                                  const json::Value* old) const;

 private:
  struct Node;
  explicit Schema(std::unique_ptr<const Node> root);
  std::unique_ptr<const Node> root_;
};

}  // namespace simulation
