#include "pkg/json/reader.h"

#include <charconv>
#include <string>
#include <vector>

#include "pkg/json/rapidjson_guard.h"

namespace json {

namespace {

using Allocator = rapidjson::MemoryPoolAllocator<>;
using Document = rapidjson::GenericDocument<rapidjson::UTF8<>, Allocator>;

constexpr std::size_t kKeepMax = 1U << 20;  // An arena or buffer above this is given back.
constexpr std::size_t kChunk = 64U << 10;
constexpr std::size_t kPadding = 8;  // RapidJSON looks at bytes behind the end.

const rapidjson::Value* Cast(const void* value) {
  return static_cast<const rapidjson::Value*>(value);
}

}  // namespace

bool View::IsNull() const { return value_ == nullptr || Cast(value_)->IsNull(); }
bool View::IsObject() const { return value_ != nullptr && Cast(value_)->IsObject(); }
bool View::IsArray() const { return value_ != nullptr && Cast(value_)->IsArray(); }

View View::operator[](std::string_view name) const {
  if (!IsObject()) return View();
  // From the end: of members with the same name the last one counts, as in Go.
  const auto* object = Cast(value_);
  for (auto it = object->MemberEnd(); it != object->MemberBegin();) {
    --it;
    if (std::string_view(it->name.GetString(), it->name.GetStringLength()) == name) {
      return View(&it->value);
    }
  }
  return View();
}

std::string_view View::AsString() const {
  if (value_ == nullptr || !Cast(value_)->IsString()) return {};
  return {Cast(value_)->GetString(), Cast(value_)->GetStringLength()};
}

std::optional<std::int64_t> View::AsInt() const {
  const std::string_view text = AsString();  // Numbers are kept as text.
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || stop != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

bool View::AsBool() const { return value_ != nullptr && Cast(value_)->IsTrue(); }

std::size_t View::size() const {
  if (IsArray()) return Cast(value_)->Size();
  if (IsObject()) return Cast(value_)->MemberCount();
  return 0;
}

View View::at(std::size_t index) const {
  if (index >= size()) return View();
  if (IsArray()) return View(&(*Cast(value_))[static_cast<rapidjson::SizeType>(index)]);
  return View(&(Cast(value_)->MemberBegin() + static_cast<std::ptrdiff_t>(index))->value);
}

std::string_view View::name_at(std::size_t index) const {
  if (!IsObject() || index >= size()) return {};
  const auto& name = (Cast(value_)->MemberBegin() + static_cast<std::ptrdiff_t>(index))->name;
  return {name.GetString(), name.GetStringLength()};
}

struct Parser::State {
  std::vector<char> text;
  std::unique_ptr<Allocator> allocator;
  std::unique_ptr<Document> document;
};

Parser::Parser() : state_(std::make_unique<State>()) {}
Parser::~Parser() = default;
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;

base::Result<View> Parser::Parse(std::string_view text) {
  State& state = *state_;
  state.document.reset();
  if (state.text.capacity() > kKeepMax) std::vector<char>().swap(state.text);
  if (!state.allocator || state.allocator->Capacity() > kKeepMax) {
    state.allocator = std::make_unique<Allocator>(kChunk);
  } else {
    state.allocator->Clear();
  }
  state.text.assign(text.begin(), text.end());
  state.text.insert(state.text.end(), kPadding, '\0');
  state.document = std::make_unique<Document>(state.allocator.get());

  rapidjson::InsituStringStream stream(state.text.data());
  rapidjson::Reader reader;
  rapidjson::ParseResult result;
  internal::Filter<Document> filter(*state.document);
  const auto generate = [&](Document& /*handler*/) {
    constexpr unsigned kFlags = rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag |
                                rapidjson::kParseNumbersAsStringsFlag;
    result = reader.Parse<kFlags>(stream, filter);
    return !result.IsError();
  };
  state.document->Populate(generate);
  TRY(internal::CheckParse(result, filter, stream.Tell(), text.size()));
  return View(static_cast<const rapidjson::Value*>(state.document.get()));
}

}  // namespace json
