// Stores of what is watched, played against a plain map.
#include <algorithm>
#include <map>
#include <set>

#include "controller/api/packed.h"
#include "controller/compute_domain/cache/resource_slice_index.h"
#include "pkg/kube/cache/store.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fixtures/objects.h"
#include "test/fixtures/observed.h"
#include "test/fuzz/hostile.h"

namespace {

std::vector<std::string> KeysOf(const api::ResourceClaim& claim) {
  return {claim.channel_domain, "node:" + claim.node, claim.channel_domain};
}

std::string Show(const api::ResourceClaim& claim) {
  return kube::ToString(claim.meta.key) + " " + claim.meta.uid + " " + claim.meta.resource_version +
         " " + claim.channel_domain + " " + claim.node;
}

// A store of claims, with all that it told.
template <template <typename> typename Form>
struct Watched {
  kube::RecordingLogger logger;
  std::string told;
  kube::Store<api::ResourceClaim, Form> store{&api::DecodeResourceClaim, &KeysOf,
                                              [this](const auto& before, const auto& after) {
                                                told += (before ? Show(*before) : "-") + " > " +
                                                        (after ? Show(*after) : "-") + "\n";
                                              },
                                              logger};

  std::string State() const {
    std::string state = told + store.resource_version() + "\n";
    for (const auto& claim : store.List()) state += Show(*claim) + "\n";
    return state + std::to_string(store.unreadable());
  }
};

json::Value AnyClaim(fuzz::Input& input) {
  api::ResourceClaim claim = fixtures::MakeChannelClaim(
      input.PickValueInArray({"node-0", "node-1", ""}), input.PickValueInArray({"a", "b", "c"}));
  claim.meta.uid = input.PickValueInArray({"uid-1", "uid-2"});
  claim.meta.resource_version = std::to_string(input.ConsumeIntegralInRange(1, 30));
  json::Value object = fixtures::Store(claim).object;
  if (input.ConsumeIntegralInRange(0, 5) == 0) object["metadata"].Erase("uid");  // Unreadable.
  return object;
}

}  // namespace

// A store of claims, whatever comes in whatever order:
//  - holds the same whether its objects lie whole or packed, and tells the same;
//  - finds by an index key exactly those objects that have it;
//  - after a whole list, holds what was listed and nothing else.
FUZZ_TARGET(store, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  Watched<kube::SharedForm> whole;
  Watched<kube::PackedForm> packed;
  json::Parser parser;
  const auto both = [&](auto act) {
    act(whole.store);
    act(packed.store);
  };
  while (input.remaining_bytes() > 0) {
    const std::string text = json::Serialize(AnyClaim(input));
    const json::View object = *parser.Parse(text);
    const int what = input.ConsumeIntegralInRange(0, 6);
    if (what == 0) {
      std::map<std::string, std::string> listed;
      both([](auto& store) { store.BeginReplace(); });
      for (int i = input.ConsumeIntegralInRange(0, 4); i > 0; --i) {
        json::Value claim = AnyClaim(input);
        const std::string item = json::Serialize(claim);
        const json::View view = *parser.Parse(item);
        both([&](auto& store) { store.ReplaceAdd(view); });
        listed[claim["metadata"]["name"].AsString()] = claim["metadata"]["uid"].AsString();
      }
      both([](auto& store) { store.EndReplace("31"); });
      for (const auto& claim : whole.store.List()) CHECK(listed.contains(claim->meta.key.name));
    } else {
      both([&](auto& store) { store.Apply(object, what == 1); });
    }
    fuzz::CheckSame(whole.State(), packed.State());
    for (const std::string& key : {fixtures::kUid, std::string("node:node-0")}) {
      std::set<std::string> with_key;
      for (const auto& claim : whole.store.List()) {
        const std::vector<std::string> keys = KeysOf(*claim);
        if (std::ranges::find(keys, key) != keys.end()) with_key.insert(Show(*claim));
      }
      std::set<std::string> found;
      for (const auto& claim : whole.store.ByIndex(key)) found.insert(Show(*claim));
      CHECK(found == with_key && packed.store.ByIndex(key).size() == found.size());
    }
  }
}

// ResourceSlices, whatever comes in whatever order:
//  - a node publishes exactly while one slice is there that is in its own pool and shares nothing;
//  - it is told when that changes, and only then.
FUZZ_TARGET(resource_slices, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  std::set<std::pair<std::string, std::string>> model;  // Node and UID.
  std::map<std::string, int> told;
  kube::RecordingLogger logger;
  compute_domain::ResourceSliceIndex publishers([&](const std::string& node) { ++told[node]; },
                                                logger);
  json::Parser parser;
  const auto any_slice = [&] {
    json::Value slice;
    slice["spec"]["nodeName"] =
        input.ConsumeBool() ? input.PickValueInArray({"node-0", "node-1"}) : fuzz::Text(input);
    slice["metadata"]["uid"] = input.PickValueInArray({"1", "2"});
    slice["spec"]["pool"]["name"] = input.ConsumeIntegralInRange(0, 3) == 0
                                        ? std::string("node-0")
                                        : std::string(slice["spec"]["nodeName"].AsString());
    if (input.ConsumeIntegralInRange(0, 7) == 0) slice["spec"]["sharedCounters"].Append({});
    if (input.ConsumeIntegralInRange(0, 9) == 0) fuzz::Spoil(input, slice);
    return json::Serialize(slice);
  };
  const auto key_of = [](json::View slice) {
    return std::pair(std::string(slice["spec"]["nodeName"].AsString()),
                     std::string(slice["metadata"]["uid"].AsString()));
  };
  const auto is_of_plugin = [](json::View slice) {
    return slice["spec"]["pool"]["name"].AsString() == slice["spec"]["nodeName"].AsString() &&
           slice["spec"]["sharedCounters"].size() == 0;
  };
  const auto nodes = [&] {
    std::set<std::string> all;
    for (const auto& [node, uid] : model) all.insert(node);
    return all;
  };
  while (input.remaining_bytes() > 0) {
    const std::set<std::string> before = nodes();
    told.clear();
    if (input.ConsumeIntegralInRange(0, 3) == 0) {
      model.clear();
      publishers.BeginReplace();
      for (int i = input.ConsumeIntegralInRange(0, 4); i > 0; --i) {
        const std::string text = any_slice();
        const auto slice = parser.Parse(text);
        if (!slice) continue;
        publishers.ReplaceAdd(*slice);
        if (is_of_plugin(*slice)) model.insert(key_of(*slice));
      }
      publishers.EndReplace("1");
    } else {
      const std::string text = any_slice();
      const auto slice = parser.Parse(text);
      if (!slice) continue;
      const bool deleted = input.ConsumeBool();
      publishers.Apply(*slice, deleted);
      if (deleted || !is_of_plugin(*slice)) {
        model.erase(key_of(*slice));
      } else {
        model.insert(key_of(*slice));
      }
    }
    const std::set<std::string> after = nodes();
    CHECK(publishers.IsEmpty() == after.empty());
    for (const auto* side : {&before, &after}) {
      for (const std::string& node : *side) {
        CHECK(publishers.Contains(node) == after.contains(node));
        CHECK((told[node] > 0) == (before.contains(node) != after.contains(node)));
      }
    }
    for (const auto& [node, times] : told) {
      CHECK(times == 0 || before.contains(node) || after.contains(node));
    }
  }
}
