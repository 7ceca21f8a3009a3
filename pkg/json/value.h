// A JSON value that can be built, edited and written.
//
// Objects keep the order of their members, and numbers keep their text. So a document that is read,
// edited and written back changes only where it was edited.
//
// Requests are built from Values, never from text, so that user input cannot change the shape of an
// object. To read many objects fast, use json/reader.h.
//
// A plain value: copy or move it. Not thread-safe while it changes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "pkg/base/result.h"

namespace json {

class Value {
 public:
  using Member = std::pair<std::string, Value>;
  using Members = std::vector<Member>;
  using Items = std::vector<Value>;

  Value() = default;  // null
  Value(std::nullptr_t) = delete;
  template <std::same_as<bool> Bool>   // Otherwise a pointer or a double would convert.
  Value(Bool value) : data_(value) {}  // NOLINT(google-explicit-constructor)
  Value(const char* text) : data_(std::string(text)) {}       // NOLINT(google-explicit-constructor)
  Value(std::string text) : data_(std::move(text)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view text) : data_(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  template <std::integral Integer>
    requires(!std::same_as<Integer, bool>)
  Value(Integer value)
      : data_(Number{std::to_string(value)}) {}  // NOLINT(google-explicit-constructor)

  // Elements of an initializer list.
  struct Field;
  struct Item;
  static Value Object(std::initializer_list<Field> fields = {});
  static Value Array(std::initializer_list<Item> items = {});
  static Value Array(Items items) { return Value(std::move(items)); }
  // Returns an array of the results of `encode` for each item of `range`.
  template <typename Range, typename Encode = std::identity>
  static Value ArrayOf(const Range& range, Encode encode = {}) {
    Items items;
    for (const auto& item : range) items.emplace_back(encode(item));
    return Array(std::move(items));
  }
  static Value RawNumber(std::string text) { return Value(Number{std::move(text)}); }

  bool IsNull() const { return std::holds_alternative<std::monostate>(data_); }
  bool IsObject() const { return std::holds_alternative<Members>(data_); }
  bool IsArray() const { return std::holds_alternative<Items>(data_); }
  bool IsString() const { return std::holds_alternative<std::string>(data_); }

  // Reading never fails: an absent value, or one of another type, is empty.
  const std::string& AsString() const;
  std::optional<std::int64_t> AsInt() const;
  bool AsBool() const;
  std::vector<std::string> AsTexts() const;  // AsString() of each item.
  const Items& items() const;                // Empty unless an array.
  const Members& members() const;            // Empty unless an object.

  // Returns the member of that name. A null value if absent.
  const Value& operator[](std::string_view name) const;
  const Value* Find(std::string_view name) const;  // Null if absent.
  Value* Find(std::string_view name);

  // Replaces a value that is not an object by an empty object. Adds the member if it is absent.
  Value& operator[](std::string_view name);
  // Replaces a value that is not an array by an empty array.
  Items& MutableItems();
  Members& MutableMembers();  // The same for objects.
  void Append(Value item) { MutableItems().push_back(std::move(item)); }
  bool Erase(std::string_view name);  // Returns whether it existed.

  friend bool operator==(const Value&, const Value&) = default;

 private:
  friend class ValueBuilder;
  friend std::string Serialize(const Value& value);
  struct Number {
    std::string text = {};
    friend bool operator==(const Number&, const Number&) = default;
  };

  explicit Value(Members members) : data_(std::move(members)) {}
  explicit Value(Items items) : data_(std::move(items)) {}
  explicit Value(Number number) : data_(std::move(number)) {}
  void Write(std::string& out) const;

  std::variant<std::monostate, bool, Number, std::string, Items, Members> data_;
};

// The elements of an initializer_list are const, so a Value in braces would be copied, once for
// each level. `mutable` members allow a move.
struct Value::Field {
  template <std::convertible_to<Value> T>
  Field(std::string_view name, T&& value) : member(name, std::forward<T>(value)) {}
  mutable Member member;
};
struct Value::Item {
  template <std::convertible_to<Value> T>
  Item(T&& item) : value(std::forward<T>(item)) {}  // NOLINT(google-explicit-constructor)
  mutable Value value;
};

// Returns compact text. Invalid UTF-8 in a string is written as U+FFFD.
std::string Serialize(const Value& value);

// Parses all of `text` as one value. Returns kInvalid, with the offset, if it is not JSON, not
// UTF-8, or deeper than 512 levels. If members have the same name, the last one stays, as in Go.
base::Result<Value> Parse(std::string_view text);

}  // namespace json
