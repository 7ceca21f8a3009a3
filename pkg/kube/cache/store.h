// A typed cache of one collection: what a Reflector read, as the small structs a controller needs.
//
// T is a plain struct with a member `kube::ObjectMeta meta`. Objects are immutable once stored and
// are shared with readers.
//
// An object that `decode` cannot use (it says kInvalid) holds nobody else up. It is counted, and
// named in the log once until it can be read. If an earlier state of the same incarnation is
// stored, that state stays: old knowledge is safer than to say that something is gone which is not.
//
// Thread-safe: written by the reflector's thread, read by any. Bound: what the collection holds; a
// change costs the logarithm of that, and a pass over those that share one of its index keys.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/cache/reflector.h"

namespace kube {

template <typename T>
class Store final : public ReflectorSink {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = base::Result<T> (*)(json::View object);
  // The index keys of an object; Get them back by ByIndex. A pure function, called under the lock.
  using IndexKeys = std::function<std::vector<std::string>(const T& object)>;
  // After an object changed: `before` or `after` is null where there is none. They are one
  // incarnation: an object that took the name of another is two calls. Runs on the writer's thread,
  // outside the lock; must not block. May be empty.
  using Handler = std::function<void(const Ptr& before, const Ptr& after)>;

  Store(Decode decode, IndexKeys index_keys, Handler handler, base::Logger& logger)
      : decode_(decode),
        index_keys_(std::move(index_keys)),
        handler_(std::move(handler)),
        logger_(logger) {}

  [[nodiscard]] Ptr Get(const ObjectKey& key) const {
    return data_.With([&](const Data& data) { return Find(data.objects, key); });
  }

  // In order of namespace and name.
  [[nodiscard]] std::vector<Ptr> ByIndex(const std::string& index_key) const {
    return data_.With([&](const Data& data) -> std::vector<Ptr> {
      const auto it = data.index.find(index_key);
      if (it == data.index.end()) return {};
      return it->second;
    });
  }

  // In order of namespace and name.
  [[nodiscard]] std::vector<Ptr> List() const {
    return data_.With([](const Data& data) -> std::vector<Ptr> {
      return {data.objects.begin(), data.objects.end()};
    });
  }

  [[nodiscard]] std::size_t size() const {
    return data_.With([](const Data& data) { return data.objects.size(); });
  }
  // How many objects of the collection cannot be read now.
  [[nodiscard]] std::size_t unreadable() const {
    return data_.With([](const Data& data) { return data.unreadable.size(); });
  }
  // Everything up to this version is in the store.
  [[nodiscard]] std::string resource_version() const {
    return data_.With([](const Data& data) { return data.resource_version; });
  }

  void BeginReplace() override {
    incoming_.clear();
    incoming_unreadable_.clear();
  }

  void ReplaceAdd(json::View object) override {
    const Read read = TryRead(object);
    if (!read.object) {
      incoming_unreadable_[read.key] = read.uid;
      return;
    }
    const auto it = incoming_.find(read.key);
    if (it != incoming_.end()) {
      // Twice in one list, as when a page was listed again: the newer one counts.
      if (IsOlder(read.version, (*it)->meta.resource_version)) return;
      incoming_.erase(it);
    }
    incoming_.insert(read.object);
  }

  void EndReplace(const std::string& resource_version) override {
    Changes changes;
    data_.With([&](Data& data) {
      for (const Ptr& before : data.objects) {
        const auto unreadable = incoming_unreadable_.find(before->meta.key);
        const bool stays = unreadable != incoming_unreadable_.end() &&
                           IsSame(before->meta.uid, unreadable->second);
        if (!incoming_.contains(before->meta.key) && !stays) changes.emplace_back(before, nullptr);
      }
      for (const auto& [before, none] : changes) Put(data, before, none);
      while (!incoming_.empty()) {
        // Moved and not copied: there is never a second set of all that is listed.
        typename Objects::node_type incoming = incoming_.extract(incoming_.begin());
        const Ptr after = incoming.value();
        const Ptr before = Find(data.objects, after->meta.key);
        const bool same = before && before->meta.uid == after->meta.uid &&
                          before->meta.resource_version == after->meta.resource_version;
        if (same) continue;
        if (before) TakeOut(data, before);
        data.objects.insert(std::move(incoming));
        AddToIndex(data, after);
        changes.emplace_back(before, after);
      }
      data.unreadable = std::exchange(incoming_unreadable_, {});
      data.resource_version = resource_version;
    });
    Tell(changes);
  }

  void Apply(json::View object, bool deleted) override {
    const Read read = deleted ? ReadIdentity(object) : TryRead(object);
    Changes changes;
    data_.With([&](Data& data) {
      const Ptr before = Find(data.objects, read.key);
      // A replay of what the store has passed already.
      if (before && IsOlder(read.version, before->meta.resource_version)) return;
      data.resource_version = read.version;
      const bool unreadable = !deleted && !read.object;
      if (!unreadable) data.unreadable.erase(read.key);
      if (unreadable && before && IsSame(before->meta.uid, read.uid)) return;
      if (!before && !read.object) return;
      Put(data, before, read.object);
      changes.emplace_back(before, read.object);
    });
    Tell(changes);
  }

  void Advance(const std::string& resource_version) override {
    data_.With([&](Data& data) { data.resource_version = resource_version; });
  }

 private:
  struct ByKey {
    using is_transparent = void;
    static const ObjectKey& KeyOf(const Ptr& object) { return object->meta.key; }
    static const ObjectKey& KeyOf(const ObjectKey& key) { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) < KeyOf(b);
    }
  };
  using Objects =
      std::set<Ptr, ByKey>;  // Keyed by what they point to, so that a key is stored once.
  using Changes = std::deque<std::pair<Ptr, Ptr>>;  // Before and after.

  struct Data {
    Objects objects = {};
    // Sorted: few share a key, and a set would need four times the memory.
    std::unordered_map<std::string, std::vector<Ptr>> index = {};
    std::map<ObjectKey, Uid> unreadable = {};
    std::string resource_version = {};
  };

  struct Read {
    ObjectKey key = {};
    Uid uid = {};
    std::string version = {};
    Ptr object = nullptr;  // Null: it cannot be read, or nobody tried.
  };

  static Ptr Find(const Objects& objects, const ObjectKey& key) {
    const auto it = objects.find(key);
    return it == objects.end() ? nullptr : *it;
  }

  // An unreadable object may lack a UID, too.
  static bool IsSame(const Uid& known, const Uid& read) { return read.empty() || known == read; }

  static Read ReadIdentity(json::View object) {
    const json::View meta = object["metadata"];
    return {.key = {.ns = std::string(meta["namespace"].AsString()),
                    .name = std::string(meta["name"].AsString())},
            .uid = std::string(meta["uid"].AsString()),
            .version = std::string(meta["resourceVersion"].AsString())};
  }

  Read TryRead(json::View object) {
    Read read = ReadIdentity(object);
    base::Result<T> decoded = decode_(object);
    if (decoded) {
      read.object = std::make_shared<const T>(*std::move(decoded));
      return read;
    }
    const bool is_new = data_.With(
        [&](Data& data) { return data.unreadable.insert_or_assign(read.key, read.uid).second; });
    if (is_new) {
      logger_.Error(
          "Left out an object that cannot be read",
          {{"namespace", read.key.ns}, {"name", read.key.name}, {"err", decoded.error().message}});
    }
    return read;
  }

  void Put(Data& data, const Ptr& before, const Ptr& after) {
    if (before) TakeOut(data, before);
    if (!after) return;
    data.objects.insert(after);
    AddToIndex(data, after);
  }

  void TakeOut(Data& data, const Ptr& object) {
    for (const std::string& index_key : index_keys_(*object)) {
      const auto it = data.index.find(index_key);
      if (it == data.index.end()) continue;  // The same index key twice.
      std::erase(it->second, object);
      if (it->second.empty()) data.index.erase(it);
    }
    data.objects.erase(object);
  }

  void AddToIndex(Data& data, const Ptr& object) {
    for (const std::string& index_key : index_keys_(*object)) {
      std::vector<Ptr>& objects = data.index[index_key];
      const auto at = std::ranges::lower_bound(objects, object, ByKey());
      // The same index key twice.
      if (at == objects.end() || *at != object) objects.insert(at, object);
    }
  }

  void Tell(const Changes& changes) const {
    if (!handler_) return;
    for (const auto& [before, after] : changes) {
      if (before && after && before->meta.uid != after->meta.uid) {
        handler_(before, nullptr);
        handler_(nullptr, after);
      } else {
        handler_(before, after);
      }
    }
  }

  const Decode decode_;
  const IndexKeys index_keys_;
  const Handler handler_;
  base::Logger& logger_;
  // Of the list being read. Used by the reflector's thread.
  Objects incoming_;
  std::map<ObjectKey, Uid> incoming_unreadable_;
  base::Guarded<Data> data_;
};

}  // namespace kube
