#include "pkg/kube/runtime/shared_lists.h"

#include <algorithm>
#include <utility>

namespace kube {

namespace {

using base::Result;
using http::Request;
using http::Response;

constexpr std::size_t kValuesMax = 16;
constexpr std::string_view kSelector = "?labelSelector=";
constexpr std::string_view kEquals = "%3D";

// A LIST without the value that its label selector asks for.
struct Shareable {
  std::string before = {};  // The value.
  std::string value = {};   // Empty: it selects by none.
};

// Empty: it is sent as it is. A query with more than a selector has a limit, or follows a page.
std::optional<Shareable> Split(const Request& request) {
  if (request.method != http::Method::kGet) return {};
  const std::string& path = request.path;
  const std::size_t selector = path.find(kSelector);
  if (selector == std::string::npos) {
    const bool is_first_page =
        path.find("?limit=") != std::string::npos && path.find('&') == std::string::npos;
    return is_first_page ? std::optional(Shareable{.before = path}) : std::nullopt;
  }
  const std::size_t equals = path.find(kEquals, selector);
  const bool is_one_value = equals != std::string::npos && path.find('&') == std::string::npos &&
                            path.find('%', equals + 1) == std::string::npos;
  if (!is_one_value) return {};
  return Shareable{.before = path.substr(0, equals), .value = path.substr(equals + kEquals.size())};
}

// "key in (a,b)", escaped.
Request For(Request request, const std::set<std::string>& values) {
  if (values.size() < 2) return request;
  request.path = Split(request)->before + "%20in%20%28";
  for (const std::string& value : values) {
    request.path += (value == *values.begin() ? "" : "%2C") + value;
  }
  request.path += "%29";
  return request;
}

}  // namespace

// What an asker wants together: LISTs that select by one value, or a single request.
struct SharedLists::Part {
  std::vector<std::size_t> indices = {};  // In what was asked for.
  std::vector<Request> requests = {};
  std::string queue = {};
  std::string value = {};
  FlightPtr flight = {};  // Null: it is sent as it is.
  std::vector<Result<Response>> replies = {};

  [[nodiscard]] bool IsAnswered() const {
    return flight ? !flight->replies.empty() : !replies.empty();
  }
};

std::vector<SharedLists::Part> SharedLists::Divide(const std::vector<Request>& requests) {
  std::vector<Part> parts;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::optional<Shareable> shareable = Split(requests[i]);
    const std::string value = shareable ? shareable->value : "";
    const auto its = std::ranges::find(parts, value, &Part::value);
    const bool joins = !value.empty() && its != parts.end();
    Part& part = joins ? *its : parts.emplace_back();
    part.indices.push_back(i);
    part.requests.push_back(requests[i]);
    part.value = value;
    if (shareable) {
      part.queue += requests[i].accept + " " + shareable->before + (value.empty() ? " " : "= ");
    }
  }
  return parts;
}

void SharedLists::Join(Part& part) {
  if (part.queue.empty()) return;
  const base::MutexLock lock(mutex_);
  FlightPtr& next = queues_[part.queue].next;
  if (!next) next = std::make_shared<Flight>(Flight{.requests = part.requests});
  if (next->values.size() == kValuesMax && !next->values.contains(part.value)) return;
  next->values.insert(part.value);
  part.flight = next;
}

bool SharedLists::Take(Part& part, bool is_patient, std::vector<Request>& to_send) {
  if (part.IsAnswered()) return false;
  ListQueue* const queue = part.flight ? &queues_[part.queue] : nullptr;
  if (queue != nullptr && queue->next == part.flight) {
    if (queue->under_way > 0 && is_patient) return false;
    ++queue->under_way;
    queue->next = nullptr;
    for (const Request& request : part.flight->requests) {
      to_send.push_back(For(request, part.flight->values));
    }
    return true;
  }
  if (queue != nullptr && is_patient) return false;
  part.flight = nullptr;
  to_send.insert(to_send.end(), part.requests.begin(), part.requests.end());
  return true;
}

void SharedLists::Answer(Part& part, std::vector<Result<Response>> replies) {
  if (!part.flight) {
    part.replies = std::move(replies);
    return;
  }
  part.flight->replies = std::move(replies);
  ListQueue& queue = queues_[part.queue];
  --queue.under_way;
  if (queue.under_way == 0 && !queue.next) queues_.erase(part.queue);
}

std::vector<Result<Response>> SharedLists::SendAll(const std::vector<Request>& requests,
                                                   http::Transport& transport) {
  std::vector<Part> parts = Divide(requests);
  for (Part& part : parts) Join(part);
  {
    const base::MutexLock lock(mutex_);
    ++askers_;
  }
  const base::Clock::TimePoint deadline = clock_.Now() + patience_;
  for (;;) {
    const base::Clock::TimePoint now = clock_.Now();
    std::vector<Request> to_send;
    std::vector<Part*> taken;
    {
      const base::MutexLock lock(mutex_);
      for (Part& part : parts) {
        if (Take(part, now < deadline, to_send)) taken.push_back(&part);
      }
      if (taken.empty() && std::ranges::all_of(parts, &Part::IsAnswered)) {
        --askers_;
        break;
      }
      if (taken.empty()) {
        (void)ended_.wait_for(mutex_, std::max(deadline - now, std::chrono::nanoseconds(0)));
        continue;
      }
    }
    std::vector<Result<Response>> sent = transport.SendAll(to_send);
    auto reply = std::make_move_iterator(sent.begin());
    const base::MutexLock lock(mutex_);
    for (Part* const part : taken) {
      const auto end = reply + static_cast<std::ptrdiff_t>(part->requests.size());
      Answer(*part, {reply, end});
      reply = end;
    }
    ended_.notify_all();
  }
  std::vector<std::optional<Result<Response>>> found(requests.size());
  for (Part& part : parts) {
    std::vector<Result<Response>>& replies = part.flight ? part.flight->replies : part.replies;
    const bool is_last = IsLast(part);
    for (std::size_t i = 0; i < part.indices.size(); ++i) {
      found[part.indices[i]] = is_last ? std::move(replies[i]) : replies[i];
    }
    Leave(part);
  }
  std::vector<Result<Response>> all;
  all.reserve(requests.size());
  for (auto& one : found) all.push_back(*std::move(one));
  return all;
}

// Both hold the mutex, so that who moves the replies comes after all who copied them: the count
// of a shared pointer orders nothing.
bool SharedLists::IsLast(const Part& part) const {
  const base::MutexLock lock(mutex_);
  return !part.flight || part.flight.use_count() == 1;
}

void SharedLists::Leave(Part& part) {
  const base::MutexLock lock(mutex_);
  part.flight.reset();
}

std::size_t SharedLists::askers() const {
  const base::MutexLock lock(mutex_);
  return askers_;
}

}  // namespace kube
