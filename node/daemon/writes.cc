#include "node/daemon/writes.h"

#include "controller/api/names.h"
#include "controller/api/types.h"
#include "node/daemon/clique.h"
#include "pkg/json/repair.h"
#include "pkg/json/value.h"
#include "pkg/kube/client/request.h"

namespace imex_daemon {

namespace {

using base::Result;
using json::Value;

// Long enough for a busy server, and short enough not to delay the end of the pod.
constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kObjectMax = 4U << 20;

// `attempt` is for the message of an error.
Result<http::Response> Send(http::Request request, std::string attempt,
                            http::Transport& transport) {
  request.timeout = kTimeout;
  request.response_bytes_max = kObjectMax;
  return kube::CheckStatus(transport.Send(request), request.method)
      .map_error(base::While(std::move(attempt)));
}

// Patches only this pod: a later pod of the same name has another UID, which is a conflict.
http::Request PodPatch(const DaemonIdentity& self, const char* map, std::string_view key,
                       std::string value) {
  Value metadata = Value::Object({{"uid", self.pod_uid}});
  metadata[map] = Value::Object({{key, std::move(value)}});
  return kube::MergePatchRequest(kube::kPods, self.pod,
                                 Value::Object({{"metadata", std::move(metadata)}}));
}

Result<Written> Label(const DaemonIdentity& self, http::Transport& transport) {
  const auto reply =
      TRY(Send(PodPatch(self, "labels", api::kCliqueLabel, self.clique),
               "label pod " + kube::ToString(self.pod) + " with its clique", transport));
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  const api::DaemonPod pod = TRY(api::DecodeDaemonPod(object));
  return Written{.membership_writer = pod.controller_writes ? MembershipWriter::kController
                                                            : MembershipWriter::kDaemon};
}

Result<Written> Report(const DaemonIdentity& self, const api::ImexReport& report,
                       http::Transport& transport) {
  TRY(Send(PodPatch(self, "annotations", api::kImexAnnotation, api::Encode(report)),
           "annotate pod " + kube::ToString(self.pod), transport));
  return Written{};
}

Result<Written> VersionIn(const http::Response& reply) {
  const json::Document object = TRY(json::ParseRepaired(reply.body));
  return Written{.version = std::string(object["metadata"]["resourceVersion"].AsString())};
}

Result<Written> CreateClique(const DaemonIdentity& self, bool ready, http::Transport& transport) {
  return VersionIn(
      TRY(Send(kube::CreateRequest(api::kComputeDomainCliques, self.pod.ns, NewClique(self, ready)),
               "create clique " + self.CliqueKey().name, transport)));
}

Result<Written> ChangeClique(const DaemonIdentity& self, const WriteOrder& order,
                             http::Transport& transport) {
  const kube::ObjectKey key = self.CliqueKey();
  const auto read = TRY(Send(kube::GetRequest(api::kComputeDomainCliques, key),
                             "read clique " + key.name, transport));
  Value clique = TRY(json::Parse(read.body));
  const bool leaves = order.write == Write::kLeave;
  const bool changed =
      leaves ? TakeOutOwnEntry(clique, self) : TRY(PutOwnEntry(clique, self, order.ready));
  if (!changed) return VersionIn(read);
  return VersionIn(TRY(Send(kube::UpdateRequest(api::kComputeDomainCliques, key, clique),
                            "update clique " + key.name, transport)));
}

}  // namespace

Result<Written> Perform(const DaemonIdentity& self, const WriteOrder& order,
                        http::Transport& transport) {
  switch (order.write) {
    case Write::kLabel:
      return Label(self, transport);
    case Write::kCreate:
      return CreateClique(self, order.ready, transport);
    case Write::kEntry:
      return ChangeClique(self, order, transport);
    case Write::kLeave: {
      auto left = ChangeClique(self, order, transport);
      const bool is_absent = !left && kube::ProvesAbsence(left.error(), api::kComputeDomainCliques,
                                                          self.CliqueKey().name);
      if (is_absent) return Written{};
      return left;
    }
    case Write::kReport:
      return Report(self, order.report, transport);
  }
  return Written{};
}

}  // namespace imex_daemon
