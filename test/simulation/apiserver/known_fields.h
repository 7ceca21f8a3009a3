// The fields of built-in kinds: the server drops all others.
//
// A real API server drops unknown fields of built-in kinds without an error, and so does the
// simulated server. Field types are not checked. Immutable.
//
// The text is test/fixtures/known_fields.txt. test/e2e/test_known_fields.py compares it with a real
// API server.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/json/value.h"
#include "test/simulation/apiserver/kinds.h"

namespace simulation {

class KnownFields {
 public:
  // Parses such a file. Ends the process if a built-in kind is missing.
  explicit KnownFields(const std::string& text);

  // Drops unknown fields of an object of this built-in kind.
  void DropUnknown(Kind kind, json::Value& object) const;

 private:
  struct Type;
  struct Field {
    std::string name = {};
    const Type* type = nullptr;  // Type of the object or of each list item. Null if any.
    bool is_map = false;         // A map with values of that type.
  };
  struct Type {
    std::vector<Field> fields = {};  // By name.
    const Field* Find(const std::string& name) const;
  };

  static void Drop(const Type& type, json::Value& value);
  static void DropInField(const Field& field, json::Value& value);

  std::map<std::string, Type> types_ = {};
};

}  // namespace simulation
