// Checks names, label keys and label values as Kubernetes does.
//
// Source: k8s.io/apimachinery/pkg/util/validation.
#pragma once

#include <string_view>

namespace kube {

// Returns whether `text` is a label value: empty, or up to 63 letters, digits, '-', '_' and '.',
// with a letter or digit at both ends.
bool IsLabelValue(std::string_view text);

// Returns whether `text` is a label key, such as "example.com/rank": a label value that is not
// empty, with an optional DNS subdomain and '/' before it.
bool IsLabelKey(std::string_view text);

// Returns whether `text` is a DNS subdomain, such as a node name: up to 253 lower-case letters,
// digits, '-' and '.'. Each part between dots has a letter or digit at both ends.
bool IsDnsSubdomain(std::string_view text);

// Returns whether `text` is a DNS label, such as a namespace name: up to 63 lower-case letters,
// digits and '-', with a letter or digit at both ends.
bool IsDnsLabel(std::string_view text);

}  // namespace kube
