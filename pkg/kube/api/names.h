// What Kubernetes takes for a name or a label's value.
// Source: k8s.io/apimachinery/pkg/util/validation.
#pragma once

#include <string_view>

namespace kube {

// Up to 63 letters, digits, '-', '_' and '.', a letter or digit at both ends; or nothing.
[[nodiscard]] bool IsLabelValue(std::string_view text);

// Such as "example.com/rank": such a text that is not empty, with or without a DNS subdomain and
// '/' before it.
[[nodiscard]] bool IsLabelKey(std::string_view text);

// Such as the name of a node: up to 253 of lower-case letters, digits, '-' and '.', each part
// between dots with a letter or digit at both ends.
[[nodiscard]] bool IsDnsSubdomain(std::string_view text);

// Such as the name of a namespace: up to 63 of lower-case letters, digits and '-', a letter or
// digit at both ends.
[[nodiscard]] bool IsDnsLabel(std::string_view text);

}  // namespace kube
