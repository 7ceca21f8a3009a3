// A TCP listener with at most 64 open connections.
//
// A further connection closes the oldest. gRPC has no such bound, and any pod may connect to the
// health port. Without a bound a pod could use up all file descriptors of the plugin.
//
// The receiver of a connection owns it. The listener keeps a duplicate descriptor of each, to
// notice its end and to close it.
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

  // Listens on all addresses. Port 0 means any. Errors name the port.
  static base::Result<std::unique_ptr<CappedListener>> Listen(int port);
  ~CappedListener();  // Stops accepting. Open connections stay open.
  CappedListener(const CappedListener&) = delete;
  CappedListener& operator=(const CappedListener&) = delete;

  int port() const { return listener_.port(); }
  // Passes each connection to `hand_over`, on a separate thread. Call it once.
  void Serve(std::function<void(int fd)> hand_over);

 private:
  CappedListener(http::Listener listener, base::OpenFile stop);
  void Run();
  void AcceptSome();
  void DropOldest();

  const http::Listener listener_;
  const base::OpenFile stop_;  // Becomes readable to stop the thread.
  std::function<void(int fd)> hand_over_;
  std::list<base::OpenFile> connections_;  // The oldest first.
  std::thread thread_;
};

}  // namespace kubelet
