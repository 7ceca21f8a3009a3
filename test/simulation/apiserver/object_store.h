// The API server's storage: names, versions, deletion and validation.
//
// It implements names, versions, generations, finalizers, grace periods, optimistic locks,
// subresources and validation. It is below HTTP; the other actors of the simulated cluster call it
// directly.
//
// For one thread. It has no clock: the caller sets the time. Deterministic: names and UIDs are
// counted. Not modelled: managedFields, server-side apply, strategic merge patch, quotas, admission
// by others. Source: kubernetes 1.36, apiserver's registry/generic/registry/store.go and
// registry/rest.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "test/simulation/apiserver/history.h"
#include "test/simulation/apiserver/schema.h"

namespace simulation {

// The answer to one operation.
struct Reply {
  int code = 200;
  ObjectPtr object = nullptr;  // Object read or written, or last state of a deleted object.
  json::Value status = {};     // The Status object of failures and completed deletions.

  bool ok() const { return code >= 200 && code < 300; }
};

// A failure, with a Status like the server's.
Reply Failed(int code, std::string_view reason, const std::string& message,
             const KindInfo* kind = nullptr, const std::string& name = {});

enum class Subresource { kNone, kStatus };
enum class PatchType { kMerge, kJson };

struct DeleteOptions {
  kube::Uid uid = {};                      // Precondition. Empty if none.
  std::string resource_version = {};       // Precondition. Empty if none.
  std::optional<std::int64_t> grace = {};  // Seconds.
  std::string propagation = {};  // Background, Foreground or Orphan. Empty for the default.
};

// The schemas of the custom resources.
class CustomSchemas {
 public:
  // Returns the schemas in crds/, read once.
  static const CustomSchemas& Shipped();
  // Parses two CustomResourceDefinitions.
  CustomSchemas(const std::string& compute_domains, const std::string& cliques);
  const Schema& Of(Kind kind) const;

 private:
  Schema compute_domains_;
  Schema cliques_;
};

class ObjectStore {
 public:
  // The first write gets the revision after `start`. With the default, versions soon grow from
  // three to four digits. `schemas` must outlive the store.
  explicit ObjectStore(Revision start = 980,
                       const CustomSchemas& schemas = CustomSchemas::Shipped());

  // REQUIRES: not earlier than before.
  void SetTime(Time now);
  Time now() const { return now_; }

  const History& history() const { return history_; }
  Revision revision() const { return history_.revision(); }
  const Objects& Live(Kind kind) const { return history_.Live(kind); }
  // Null if it does not exist.
  ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const { return history_.Get(kind, key); }

  // Sets whether a kind is served. If not, its API is not installed.
  void SetServed(Kind kind, bool served) { served_[static_cast<std::size_t>(kind)] = served; }
  bool IsServed(Kind kind) const { return served_[static_cast<std::size_t>(kind)]; }

  // A valid write before it is stored. `before` or `after` is null if there is none.
  struct Admission {
    const std::string& actor;
    const KindInfo& kind;
    kube::ObjectKey key;
    Subresource subresource;
    const json::Value& before;
    const json::Value& after;
  };
  // `objects` returns why a write is refused with 403. Empty if it is not.
  void Admit(std::function<std::string(const Admission& write)> objects) {
    objects_ = std::move(objects);
  }

  // `actor` is the client in the history.
  Reply Create(const std::string& actor, Kind kind, const std::string& ns, json::Value object);
  Reply Update(const std::string& actor, Kind kind, const kube::ObjectKey& key, json::Value object,
               Subresource subresource = Subresource::kNone);
  Reply Patch(const std::string& actor, Kind kind, const kube::ObjectKey& key, PatchType type,
              const json::Value& patch, Subresource subresource = Subresource::kNone);
  Reply Delete(const std::string& actor, Kind kind, const kube::ObjectKey& key,
               const DeleteOptions& options = {});
  // Binds a pod to a node, like a POST to pods/binding.
  Reply Bind(const std::string& actor, const kube::ObjectKey& pod, const std::string& node);

  // Reads, changes with `change`, and writes back under an optimistic lock, atomically.
  template <typename Change>
  Reply Edit(const std::string& actor, Kind kind, const kube::ObjectKey& key, Change change,
             Subresource subresource = Subresource::kNone) {
    const ObjectPtr object = Get(kind, key);
    if (!object) return NotFound(kind, key.name);
    json::Value value = object->value();
    change(value);
    return Update(actor, kind, key, std::move(value), subresource);
  }

  static Reply NotFound(Kind kind, const std::string& name);

  // See History.
  void ForgetPast() { history_.ForgetPast(); }

 private:
  Reply Write(const std::string& actor, const KindInfo& kind, const ObjectPtr& existing,
              json::Value object, Subresource subresource);
  std::optional<Reply> CheckNamespace(const KindInfo& kind, const std::string& ns,
                                      const json::Value& object) const;
  std::string CheckObject(const KindInfo& kind, const json::Value& object,
                          const json::Value* old) const;
  Reply DeleteGracefully(const std::string& actor, const KindInfo& kind, const ObjectPtr& object,
                         std::int64_t grace, std::optional<json::Value> finalizers);
  std::optional<Reply> Refuse(const std::string& actor, const KindInfo& kind,
                              const kube::ObjectKey& key, Subresource subresource,
                              const json::Value& before, const json::Value& after) const;
  Reply Remove(const std::string& actor, const KindInfo& kind, const ObjectPtr& object);
  kube::Uid NextUid();
  std::string NextSuffix();

  const CustomSchemas& schemas_;
  History history_;
  Time now_ = {};
  std::uint64_t uids_ = 0;
  std::uint64_t suffixes_ = 0;
  std::array<bool, kKindCount> served_ = {};
  std::function<std::string(const Admission& write)> objects_;
};

}  // namespace simulation
