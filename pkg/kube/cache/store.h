// A typed cache of one collection, filled by a Reflector.
//
// T is a plain struct with the fields that a controller needs, and a member `kube::ObjectMeta
// meta`. Stored objects are immutable. `Form` is how they are held in memory: SharedForm or
// PackedForm (see packed.h). An object that `is_wanted` rejects is treated as if it did not exist.
//
// An object that `decode` rejects with kInvalid does not block the others. The store counts it, and
// logs it once until it can be read. If the store has an earlier state of the same incarnation, it
// keeps that state: a stale object is safer than a false deletion.
//
// Thread-safe: the reflector's thread writes, any thread reads.
// Bound: the size of the collection. A change costs the logarithm of that, plus a scan of the
// objects that share one of its index keys.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/base/check.h"
#include "pkg/base/log.h"
#include "pkg/base/mutex.h"
#include "pkg/base/result.h"
#include "pkg/json/reader.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/cache/packed.h"
#include "pkg/kube/cache/reflector.h"

namespace kube {

// Index keys for a store that is read by name only.
inline constexpr auto kNoKeys = [](const auto& /*object*/) { return std::vector<std::string>(); };

// Returns a handler that calls `call` on every change. `call` outlives the store.
inline auto OnAnyChange(const std::function<void()>& call) {
  return [&call](const auto& /*before*/, const auto& /*after*/) { call(); };
}

// A store of any type.
class AnyStore : public ReflectorSink {
 public:
  // The store has every change up to this version.
  virtual std::string resource_version() const = 0;
  // Empty if the object is not in the store.
  virtual std::optional<ObjectMeta> MetaOf(const ObjectKey& key) const = 0;
};

template <typename T, template <typename> typename Form = SharedForm>
class Store final : public AnyStore {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = base::Result<T> (*)(json::View object);
  // Returns the index keys of an object, for ByIndex(). A pure function, called under the lock.
  using IndexKeys = std::function<std::vector<std::string>(const T& object)>;
  // Called after an object changed. `before` is null if it is new, `after` is null if it was
  // deleted. Both are the same incarnation: an object that replaces another of the same name causes
  // two calls. Runs on the writer's thread, outside the lock. Must not block. May be empty.
  using Handler = std::function<void(const Ptr& before, const Ptr& after)>;
  using IsWanted = bool (*)(const T& object);  // Null if all are wanted.

  Store(Decode decode, IndexKeys index_keys, Handler handler, base::Logger& logger,
        IsWanted is_wanted = nullptr)
      : decode_(decode),
        index_keys_(std::move(index_keys)),
        handler_(std::move(handler)),
        is_wanted_(is_wanted),
        logger_(logger) {}

  Ptr Get(const ObjectKey& key) const {
    const std::optional<Stored> stored = data_.With([&](const Data& data) {
      const Stored* found = Find(data.objects, key);
      return found == nullptr ? std::nullopt : std::optional(*found);
    });
    return stored ? stored->Open() : nullptr;
  }

  std::optional<ObjectMeta> MetaOf(const ObjectKey& key) const override {
    const Ptr object = Get(key);
    return object ? std::optional(object->meta) : std::nullopt;
  }

  // In order of namespace and name.
  std::vector<Ptr> ByIndex(const std::string& index_key) const {
    return OpenAll(StoredByIndex(index_key));
  }

  // As ByIndex(), for readers that change what they get.
  std::vector<T> CopiesByIndex(const std::string& index_key) const {
    std::vector<T> copies;
    for (const Stored& stored : StoredByIndex(index_key)) copies.push_back(stored.Copy());
    return copies;
  }

  // Returns the keys of the objects that ByIndex() returns, and unpacks none.
  std::vector<ObjectKey> KeysByIndex(const std::string& index_key) const {
    return data_.With([&](const Data& data) {
      std::vector<ObjectKey> keys;
      const auto it = data.index.find(index_key);
      if (it == data.index.end()) return keys;
      for (const Stored* stored : it->second) {
        const KeyView key = stored->key();
        keys.push_back({.ns = std::string(key.ns), .name = std::string(key.name)});
      }
      return keys;
    });
  }

  // Returns the number of objects that ByIndex() returns.
  std::size_t CountByIndex(const std::string& index_key) const {
    return data_.With([&](const Data& data) {
      const auto it = data.index.find(index_key);
      return it == data.index.end() ? 0 : it->second.size();
    });
  }

  // In order of namespace and name.
  std::vector<Ptr> List() const { return OpenAll(All()); }

  // Visits the objects in the order of List(). Unpacks one object at a time.
  template <typename Visitor>
  void Visit(const Visitor& visit) const {
    for (const Stored& stored : All()) visit(*stored.Open());
  }
  // Visits only key, UID and resourceVersion of each. Much faster than Visit() if they are packed.
  template <typename Visitor>
  void VisitIdentities(const Visitor& visit) const {
    for (const Stored& stored : All()) visit(stored.Identity());
  }

  std::size_t size() const {
    return data_.With([](const Data& data) { return data.objects.size(); });
  }
  // The number of objects that cannot be read now.
  std::size_t unreadable() const {
    return data_.With([](const Data& data) { return data.unreadable.size(); });
  }
  std::string resource_version() const override {
    return data_.With([](const Data& data) { return data.resource_version; });
  }

  void BeginReplace() override {
    incoming_.clear();
    incoming_unreadable_.clear();
  }

  void ReplaceAdd(json::View object) override {
    Read read = TryRead(object);
    if (read.is_unreadable) {
      incoming_unreadable_[read.key] = read.uid;
      return;
    }
    const auto it = incoming_.find(read.key);
    if (it != incoming_.end()) {
      // An object may be twice in one list, for example if a page was read again. The newer one
      // wins.
      if (IsOlder(read.version, it->Open()->meta.resource_version)) return;
      incoming_.erase(it);
    }
    if (read.stored) incoming_.insert(*std::move(read.stored));
  }

  void EndReplace(const std::string& resource_version) override {
    Changes changes;
    data_.With([&](Data& data) {
      // After a restore of etcd, a version may stand for another state than before.
      const bool went_back = IsOlder(resource_version, data.resource_version);
      for (auto it = data.objects.begin(); it != data.objects.end();) {
        const Stored& before = *it++;
        if (incoming_.find(before) != incoming_.end()) continue;
        const Ptr object = before.Open();
        const auto unreadable = incoming_unreadable_.find(object->meta.key);
        const bool stays = unreadable != incoming_unreadable_.end() &&
                           IsSame(object->meta.uid, unreadable->second);
        if (!stays) changes.push_back({.before = TakeOut(data, &before), .after = nullptr});
      }
      while (!incoming_.empty()) {
        // Move the nodes, so that the list is never in memory twice.
        Node after = incoming_.extract(incoming_.begin());
        const Stored* before = Find(data.objects, after.value().key());
        if (!went_back && before != nullptr && IsSameState(*before, after.value())) continue;
        Node old = TakeOut(data, before);
        changes.push_back({.before = std::move(old), .after = Put(data, std::move(after))});
      }
      data.unreadable = std::exchange(incoming_unreadable_, {});
      data.resource_version = resource_version;
    });
    Notify(changes);
  }

  void Apply(json::View object, bool deleted) override {
    Read read = deleted ? ReadIdentity(object) : TryRead(object);
    Changes changes;
    data_.With([&](Data& data) {
      const Stored* stored = Find(data.objects, read.key);
      const Ptr before = Open(stored);
      // The event is older than the store.
      if (before && IsOlder(read.version, before->meta.resource_version)) return;
      data.resource_version = read.version;
      if (!read.is_unreadable) data.unreadable.erase(read.key);
      if (read.is_unreadable && before && IsSame(before->meta.uid, read.uid)) return;
      if (!before && !read.stored) return;
      Node old = TakeOut(data, stored);
      const Stored* after = nullptr;
      if (read.stored) after = Put(data, NodeOf(*std::move(read.stored)));
      changes.push_back({.before = std::move(old), .after = after});
    });
    Notify(changes);
  }

  void Advance(const std::string& resource_version) override {
    data_.With([&](Data& data) { data.resource_version = resource_version; });
  }

 private:
  using Stored = Form<T>;

  struct ByKey {
    using is_transparent = void;
    static KeyView KeyOf(const Stored& stored) { return stored.key(); }
    static KeyView KeyOf(const ObjectKey& key) { return {.ns = key.ns, .name = key.name}; }
    static KeyView KeyOf(const KeyView& key) { return key; }
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf(a) < KeyOf(b);
    }
  };
  // Sorted by the key inside the object, to store the key once.
  using Objects = std::set<Stored, ByKey>;
  using Node = typename Objects::node_type;

  // The change owns `before`. `after` stays in the store until the writer's next call.
  struct Change {
    Node before = {};
    const Stored* after = nullptr;
  };
  using Changes = std::deque<Change>;

  struct Data {
    Objects objects = {};
    // Sorted vectors: few objects share a key, and a set would need four times the memory.
    std::unordered_map<std::string, std::vector<const Stored*>> index = {};
    std::map<ObjectKey, Uid> unreadable = {};
    std::string resource_version = {};
  };

  struct Read {
    ObjectKey key = {};
    Uid uid = {};
    std::string version = {};
    // Empty if the object cannot be read, is not wanted, or was not decoded.
    std::optional<Stored> stored = {};
    bool is_unreadable = false;
  };

  template <typename Key>
  static const Stored* Find(const Objects& objects, const Key& key) {
    const auto it = objects.find(key);
    return it == objects.end() ? nullptr : &*it;
  }

  std::vector<Stored> All() const {
    return data_.With([](const Data& data) {
      return std::vector<Stored>(data.objects.begin(), data.objects.end());
    });
  }

  std::vector<Stored> StoredByIndex(const std::string& index_key) const {
    return data_.With([&](const Data& data) {
      std::vector<Stored> found;
      const auto it = data.index.find(index_key);
      if (it == data.index.end()) return found;
      found.reserve(it->second.size());
      for (const Stored* stored : it->second) found.push_back(*stored);
      return found;
    });
  }

  // Unpacks outside the lock, because unpacking is slow and the lock blocks the writer's watch.
  static std::vector<Ptr> OpenAll(const std::vector<Stored>& stored) {
    std::vector<Ptr> all;
    all.reserve(stored.size());
    for (const Stored& one : stored) all.push_back(one.Open());
    return all;
  }

  static Ptr Open(const Stored* stored) { return stored == nullptr ? nullptr : stored->Open(); }

  // Compares UIDs. An unreadable object may have no UID; then it counts as the same.
  static bool IsSame(const Uid& known, const Uid& read) { return read.empty() || known == read; }

  static bool IsSameState(const Stored& a, const Stored& b) { return a.Identity() == b.Identity(); }

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
      if (is_wanted_ == nullptr || is_wanted_(*decoded)) read.stored.emplace(*std::move(decoded));
      return read;
    }
    read.is_unreadable = true;
    const bool is_new = data_.With(
        [&](Data& data) { return data.unreadable.insert_or_assign(read.key, read.uid).second; });
    if (is_new) {
      logger_.Error(
          "Left out an object that cannot be read",
          {{"namespace", read.key.ns}, {"name", read.key.name}, {"err", decoded.error().message}});
    }
    return read;
  }

  static Node NodeOf(Stored stored) {
    Objects one;
    one.insert(std::move(stored));
    return one.extract(one.begin());
  }

  const Stored* Put(Data& data, Node node) {
    const auto put = data.objects.insert(std::move(node));
    CHECK(put.inserted);  // Otherwise the index would point at another object.
    const Stored* stored = &*put.position;
    for (const std::string& index_key : index_keys_(*stored->Open())) {
      std::vector<const Stored*>& sharers = data.index[index_key];
      const auto at = std::ranges::lower_bound(sharers, stored->key(), {}, &Stored::key);
      // index_keys_ returned the key twice.
      if (at == sharers.end() || *at != stored) sharers.insert(at, stored);
    }
    return stored;
  }

  // An empty node for null.
  Node TakeOut(Data& data, const Stored* stored) {
    if (stored == nullptr) return {};
    for (const std::string& index_key : index_keys_(*stored->Open())) {
      const auto it = data.index.find(index_key);
      if (it == data.index.end()) continue;  // index_keys_ returned the key twice.
      std::erase(it->second, stored);
      if (it->second.empty()) data.index.erase(it);
    }
    return data.objects.extract(data.objects.find(*stored));
  }

  void Notify(const Changes& changes) const {
    if (!handler_) return;
    for (const Change& change : changes) {
      const Ptr before = change.before.empty() ? nullptr : change.before.value().Open();
      const Ptr after = Open(change.after);
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
  const IsWanted is_wanted_;
  base::Logger& logger_;
  // Of the list being read. Used by the reflector's thread.
  Objects incoming_;
  std::map<ObjectKey, Uid> incoming_unreadable_;
  base::Guarded<Data> data_;
};

}  // namespace kube
