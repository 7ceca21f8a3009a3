// The known name that a misspelt one is nearest to. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace base {

// The one of `known` that takes the fewest changes of a letter: at most a third of the letters may
// change, and two of a short name. Else the shortest that begins with the whole name and a dash.
// Empty if none is similar. A name of more than 100 bytes is similar to none.
[[nodiscard]] std::string Nearest(std::string_view name, std::span<const std::string> known);

// "; did you mean X?" for the end of a message. Empty if no known name is similar.
[[nodiscard]] std::string DidYouMean(std::string_view name, std::span<const std::string> known);

}  // namespace base
