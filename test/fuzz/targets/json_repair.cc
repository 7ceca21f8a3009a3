// Repair, on texts that Go's reader takes and ours may refuse. They are put together along with
// what Go makes of them:
//  - the repaired text is read, and as that value;
//  - what needs no repair stays as it is, byte for byte;
//  - to repair it again changes nothing.
#include <array>

#include "pkg/json/reader.h"
#include "pkg/json/repair.h"
#include "pkg/json/value.h"
#include "test/fuzz/fuzz.h"

namespace {

using fuzz::Input;
using json::Value;

struct Piece {
  std::string_view written;
  std::string_view read;
  bool is_fine = true;  // For our reader, as it is.
};

// Behind half of a pair comes an "x", so that two pieces never make a whole one.
constexpr std::array kPieces = {
    Piece{"a", "a"},
    Piece{"[{\\\"", "[{\""},
    Piece{"\\\\", "\\"},
    Piece{"\\u0041", "A"},
    Piece{"\\uD83D\\ude00", "\xF0\x9F\x98\x80"},
    Piece{"\xE2\x82\xAC", "\xE2\x82\xAC"},
    Piece{"\\ud800x", "\xEF\xBF\xBDx", false},
    Piece{"\\ud800\\u0041",
          "\xEF\xBF\xBD"
          "A",
          false},
    Piece{"\\uDC00x", "\xEF\xBF\xBDx", false},
    Piece{"\\ud800\\ud800x", "\xEF\xBF\xBD\xEF\xBF\xBDx", false},
    Piece{"\xFF\xFE", "\xEF\xBF\xBD\xEF\xBF\xBD", false},
    Piece{"\xE2\x82x", "\xEF\xBF\xBD\xEF\xBF\xBDx", false},
    Piece{"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", false},
    Piece{"\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD", false},
};

// Writes a text and its value at once.
class Author {
 public:
  explicit Author(Input& input) : input_(input) {}

  Value Write(int level) {
    const bool may_nest = level < 4;
    switch (input_.ConsumeIntegralInRange(0, may_nest ? 6 : 3)) {
      case 0:
        return Literal("null", {});
      case 1:
        return Literal("true", true);
      case 2:
        return Number();
      case 3:
        return String();
      case 4:
        return Deep(level);
      case 5:
        return Array(level);
      default:
        return Object(level);
    }
  }

  const std::string& text() const { return text_; }
  bool is_fine() const { return is_fine_; }

 private:
  Value Literal(std::string_view text, Value value) {
    text_ += text;
    return value;
  }

  Value Number() {
    static constexpr std::array<std::string_view, 6> kNear = {
        "0", "-1", "12.5", "1e5", "1E-20", "9223372036854775808"};
    static constexpr std::array<std::string_view, 3> kFar = {"1e999", "-2.5E+4000", "1e00999"};
    if (input_.ConsumeBool()) {
      const std::string_view near = input_.PickValueInArray(kNear);
      text_ += near;
      return Value::RawNumber(std::string(near));
    }
    is_fine_ = false;
    text_ += input_.PickValueInArray(kFar);
    return {};
  }

  std::string StringText() {
    std::string value;
    text_ += '"';
    for (int pieces = input_.ConsumeIntegralInRange(0, 4); pieces > 0; --pieces) {
      const Piece piece = input_.PickValueInArray(kPieces);
      text_ += piece.written;
      value += piece.read;
      is_fine_ = is_fine_ && piece.is_fine;
    }
    text_ += '"';
    return value;
  }
  Value String() { return StringText(); }

  // Arrays in one another, perhaps more than may be.
  Value Deep(int level) {
    const int most = json::kDepthMax - level;
    const int wanted = input_.ConsumeIntegralInRange(most - 3, most + 90);
    text_.append(static_cast<std::size_t>(wanted), '[');
    text_.append(static_cast<std::size_t>(wanted), ']');
    is_fine_ = is_fine_ && wanted <= most;
    Value value = Value::Array();
    if (wanted > most) value.Append(Value());
    for (int i = 1; i < std::min(wanted, most); ++i) value = Value::Array({std::move(value)});
    return value;
  }

  Value Array(int level) {
    Value array = Value::Array();
    text_ += '[';
    for (int i = 0, size = input_.ConsumeIntegralInRange(0, 3); i < size; ++i) {
      if (i > 0) text_ += " ,";
      array.Append(Write(level + 1));
    }
    text_ += ']';
    return array;
  }

  Value Object(int level) {
    Value object = Value::Object();
    text_ += '{';
    for (int i = 0, size = input_.ConsumeIntegralInRange(0, 3); i < size; ++i) {
      if (i > 0) text_ += ", ";
      const std::string name = StringText();
      text_ += " : ";
      Value value = Write(level + 1);
      object.Erase(name);  // Of equal names the last one counts.
      object[name] = std::move(value);
    }
    text_ += '}';
    return object;
  }

  Input& input_;
  std::string text_;
  bool is_fine_ = true;
};

}  // namespace

FUZZ_TARGET(json_repair, bytes) {
  Input input = fuzz::InputOf(bytes);
  Author author(input);
  const Value meant = author.Write(0);
  const std::string repaired = json::Repair(author.text());
  const auto read = json::Parse(repaired);
  CHECK(read);
  fuzz::CheckSame(json::Serialize(*read), json::Serialize(meant));
  if (author.is_fine()) fuzz::CheckSame(repaired, author.text());
  fuzz::CheckSame(json::Repair(repaired), repaired);
}

// And of anything at all: it comes to an end, what is read without it stays, save numbers that are
// nearly too large, and once repaired it stays so if it is JSON.
FUZZ_TARGET(json_repair_text, text) {
  const std::string repaired = json::Repair(text);
  const auto after = json::Parse(repaired);
  if (after) fuzz::CheckSame(json::Repair(repaired), repaired);
  if (!json::Parse(text)) return;
  CHECK(after);
  if (repaired.size() == text.size()) fuzz::CheckSame(repaired, text);
}
