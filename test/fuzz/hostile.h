// Malformed objects and texts, made from an Input.
#pragma once

#include <string>

#include "pkg/json/value.h"
#include "test/fuzz/fuzz.h"

namespace fuzz {

// Returns a text: a name that the product uses, an extreme number or time, control characters, half
// a character, or a long text.
std::string Text(Input& input);

// Returns any value with at most `levels` levels.
json::Value AnyValue(Input& input, int levels = 3);

// Changes some places in `object`: removes, duplicates or replaces them.
void Spoil(Input& input, json::Value& object);

// The same, but keeps what every API server ensures: name, namespace, UID and resourceVersion.
void SpoilContent(Input& input, json::Value& object);

// Returns `object` as text. Its free-form parameters, which `object` need not have, may be a text
// that the API server stores and a strict parser rejects (S1).
std::string WriteWithParameters(Input& input, json::Value object);

}  // namespace fuzz
