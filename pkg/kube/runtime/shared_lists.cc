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

SharedLists::FlightPtr SharedLists::Join(const Request& request, std::string& line) {
  const std::optional<Shareable> shareable = Split(request);
  if (!shareable) return nullptr;
  line = request.accept + " " + shareable->before + (shareable->value.empty() ? "" : "=");
  const base::MutexLock lock(mutex_);
  FlightPtr& next = lines_[line].next;
  if (!next) next = std::make_shared<Flight>(Flight{.request = request});
  const bool is_full =
      next->values.size() == kValuesMax && !next->values.contains(shareable->value);
  if (is_full) return nullptr;
  next->values.insert(shareable->value);
  return next;
}

std::vector<Result<Response>> SharedLists::SendAll(const std::vector<Request>& requests,
                                                   http::Transport& transport) {
  std::vector<FlightPtr> flights(requests.size());
  std::vector<std::string> lines(requests.size());
  std::vector<std::optional<Result<Response>>> replies(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) flights[i] = Join(requests[i], lines[i]);
  {
    const base::MutexLock lock(mutex_);
    ++askers_;
  }
  const base::Clock::TimePoint deadline = clock_.Now() + patience_;
  for (;;) {
    const base::Clock::TimePoint now = clock_.Now();
    const bool is_patient = now < deadline;
    std::vector<Request> to_send;
    std::vector<std::size_t> senders;  // Whose request each of them is.
    {
      const base::MutexLock lock(mutex_);
      for (std::size_t i = 0; i < requests.size(); ++i) {
        if (flights[i] ? flights[i]->reply.has_value() : replies[i].has_value()) continue;
        Line* line = flights[i] ? &lines_[lines[i]] : nullptr;
        if (line != nullptr && line->next == flights[i]) {
          if (line->under_way > 0 && is_patient) continue;
          ++line->under_way;
          line->next = nullptr;
          to_send.push_back(For(flights[i]->request, flights[i]->values));
        } else {
          if (line != nullptr && is_patient) continue;
          flights[i] = nullptr;
          to_send.push_back(requests[i]);
        }
        senders.push_back(i);
      }
      const bool is_done = std::ranges::all_of(
          flights, [](const FlightPtr& flight) { return !flight || flight->reply; });
      if (to_send.empty() && is_done) {
        --askers_;
        break;
      }
      if (to_send.empty()) {
        (void)ended_.wait_for(mutex_, std::max(deadline - now, std::chrono::nanoseconds(0)));
        continue;
      }
    }
    std::vector<Result<Response>> sent = transport.SendAll(to_send);
    const base::MutexLock lock(mutex_);
    for (std::size_t k = 0; k < senders.size(); ++k) {
      const std::size_t i = senders[k];
      if (!flights[i]) {
        replies[i] = std::move(sent[k]);
        continue;
      }
      flights[i]->reply = std::move(sent[k]);
      Line& line = lines_[lines[i]];
      --line.under_way;
      if (line.under_way == 0 && !line.next) lines_.erase(lines[i]);
    }
    ended_.notify_all();
  }
  std::vector<Result<Response>> all;
  all.reserve(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    all.push_back(flights[i] ? *flights[i]->reply : *std::move(replies[i]));
  }
  return all;
}

std::size_t SharedLists::askers() const {
  const base::MutexLock lock(mutex_);
  return askers_;
}

}  // namespace kube
