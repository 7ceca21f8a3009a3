#include "controller/process/driver_namespaces.h"

#include "controller/api/names.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/resource.h"
#include "pkg/kube/client/request.h"

namespace process {

namespace {

// A shutdown waits for this request.
constexpr std::chrono::seconds kTimeout{3};

base::Result<bool> IsLabelled(const std::string& ns, http::Transport& transport) {
  http::Request request = kube::GetRequest(kube::kNamespaces, {.name = ns});
  request.timeout = kTimeout;
  const http::Response reply = TRY(kube::CheckStatus(transport.Send(request), request.method));
  json::Parser parser;
  const json::View object = TRY(parser.Parse(reply.body));
  return object["metadata"]["labels"][api::kDriverNamespaceLabel].AsString() == "true";
}

}  // namespace

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
