// A fake API server that has Leases only.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "pkg/http/transport.h"

namespace kube {

class FakeLeases final : public http::Transport {
 public:
  // Sets the Lease `name`, with a duration of 15 s. It has no holder if `holder` is empty.
  void Set(const std::string& name, const std::string& holder, int version) {
    SetReply(name, {.status = 200,
                    .body = R"({"metadata":{"resourceVersion":")" + std::to_string(version) +
                            R"("},"spec":{"holderIdentity":")" + holder +
                            R"(","leaseDurationSeconds":15}})"});
  }
  void SetReply(const std::string& name, http::Response reply) {
    replies_[name] = std::move(reply);
  }

  std::vector<base::Result<http::Response>> SendAll(
      const std::vector<http::Request>& requests) override {
    std::vector<base::Result<http::Response>> all;
    for (const http::Request& request : requests) {
      const std::string name = request.path.substr(request.path.rfind('/') + 1);
      const auto reply = replies_.find(name);
      const http::Response missing = {.status = 404,
                                      .body = R"({"kind":"Status","code":404,"reason":"NotFound",)"
                                              R"("details":{"kind":"leases","name":")" +
                                              name + R"("}})"};
      all.emplace_back(reply == replies_.end() ? missing : reply->second);
    }
    return all;
  }

 private:
  std::map<std::string, http::Response> replies_;
};

}  // namespace kube
