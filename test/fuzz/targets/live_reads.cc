// What live reads make of lists in which anybody may have put an object (S1):
//  - no object that has a name, a UID and a resourceVersion keeps the others from being read,
//    whatever else is in it;
//  - what is found for the domain is the domain's.
#include "controller/compute_domain/requests/action_requests.h"
#include "test/fuzz/worlds.h"

namespace {

using namespace compute_domain;

std::string Item(fuzz::Input& input) {
  static const std::vector<fixtures::Stored> all = fixtures::StoreAll(fixtures::Converged());
  json::Value object = all[input.ConsumeIntegralInRange<std::size_t>(0, all.size() - 1)].object;
  fuzz::SpoilContent(input, object);
  return fuzz::WriteWithParameters(input, std::move(object));
}

// A list as the request asks for it.
std::string ListFor(fuzz::Input& input, const http::Request& request) {
  std::string kind;
  for (const Kind known : {Kind::kComputeDomain, Kind::kDaemonSet, Kind::kClaimTemplate,
                           Kind::kClique, Kind::kDaemonPod, Kind::kClaim, Kind::kNode}) {
    const kube::Resource& resource = ResourceOf(known);
    if (request.path.find("/" + resource.plural + "?") != std::string::npos) kind = resource.kind;
  }
  std::string items;
  for (int i = input.ConsumeIntegralInRange(0, 2); i > 0; --i) {
    items += (items.empty() ? "" : ",") + Item(input);
  }
  return R"({"kind":")" + kind + R"(List","metadata":{"resourceVersion":"9"},"items":[)" + items +
         "]}";
}

Action AnyRead(fuzz::Input& input) {
  switch (input.ConsumeIntegralInRange(0, 8)) {
    case 0:
      return ReadOwner{};
    case 1:
      return ReadOwner{.key = kube::ObjectKey{fixtures::kUserNs, "train"}};
    case 2:
      return ReadChildren{.workload_namespace = fixtures::kUserNs};
    case 3:
      return ReadDaemons{};
    case 4:
      return ReadClaims{.ns = fixtures::kUserNs};
    case 5:
      return ReadPodConditions{.ns = fixtures::kUserNs, .names = {"train-0", "train-1"}};
    case 8:
      return ReadUses{.ns = fixtures::kUserNs,
                      .uses = {{.pod = "train-0", .claim = "train-0-channel", .key = "key"}}};
    case 6:
      return ReadDaemonSetEvents{.daemon_set = {fixtures::kDriverNs, fixtures::kDaemonName},
                                 .uid = "set"};
    default:
      return ReadTaken{.kind = Kind::kClaimTemplate,
                       .key = {fixtures::kUserNs, fixtures::kTemplateName}};
  }
}

}  // namespace

FUZZ_TARGET(live_reads, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  Observed observed = fixtures::Converged();
  const Action action = AnyRead(input);
  ActionProgress read;
  ActionResult result;
  int rounds = 0;
  do {
    Replies replies;
    for (const http::Request& request : RequestsOf(action, observed, read)) {
      const bool is_list = request.path.find("?") != std::string::npos;
      replies.push_back(
          http::Response{.status = 200, .body = is_list ? ListFor(input, request) : Item(input)});
    }
    result = HandleReplies(action, replies, observed, read);
    observed = Learn(std::move(observed), result.findings);
    if (result.error) fuzz::CheckSame(result.error->message, "");
  } while (result.goes_on && ++rounds < 3);
  CHECK(!result.goes_on);
  const Evidence& evidence = observed.evidence;
  if (evidence.owner && *evidence.owner) CHECK((*evidence.owner)->uid == observed.uid);
  const auto check_claims = [&](const std::vector<api::ResourceClaim>& claims) {
    for (const api::ResourceClaim& claim : claims) {
      CHECK(claim.channel_domain == observed.uid || claim.daemon_domain == observed.uid);
    }
  };
  if (evidence.claims) check_claims(*evidence.claims);
  if (evidence.children) check_claims(evidence.children->claims);
  if (!evidence.scheduler_messages) return;
  for (const auto& [pod, words] : evidence.scheduler_messages->messages) {
    CHECK(words.size() < 8192);
  }
}
