// Scalars of YAML that are read back as the texts that they were.
#pragma once

#include <string>
#include <string_view>

namespace cdi {

// As it is where no reader takes it for something else than a text; else in double quotes.
[[nodiscard]] std::string YamlScalar(std::string_view text);

}  // namespace cdi
