#pragma once

namespace json {

// Levels of objects and arrays in one text. The deepest that Kubernetes' own types have is
// about 20.
constexpr int kDepthMax = 512;

}  // namespace json
