// Lists, as the API server or somebody in between answers them.
#include <algorithm>

#include "pkg/json/repair.h"
#include "pkg/kube/cache/list_page.h"
#include "pkg/kube/cache/reflector.h"
#include "pkg/kube/discovery/version_search.h"
#include "pkg/kube/testing/fakes.h"
#include "test/fuzz/hostile.h"
#include "test/fuzz/view_text.h"

namespace {

// How often the object that the text is has a member `items`, by whatever spelling.
std::size_t CountItems(json::View list) {
  std::size_t count = 0;
  list.ForEachMember([&](std::string_view name, json::View) { count += name == "items" ? 1U : 0; });
  return count;
}

}  // namespace

// One page of a list:
//  - whose text a reader takes for an object has the same kind, version, token and items;
//  - each item lies in the text, and reads as the reader has it.
//
// They differ on purpose where `items` is there twice or spelled with escapes, as no API server
// writes it: it is found by its bytes.
FUZZ_TARGET(list_page, body) {
  const auto page = kube::ReadListPage(body);
  if (page) {
    for (const std::string_view item : page->items) {
      CHECK(!item.empty() && item.data() >= body.data() &&
            item.data() + item.size() <= body.data() + body.size());
    }
  }
  json::Parser parser;
  const auto list = parser.Parse(body);
  if (!list || !list->IsObject()) return;
  CHECK(page);
  fuzz::CheckSame(page->kind, (*list)["kind"].AsString());
  fuzz::CheckSame(page->resource_version, (*list)["metadata"]["resourceVersion"].AsString());
  fuzz::CheckSame(page->continue_token, (*list)["metadata"]["continue"].AsString());
  const bool is_plain = body.find("\\u") == std::string_view::npos && CountItems(*list) <= 1;
  if (!is_plain) return;
  const json::View items = (*list)["items"];
  CHECK(page->items.size() == (items.IsArray() ? items.size() : 0));
  json::Parser one;
  for (std::size_t i = 0; i < page->items.size(); ++i) {
    const auto item = one.Parse(page->items[i]);
    CHECK(item);
    fuzz::CheckSame(fuzz::TextOf(*item), fuzz::TextOf(items.at(i)));
  }
}

namespace {

class Counter final : public kube::ReflectorSink {
 public:
  void BeginReplace() override { added = 0; }
  void ReplaceAdd(json::View) override { ++added; }
  void EndReplace(const std::string& version) override {
    is_whole = true;
    CHECK(!version.empty() && version != "0");
  }
  void Apply(json::View, bool) override {}
  void Advance(const std::string&) override {}

  std::size_t added = 0;
  bool is_whole = false;
};

}  // namespace

// A list in pages, answered by anybody:
//  - it never asks again without a pause more often than it may (no answer makes a hot loop);
//  - when it is whole, every item of its last reading came, those that a strict reader refuses too.
FUZZ_TARGET(list_pages, bytes) {
  using Kind = kube::Reflector::Next::Kind;
  fuzz::Input input = fuzz::InputOf(bytes);
  base::Clock::TimePoint now{std::chrono::hours(1)};
  kube::FixedRandom random(kube::FixedRandom::Side::kLow);
  kube::RecordingLogger logger;
  Counter sink;
  kube::Reflector reflector({.resource = kube::kResourceClaims, .versions = kube::kDraVersions},
                            sink, random, logger);
  std::size_t in_pages = 0;
  int at_once = 0;
  for (int turn = 0; turn < 60 && input.remaining_bytes() > 0 && !sink.is_whole; ++turn) {
    const kube::Reflector::Next next = reflector.Poll(now);
    if (next.kind == Kind::kWait) {
      CHECK(next.until > now);
      now = next.until;
      at_once = 0;
      continue;
    }
    // A page made smaller five times, each version of the resource, a 410: all that follows at
    // once.
    CHECK(++at_once <= 16);
    if (next.request.path.find("continue=") == std::string::npos) in_pages = 0;
    switch (input.ConsumeIntegralInRange(0, 4)) {
      case 0:
        reflector.OnReply(now, base::Fail(input.PickValueInArray({base::ErrorCode::kUnavailable,
                                                                  base::ErrorCode::kTooLarge,
                                                                  base::ErrorCode::kUnauthorized}),
                                          "no reply"));
        break;
      case 1:
        reflector.OnReply(now, http::Response{.status = input.PickValueInArray(
                                                  {404, 403, 410, 429, 500, 504, 413, 301}),
                                              .body = fuzz::Text(input)});
        break;
      case 2:
        reflector.OnReply(now, http::Response{.status = 200, .body = fuzz::Text(input)});
        break;
      case 3: {
        const json::Value found = json::Value::Object(
            {{"kind", "APIResourceList"},
             {"resources",
              json::Value::Array({json::Value::Object({{"name", "resourceclaims"}})})}});
        reflector.OnReply(now, http::Response{.status = 200, .body = json::Serialize(found)});
        break;
      }
      default: {
        std::string items;
        const int count = input.ConsumeIntegralInRange(0, 3);
        for (int i = 0; i < count; ++i) {
          json::Value item = fuzz::AnyValue(input);
          items += (items.empty() ? "" : ",") + fuzz::WriteWithParameters(input, std::move(item));
        }
        const std::string token =
            input.ConsumeBool() ? "" : std::to_string(input.ConsumeIntegral<std::uint8_t>());
        in_pages += static_cast<std::size_t>(count);
        at_once = 0;
        reflector.OnReply(
            now,
            http::Response{.status = 200,
                           .body = R"({"kind":"ResourceClaimList","metadata":{"continue":")" +
                                   token + R"(","resourceVersion":"7"},"items":[)" + items + "]}"});
      }
    }
  }
  if (sink.is_whole) CHECK(sink.added == in_pages);
}

// Which version is served, from bodies of anybody:
//  - after as many answers as there are versions it has found one or says that there is none;
//  - what it finds is one of them.
FUZZ_TARGET(discovery, bytes) {
  fuzz::Input input = fuzz::InputOf(bytes);
  kube::VersionSearch search(kube::kResourceClaims, kube::kDraVersions);
  std::size_t answers = 0;
  while (input.remaining_bytes() > 0) {
    CHECK(search.Next().path.starts_with("/apis/resource.k8s.io/v1"));
    const std::string body = input.ConsumeBool() ? input.ConsumeRandomLengthString(300)
                                                 : json::Serialize(fuzz::AnyValue(input));
    const auto found = search.OnReply(http::Response{.status = 200, .body = body});
    if (!found && found.error().code != base::ErrorCode::kNotFound) continue;  // Once more.
    ++answers;
    CHECK(answers <= kube::kDraVersions.size());
    if (found && !*found) continue;
    answers = 0;
    if (!found) continue;
    CHECK((**found).plural == kube::kResourceClaims.plural);
    CHECK(std::ranges::find(kube::kDraVersions, (**found).version) != kube::kDraVersions.end());
  }
}
