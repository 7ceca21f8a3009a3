#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace http {

// Immutable bytes. Copies share them, so that a large reply that several threads read is in memory
// once.
class Body {
 public:
  Body() = default;
  // NOLINTBEGIN(google-explicit-constructor): it takes the place of a text.
  Body(std::string bytes) : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}
  Body(const char* bytes) : Body(std::string(bytes)) {}
  operator std::string_view() const { return text(); }
  // NOLINTEND(google-explicit-constructor)

  const std::string& text() const {
    static const std::string kNone;
    return bytes_ ? *bytes_ : kNone;
  }
  std::size_t size() const { return text().size(); }
  bool empty() const { return text().empty(); }

  friend bool operator==(const Body& a, std::string_view b) { return a.text() == b; }
  friend std::ostream& operator<<(std::ostream& out, const Body& body) {
    return out << body.text();
  }

 private:
  std::shared_ptr<const std::string> bytes_;
};

}  // namespace http
