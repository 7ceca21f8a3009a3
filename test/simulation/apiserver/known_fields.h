// The fields that built-in kinds have. The API server drops what it does not know of them, without
// an error, and so does the simulated one.
//
// Immutable. The text is that of test/fixtures/known_fields.txt, which
// test/e2e/test_known_fields.py holds to a real API server. What a field may hold is not checked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/json/value.h"
#include "test/simulation/apiserver/kinds.h"

namespace simulation {

class KnownFields {
 public:
  // From the text of such a file. Ends the process if a built-in kind is not in it.
  explicit KnownFields(const std::string& text);

  // Drops what the kind, which is a built-in one, does not have.
  void DropUnknown(Kind kind, json::Value& object) const;

 private:
  struct Type;
  struct Field {
    std::string name = {};
    const Type* type = nullptr;  // Of the object, or of each in a list; null: anything.
    bool is_map = false;         // Of each value.
  };
  struct Type {
    std::vector<Field> fields = {};  // By name.
    [[nodiscard]] const Field* Find(const std::string& name) const;
  };

  static void Drop(const Type& type, json::Value& value);
  static void DropInField(const Field& field, json::Value& value);

  std::map<std::string, Type> types_ = {};
};

}  // namespace simulation
