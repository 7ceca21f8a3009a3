// Goal: a controller that has run for long needs no more than one that has just started: memory,
// descriptors and series of metrics stay as they are, however many domains it has served. Method:
// domains form and are deleted one after the other under one process, in virtual time. The
// simulated cluster forgets its past, so that what grows is the controller's.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <new>
#include <set>
#include <string>

#include "controller/process/metrics.h"
#include "test/simulation/apiserver/contract.h"
#include "test/simulation/cluster/peers.h"
#include "test/simulation/scenarios/replica.h"

namespace {

std::atomic<std::ptrdiff_t> heap_in_use = 0;  // Bytes that `new` has given.

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  heap_in_use += static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  return memory;
}
void operator delete(void* memory) noexcept {
  heap_in_use -= static_cast<std::ptrdiff_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace simulation {
namespace {

constexpr std::size_t kWarmUp = 200;       // Half an hour: Events are remembered for minutes.
constexpr std::size_t kStepsMax = 20'000;  // Of one wait; some hundreds are usual.
constexpr std::ptrdiff_t kBytesPerDomain = 50;
// The recorder of Events remembers the last objects that had one.
constexpr std::size_t kRememberedMax = 4'096;
constexpr std::ptrdiff_t kBytesRemembered = 140;
// Of a run with this number of domains, in which a leak of 100 bytes would show.
constexpr std::size_t kMany = 100'000;
constexpr std::ptrdiff_t kGrowthOfPages = 10'000'000;

std::size_t CountDomains() {
  const char* asked = std::getenv("CDOM_CHURN");
  return std::stoul(asked == nullptr ? CDOM_CHURN_DOMAINS : asked);
}

// Bytes of memory that the process has.
std::ptrdiff_t PagesInUse() {
  std::ifstream statm("/proc/self/statm");
  std::ptrdiff_t size = 0;
  std::ptrdiff_t resident = 0;
  statm >> size >> resident;
  return resident * 4096;
}

std::ptrdiff_t CountDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

class Churn {
 public:
  Churn() {
    cluster_.AddNamespace("train");
    cluster_.AddNode("node-a", "c1.0");
  }

  // A domain forms, and is deleted once its pod has ended.
  void Serve(std::size_t number) {
    const std::string name = "job-" + std::to_string(number);
    const kube::ObjectKey domain = {.ns = "train", .name = name};
    cluster_.CreateDomain(domain, name + "-channel");
    CreatePod(name);
    RunUntil("ready", [&] { return IsReady(domain); });
    metrics_.Refresh(true);
    (void)cluster_.store().Delete("user", Kind::kPod, domain);
    cluster_.DeleteDomain(domain);
    RunUntil("gone", [&] { return IsGone(); });
    const Time sampled =
        cluster_.now() + std::chrono::seconds(6);  // A period of samples, and more.
    RunUntil("later", [&] { return cluster_.now() >= sampled; });
    metrics_.Refresh(true);
    if (number % 50 == 0) Forget();
  }

  // Runs until nothing moves at this time; then no watch has anything to show.
  void Forget() {
    while (Step()) {
    }
    for (const auto& [key, event] : Objects(cluster_.store().Live(Kind::kEvent))) {
      (void)cluster_.store().Delete("user", Kind::kEvent, key);
    }
    cluster_.server().ForgetPast();
  }

  std::set<std::string> Series() const {
    std::set<std::string> series;
    for (const auto& collectable : metrics_.For(process::Readers::kAllowed)) {
      for (const auto& family : collectable->Collect()) {
        for (const auto& metric : family.metric) {
          std::string text = family.name;
          for (const auto& label : metric.label) text += "," + label.name + "=" + label.value;
          series.insert(text);
        }
      }
    }
    return series;
  }

 private:
  void CreatePod(const std::string& domain) {
    using json::Value;
    const Value claim =
        Value::Object({{"name", "channel"}, {"resourceClaimTemplateName", domain + "-channel"}});
    const Value container = Value::Object({{"name", "work"}, {"image", "work"}});
    Value pod =
        Value::Object({{"metadata", Value::Object({{"name", domain}})},
                       {"spec", Value::Object({{"containers", Value::Array({container})},
                                               {"resourceClaims", Value::Array({claim})}})}});
    (void)cluster_.store().Create("user", Kind::kPod, "train", std::move(pod));
  }

  bool IsReady(const kube::ObjectKey& key) const {
    const ObjectPtr domain = cluster_.store().Get(Kind::kComputeDomain, key);
    return domain && (*domain)["status"]["status"].AsString() == "Ready" &&
           (*domain)["status"]["nodes"].items().size() == 1;
  }
  bool IsGone() const {
    for (const Kind kind : {Kind::kComputeDomain, Kind::kClique, Kind::kDaemonSet, Kind::kPod,
                            Kind::kClaim, Kind::kClaimTemplate}) {
      if (!cluster_.store().Live(kind).empty()) return false;
    }
    return true;
  }

  bool Step() {
    bool moved = replica_.Step();
    for (const auto& peer : cluster_.peers()) moved = peer->Step(cluster_.now()) || moved;
    return moved;
  }

  template <typename Done>
  void RunUntil(const char* what, Done done) {
    for (std::size_t steps = 0; !done(); ++steps) {
      ASSERT_LT(steps, kStepsMax) << "it is never " << what;
      if (Step()) continue;
      std::optional<Time> due = replica_.NextDue();
      if (const auto next = cluster_.NextDue()) due = std::min(due.value_or(*next), *next);
      ASSERT_TRUE(due) << "nothing more happens before it is " << what;
      cluster_.Advance(
          std::max<std::chrono::microseconds>(*due - cluster_.now(), std::chrono::milliseconds(1)));
    }
  }

  base::Result<http::Response> Send(const http::Request& request) {
    http::Response response = cluster_.server().Handle("controller-1", request);
    metrics_.Exchanged({.method = request.method, .status = response.status, .took = {}});
    return response;
  }

  Cluster cluster_;
  StoreClock clock_{cluster_.store()};
  SeededRandom random_{1};
  RingLogger logger_;
  Replica replica_{cluster_.server(),
                   {.controller_writes = true},
                   [this](const http::Request& request) { return Send(request); }};
  kube::BlockingQueue queue_{clock_};
  kube::EventLoop events_{"example.com/c", "c-0", clock_, random_, logger_};
  process::Metrics metrics_{
      {.cache = replica_.controller().cache(), .queue = queue_, .events = events_, .clock = clock_},
      "10.0.0.1:6443",
      1};
};

TEST(Churn, P20_NothingGrowsWithTheDomainsThatWereServed) {
  const std::size_t domains = CountDomains();
  Churn churn;
  std::size_t served = 0;
  const auto serve_until = [&](std::size_t count) {
    for (; served < count && !testing::Test::HasFatalFailure(); ++served) churn.Serve(served);
    churn.Forget();
  };
  serve_until(kWarmUp);
  const auto series = churn.Series();
  const std::ptrdiff_t descriptors = CountDescriptors();
  const std::ptrdiff_t pages = PagesInUse();
  const std::ptrdiff_t heap = heap_in_use;
  serve_until(kWarmUp + domains);
  ASSERT_EQ(served, kWarmUp + domains);
  const std::ptrdiff_t heap_growth = heap_in_use - heap;
  const std::ptrdiff_t page_growth = PagesInUse() - pages;
  std::cerr << "[ churn    ] " << domains << " domains: " << heap_growth << " bytes allocated, "
            << page_growth << " of pages\n";

  EXPECT_EQ(churn.Series(), series);
  EXPECT_GT(series.size(), 20U);
  EXPECT_EQ(CountDescriptors(), descriptors);
  const auto remembered = static_cast<std::ptrdiff_t>(std::min(kRememberedMax, served) - kWarmUp);
  EXPECT_LT(heap_growth,
            static_cast<std::ptrdiff_t>(domains) * kBytesPerDomain + remembered * kBytesRemembered);
  if (domains >= kMany) {
    EXPECT_LT(page_growth, kGrowthOfPages);
  }
}

}  // namespace
}  // namespace simulation
