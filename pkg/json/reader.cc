#include "pkg/json/reader.h"

#include <limits>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/base/number.h"
#include "pkg/json/rapidjson_guard.h"

namespace json {

namespace internal {

enum class Kind : std::uint8_t { kNull, kTrue, kFalse, kNumber, kString, kArray, kObject };

struct Node {
  std::uint32_t size = 0;  // Bytes of text, items, or members.
  // Start of the text in Tree::text, of the items in Tree::nodes, or of the members. The name of a
  // member comes right before its value.
  std::uint32_t start = 0;
  Kind kind = Kind::kNull;
};

// A parsed text. Nodes refer to one another by index, so that the vectors may grow. They are reused
// for the next text.
struct Tree {
  std::vector<char> text = {};   // Decoded in place.
  std::vector<Node> nodes = {};  // Children are adjacent. The root is last.
  std::vector<Node> open = {};   // During a parse: values whose parent has not ended.
};

namespace {

constexpr std::size_t kKeepMax = 1U << 20;  // Bytes. A larger vector is freed.
constexpr std::size_t kPadding = 8;         // The parser reads bytes after the end.

template <typename T>
void Reset(std::vector<T>& vector) {
  if (vector.capacity() * sizeof(T) > kKeepMax) {
    std::vector<T>().swap(vector);
  } else {
    vector.clear();
  }
}

// Receives the parser's events and builds the tree, children before their parent.
class TreeBuilder {
 public:
  using SizeType = rapidjson::SizeType;
  explicit TreeBuilder(Tree& tree) : tree_(tree) {}

  // NOLINTBEGIN(readability-identifier-naming): RapidJSON names these.
  bool Null() { return Put({.kind = Kind::kNull}); }
  bool Bool(bool value) { return Put({.kind = value ? Kind::kTrue : Kind::kFalse}); }
  bool RawNumber(const char* text, SizeType length, bool /*copy*/) {
    return PutText(Kind::kNumber, text, length);
  }
  bool String(const char* text, SizeType length, bool /*copy*/) {
    return PutText(Kind::kString, text, length);
  }
  bool Key(const char* text, SizeType length, bool /*copy*/) {
    return PutText(Kind::kString, text, length);
  }
  bool StartObject() { return true; }
  bool EndObject(SizeType members) {
    return Close(Kind::kObject, members, std::size_t{2} * members);
  }
  bool StartArray() { return true; }
  bool EndArray(SizeType items) { return Close(Kind::kArray, items, items); }
  // NOLINTEND(readability-identifier-naming)

 private:
  bool Put(Node node) {
    tree_.open.push_back(node);
    return true;
  }
  bool PutText(Kind kind, const char* text, SizeType length) {
    const auto start = static_cast<std::uint32_t>(text - tree_.text.data());
    return Put({.size = length, .start = start, .kind = kind});
  }
  bool Close(Kind kind, SizeType size, std::size_t children) {
    CHECK(children <= tree_.open.size());
    const auto first = tree_.open.end() - static_cast<std::ptrdiff_t>(children);
    const auto start = static_cast<std::uint32_t>(tree_.nodes.size());
    tree_.nodes.insert(tree_.nodes.end(), first, tree_.open.end());
    tree_.open.erase(first, tree_.open.end());
    return Put({.size = size, .start = start, .kind = kind});
  }

  Tree& tree_;
};

std::string_view TextOf(const Tree& tree, const Node& node) {
  return {tree.text.data() + node.start, node.size};
}

}  // namespace
}  // namespace internal

using internal::Kind, internal::Node;

bool View::IsNull() const { return node_ == nullptr || node_->kind == Kind::kNull; }
bool View::IsObject() const { return node_ != nullptr && node_->kind == Kind::kObject; }
bool View::IsArray() const { return node_ != nullptr && node_->kind == Kind::kArray; }

View View::operator[](std::string_view name) const {
  // From the end: of members with the same name the last one counts, as in Go.
  for (std::size_t i = IsObject() ? size() : 0; i-- > 0;) {
    if (name_at(i) == name) return at(i);
  }
  return View();
}

std::string_view View::AsString() const {
  if (node_ == nullptr || node_->kind != Kind::kString) return {};
  return internal::TextOf(*tree_, *node_);
}

std::optional<std::int64_t> View::AsInt() const {
  if (node_ == nullptr || node_->kind != Kind::kNumber) return std::nullopt;
  return base::ParseNumber<std::int64_t>(internal::TextOf(*tree_, *node_));
}

bool View::AsBool() const { return node_ != nullptr && node_->kind == Kind::kTrue; }

std::size_t View::size() const { return IsArray() || IsObject() ? node_->size : 0; }

View View::at(std::size_t index) const {
  if (index >= size()) return View();
  const std::size_t offset = IsArray() ? index : 2 * index + 1;
  return View(*tree_, tree_->nodes[node_->start + offset]);
}

std::string_view View::name_at(std::size_t index) const {
  if (!IsObject() || index >= size()) return {};
  return internal::TextOf(*tree_, tree_->nodes[node_->start + 2 * index]);
}

Parser::Parser() : tree_(std::make_unique<internal::Tree>()) {}
Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;

base::Result<View> Parser::Parse(std::string_view text) {
  // Offsets and indices have 32 bits. No text has more nodes than bytes.
  if (text.size() >= std::numeric_limits<std::uint32_t>::max()) {
    return base::Invalid("JSON of 4 GiB or more");
  }
  internal::Tree& tree = *tree_;
  internal::Reset(tree.text);
  internal::Reset(tree.nodes);
  internal::Reset(tree.open);
  tree.text.reserve(text.size() + internal::kPadding);
  tree.text.assign(text.begin(), text.end());
  tree.text.insert(tree.text.end(), internal::kPadding, '\0');

  rapidjson::InsituStringStream stream(tree.text.data());
  internal::TreeBuilder builder(tree);
  TRY(internal::ParseInto<rapidjson::kParseInsituFlag>(builder, stream, text.size()));
  CHECK(tree.open.size() == 1);
  tree.nodes.push_back(tree.open.front());
  return View(tree, tree.nodes.back());
}

base::Result<Document> Document::Parse(std::string_view text) {
  Parser parser;
  const View root = TRY(parser.Parse(text));
  return Document(std::move(parser), root);
}

}  // namespace json
