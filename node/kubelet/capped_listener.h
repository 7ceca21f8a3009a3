// A TCP port whose connections are counted: at most 64 are open at once, and who comes when these
// are there takes the place of the oldest. gRPC has no such bound, and any pod may connect to the
// health port: without one it could take all descriptors of the plugin.
//
// The receiver of a connection owns it. Here a second descriptor of each is kept, to see its end
// and to end it.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <thread>

#include "pkg/base/open_file.h"
#include "pkg/base/result.h"
#include "pkg/http/listener.h"

namespace kubelet {

class CappedListener {
 public:
  static constexpr std::size_t kConnectionsMax = 64;

  // On all addresses; 0: any port. Errors name the port.
  [[nodiscard]] static base::Result<std::unique_ptr<CappedListener>> Listen(int port);
  ~CappedListener();  // Accepts nothing any more. What was handed over stays.
  CappedListener(const CappedListener&) = delete;
  CappedListener& operator=(const CappedListener&) = delete;

  [[nodiscard]] int port() const { return listener_.port(); }
  // Hands over each connection, from a thread of its own. Called once.
  void Serve(std::function<void(int fd)> hand_over);

 private:
  CappedListener(http::Listener listener, base::OpenFile stop);
  void Run();
  void AcceptSome();
  void DropOldest();

  const http::Listener listener_;
  const base::OpenFile stop_;  // Readable: it is to end.
  std::function<void(int fd)> hand_over_;
  std::list<base::OpenFile> connections_;  // The oldest first.
  std::thread thread_;
};

}  // namespace kubelet
