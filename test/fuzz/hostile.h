// Objects and texts as nobody means them, made of an Input.
#pragma once

#include <string>

#include "pkg/json/value.h"
#include "test/fuzz/fuzz.h"

namespace fuzz {

// Names that mean something to us, numbers and times at their ends, controls, halves of characters,
// long ones.
[[nodiscard]] std::string Text(Input& input);

// Any value, of few levels.
[[nodiscard]] json::Value AnyValue(Input& input, int levels = 3);

// Changes some places in `object`: what is there goes, comes twice, or becomes something else.
void Spoil(Input& input, json::Value& object);

// The same, but for what every API server sees to: name, namespace, UID and resourceVersion.
void SpoilContent(Input& input, json::Value& object);

// `object` as text; its free-form parameters, which `object` need not have, may be what the API
// server stores and a strict reader refuses (S1).
[[nodiscard]] std::string WriteWithParameters(Input& input, json::Value object);

}  // namespace fuzz
