// A mutex and its guard for clang's thread-safety analysis.
//
// The `clang` preset checks the annotations; g++ ignores them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

#if defined(__clang__)
#define CDOM_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define CDOM_THREAD_ANNOTATION(x)
#endif

#define CAPABILITY(x) CDOM_THREAD_ANNOTATION(capability(x))
#define SCOPED_CAPABILITY CDOM_THREAD_ANNOTATION(scoped_lockable)
#define GUARDED_BY(x) CDOM_THREAD_ANNOTATION(guarded_by(x))
#define REQUIRES(...) CDOM_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define ACQUIRE(...) CDOM_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define RELEASE(...) CDOM_THREAD_ANNOTATION(release_capability(__VA_ARGS__))

namespace base {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }  // Lower case, as BasicLockable requires.
  void unlock() RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Data that is accessible only under its lock. Do no IO, and call no foreign callback, inside
// With().
template <typename T>
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(T value) : value_(std::move(value)) {}

  template <typename Use>
  auto With(Use&& use) {
    const MutexLock lock(mutex_);
    return std::forward<Use>(use)(value_);
  }
  template <typename Use>
  auto With(Use&& use) const {
    const MutexLock lock(mutex_);
    return std::forward<Use>(use)(std::as_const(value_));
  }

 private:
  mutable Mutex mutex_;
  T value_ GUARDED_BY(mutex_);
};

}  // namespace base
