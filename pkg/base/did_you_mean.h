// Finds the known name that is most similar to a misspelt one.
//
// Pure functions; thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace base {

// Returns the name in `known` with the fewest changed letters: at most a third of the letters may
// change, or two in a short name. Otherwise the shortest name that begins with `name` and a dash.
// Empty if none is similar. A name of more than 100 bytes is similar to none.
std::string Nearest(std::string_view name, std::span<const std::string> known);

// Returns "; did you mean X?" for the end of a message. Empty if no known name is similar.
std::string DidYouMean(std::string_view name, std::span<const std::string> known);

}  // namespace base
