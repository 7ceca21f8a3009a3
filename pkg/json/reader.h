// Reads JSON fast: parses a text in place into an arena that is used again, and hands out views.
// The watch path uses it; what must be edited is parsed into a json::Value instead.
//
// A Parser and its views are used by one thread. Bound: for objects as Kubernetes has them about
// twice their text, for one of brackets alone about 25 times; what passes 1 MiB is given back
// before the next text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "pkg/base/result.h"
#include "pkg/json/utf8.h"

namespace json {

// Levels of objects and arrays in one text. The deepest that Kubernetes' own types have is
// about 20.
constexpr int kDepthMax = 512;

namespace internal {
struct Node;
struct Tree;
}  // namespace internal

// Something in a parsed text. Reading never fails: what is absent or of another type is empty.
// Valid until the Parser's next Parse().
class View {
 public:
  View() = default;

  [[nodiscard]] bool IsNull() const;  // Also if absent.
  [[nodiscard]] bool IsObject() const;
  [[nodiscard]] bool IsArray() const;

  // The member of that name; of several the last one, as in Go.
  [[nodiscard]] View operator[](std::string_view name) const;
  [[nodiscard]] std::string_view AsString() const;
  [[nodiscard]] std::optional<std::int64_t> AsInt() const;  // Empty if it does not fit, too.
  [[nodiscard]] bool AsBool() const;

  [[nodiscard]] std::size_t size() const;          // Of an array or object, else 0.
  [[nodiscard]] View at(std::size_t index) const;  // Item of an array, or value of a member.
  [[nodiscard]] std::string_view name_at(std::size_t index) const;  // Name of a member.

  // Calls `use(View)` for each item of an array.
  template <typename Use>
  void ForEach(Use use) const {
    if (!IsArray()) return;
    for (std::size_t i = 0; i < size(); ++i) use(at(i));
  }
  // Calls `use(name, View)` for each member of an object.
  template <typename Use>
  void ForEachMember(Use use) const {
    if (!IsObject()) return;
    for (std::size_t i = 0; i < size(); ++i) use(name_at(i), at(i));
  }

 private:
  friend class Parser;
  View(const internal::Tree& tree, const internal::Node& node) : tree_(&tree), node_(&node) {}

  const internal::Tree* tree_ = nullptr;
  const internal::Node* node_ = nullptr;  // Null: absent.
};

class Parser {
 public:
  Parser();
  ~Parser();
  Parser(Parser&&) noexcept;

  // kInvalid, with the offset, for anything that is not exactly one JSON value in UTF-8 of at most
  // 512 levels.
  [[nodiscard]] base::Result<View> Parse(std::string_view text);

 private:
  std::unique_ptr<internal::Tree> tree_;
};

// One text with a parser of its own: views of it are valid as long as it lives.
class Document {
 public:
  Document(Parser parser, View root) : parser_(std::move(parser)), root_(root) {}
  [[nodiscard]] static base::Result<Document> Parse(std::string_view text);

  [[nodiscard]] View operator[](std::string_view name) const { return root_[name]; }
  operator View() const& { return root_; }
  operator View() && = delete;

 private:
  Parser parser_;
  View root_;
};

}  // namespace json
