#include "node/gpu/api/node_status.h"

#include "node/dra/api/requests.h"
#include "pkg/json/repair.h"
#include "pkg/json/utf8.h"
#include "pkg/kube/client/request.h"

namespace gpu {

base::Result<NodeStatus> ReadNodeStatus(http::Transport& transport, const std::string& node) {
  constexpr std::size_t kShownMax = 64;
  const auto reply = TRY(dra::Send(kube::GetRequest(kube::kNodes, {.name = node}), transport));
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  const json::View status = object["status"];
  NodeStatus found = {
      .runtime = json::OneLine(status["nodeInfo"]["containerRuntimeVersion"].AsString(), kShownMax),
      .offered_gpus = json::OneLine(status["allocatable"]["nvidia.com/gpu"].AsString(), kShownMax)};
  if (found.offered_gpus == "0") found.offered_gpus.clear();
  return found;
}

}  // namespace gpu
