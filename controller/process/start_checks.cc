#include "controller/process/start_checks.h"

#include <chrono>

#include "controller/api/names.h"
#include "pkg/base/find.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"

namespace process {

namespace {

// A shutdown waits for each of these requests.
constexpr std::chrono::seconds kTimeout{3};

const kube::Resource kSelfSubjectReviews = {"authentication.k8s.io", "v1", "selfsubjectreviews",
                                            "SelfSubjectReview", false};
const kube::Resource kPolicies = {"admissionregistration.k8s.io", "v1",
                                  "validatingadmissionpolicies", "ValidatingAdmissionPolicy",
                                  false};
const kube::Resource kBindings = {"admissionregistration.k8s.io", "v1",
                                  "validatingadmissionpolicybindings",
                                  "ValidatingAdmissionPolicyBinding", false};

base::Result<json::Value> Send(http::Request request, http::Transport& transport) {
  request.timeout = kTimeout;
  const http::Response reply = TRY(kube::CheckStatus(transport.Send(request), request.method));
  return json::Parse(reply.body);
}

base::Result<std::string> FindUser(http::Transport& transport) {
  json::Value review;
  review["apiVersion"] = kSelfSubjectReviews.group + "/" + kSelfSubjectReviews.version;
  review["kind"] = kSelfSubjectReviews.kind;
  const json::Value answer =
      TRY(Send(kube::CreateRequest(kSelfSubjectReviews, "", review), transport));
  return answer["status"]["userInfo"]["username"].AsString();
}

// Returns whether an administrator has named the user in the policy.
bool IsNamed(const std::string& user, const json::Value& policy) {
  for (const json::Value& variable : policy["spec"]["variables"].items()) {
    if (variable["name"].AsString() != "otherControllers") continue;
    const std::string& expression = variable["expression"].AsString();
    return expression.find("'" + user + "'") != std::string::npos ||
           expression.find("\"" + user + "\"") != std::string::npos;
  }
  return false;
}

bool Denies(const json::Value& binding) {
  return base::Contains(binding["spec"]["validationActions"].AsTexts(), "Deny");
}

// Returns whether the policy is in force and refuses the user.
base::Result<bool> IsRefused(const std::string& user, http::Transport& transport) {
  const kube::ObjectKey key = {.name = std::string(api::kChildDeletionPolicy)};
  const json::Value policy = TRY(Send(kube::GetRequest(kPolicies, key), transport));
  if (IsNamed(user, policy)) return false;
  const json::Value binding = TRY(Send(kube::GetRequest(kBindings, key), transport));
  return Denies(binding);
}

base::Result<bool> IsLabelled(const std::string& ns, http::Transport& transport) {
  const json::Value found = TRY(Send(kube::GetRequest(kube::kNamespaces, {.name = ns}), transport));
  return found["metadata"]["labels"][api::kDriverNamespaceLabel].AsString() == "true";
}

}  // namespace

std::string CheckIdentity(http::Transport& transport, base::Logger& logger,
                          const std::stop_token& stop) {
  if (stop.stop_requested()) return {};
  const base::Result<std::string> user = FindUser(transport);
  if (!user) {
    logger.Log(base::LogLevel::kObjects, "Cannot read the controller's own user",
               {{"err", user.error().message}});
    return {};
  }
  logger.Info("Known to the API server", {{"user", *user}});
  if (api::IsControllerAccount(*user) || stop.stop_requested()) return *user;
  const base::Result<bool> is_refused = IsRefused(*user, transport);
  if (!is_refused && is_refused.error().code != base::ErrorCode::kNotFound) {
    logger.Info("Cannot read the policy that says which controllers may delete",
                {{"policy", std::string(api::kChildDeletionPolicy)},
                 {"user", *user},
                 {"err", is_refused.error().message}});
  } else if (is_refused && *is_refused) {
    logger.Warning("A policy refuses the deletions of this controller, so no domain can be deleted",
                   {{"policy", std::string(api::kChildDeletionPolicy)},
                    {"user", *user},
                    {"remedy",
                     "run it with a token of ServiceAccount cdom-controller (kubectl "
                     "create token cdom-controller -n cdom-system), or name the user in "
                     "the policy: docs/policies.md"}});
  }
  return *user;
}

void WarnOfUnlabelled(const std::vector<std::string>& driver_namespaces, http::Transport& transport,
                      base::Logger& logger, const std::stop_token& stop) {
  for (const std::string& ns : driver_namespaces) {
    if (stop.stop_requested()) return;
    const base::Result<bool> is_labelled = IsLabelled(ns, transport);
    if (!is_labelled) {
      logger.Log(base::LogLevel::kObjects, "Cannot read the labels of a driver namespace",
                 {{"namespace", ns}, {"err", is_labelled.error().message}});
    } else if (!*is_labelled) {
      const std::string label = std::string(api::kDriverNamespaceLabel) + "=true";
      logger.Warning(
          "A namespace of the driver lacks the label by which policies know it",
          {{"namespace", ns}, {"remedy", "kubectl label namespace " + ns + " " + label}});
    }
  }
}

}  // namespace process
