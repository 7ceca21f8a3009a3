// What the API server does to its objects, for any client: names, versions, generations,
// finalizers, grace periods, optimistic locks, subresources, validation. Below HTTP; the other
// actors of the simulated cluster call it directly.
//
// For one thread; no clocks: the caller says what time it is. Deterministic: names and UIDs are
// counted. Not modelled: managedFields, server-side apply, strategic merge patch, quotas, foreign
// admission. Source: kubernetes 1.36, apiserver's registry/generic/registry/store.go and
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
  ObjectPtr object = nullptr;  // What was read or written, or the last state of what was deleted.
  json::Value status = {};     // The Status object, for failures and completed deletions.

  [[nodiscard]] bool ok() const { return code >= 200 && code < 300; }
};

// A failure, with a Status like the server's.
[[nodiscard]] Reply Failed(int code, std::string_view reason, const std::string& message,
                           const KindInfo* kind = nullptr, const std::string& name = {});

enum class Subresource { kNone, kStatus };
enum class PatchType { kMerge, kJson };

struct DeleteOptions {
  kube::Uid uid = {};                      // Precondition; empty: none.
  std::string resource_version = {};       // The same.
  std::optional<std::int64_t> grace = {};  // In seconds.
  std::string propagation = {};            // Background, Foreground, Orphan; empty: as it is.
};

// The schemas of the custom resources.
class CustomSchemas {
 public:
  // Those in crds/, read once.
  [[nodiscard]] static const CustomSchemas& Shipped();
  // From the texts of two CustomResourceDefinitions.
  CustomSchemas(const std::string& compute_domains, const std::string& cliques);
  [[nodiscard]] const Schema& Of(Kind kind) const;

 private:
  Schema compute_domains_;
  Schema cliques_;
};

class ObjectStore {
 public:
  // The first write gets the revision after `start`; the default makes versions of three digits
  // meet versions of four early on. `schemas` outlives the store.
  explicit ObjectStore(Revision start = 980,
                       const CustomSchemas& schemas = CustomSchemas::Shipped());

  // Later than before, or the same.
  void SetTime(Time now);
  [[nodiscard]] Time now() const { return now_; }

  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] Revision revision() const { return history_.revision(); }
  [[nodiscard]] const Objects& Live(Kind kind) const { return history_.Live(kind); }
  // nullptr if it is not there.
  [[nodiscard]] ObjectPtr Get(Kind kind, const kube::ObjectKey& key) const {
    return history_.Get(kind, key);
  }

  // A kind that is not served is as if its API had never been installed.
  void SetServed(Kind kind, bool served) { served_[static_cast<std::size_t>(kind)] = served; }
  [[nodiscard]] bool IsServed(Kind kind) const { return served_[static_cast<std::size_t>(kind)]; }

  // What is about to be written, once it is found valid. Before and after: null where there is
  // none.
  struct Admission {
    const std::string& actor;
    const KindInfo& kind;
    kube::ObjectKey key;
    Subresource subresource;
    const json::Value& before;
    const json::Value& after;
  };
  // `objects` says why it is refused with 403; empty: it is not.
  void Admit(std::function<std::string(const Admission& write)> objects) {
    objects_ = std::move(objects);
  }

  // `actor` is remembered as the one who did it.
  Reply Create(const std::string& actor, Kind kind, const std::string& ns, json::Value object);
  Reply Update(const std::string& actor, Kind kind, const kube::ObjectKey& key, json::Value object,
               Subresource subresource = Subresource::kNone);
  Reply Patch(const std::string& actor, Kind kind, const kube::ObjectKey& key, PatchType type,
              const json::Value& patch, Subresource subresource = Subresource::kNone);
  Reply Delete(const std::string& actor, Kind kind, const kube::ObjectKey& key,
               const DeleteOptions& options = {});
  // Puts a pod on a node, as a POST to pods/binding does.
  Reply Bind(const std::string& actor, const kube::ObjectKey& pod, const std::string& node);

  // Read, change, write back under an optimistic lock, in one go. `change` edits a json::Value.
  template <typename Change>
  Reply Edit(const std::string& actor, Kind kind, const kube::ObjectKey& key, Change change,
             Subresource subresource = Subresource::kNone) {
    const ObjectPtr object = Get(kind, key);
    if (!object) return NotFound(kind, key.name);
    json::Value value = object->value();
    change(value);
    return Update(actor, kind, key, std::move(value), subresource);
  }

  [[nodiscard]] static Reply NotFound(Kind kind, const std::string& name);

 private:
  [[nodiscard]] Reply Write(const std::string& actor, const KindInfo& kind,
                            const ObjectPtr& existing, json::Value object, Subresource subresource);
  [[nodiscard]] std::optional<Reply> CheckNamespace(const KindInfo& kind, const std::string& ns,
                                                    const json::Value& object) const;
  [[nodiscard]] std::string CheckObject(const KindInfo& kind, const json::Value& object,
                                        const json::Value* old) const;
  [[nodiscard]] Reply DeleteGracefully(const std::string& actor, const KindInfo& kind,
                                       const ObjectPtr& object, std::int64_t grace,
                                       std::optional<json::Value> finalizers);
  [[nodiscard]] std::optional<Reply> Refuse(const std::string& actor, const KindInfo& kind,
                                            const kube::ObjectKey& key, Subresource subresource,
                                            const json::Value& before,
                                            const json::Value& after) const;
  Reply Remove(const std::string& actor, const KindInfo& kind, const ObjectPtr& object);
  [[nodiscard]] kube::Uid NextUid();
  [[nodiscard]] std::string NextSuffix();

  const CustomSchemas& schemas_;
  History history_;
  Time now_ = {};
  std::uint64_t uids_ = 0;
  std::uint64_t suffixes_ = 0;
  std::array<bool, kKindCount> served_ = {};
  std::function<std::string(const Admission& write)> objects_;
};

}  // namespace simulation
