#include "pkg/kube/runtime/shared_lists.h"

#include <algorithm>
#include <utility>

#include "pkg/base/find.h"

namespace kube {

namespace {

using base::Result;
using http::Request;
using http::Response;

constexpr std::size_t kValuesMax = 32;
constexpr int kTurnsMax = 8;
constexpr std::string_view kSelector = "?labelSelector=";
constexpr std::string_view kEquals = "%3D";

// A LIST, split at the value of its label selector.
struct Shareable {
  std::string before = {};  // The path up to the value.
  std::string value = {};   // Empty if there is no selector.
};

// Empty if it must be sent unchanged. A longer query has a limit, or continues a list.
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

// Returns the request with "key in (a,b)", escaped.
Request For(Request request, const std::set<std::string>& values) {
  if (values.size() < 2) return request;
  request.path = Split(request)->before + "%20in%20%28";
  for (const std::string& value : values) {
    request.path += (value == *values.begin() ? "" : "%2C") + value;
  }
  request.path += "%29";
  return request;
}

bool IsList(const Request& request) {
  return request.method == http::Method::kGet && request.path.find('?') != std::string::npos;
}

}  // namespace

// One part of an asker's requests: LISTs that select by one value, or a single request.
struct SharedLists::Part {
  std::vector<std::size_t> indices = {};  // Positions in the asker's requests.
  std::vector<Request> requests = {};
  std::string queue = {};
  std::string value = {};
  FlightPtr flight = {};  // Null if it is sent unchanged.
  std::vector<Result<Response>> replies = {};

  bool IsAnswered() const { return flight ? !flight->replies.empty() : !replies.empty(); }
};

struct SharedLists::Asker {
  bool is_patient = true;
  // Its own, or that of a flight that has answered. An asker with a turn never waits for another
  // turn: otherwise waiting askers could hold all turns.
  Turn turn = {};
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

bool SharedLists::MayTake(const Part& part, const Asker& asker) {
  if (part.IsAnswered()) return false;
  if (!part.flight || !asker.is_patient) return true;
  const ListQueue& queue = queues_[part.queue];
  return queue.next == part.flight && queue.under_way == 0 && clock_.Now() >= MayBegin(part.queue);
}

void SharedLists::Begin(const std::string& queue) {
  const base::Clock::TimePoint now = clock_.Now();
  std::erase_if(began_, [&](const auto& other) { return now >= other.second + gap_; });
  began_[queue] = now;
}

base::Clock::TimePoint SharedLists::MayBegin(const std::string& queue) const {
  const base::Clock::TimePoint* const began = base::Find(began_, queue);
  return began == nullptr ? base::Clock::TimePoint() : *began + gap_;
}

bool SharedLists::Take(Part& part, Asker& asker, std::vector<Request>& to_send) {
  if (!asker.turn && part.flight && part.IsAnswered()) asker.turn = part.flight->turn;
  if (!MayTake(part, asker)) return false;
  if (!asker.turn && std::ranges::any_of(part.requests, IsList)) {
    if (turns_ == kTurnsMax) return false;
    ++turns_;
    asker.turn = Turn(this, [](SharedLists* lists) { lists->GiveBackTurn(); });
  }
  ListQueue* const queue = part.flight ? &queues_[part.queue] : nullptr;
  if (queue == nullptr || queue->next != part.flight) {  // It is not shared, or slow.
    part.flight = nullptr;
    to_send.insert(to_send.end(), part.requests.begin(), part.requests.end());
    return true;
  }
  ++queue->under_way;
  queue->next = nullptr;
  Begin(part.queue);
  part.flight->turn = asker.turn;
  for (const Request& request : part.flight->requests) {
    to_send.push_back(For(request, part.flight->values));
  }
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

void SharedLists::GiveBackTurn() {
  const base::MutexLock lock(mutex_);
  --turns_;
  ended_.notify_all();
}

SharedLists::Answers SharedLists::SendAll(const std::vector<Request>& requests,
                                          http::Transport& transport) {
  std::vector<Part> parts = Divide(requests);
  for (Part& part : parts) Join(part);
  Asker asker;
  {
    const base::MutexLock lock(mutex_);
    ++askers_;
  }
  const base::Clock::TimePoint deadline = clock_.Now() + patience_;
  for (;;) {
    const base::Clock::TimePoint now = clock_.Now();
    asker.is_patient = now < deadline;
    std::vector<Request> to_send;
    std::vector<Part*> taken;
    {
      const base::MutexLock lock(mutex_);
      for (Part& part : parts) {
        if (Take(part, asker, to_send)) taken.push_back(&part);
      }
      if (taken.empty() && std::ranges::all_of(parts, &Part::IsAnswered)) {
        --askers_;
        break;
      }
      if (taken.empty()) {
        if (asker.is_patient) {
          base::Clock::TimePoint until = deadline;
          for (const Part& part : parts) {
            const base::Clock::TimePoint begins = MayBegin(part.queue);
            if (!part.IsAnswered() && begins > now) until = std::min(until, begins);
          }
          (void)ended_.wait_for(mutex_, until - now);
        } else {
          ended_.wait(mutex_);  // Until a turn is free.
        }
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
  Answers answers;
  answers.turns.push_back(asker.turn);
  std::vector<std::optional<Result<Response>>> found(requests.size());
  for (const Part& part : parts) {
    const std::vector<Result<Response>>& replies =
        part.flight ? part.flight->replies : part.replies;
    if (part.flight) answers.turns.push_back(part.flight->turn);
    for (std::size_t i = 0; i < part.indices.size(); ++i) found[part.indices[i]] = replies[i];
  }
  answers.replies.reserve(requests.size());
  for (auto& one : found) answers.replies.push_back(*std::move(one));
  return answers;
}

std::size_t SharedLists::askers() const {
  const base::MutexLock lock(mutex_);
  return askers_;
}

}  // namespace kube
