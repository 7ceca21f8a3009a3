#include "pkg/kube/cache/list_page.h"

#include <algorithm>
#include <optional>

#include "pkg/json/reader.h"
#include "pkg/json/scanner.h"

namespace kube {

namespace {

// Reads a text value by value.
class Walk {
 public:
  explicit Walk(std::string_view text) : text_(text) {}

  // Skips `c` if it comes next, after white space. Returns whether it did.
  bool Skip(char c) {
    if (!NextIs(c)) return false;
    ++at_;
    return true;
  }

  // Returns the next value. Empty if there is none.
  std::optional<std::string_view> Value() {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    json::Scanner scanner;
    const json::Scanner::Result result = scanner.Scan(text_.substr(at_));
    if (result.found != json::Scanner::Found::kValue) return std::nullopt;
    at_ += result.used;
    return text_.substr(at_ - result.used, result.used);
  }

  // Returns the items of the next array. Empty if there is none.
  std::optional<std::vector<std::string_view>> Array() {
    std::vector<std::string_view> items;
    if (!Skip('[')) return std::nullopt;
    if (Skip(']')) return items;
    do {
      const std::optional<std::string_view> item = Value();
      if (!item) return std::nullopt;
      items.push_back(*item);
    } while (Skip(','));
    if (!Skip(']')) return std::nullopt;
    return items;
  }

  std::size_t at() const { return at_; }
  bool AtEnd() const { return text_.find_first_not_of(" \t\r\n", at_) == std::string_view::npos; }
  bool NextIs(char c) {
    at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    return at_ < text_.size() && text_[at_] == c;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

tl::unexpected<base::Error> NotAList(const Walk& walk) {
  return base::Invalid("not a list, at offset " + std::to_string(walk.at()));
}

}  // namespace

base::Result<ListPage> ReadListPage(std::string_view body) {
  ListPage page;
  std::string envelope = "{";  // The object without its items.
  Walk walk(body);
  if (!walk.Skip('{')) return NotAList(walk);
  bool more = !walk.NextIs('}');
  while (more) {
    const std::optional<std::string_view> name = walk.Value();
    if (!name || name->front() != '"' || !walk.Skip(':')) return NotAList(walk);
    if (*name == "\"items\"" && walk.NextIs('[')) {
      std::optional<std::vector<std::string_view>> items = walk.Array();
      if (!items) return NotAList(walk);
      page.items = *std::move(items);
    } else {
      const std::optional<std::string_view> value = walk.Value();
      if (!value) return NotAList(walk);
      if (envelope.size() > 1) envelope += ',';
      envelope.append(*name).append(":").append(*value);
    }
    more = walk.Skip(',');
  }
  if (!walk.Skip('}') || !walk.AtEnd()) return NotAList(walk);

  const json::Document list = TRY(json::Document::Parse(envelope + "}"));
  page.kind = list["kind"].AsString();
  page.resource_version = list["metadata"]["resourceVersion"].AsString();
  page.continue_token = list["metadata"]["continue"].AsString();
  return page;
}

}  // namespace kube
