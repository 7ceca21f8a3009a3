// A minimal controller, to test the other actors and the oracles.
//
// It has no caches, faults or rate limits. It is not the product.
#pragma once

#include <string>
#include <utility>

#include "pkg/kube/client/request.h"
#include "test/simulation/apiserver/api_server.h"

namespace simulation {

class TinyController {
 public:
  // With `writes_cliques` it writes the entries of its daemons.
  TinyController(ApiServer& server, std::string client, bool writes_cliques)
      : server_(server), client_(std::move(client)), writes_cliques_(writes_cliques) {}

  // Reconciles all domains once. Returns whether it wrote. Sends nothing while nothing has changed.
  bool Pass();

 private:
  json::Value Send(const http::Request& request);
  json::Value List(const kube::Resource& resource, const std::string& selector,
                   const std::string& ns = {});
  void PassOver(const json::Value& domain);
  void BringUp(const json::Value& domain);
  void TakeDown(const json::Value& domain);
  bool DeleteAll(const kube::Resource& resource, const std::string& selector,
                 const std::string& ns);
  void SetFinalizers(const json::Value& domain, json::Value finalizers);
  void WriteCliques(const std::string& domain, const json::Value& pods);
  json::Value DecideStatus(const json::Value& domain, const json::Value& pods,
                           const json::Value& cliques);

  ApiServer& server_;
  const std::string client_;
  const bool writes_cliques_;
  Revision quiet_at_ = 0;
};

}  // namespace simulation
