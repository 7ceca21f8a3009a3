#include "test/simulation/replica.h"

#include <algorithm>
#include <utility>

#include "test/simulation/contract.h"

namespace simulation {

namespace {

constexpr std::size_t kLogLines = 40;
constexpr auto kBookmarkPeriod = std::chrono::seconds(60);  // As the API server sends them.

compute_domain::Facts FactsOf(const ReplicaOptions& options) {
  compute_domain::Facts facts;
  facts.driver_namespaces = {std::string(kDriverNamespace)};
  facts.daemons = {.ns = std::string(kDriverNamespace),
                   .image = options.image,
                   .controller_writes = options.controller_writes};
  return facts;
}

}  // namespace

void RingLogger::Log(base::LogLevel /*level*/, std::string_view message,
                     std::initializer_list<base::LogField> fields) {
  std::string line(message);
  for (const base::LogField& field : fields) {
    line += " " + std::string(field.key) + "=\"" + field.value + "\"";
  }
  lines_.push_back(std::move(line));
  if (lines_.size() > kLogLines) lines_.pop_front();
}

Replica::Replica(ApiServer& server, ReplicaOptions options, Serve serve)
    : server_(server),
      options_(std::move(options)),
      serve_(std::move(serve)),
      clock_(server.store()),
      random_(options_.seed),
      queue_(random_),
      elector_({.ns = std::string(kDriverNamespace), .name = std::string(kLeaseName)},
               options_.client, {}, clock_, random_, logger_),
      controller_(
          FactsOf(options_), [this](const std::string& uid) { queue_.Add(uid, clock_.Now()); },
          clock_, random_, logger_, options_.rules) {
  for (kube::Reflector& reflector : controller_.reflectors()) {
    watches_.push_back({.reflector = &reflector});
  }
}

Revision Replica::ViewOf(const kube::Reflector& reflector) const {
  const auto it = options_.stale.find(reflector.options().resource.plural);
  return it == options_.stale.end() ? kNewest : it->second;
}

bool Replica::Step() {
  // Each part in turn, so that none starves another; the first that moves ends the step.
  const std::size_t parts = watches_.size() + 2;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t part = turn_++ % parts;
    const bool moved = part < watches_.size()    ? StepWatch(watches_[part])
                       : part == watches_.size() ? StepElector()
                                                 : StepWorker();
    if (moved) return true;
  }
  return false;
}

void Replica::ExpireWatches() {
  for (Watch& watch : watches_) watch.is_expired = watch.stream.has_value();
}

bool Replica::MoveStream(Watch& watch) {
  WatchStream& stream = *watch.stream;
  const Revision view = ViewOf(*watch.reflector);
  std::optional<std::string> frame =
      std::exchange(watch.is_expired, false) ? stream.Expire() : stream.Next(view);
  if (!frame && clock_.Wall() - watch.last_frame >= kBookmarkPeriod) frame = stream.Bookmark(view);
  if (frame) {
    watch.last_frame = clock_.Wall();
    if (!watch.reflector->OnStreamData(clock_.Now(), *frame)) watch.stream.reset();
    return true;
  }
  if (clock_.Wall() - watch.opened < stream.timeout()) return false;
  watch.stream.reset();
  watch.reflector->OnStreamEnd(clock_.Now(), {});
  return true;
}

bool Replica::StepWatch(Watch& watch) {
  if (watch.stream && MoveStream(watch)) {
    controller_.Observe();
    return true;
  }
  kube::Reflector::Next next = watch.reflector->Poll(clock_.Now());
  if (next.abandon) watch.stream.reset();
  watch.until = next.until;
  switch (next.kind) {
    case kube::Reflector::Next::Kind::kWait:
      return false;
    case kube::Reflector::Next::Kind::kSend: {
      const Revision view = ViewOf(*watch.reflector);
      // What a lagging server answers never reaches the truth, so nothing strikes it.
      watch.reflector->OnReply(
          clock_.Now(), view == kNewest ? serve_(next.request)
                                        : server_.Handle(options_.client, next.request, view));
      break;
    }
    case kube::Reflector::Next::Kind::kStream: {
      WatchStream stream =
          server_.OpenWatch(options_.client, next.request, ViewOf(*watch.reflector));
      watch.opened = watch.last_frame = clock_.Wall();
      if (stream.opening().status == 200) {
        watch.stream.emplace(std::move(stream));
        watch.is_expired = false;
      } else {
        watch.reflector->OnReply(clock_.Now(), stream.opening());
      }
      break;
    }
  }
  controller_.Observe();
  return true;
}

bool Replica::StepElector() {
  if (!options_.elects) return false;
  const kube::LeaderElector::Next next = elector_.Poll();
  elector_until_ = next.until;
  if (!next.request) return false;
  elector_.OnReply(serve_(*next.request));
  return true;
}

// Of a step's requests each asks anew as it starts, as in the process.
base::Result<http::Response> Replica::SendOfPass(const http::Request& request) {
  if (const auto admitted = gate_.Admit(request); !admitted) {
    return tl::unexpected(admitted.error());
  }
  return serve_(request);
}

bool Replica::StepWorker() {
  if (!pass_) {
    if (!controller_.MayReconcile() || !Leads()) return false;
    const std::optional<std::string> uid = queue_.Get(clock_.Now());
    if (!uid) return false;
    uid_ = *uid;
    pass_.emplace(controller_.reconciler().Start(uid_));
    requests_ = pass_->Next();
  }
  if (replies_.size() < requests_.size()) {
    replies_.push_back(SendOfPass(requests_[replies_.size()]));
  }
  if (replies_.size() < requests_.size()) return true;
  if (!requests_.empty()) {
    pass_->TakeReplies(std::exchange(replies_, {}));
    requests_ = pass_->Next();
  }
  if (requests_.empty()) EndPass();
  return true;
}

// As a worker of the process does.
void Replica::EndPass() {
  const compute_domain::Outcome outcome = pass_->outcome();
  pass_.reset();
  const base::Clock::TimePoint now = clock_.Now();
  if (outcome.error) {
    queue_.AddAfterFailure(uid_, now, outcome.error->retry_after.value_or(std::chrono::seconds(0)));
  } else {
    if (!outcome.waits) queue_.Forget(uid_);
    if (outcome.requeue_after) queue_.AddAt(uid_, now + *outcome.requeue_after, now);
  }
  queue_.Done(uid_, now);
}

std::optional<Time> Replica::NextDue() const {
  std::optional<base::Clock::TimePoint> next = queue_.NextDue();
  const auto consider = [&](std::optional<base::Clock::TimePoint> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  if (options_.elects) consider(elector_until_);
  std::optional<Time> due;
  for (const Watch& watch : watches_) {
    if (!watch.stream) {
      consider(watch.until);
      continue;
    }
    const Time frame = watch.last_frame + kBookmarkPeriod;
    const Time end = watch.opened + watch.stream->timeout();
    if (!due || std::min(frame, end) < *due) due = std::min(frame, end);
  }
  if (next && (!due || clock_.ToWall(*next) < *due)) due = clock_.ToWall(*next);
  return due;
}

bool Replica::IsAtRest(Time horizon) const {
  const std::optional<base::Clock::TimePoint> due = queue_.NextDue();
  const bool waits_long = !due || clock_.ToWall(*due) > horizon;
  const bool idle = Leads() && !pass_ && queue_.depth() == 0 && waits_long;
  return idle && controller_.HasSynced() &&
         std::ranges::all_of(watches_, [](const Watch& watch) { return watch.stream.has_value(); });
}

}  // namespace simulation
