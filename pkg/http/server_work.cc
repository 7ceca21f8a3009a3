#include "pkg/http/server_work.h"

#include <utility>

namespace http {

using base::MutexLock;

void FreeCounted::operator()(ServerReply* reply) const {
  if (bytes != nullptr) bytes->GiveBack(reply->body.capacity());
  delete reply;
}

WorkThread::WorkThread(AnswerBytes& bytes, std::function<void()> on_made)
    : bytes_(bytes),
      on_made_(std::move(on_made)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

WorkThread::~WorkThread() {
  thread_.request_stop();
  {
    const MutexLock lock(mutex_);
    changed_cv_.notify_all();
  }
  thread_.join();
}

void WorkThread::Add(std::uint64_t id, ServerWork work) {
  const MutexLock lock(mutex_);
  waiting_.push_back({.id = id, .work = std::move(work)});
  changed_cv_.notify_all();
}

void WorkThread::Drop(std::uint64_t id) {
  const MutexLock lock(mutex_);
  std::erase_if(waiting_, [id](const Piece& piece) { return piece.id == id; });
}

std::vector<WorkThread::Made> WorkThread::TakeMade() {
  const MutexLock lock(mutex_);
  return std::exchange(made_, {});
}

void WorkThread::Run(const std::stop_token& stop) {
  while (true) {
    Piece piece;
    {
      const MutexLock lock(mutex_);
      while (waiting_.empty() && !stop.stop_requested()) changed_cv_.wait(mutex_);
      if (stop.stop_requested()) return;
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
    Made made = {.id = piece.id, .reply = Hold(piece.work())};
    {
      const MutexLock lock(mutex_);
      made_.push_back(std::move(made));
    }
    on_made_();
  }
}

HeldReply WorkThread::Hold(ServerReply reply) {
  const std::size_t bytes = reply.body.capacity();
  if (!bytes_.TryTake(bytes)) return {};
  return {new ServerReply(std::move(reply)), FreeCounted{.bytes = &bytes_}};
}

}  // namespace http
