// Label and field selectors of a query, parsed like the API server. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pkg/base/result.h"
#include "test/simulation/apiserver/kinds.h"
#include "test/simulation/apiserver/object.h"

namespace simulation {

class Selector {
 public:
  Selector() = default;  // Selects everything.

  // Returns kInvalid if the server would refuse it with 400.
  static base::Result<Selector> Parse(const KindInfo& kind, std::string_view labels,
                                      std::string_view fields);

  bool Matches(const Object& object) const;
  bool SelectsAll() const { return labels_.empty() && fields_.empty(); }

 private:
  enum class Operator { kIn, kNotIn, kExists, kNotExists };
  struct LabelTerm {
    std::string key = {};
    Operator op = Operator::kExists;
    std::vector<std::string> values = {};
  };
  struct FieldTerm {
    std::vector<std::string> path = {};
    std::string value = {};
    bool equal = true;
  };

  static base::Result<LabelTerm> ParseLabelTerm(std::string_view text);
  static base::Result<FieldTerm> ParseFieldTerm(const KindInfo& kind, std::string_view text);

  std::vector<LabelTerm> labels_;
  std::vector<FieldTerm> fields_;
};

}  // namespace simulation
