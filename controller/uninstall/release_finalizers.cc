#include "controller/uninstall/release_finalizers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "controller/api/names.h"
#include "controller/compute_domain/requests/action_requests.h"
#include "controller/compute_domain/rules/deletion.h"
#include "pkg/base/text.h"
#include "pkg/json/repair.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/client/request.h"
#include "pkg/kube/discovery/version_search.h"
#include "pkg/kube/lease/lease_survey.h"

namespace uninstall {

namespace {

using base::ErrorCode, base::Fail, base::Result;
using compute_domain::Kind;
using std::chrono::seconds;

constexpr int kPageSize = 500;
constexpr int kPagesMax = 1000;
constexpr int kAttemptsMax = 5;

Result<http::Response> Send(const World& world, const http::Request& request) {
  return kube::CheckStatus(world.transport.Send(request), request.method);
}

// Returns whether the namespace is deleted or being deleted, so that no controller continues in it.
Result<bool> IsEnding(const std::string& ns, const World& world) {
  const Result<http::Response> reply =
      Send(world, kube::GetRequest(kube::kNamespaces, {.name = ns}));
  if (!reply && kube::ProvesAbsence(reply.error(), kube::kNamespaces, ns)) return true;
  if (!reply) return tl::unexpected(reply.error());
  const json::Document object = TRY(json::Document::Parse(reply->body));
  return !object["metadata"]["deletionTimestamp"].AsString().empty();
}

// Returns once no controller can hold one of the Leases. Fails if a controller holds one.
Result<void> CheckHolders(kube::LeaseSurvey& survey, const World& world) {
  constexpr std::chrono::seconds kTimeout{30};
  for (seconds passed{0};; ++passed) {
    survey.Look(world.transport, kTimeout, passed);
    if (survey.error()) return tl::unexpected(*survey.error());
    if (survey.alive()) {
      const kube::LeaseHolder& holder = *survey.alive();
      return Fail(
          ErrorCode::kConflict,
          holder.name + " holds the Lease " + kube::ToString(holder.lease) +
              " and would put the finalizers back. Stop the controller first (kubectl scale "
              "deployment cdom-controller -n " +
              holder.lease.ns + " --replicas=0), or use --force.");
    }
    const std::optional<kube::LeaseHolder> holder = survey.MayBeAlive(passed);
    if (!holder) return {};
    if (passed == seconds(0)) {
      world.say("Lease " + kube::ToString(holder->lease) + " names " + holder->name + "; waiting " +
                std::to_string(holder->duration.count()) + " s to see whether it lives");
    }
    world.wait(seconds(1));
  }
}

// Calls `visit` with the metadata of each object of the collection, page by page.
Result<void> ForEach(const kube::Resource& resource, kube::ListOptions options, const World& world,
                     const std::function<void(kube::ObjectMeta)>& visit) {
  options.limit = kPageSize;
  options.metadata_only = true;
  for (int page = 0; page < kPagesMax; ++page) {
    const http::Response reply = TRY(Send(world, kube::ListRequest(resource, options)));
    const kube::ListPage list = TRY(kube::ReadListPage(reply.body));
    for (const std::string_view item : list.items) {
      const json::Document object = TRY(json::ParseRepaired(item));
      visit(TRY(kube::DecodeMeta(object)));
    }
    options.continue_token = list.continue_token;
    if (options.continue_token.empty()) return {};
  }
  return Fail(ErrorCode::kTooLarge, "more than 500,000 objects");
}

// Returns the Leases with these names, in all namespaces.
Result<std::vector<kube::ObjectKey>> FindLeases(const std::vector<kube::ObjectKey>& leases,
                                                const World& world) {
  std::vector<kube::ObjectKey> found;
  for (const kube::ObjectKey& lease : leases) {
    TRY(ForEach(kube::kLeases, {.field_selector = "metadata.name=" + lease.name}, world,
                [&](const kube::ObjectMeta& meta) { found.push_back(meta.key); }));
  }
  return found;
}

// Without a Lease it is unknown whether a controller runs. A namespace that does not exist may be
// deleted or misspelt. If it is misspelt, a controller may lead in another namespace.
Result<void> CheckElsewhere(const std::vector<kube::ObjectKey>& leases, const World& world) {
  const std::string& ns = leases.front().ns;
  if (TRY(IsEnding(ns, world))) {
    kube::LeaseSurvey survey(TRY(FindLeases(leases, world)));
    TRY(CheckHolders(survey, world));
    world.say("namespace " + ns +
              " is being deleted or does not exist, and no controller leads in another one");
    return {};
  }
  std::vector<std::string> names;
  names.reserve(leases.size());
  for (const kube::ObjectKey& lease : leases) names.push_back(lease.name);
  return Fail(
      ErrorCode::kConflict,
      "namespace " + ns + " has no Lease of these names: " + base::Join(names) +
          ". Which one does your controller use? Name it with "
          "--leader-election-lease-lock-name, and its namespace with --namespace. Use --force "
          "if no controller runs.");
}

Result<void> CheckLeases(const std::vector<kube::ObjectKey>& leases, const World& world) {
  kube::LeaseSurvey survey(leases);
  TRY(CheckHolders(survey, world));
  if (survey.AnyExists()) return {};
  return CheckElsewhere(leases, world);
}

// Returns whether the API server serves the resource in this version. If not, it has no objects.
Result<bool> IsServed(const kube::Resource& resource, const World& world) {
  const Result<http::Response> listed = Send(world, kube::ResourceListRequest(resource));
  if (listed) return kube::ListsResource(listed->body, resource.plural);
  if (listed.error().code != ErrorCode::kNotFound) return tl::unexpected(listed.error());
  const http::Response groups = TRY(Send(world, kube::GroupListRequest()));
  if (!TRY(kube::ListsVersion(groups.body, resource))) return false;
  return tl::unexpected(listed.error());
}

// Returns the served version of claim templates. Empty if none is served, so none exist.
Result<std::string> FindTemplateVersion(const World& world) {
  kube::Resource templates = kube::kResourceClaimTemplates;
  for (const std::string& version : kube::kDraVersions) {
    templates.version = version;
    if (TRY(IsServed(templates, world))) return version;
  }
  return std::string();
}

// Returns the objects with the finalizer. Empty if the collection is not served.
Result<std::vector<kube::ObjectMeta>> FindPinned(const kube::Resource& resource,
                                                 const std::string& ns, const World& world) {
  std::vector<kube::ObjectMeta> pinned;
  const Result<void> read = ForEach(resource, {.ns = ns}, world, [&](kube::ObjectMeta meta) {
    if (meta.HasFinalizer(api::kFinalizer)) pinned.push_back(std::move(meta));
  });
  if (read) return pinned;
  // A 404 alone proves nothing: a proxy may send it, or a server of another version.
  const bool may_be_missing = read.error().code == ErrorCode::kNotFound;
  if (!may_be_missing || TRY(IsServed(resource, world))) return tl::unexpected(read.error());
  return std::vector<kube::ObjectMeta>();
}

// Returns the object as it is now. Empty if it does not exist.
Result<std::optional<kube::ObjectMeta>> ReadAgain(const kube::Resource& resource,
                                                  const kube::ObjectKey& key, const World& world) {
  const Result<http::Response> reply = Send(world, kube::GetRequest(resource, key));
  if (!reply && kube::ProvesAbsence(reply.error(), resource, key.name)) {
    return std::optional<kube::ObjectMeta>();
  }
  if (!reply) return tl::unexpected(reply.error());
  const json::Document object = TRY(json::ParseRepaired(reply->body));
  return std::optional(TRY(kube::DecodeMeta(object)));
}

class Release {
 public:
  Release(const UninstallOptions& options, const World& world) : options_(options), world_(world) {}

  Result<void> Run() {
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

  Result<void> ReleaseObject(Kind kind, const kube::Resource& resource, kube::ObjectMeta object) {
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
      // Another client was faster, or the reply was lost. The object as it is now decides.
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
    const Result<void> checked = CheckLeases(options.leases, world);
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
