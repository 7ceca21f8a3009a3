#include "node/plugin/loop/garbage_collector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "pkg/base/system_clock.h"
#include "pkg/http/testing/fake_credentials.h"
#include "pkg/http/testing/raw_server.h"
#include "pkg/kube/testing/fakes.h"

namespace plugin {
namespace {

namespace fs = std::filesystem;
using http::testing::RawServer;
using http::testing::Reply;

constexpr const char* kStray = "0c6b2f0e-7b1d-4f39-8a55-3f3d0a4a9e10";
constexpr const char* kFresh = "73de0384-716f-480e-8caa-00bce7016114";

// A plugin on node-a of a cluster that has no domains.
class GarbageCollectorTest : public testing::Test {
 protected:
  GarbageCollectorTest() {
    std::string folder = (fs::temp_directory_path() / "plugin_caretaker.XXXXXX").string();
    if (::mkdtemp(folder.data()) != nullptr) folder_ = folder;
    settings_.node = "node-a";
    settings_.plugins_folder = folder_;
    settings_.cdi_folder = folder_ + "/cdi";
    fs::create_directories(FolderOf(kStray));
    fs::create_directories(settings_.cdi_folder);
    state_.emplace(settings_, clock_, log_, tasks_, metrics_, "boot");
    state_->self = {.node = "node-a", .folder = settings_.Folder()};
    kube::ClientConfig config = {.endpoint = {.url = server_.url()},
                                 .credentials = std::make_unique<http::testing::FakeCredentials>()};
    state_->api = std::make_unique<ApiClient>(std::move(config), settings_.node, clock_, log_,
                                              [this] { tasks_.Wake(); });
  }
  ~GarbageCollectorTest() override {
    state_->api.reset();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string FolderOf(const std::string& domain) const {
    return settings_.Folder() + "/domains/" + domain;
  }
  [[nodiscard]] bool Has(const std::string& domain) const { return fs::exists(FolderOf(domain)); }

  void Serve(RawServer::Connection& connection) {
    for (auto request = connection.ReadRequest(); !request.empty();
         request = connection.ReadRequest()) {
      if (request.find("watch=") != std::string::npos) return connection.WaitForClose();
      if (request.starts_with("GET /api/v1/nodes")) {
        const std::string_view node =
            R"({"metadata": {"name": "node-a", "uid": "n", "resourceVersion": "1"}})";
        connection.Write(ListOf("Node", node));
      } else if (request.find("/resourceslices") != std::string::npos) {
        connection.Write(ListOf("ResourceSlice", ""));
      } else {
        // The first is the cache's. What the second says is old when it arrives.
        if (lists_++ == 1) fs::create_directories(FolderOf(kFresh));
        connection.Write(ListOf("ComputeDomain", ""));
      }
    }
  }
  static std::string ListOf(std::string_view kind, std::string_view items) {
    return Reply(200, R"({"kind": ")" + std::string(kind) +
                          R"(List", "metadata": {"resourceVersion": "1"}, "items": [)" +
                          std::string(items) + "]}");
  }

  std::string folder_ = {};
  Settings settings_ = {};
  base::SystemClock clock_;
  kube::NoLog log_;
  base::TaskQueue tasks_;
  Metrics metrics_{"node-a"};
  std::atomic<int> lists_ = 0;
  RawServer server_{[this](RawServer::Connection& connection) { Serve(connection); }};
  std::optional<PluginState> state_;
};

TEST_F(GarbageCollectorTest, B31_AFolderThatCameAfterTheDomainsWereAskedForStays) {
  GarbageCollector garbage_collector(*state_, [](const kubelet::ClaimName& /*claim*/) {});
  const auto deadline = clock_.Now() + std::chrono::seconds(30);
  while (Has(kStray) && clock_.Now() < deadline) {
    state_->LookAtNode();
    const auto until = garbage_collector.Turn();
    const auto most =
        std::min<std::chrono::nanoseconds>(until - clock_.Now(), deadline - clock_.Now());
    for (const auto& task : tasks_.Wait(most)) task();
  }
  EXPECT_FALSE(Has(kStray)) << "its domain is not in the list";
  EXPECT_TRUE(Has(kFresh));
}

}  // namespace
}  // namespace plugin
