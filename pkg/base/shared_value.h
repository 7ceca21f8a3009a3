// A value that many copies share until one of them is edited.
#pragma once

#include <memory>
#include <utility>

namespace base {

// A copy costs no copy of the value. Threads may read their own copies at the same time.
template <typename T>
class SharedValue {
 public:
  SharedValue() = default;
  SharedValue(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: a T.

  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  // Returns the value of this copy alone. The reference is valid until the next call of Edit() or
  // assignment.
  T& Edit() {
    auto own = std::make_shared<T>(*value_);
    T& edited = *own;
    value_ = std::move(own);
    return edited;
  }

 private:
  std::shared_ptr<const T> value_ = std::make_shared<const T>();
};

}  // namespace base
