// The two forms in which a Store holds objects: shared or packed.
//
// A form has key(), by which the Store sorts, Open(), which returns the object to a reader, Copy(),
// for readers that change it, and Identity(), which has only key, UID and resourceVersion.
// Copies of a form are cheap, because they share the data.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "pkg/kube/api/meta.h"

namespace kube {

struct KeyView {
  std::string_view ns = {};
  std::string_view name = {};
  friend auto operator<=>(const KeyView&, const KeyView&) = default;
};

// Holds the object itself and shares it with readers. For objects that are read often, or large and
// rare.
template <typename T>
class SharedForm {
 public:
  explicit SharedForm(T object) : object_(std::make_shared<const T>(std::move(object))) {}
  KeyView key() const { return {object_->meta.key.ns, object_->meta.key.name}; }
  std::shared_ptr<const T> Open() const { return object_; }
  T Copy() const { return *object_; }
  ObjectMeta Identity() const {
    const ObjectMeta& meta = object_->meta;
    return {.key = meta.key, .uid = meta.uid, .resource_version = meta.resource_version};
  }

 private:
  std::shared_ptr<const T> object_;
};

// Fields() returns all fields of a packed struct, in order. The structured binding does not compile
// if a field is missing.
inline auto Fields(OwnerReference& owner) {
  auto& [api_version, kind, name, uid, controller] = owner;
  return std::tie(api_version, kind, name, uid, controller);
}
// Begins with the fields of Identity().
inline auto Fields(ObjectMeta& meta) {
  auto& [key, uid, version, generation, deleting, deleted_at, created_at, finalizers, owners,
         is_whole] = meta;
  return std::tie(key, uid, version, generation, deleting, deleted_at, created_at, finalizers,
                  owners, is_whole);
}
inline auto Fields(Condition& condition) {
  auto& [type, status, reason, message, generation, transition] = condition;
  return std::tie(type, status, reason, message, generation, transition);
}

namespace packing {

// The format: a number has 7 bits in each byte, the lowest first. A text is its doubled length and
// its bytes. A UID in the usual form is the number 1 and 16 bytes.
constexpr std::uint64_t kUidMark = 1;
constexpr std::size_t kUidBytes = 16;
constexpr std::string_view kUidForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
constexpr std::string_view kDigits = "0123456789abcdef";

class Packer {
 public:
  template <typename T>
  void operator()(T& value) {
    if constexpr (std::integral<T>) {
      Number(static_cast<std::uint64_t>(value));
    } else {
      std::apply([this](auto&... fields) { ((*this)(fields), ...); }, Fields(value));
    }
  }
  void operator()(ObjectKey& key) {
    Text(key.ns);
    Text(key.name);
  }
  void operator()(std::string& text) {
    if (!Uid(text)) Text(text);
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    Number(values.size());
    for (T& value : values) (*this)(value);
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    Number(value ? 1 : 0);
    if (value) (*this)(*value);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Number(std::uint64_t number) {
    for (; number >= 0x80; number >>= 7U) bytes_ += static_cast<char>(number | 0x80U);
    bytes_ += static_cast<char>(number);
  }
  void Text(std::string_view text) {
    Number(text.size() << 1U);
    bytes_ += text;
  }
  // Writes `text` as a UID. Returns false, and writes nothing, if it is not a UID in the usual
  // form.
  bool Uid(std::string_view text) {
    if (text.size() != kUidForm.size()) return false;
    std::array<char, kUidBytes> uid = {};
    std::size_t digits = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (kUidForm[i] == '-') {
        if (text[i] != '-') return false;
        continue;
      }
      const std::size_t digit = kDigits.find(text[i]);
      if (digit == std::string_view::npos) return false;
      char& byte = uid.at(digits++ / 2);
      byte = static_cast<char>((static_cast<unsigned>(byte) << 4U) | static_cast<unsigned>(digit));
    }
    Number(kUidMark);
    bytes_.append(uid.data(), uid.size());
    return true;
  }

  std::string bytes_;
};

// Reads the bytes that a Packer wrote for the same types.
class Unpacker {
 public:
  explicit Unpacker(const char* bytes) : at_(bytes) {}

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::integral<T>) {
      value = static_cast<T>(Number());
    } else {
      std::apply([this](auto&... fields) { ((*this)(fields), ...); }, Fields(value));
    }
  }
  void operator()(ObjectKey& key) {
    const KeyView view = Key();
    key = {.ns = std::string(view.ns), .name = std::string(view.name)};
  }
  void operator()(std::string& text) {
    const std::uint64_t mark = Number();
    if (mark == kUidMark) {
      text = Uid();
    } else {
      text = Take(mark >> 1U);
    }
  }
  template <typename T>
  void operator()(std::vector<T>& values) {
    values.resize(Number());
    for (T& value : values) (*this)(value);
  }
  template <typename T>
  void operator()(std::optional<T>& value) {
    if (Number() == 0) {
      value.reset();
    } else {
      (*this)(value.emplace());
    }
  }
  // Returns the ObjectKey at the start. The view lives as long as the bytes.
  KeyView Key() {
    const std::string_view ns = Take(Number() >> 1U);
    const std::string_view name = Take(Number() >> 1U);
    return {.ns = ns, .name = name};
  }

 private:
  std::uint64_t Number() {
    std::uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
      if (byte < 0x80) return number;
    }
  }
  std::string_view Take(std::size_t size) {
    const std::string_view text(at_, size);
    at_ += size;
    return text;
  }
  std::string Uid() {
    std::string text(kUidForm);
    std::string_view bytes = Take(kUidBytes);
    std::size_t digits = 0;
    for (char& c : text) {
      if (c == '-') continue;
      const auto byte = static_cast<unsigned char>(bytes[digits / 2]);
      c = kDigits[digits++ % 2 == 0 ? byte >> 4U : byte & 0xFU];
    }
    return text;
  }

  const char* at_;
};

// Bytes that all copies share. One pointer and four bytes beside them: a std::shared_ptr needs 40
// more, and there are tens of thousands. Copies may be used by different threads.
class SharedBytes {
 public:
  explicit SharedBytes(std::string_view bytes)
      : block_(new(::operator new(sizeof(Block) + bytes.size())) Block()) {
    std::ranges::copy(bytes, block_->bytes());
  }
  SharedBytes(const SharedBytes& other) : block_(other.block_) {
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  SharedBytes(SharedBytes&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  SharedBytes& operator=(SharedBytes other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~SharedBytes() {
    if (block_ == nullptr || block_->owners.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    block_->~Block();
    ::operator delete(block_);
  }
  const char* data() const { return block_->bytes(); }

 private:
  struct Block {
    std::atomic<std::uint32_t> owners = 1;
    char* bytes() { return reinterpret_cast<char*>(this + 1); }
  };
  Block* block_;  // Null after a move.
};

}  // namespace packing

// Holds an object in one small block, and unpacks it for each reader. For objects of which there
// are many. Fields(T&) must be declared in the namespace of T and return `meta` first.
template <typename T>
class PackedForm {
 public:
  explicit PackedForm(T object) : bytes_(Pack(object)) {}
  KeyView key() const { return packing::Unpacker(bytes_.data()).Key(); }
  std::shared_ptr<const T> Open() const {
    auto object = std::make_shared<T>();
    packing::Unpacker(bytes_.data())(*object);
    return object;
  }
  T Copy() const {
    T object;
    packing::Unpacker(bytes_.data())(object);
    return object;
  }
  ObjectMeta Identity() const {
    ObjectMeta meta;
    packing::Unpacker unpack(bytes_.data());
    unpack(meta.key);
    unpack(meta.uid);
    unpack(meta.resource_version);
    return meta;
  }

 private:
  static std::string Pack(T& object) {
    packing::Packer packer;
    packer(object);
    return packer.bytes();
  }

  packing::SharedBytes bytes_;
};

}  // namespace kube
