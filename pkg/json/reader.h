// A fast JSON reader: parses into a reusable arena and returns views.
//
// The watch path uses it. To edit JSON, parse it into a json::Value instead.
//
// A Parser and its views are for one thread.
// Bound: about twice the text for Kubernetes objects, about 25 times for a text of brackets only.
// Memory above 1 MiB is freed before the next text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "pkg/base/result.h"
#include "pkg/json/utf8.h"

namespace json {

// Maximum nesting of objects and arrays. Kubernetes' own types have at most about 20 levels.
constexpr int kDepthMax = 512;

namespace internal {
struct Node;
struct Tree;
}  // namespace internal

// A value in a parsed text. Reading never fails: an absent value, or one of another type, is empty.
// Valid until the Parser's next Parse().
class View {
 public:
  View() = default;

  bool IsNull() const;  // True also if absent.
  bool IsObject() const;
  bool IsArray() const;

  // Returns the member of that name. If there are several, the last one, as in Go.
  View operator[](std::string_view name) const;
  std::string_view AsString() const;
  std::optional<std::int64_t> AsInt() const;  // Empty also if it does not fit.
  bool AsBool() const;

  std::size_t size() const;                           // Of an array or object. 0 otherwise.
  View at(std::size_t index) const;                   // Item of an array, or value of a member.
  std::string_view name_at(std::size_t index) const;  // Name of a member.

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
  const internal::Node* node_ = nullptr;  // Null if absent.
};

class Parser {
 public:
  Parser();
  ~Parser();
  Parser(Parser&&) noexcept;

  // Parses exactly one JSON value, in UTF-8, of at most 512 levels. Returns kInvalid with the
  // offset otherwise.
  base::Result<View> Parse(std::string_view text);

 private:
  std::unique_ptr<internal::Tree> tree_;
};

// A text with its own parser. Its views are valid while it exists.
class Document {
 public:
  Document(Parser parser, View root) : parser_(std::move(parser)), root_(root) {}
  static base::Result<Document> Parse(std::string_view text);

  View operator[](std::string_view name) const { return root_[name]; }
  operator View() const& { return root_; }
  operator View() && = delete;

 private:
  Parser parser_;
  View root_;
};

}  // namespace json
