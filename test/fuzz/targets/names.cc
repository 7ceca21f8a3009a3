// What Kubernetes takes for a name, a label's value or a resourceVersion.
#include "pkg/kube/api/names.h"

#include <regex.h>

#include "pkg/kube/api/meta.h"
#include "test/fuzz/hostile.h"

namespace {

// Of the C library, with the expression that Kubernetes itself has.
class Expression {
 public:
  explicit Expression(const char* text) { CHECK(::regcomp(&compiled_, text, REG_EXTENDED) == 0); }
  bool Matches(std::string_view text) const {
    const std::string whole(text);
    // It would take a NUL for the end, and a line break for the end of a line.
    if (whole.find('\0') != std::string::npos) return false;
    return ::regexec(&compiled_, whole.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_ = {};
};

}  // namespace

// Both are what the expressions in k8s.io/apimachinery/pkg/util/validation say, and no longer than
// it says.
FUZZ_TARGET(names, text) {
  static const Expression label("^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$");
  static const Expression subdomain(
      "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$");
  CHECK(kube::IsLabelValue(text) == (text.size() <= 63 && label.Matches(text)));
  CHECK(kube::IsDnsSubdomain(text) == (text.size() <= 253 && subdomain.Matches(text)));
}

// Of resourceVersions exactly one of two is older, or they are equal; what is older than the older
// one is older; and what is no version is neither older nor newer than any.
FUZZ_TARGET(versions, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  const std::string a = input.ConsumeRandomLengthString(45);
  const std::string b = input.ConsumeRandomLengthString(45);
  const std::string c = input.ConsumeRandomLengthString(45);
  CHECK(!kube::IsOlder(a, a));
  CHECK(!(kube::IsOlder(a, b) && kube::IsOlder(b, a)));
  CHECK(!(kube::IsOlder(a, b) && kube::IsOlder(b, c)) || kube::IsOlder(a, c));
  if (!kube::IsWellFormedVersion(a) || !kube::IsWellFormedVersion(b)) {
    CHECK(!kube::IsOlder(a, b));
    return;
  }
  CHECK(a == b || kube::IsOlder(a, b) || kube::IsOlder(b, a));
  if (a.size() > 19 || b.size() > 19) return;
  CHECK(kube::IsOlder(a, b) == (std::stoull(a) < std::stoull(b)));
}
