#include "controller/uninstall/release_finalizers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/requests/apply.h"
#include "controller/compute_domain/rules/deletion.h"
#include "pkg/json/repair.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/discovery/version_search.h"

namespace uninstall {

namespace {

using base::ErrorCode, base::Fail, base::Result;
using compute_domain::Kind;
using std::chrono::seconds;

constexpr int kPageSize = 500;
constexpr int kPagesMax = 1000;
constexpr int kAttemptsMax = 5;
constexpr seconds kLeaseMost{60};

Result<http::Response> Send(const World& world, const http::Request& request) {
  return kube::CheckStatus(world.transport.Send(request), request.method);
}

// Who holds the Lease by what it says, and its version. No holder: nobody, or there is no Lease.
struct Holder {
  std::string name = {};
  std::string version = {};
  seconds duration{0};
};

Result<Holder> ReadLease(const kube::ObjectKey& key, const World& world) {
  const Result<http::Response> reply = Send(world, kube::GetRequest(kube::kLeases, key));
  if (!reply && reply.error().code == ErrorCode::kNotFound) return Holder();
  if (!reply) return tl::unexpected(reply.error());
  const json::Document lease = TRY(json::Document::Parse(reply->body));
  const json::View spec = lease["spec"];
  return Holder{.name = std::string(spec["holderIdentity"].AsString()),
                .version = std::string(lease["metadata"]["resourceVersion"].AsString()),
                .duration = std::clamp(seconds(spec["leaseDurationSeconds"].AsInt().value_or(0)),
                                       seconds(1), kLeaseMost)};
}

// A holder that died leaves its name behind: one that does not renew for as long as the Lease lasts
// holds nothing. Clocks are not compared.
Result<void> CheckLease(const kube::ObjectKey& key, const World& world) {
  const Holder first = TRY(ReadLease(key, world));
  if (first.name.empty()) return {};
  world.say("Lease " + kube::ToString(key) + " names " + first.name + "; waiting " +
            std::to_string(first.duration.count()) + " s to see whether it lives");
  for (seconds waited{0}; waited < first.duration; ++waited) {
    world.wait(seconds(1));
    const Holder now = TRY(ReadLease(key, world));
    if (now.name.empty()) return {};
    if (now.version == first.version) continue;
    return Fail(ErrorCode::kConflict,
                now.name + " holds the Lease " + kube::ToString(key) +
                    " and would put the finalizers back. Stop the controller first (kubectl scale "
                    "deployment cdom-controller -n " +
                    key.ns + " --replicas=0), or use --force.");
  }
  return {};
}

// The version in which claim templates are served; empty: none is, so there are none.
Result<std::string> FindTemplateVersion(const World& world) {
  kube::VersionSearch search(kube::kResourceClaimTemplates, kube::kDraVersions);
  for (;;) {
    const auto found = search.OnReply(Send(world, search.Next()));
    if (!found && found.error().code == ErrorCode::kNotFound) return std::string();
    if (!found) return tl::unexpected(found.error());
    if (*found) return (**found).version;
  }
}

Result<void> AddPinned(std::string_view item, std::vector<kube::ObjectMeta>& pinned) {
  const json::Document object = TRY(json::ParseRepaired(item));
  kube::ObjectMeta meta = TRY(kube::DecodeMeta(object));
  if (meta.HasFinalizer(api::kFinalizer)) pinned.push_back(std::move(meta));
  return {};
}

// The objects of the collection that hold the finalizer. A collection that is not served has none.
Result<std::vector<kube::ObjectMeta>> FindPinned(const kube::Resource& resource,
                                                 const std::string& ns, const World& world) {
  std::vector<kube::ObjectMeta> pinned;
  kube::ListOptions options = {.ns = ns, .limit = kPageSize, .metadata_only = true};
  for (int page = 0; page < kPagesMax; ++page) {
    const Result<http::Response> reply = Send(world, kube::ListRequest(resource, options));
    if (!reply && reply.error().code == ErrorCode::kNotFound) return pinned;
    if (!reply) return tl::unexpected(reply.error());
    const kube::ListPage list = TRY(kube::ReadListPage(reply->body));
    for (const std::string_view item : list.items) TRY(AddPinned(item, pinned));
    options.continue_token = list.continue_token;
    if (options.continue_token.empty()) return pinned;
  }
  return Fail(ErrorCode::kTooLarge, "more than 500,000 objects");
}

// The object as it is now; empty: it is gone.
Result<std::optional<kube::ObjectMeta>> ReadAgain(const kube::Resource& resource,
                                                  const kube::ObjectKey& key, const World& world) {
  const Result<http::Response> reply = Send(world, kube::GetRequest(resource, key));
  if (!reply && reply.error().code == ErrorCode::kNotFound)
    return std::optional<kube::ObjectMeta>();
  if (!reply) return tl::unexpected(reply.error());
  const json::Document object = TRY(json::ParseRepaired(reply->body));
  return std::optional(TRY(kube::DecodeMeta(object)));
}

class Release {
 public:
  Release(const UninstallOptions& options, const World& world) : options_(options), world_(world) {}

  [[nodiscard]] Result<void> Run() {
    const Result<std::string> version = FindTemplateVersion(world_);
    if (version) observed_.facts.views.template_version = *version;
    ReleaseCollection(Kind::kComputeDomain, "");
    for (const std::string& ns : options_.driver_namespaces)
      ReleaseCollection(Kind::kDaemonSet, ns);
    if (!version) Failed("ResourceClaimTemplates", version.error());
    if (version && !version->empty()) ReleaseCollection(Kind::kClaimTemplate, "");
    world_.say((options_.dry_run ? "would release " : "released ") + std::to_string(released_) +
               ", failed " + std::to_string(failed_));
    if (!first_error_) return {};
    return tl::unexpected(*first_error_);
  }

 private:
  void ReleaseCollection(Kind kind, const std::string& ns) {
    const kube::Resource resource = compute_domain::ResourceOf(kind, observed_.facts);
    const auto pinned = FindPinned(resource, ns, world_);
    if (!pinned) {
      Failed(resource.kind + "s" + (ns.empty() ? "" : " of namespace " + ns), pinned.error());
      return;
    }
    for (const kube::ObjectMeta& object : *pinned) {
      const std::string name = resource.kind + " " + kube::ToString(object.key);
      if (const Result<void> done = ReleaseObject(kind, resource, object); !done) {
        Failed(name, done.error());
        continue;
      }
      ++released_;
      world_.say((options_.dry_run ? "would release " : "released ") + name);
    }
  }

  [[nodiscard]] Result<void> ReleaseObject(Kind kind, const kube::Resource& resource,
                                           kube::ObjectMeta object) {
    if (options_.dry_run) return {};
    Result<void> result;
    for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
      if (attempt > 0) world_.wait(seconds(1));
      const auto requests =
          compute_domain::RequestsOf(compute_domain::Release(kind, object), observed_);
      const Result<http::Response> reply = Send(world_, requests.front());
      if (reply) return {};
      result = tl::unexpected(reply.error());
      if (reply.error().code == ErrorCode::kForbidden) return result;
      // Somebody was quicker, or the reply is lost: what is there now decides.
      const auto now = ReadAgain(resource, object.key, world_);
      if (!now) continue;
      if (!*now || !(*now)->HasFinalizer(api::kFinalizer)) return {};
      object = **now;
    }
    return result;
  }

  void Failed(const std::string& what, const base::Error& error) {
    ++failed_;
    world_.say("FAILED " + what + ": " + error.message);
    if (!first_error_) first_error_ = base::While("release the finalizer of " + what)(error);
  }

  const UninstallOptions& options_;
  const World& world_;
  compute_domain::Observed observed_;  // For the version of the templates.
  int released_ = 0;
  int failed_ = 0;
  std::optional<base::Error> first_error_;
};

}  // namespace

Result<void> ReleaseFinalizers(const UninstallOptions& options, const World& world) {
  if (!options.force) {
    const Result<void> checked = CheckLease(options.lease, world);
    if (!checked && checked.error().code == ErrorCode::kConflict) {
      return tl::unexpected(checked.error());
    }
    if (!checked) {
      return tl::unexpected(
          base::While("look whether a controller runs (--force skips this)")(checked.error()));
    }
  }
  return Release(options, world).Run();
}

}  // namespace uninstall
