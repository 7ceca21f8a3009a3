// The JSON readers against another library's (nlohmann's) verdict:
//  - both of ours take what it takes, refuse what it refuses, and see the same values in it;
//  - what is written of a value is read as that value, and written in the same way again.
//
// The verdicts differ on purpose in four cases, and in no other:
//  - a byte order mark before the text: it skips one, as JSON's RFC allows; we, as Go, do not;
//  - a NUL byte outside of a string: it takes one for the end; we refuse the text;
//  - more than 512 levels: we refuse them;
//  - a number about as large as the largest double: each has its own idea of where they end.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "pkg/json/reader.h"
#include "pkg/json/value.h"
#include "test/fuzz/fuzz.h"

namespace {

using Theirs = nlohmann::json;

struct Verdict {
  bool is_json = false;
  bool is_out_of_range = false;  // A number.
  int levels = 0;
};

// Hears what their parser finds.
class Judge final : public nlohmann::json_sax<Theirs> {
 public:
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*text*/) override { return true; }
  bool binary(binary_t& /*bytes*/) override { return true; }
  bool start_object(std::size_t /*members*/) override { return Descend(); }
  bool key(string_t& /*name*/) override { return true; }
  bool end_object() override { return --level_, true; }
  bool start_array(std::size_t /*items*/) override { return Descend(); }
  bool end_array() override { return --level_, true; }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    constexpr int kNumberOverflow = 406;
    verdict.is_out_of_range = error.id == kNumberOverflow;
    return false;
  }

  Verdict verdict;

 private:
  bool Descend() {
    verdict.levels = std::max(verdict.levels, ++level_);
    return true;
  }
  int level_ = 0;
};

Verdict TheirVerdict(std::string_view text) {
  Judge judge;
  judge.verdict.is_json = Theirs::sax_parse(text.begin(), text.end(), &judge);
  return judge.verdict;
}

void CheckSameValue(json::View view, const json::Value& value) {
  CHECK(view.IsNull() == value.IsNull());
  CHECK(view.IsArray() == value.IsArray());
  CHECK(view.IsObject() == value.IsObject());
  CHECK(view.AsString() == value.AsString());
  CHECK(view.AsInt() == value.AsInt());
  CHECK(view.AsBool() == value.AsBool());
  if (view.IsArray()) CHECK(view.size() == value.items().size());
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    CheckSameValue(view.at(i), value.items()[i]);
  }
  for (const auto& [name, member] : value.members()) CheckSameValue(view[name], member);
}

}  // namespace

FUZZ_TARGET(json_text, text) {
  json::Parser parser;
  const auto value = json::Parse(text);
  const auto view = parser.Parse(text);
  CHECK(value.has_value() == view.has_value());
  if (value) CheckSameValue(*view, *value);

  const bool has_mark = text.starts_with("\xEF\xBB\xBF");
  const bool has_nul = text.find('\0') != std::string_view::npos;
  if (has_mark || has_nul) {
    CHECK(!value);
    return;
  }
  const Verdict theirs = TheirVerdict(text);
  const bool is_too_big = !value && value.error().message.find("too big") != std::string::npos;
  if (theirs.is_out_of_range || is_too_big) return;
  if (theirs.levels > json::kDepthMax) {
    CHECK(!value);
    return;
  }
  CHECK(value.has_value() == theirs.is_json);
  if (!value) return;

  const std::string written = json::Serialize(*value);
  CHECK(Theirs::parse(written) == Theirs::parse(text));
  const auto again = json::Parse(written);
  CHECK(again && *again == *value);
  fuzz::CheckSame(json::Serialize(*again), written);
}
