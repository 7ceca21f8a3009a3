#include "pkg/kube/cache/reflector.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/testing/manual_clock.h"
#include "pkg/json/value.h"
#include "pkg/kube/api/meta.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

using base::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using Kind = Reflector::Next::Kind;
using Problem = ReflectorProblem::Kind;
using TimePoint = base::Clock::TimePoint;

// What a reader of the store would see: names with their values and versions.
class FakeSink final : public ReflectorSink {
 public:
  void BeginReplace() override { incoming_.clear(); }
  void ReplaceAdd(json::View object) override { Put(incoming_, object); }
  void EndReplace(const std::string& resource_version) override {
    objects = incoming_;
    version = resource_version;
    ++replaced;
  }
  void Apply(json::View object, bool deleted) override {
    ++applied;
    version = object["metadata"]["resourceVersion"].AsString();
    if (deleted) {
      objects.erase(std::string(object["metadata"]["name"].AsString()));
    } else {
      Put(objects, object);
    }
  }
  void Advance(const std::string& resource_version) override { version = resource_version; }

  std::map<std::string, std::string> objects = {};
  std::string version = {};
  int replaced = 0;
  int applied = 0;

 private:
  static void Put(std::map<std::string, std::string>& into, json::View object) {
    into[std::string(object["metadata"]["name"].AsString())] =
        std::string(object["value"].AsString()) + "@" +
        std::string(object["metadata"]["resourceVersion"].AsString());
  }
  std::map<std::string, std::string> incoming_;
};

using Objects = std::map<std::string, std::string>;

std::string Object(const std::string& name, int version, const std::string& value = "v") {
  return R"({"kind":"Node","metadata":{"name":")" + name + R"(","resourceVersion":")" +
         std::to_string(version) + R"("},"value":")" + value + R"("})";
}

std::string Event(const std::string& type, const std::string& object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
std::string Added(const std::string& name, int version, const std::string& value = "v") {
  return Event("ADDED", Object(name, version, value));
}
std::string Bookmark(int version) {
  return Event("BOOKMARK", R"({"kind":"Node","metadata":{"resourceVersion":")" +
                               std::to_string(version) + R"("}})");
}

std::string Page(const std::string& version, const std::vector<std::string>& items,
                 const std::string& continue_token = "") {
  std::string text = R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":")" +
                     version + R"(","continue":")" + continue_token + R"("},"items":[)";
  for (const std::string& item : items) text += (text.back() == '[' ? "" : ",") + item;
  return text + "]}";
}

std::string Status(int code, const std::string& reason, const std::string& details = "{}") {
  return R"({"kind":"Status","code":)" + std::to_string(code) + R"(,"reason":")" + reason +
         R"(","message":"because","details":)" + details + "}";
}

// One reflector of Nodes, and a server that says what the test wants.
struct World {
  explicit World(ReflectorOptions options = {}, std::uint64_t seed = 1) : random(seed) {
    options.resource = kNodes;
    reflector.emplace(std::move(options), sink, random, logger);
  }

  Reflector::Next Poll() {
    last = reflector->Poll(clock.Now());
    return last;
  }
  // Lets time pass until the reflector wants something.
  Reflector::Next Next() {
    while (Poll().kind == Kind::kWait) {
      EXPECT_GT(last.until, clock.Now()) << "asked to be polled in a loop";
      if (last.until <= clock.Now()) return last;
      clock.Advance(last.until - clock.Now());
    }
    return last;
  }
  // The time until the reflector wants something.
  nanoseconds Wait() {
    const TimePoint start = clock.Now();
    (void)Next();
    return clock.Now() - start;
  }
  void Reply(int status, const std::string& body = "",
             std::optional<seconds> retry_after = std::nullopt) {
    // As the API server answers for a path that it does not serve.
    const std::string text = status == 404 && body.empty() ? "404 page not found" : body;
    reflector->OnReply(clock.Now(),
                       http::Response{.status = status, .body = text, .retry_after = retry_after});
  }
  void Fails(ErrorCode code) { reflector->OnReply(clock.Now(), base::Fail(code, "no way")); }
  bool Feed(const std::string& bytes) { return reflector->OnStreamData(clock.Now(), bytes); }
  void End() { reflector->OnStreamEnd(clock.Now(), {}); }
  void Breaks(ErrorCode code = ErrorCode::kUnavailable) {
    reflector->OnStreamEnd(clock.Now(), base::Fail(code, "connection reset"));
  }
  // Goes through a list of `items` to a watch that is open.
  void Sync(const std::string& version = "100",
            const std::vector<std::string>& items = {Object("a", 90)}) {
    EXPECT_EQ(Next().kind, Kind::kSend);
    Reply(200, Page(version, items));
    EXPECT_EQ(Next().kind, Kind::kStream);
  }
  bool Asks(const std::string& part) const {
    return last.request.path.find(part) != std::string::npos;
  }
  Problem ProblemKind() const { return reflector->problem().kind; }

  base::ManualClock clock;
  FakeSink sink;
  RecordingLogger logger;
  SeededRandom random;
  std::optional<Reflector> reflector;
  Reflector::Next last;
};

// ---- Lists.

TEST(Reflector, LW5_FirstRequestIsAListOfTheMostRecentState) {
  World world({.label_selector = "a=b", .field_selector = "c=d"});
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_EQ(world.last.request.path,
            "/api/v1/nodes?labelSelector=a%3Db&fieldSelector=c%3Dd&limit=50");
}

TEST(Reflector, OnlyOneRequestIsUnderWay) {
  World world;
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  EXPECT_GT(world.last.until, world.clock.Now());
}

TEST(Reflector, LW2_PagesAreFollowedToTheEndAndTheFirstPagesVersionIsWatched) {
  World world({.page_size = 2});
  EXPECT_EQ(world.Poll().request.path, "/api/v1/nodes?limit=2");
  world.Reply(200, Page("100", {Object("a", 1), Object("b", 2)}, "next+1"));
  EXPECT_FALSE(world.reflector->HasSynced());
  EXPECT_EQ(world.sink.replaced, 0);
  EXPECT_EQ(world.Poll().request.path, "/api/v1/nodes?limit=2&continue=next%2B1");
  world.Reply(200, Page("104", {Object("c", 103)}));
  EXPECT_TRUE(world.reflector->HasSynced());
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@1"}, {"b", "v@2"}, {"c", "v@103"}}));
  EXPECT_EQ(world.sink.version, "100");
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=100&"));
  EXPECT_EQ(world.reflector->lists(), 1U);
  EXPECT_EQ(world.reflector->watches(), 1U);
}

TEST(Reflector, LW7_EmptyCollectionIsInSync) {
  for (const char* items : {"null", "[]"}) {
    World world;
    (void)world.Poll();
    world.Reply(200, R"({"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":)" +
                         std::string(items) + "}");
    EXPECT_TRUE(world.reflector->HasSynced());
    EXPECT_EQ(world.sink.objects, Objects());
  }
}

TEST(Reflector, LW7_AnswerThatIsNoListOfOurKindIsRefused) {
  for (const std::string& body :
       {std::string(R"({"kind":"Table","metadata":{"resourceVersion":"7"},"rows":[]})"),
        std::string(R"({"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]})"),
        std::string(R"({"kind":"NodeList","metadata":{},"items":[]})"),
        std::string(R"({"kind":"NodeList","metadata":{"resourceVersion":"0"},"items":[]})"),
        std::string("<html>"), std::string(), Page("7", {Object("a", 1)}).substr(0, 100)}) {
    World world;
    (void)world.Poll();
    world.Reply(200, body);
    EXPECT_FALSE(world.reflector->HasSynced()) << body;
    EXPECT_EQ(world.sink.replaced, 0) << body;
    EXPECT_EQ(world.ProblemKind(), Problem::kUnavailable) << body;
    EXPECT_GE(world.Wait(), milliseconds(800)) << body;
    EXPECT_EQ(world.last.kind, Kind::kSend) << body;
  }
}

TEST(Reflector, LW3_ExpiredPageStartsAgainAtOnceInOnePage) {
  World world({.page_size = 2});
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("a", 1)}, "next"));
  (void)world.Poll();
  world.Reply(410, Status(410, "Expired"));
  EXPECT_EQ(world.Poll().request.path, "/api/v1/nodes");
  world.Reply(200, Page("200", {Object("b", 150)}));
  EXPECT_EQ(world.sink.objects, (Objects{{"b", "v@150"}}));
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  (void)world.Feed(Event("ERROR", Status(500, "InternalError")));
  EXPECT_EQ(world.Next().request.path, "/api/v1/nodes?limit=2")
      << "only that one list has no pages";
}

TEST(Reflector, F13_ExpiryAfterExpiryIsPaced) {
  World world;
  const TimePoint start = world.clock.Now();
  int requests = 0;
  while (world.clock.Now() - start < minutes(10)) {
    (void)world.Next();
    ASSERT_LT(++requests, 2 * 10 * 60 / 15 + 20);
    if (world.last.kind == Kind::kSend) {
      world.Reply(200, Page("100", {Object("a", 90)}));
    } else {
      world.Reply(410, Status(410, "Expired"));
    }
  }
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@90"}})) << "what was known is kept";
}

TEST(Reflector, F13_ExpirySoonAfterASignOfLifeIsPacedToo) {
  World world;
  const TimePoint start = world.clock.Now();
  int requests = 0;
  while (world.clock.Now() - start < minutes(10)) {
    ASSERT_LT(++requests, 2 * 10 * 60 / 15 + 20);
    if (world.Next().kind == Kind::kSend) {
      world.Reply(200, Page("100", {}));
    } else {
      EXPECT_FALSE(world.Feed(Bookmark(100) + Event("ERROR", Status(410, "Expired"))));
    }
  }
}

TEST(Reflector, F13_PageThatExpiresEachTimeIsPaced) {
  World world;
  const TimePoint start = world.clock.Now();
  int requests = 0;
  while (world.clock.Now() - start < minutes(10)) {
    (void)world.Next();
    ASSERT_LT(++requests, 2 * 10 * 60 / 15 + 20);
    if (world.Asks("continue=")) {
      world.Reply(410, Status(410, "Expired"));
    } else {
      world.Reply(200, Page("100", {Object("a", 90)}, "next"));
    }
  }
}

TEST(Reflector, PageThatFailsForAMomentIsAskedForAgain) {
  for (const int status : {429, 500, 503}) {
    World world({.page_size = 2});
    (void)world.Poll();
    world.Reply(200, Page("100", {Object("a", 1)}, "next"));
    (void)world.Poll();
    world.Reply(status);
    (void)world.Next();
    EXPECT_TRUE(world.Asks("continue=next")) << status;
    world.Reply(200, Page("100", {Object("b", 2)}));
    EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@1"}, {"b", "v@2"}})) << status;
  }
}

TEST(Reflector, PageThatIsRefusedStartsTheListAgain) {
  World world({.page_size = 2});
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("a", 1)}, "next"));
  (void)world.Poll();
  world.Reply(400, Status(400, "BadRequest"));
  EXPECT_EQ(world.Next().request.path, "/api/v1/nodes?limit=2");
  world.Reply(200, Page("200", {Object("b", 150)}));
  EXPECT_EQ(world.sink.objects, (Objects{{"b", "v@150"}})) << "nothing of the abandoned list";
}

TEST(Reflector, Z3_PageThatIsTooLargeIsAskedForAtOnceInSmallerOnes) {
  World world({.page_size = 40});
  EXPECT_TRUE((world.Poll(), world.Asks("limit=40")));
  EXPECT_EQ(world.last.request.response_bytes_max, 4U << 20);
  world.Fails(ErrorCode::kTooLarge);
  EXPECT_TRUE((world.Poll(), world.Asks("limit=10")));
  world.Fails(ErrorCode::kTooLarge);
  EXPECT_TRUE((world.Poll(), world.Asks("limit=2")));
  world.Fails(ErrorCode::kTooLarge);
  EXPECT_TRUE((world.Poll(), world.Asks("limit=1")));
  EXPECT_EQ(world.last.request.response_bytes_max, 16U << 20) << "one object has room";
  EXPECT_EQ(world.logger.Count(""), 0U);
  world.Fails(ErrorCode::kTooLarge);
  EXPECT_GE(world.Wait(), milliseconds(800)) << "there is no smaller one";
  EXPECT_TRUE(world.Asks("limit=1"));
}

TEST(Reflector, S3_ListGoesOnFromWhereAPageWasTooLarge) {
  World world({.page_size = 8});
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("a", 1)}, "next"));
  EXPECT_TRUE((world.Poll(), world.Asks("limit=8&continue=next")));
  world.Fails(ErrorCode::kTooLarge);
  EXPECT_TRUE((world.Poll(), world.Asks("limit=2&continue=next")));
  world.Reply(200, Page("100", {Object("b", 2, std::string(2U << 20U, 'x'))}, "more"));
  EXPECT_TRUE((world.Poll(), world.Asks("limit=1&continue=more"))) << "they are large";
  world.Reply(200, Page("100", {Object("c", 3)}, "rest"));
  EXPECT_TRUE((world.Poll(), world.Asks("limit=2&continue=rest"))) << "they are small again";
  world.Reply(200, Page("100", {Object("d", 4)}));
  EXPECT_EQ(world.sink.objects.size(), 4U);
  EXPECT_EQ(world.reflector->lists(), 1U);
}

TEST(Reflector, LW3_S3_OnePageThatIsTooLargeAfterAnExpiryIsReadInPagesAgain) {
  World world({.page_size = 8});
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("a", 1)}, "next"));
  (void)world.Poll();
  world.Reply(410, Status(410, "Expired"));
  EXPECT_EQ(world.Poll().request.path, "/api/v1/nodes");
  world.Fails(ErrorCode::kTooLarge);
  EXPECT_EQ(world.Next().request.path, "/api/v1/nodes?limit=8");
}

TEST(Reflector, PageThatLeadsToItselfDoesNotLoop) {
  World world;
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("a", 1)}, "next"));
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("b", 2)}, "next"));
  EXPECT_GE(world.Wait(), milliseconds(800));
  EXPECT_FALSE(world.Asks("continue"));
}

TEST(Reflector, F32_ItemThatOurParserRefusesIsReadAllTheSame) {
  const std::string deep = std::string(3000, '[') + std::string(3000, ']');
  const auto hostile = [](const std::string& name, const std::string& extra) {
    return R"({"parameters":)" + extra + R"(,"metadata":{"name":")" + name +
           R"(","resourceVersion":"5"},"value":"v"})";
  };
  World world;
  (void)world.Poll();
  world.Reply(200, Page("100", {Object("a", 1), hostile("deep", deep), hostile("big", "1e400"),
                                hostile("half", R"("\ud83d")"), hostile("bytes", "\"\xFF\""),
                                Object("z", 2)}));
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@1"},
                                         {"deep", "v@5"},
                                         {"big", "v@5"},
                                         {"half", "v@5"},
                                         {"bytes", "v@5"},
                                         {"z", "v@2"}}));
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  EXPECT_TRUE(world.Feed(
      Event("ADDED", R"({"metadata":{"name":"more","resourceVersion":"101"},"value":"v","x":)" +
                         deep + R"(,"y":"\ude00"})")));
  EXPECT_EQ(world.sink.objects.at("more"), "v@101");
}

TEST(Reflector, F27_ListThatGoesBackInTimeIsTakenAndNamedInTheLog) {
  World world;
  world.Sync("100");
  (void)world.Feed(Event("ERROR", Status(410, "Expired")));
  (void)world.Next();
  world.Reply(200, Page("60", {Object("a", 50)}));
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@50"}}));
  EXPECT_EQ(world.reflector->versions_gone_back(), 1U);
  EXPECT_EQ(world.logger.Count("versions went backwards"), 1U);
  (void)world.Next();
  EXPECT_TRUE(world.Asks("resourceVersion=60&"));
}

// ---- Watches.

TEST(Reflector, WA1_WatchLastsBetween300And600SecondsAndTheyDiffer) {
  std::map<std::string, int> timeouts;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    World world({}, seed);
    world.Sync();
    EXPECT_TRUE(world.Asks("watch=1"));
    EXPECT_TRUE(world.Asks("allowWatchBookmarks=true"));
    const std::string path = world.last.request.path;
    const std::string timeout = path.substr(path.find("timeoutSeconds=") + 15);
    EXPECT_GE(std::stoi(timeout), 300);
    EXPECT_LE(std::stoi(timeout), 600);
    EXPECT_EQ(world.last.request.timeout, seconds(std::stoi(timeout) + 30));
    ++timeouts[timeout];
  }
  EXPECT_GT(timeouts.size(), 50U);
}

TEST(Reflector, EventsReachTheSinkInOrder) {
  World world;
  world.Sync();
  EXPECT_TRUE(world.Feed(Added("b", 101) + Event("MODIFIED", Object("a", 102, "w"))));
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "w@102"}, {"b", "v@101"}}));
  EXPECT_TRUE(world.Feed(Event("DELETED", Object("b", 103)) + Added("c", 104)));
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "w@102"}, {"c", "v@104"}}));
  EXPECT_EQ(world.sink.version, "104");
}

TEST(Reflector, RV2_WatchGoesOnFromTheLastEventOrBookmark) {
  World world;
  world.Sync();
  (void)world.Feed(Added("b", 101));
  world.clock.Advance(minutes(4));
  world.End();
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=101&"));
  (void)world.Feed(Bookmark(150));
  world.clock.Advance(minutes(4));
  world.End();
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=150&"));
  (void)world.Feed(Event("DELETED", Object("b", 160)));
  world.clock.Advance(minutes(4));
  world.End();
  (void)world.Poll();
  EXPECT_TRUE(world.Asks("resourceVersion=160&"));
}

TEST(Reflector, WA2_CleanEndIsRenewedAtOnceWithoutAListOrAWordInTheLog) {
  World world;
  world.Sync();
  world.clock.Advance(seconds(2));
  for (int i = 0; i < 20; ++i) {
    world.End();
    EXPECT_EQ(world.Poll().kind, Kind::kStream);
    EXPECT_FALSE(world.last.abandon);
    world.clock.Advance(minutes(1));
    EXPECT_TRUE(world.Feed(Bookmark(100)));
  }
  EXPECT_EQ(world.sink.replaced, 1);
  EXPECT_EQ(world.logger.Count(""), 0U);
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(Reflector, WA2_ShortWatchWithAnEventIsRenewedAtOnce) {
  World world;
  world.Sync();
  (void)world.Feed(Added("b", 101));
  world.End();
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
}

TEST(Reflector, ServerThatEndsEveryWatchAfterOneEventIsAskedOnceASecond) {
  World world;
  world.Sync();
  const TimePoint start = world.clock.Now();
  int watches = 0;
  while (world.clock.Now() - start < minutes(1)) {
    ASSERT_LE(++watches, 70);
    (void)world.Feed(Bookmark(100 + watches));
    world.End();
    ASSERT_EQ(world.Next().kind, Kind::kStream);
  }
  EXPECT_GE(watches, 60);
  EXPECT_EQ(world.sink.replaced, 1);
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(Reflector, WA3_WatchThatEndsAtOnceAndEmptyBacksOff) {
  World world;
  world.Sync();
  world.clock.Advance(milliseconds(999));
  world.End();
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  EXPECT_GE(world.Wait(), milliseconds(800));
  EXPECT_EQ(world.last.kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=100&"));
}

TEST(Reflector, WA4_ThreeEmptyShortWatchesFromOneVersionListAgain) {
  for (const milliseconds lived : {milliseconds(0), milliseconds(500), milliseconds(1999)}) {
    SCOPED_TRACE(lived.count());
    World world;
    world.Sync();
    for (int i = 0; i < 2; ++i) {
      world.clock.Advance(lived);
      world.End();
      ASSERT_EQ(world.Next().kind, Kind::kStream) << i;
    }
    world.clock.Advance(lived);
    world.End();
    EXPECT_EQ(world.Next().kind, Kind::kSend);
    EXPECT_FALSE(world.Asks("resourceVersion"));
  }
}

TEST(Reflector, WA4_LongerOrFruitfulWatchStartsTheCountAgain) {
  World world;
  world.Sync();
  for (int i = 0; i < 10; ++i) {
    world.clock.Advance(i % 2 == 0 ? milliseconds(1500) : milliseconds(2000));
    world.End();
    ASSERT_EQ(world.Next().kind, Kind::kStream);
  }
  for (int i = 0; i < 10; ++i) {
    world.clock.Advance(milliseconds(1500));
    if (i % 2 == 0) (void)world.Feed(Bookmark(100));
    world.End();
    ASSERT_EQ(world.Next().kind, Kind::kStream);
  }
}

TEST(Reflector, M12_EmptyWatchesOfASecondOrTwoAreListedAgainAtOnceOnlyOnce) {
  World world;
  const TimePoint start = world.clock.Now();
  while (world.clock.Now() - start < minutes(10)) {
    if (world.Next().kind == Kind::kSend) {
      world.Reply(200, Page("100", {Object("a", 90)}));
    } else {
      world.clock.Advance(milliseconds(1500));
      world.End();
    }
  }
  EXPECT_LE(world.reflector->lists(), 40U);
}

// Every watch is cut when it has lived for `after`: for an hour, or for 4 minutes if it delivers
// nothing. Returns how long there was none.
nanoseconds BlindFor(World& world, nanoseconds after, const std::string& delivers) {
  nanoseconds blind{0};
  world.Sync();
  const TimePoint start = world.clock.Now();
  while (world.clock.Now() - start < minutes(delivers.empty() ? 4 : 60)) {
    EXPECT_TRUE(world.Feed(delivers));
    world.clock.Advance(after);
    world.Breaks();
    blind += world.Wait();
    EXPECT_EQ(world.last.kind, Kind::kStream);
    EXPECT_TRUE(world.Asks("resourceVersion=100&"));
  }
  return blind;
}

TEST(Reflector, M2_WatchThatALoadBalancerCutsIsRenewedAtOnce) {
  for (const std::string& delivers : {std::string(), Bookmark(100)}) {
    for (const milliseconds after : {seconds(1), seconds(20), seconds(35), seconds(60)}) {
      SCOPED_TRACE(after.count());
      World world;
      EXPECT_LT(BlindFor(world, after, delivers), seconds(36));
      EXPECT_EQ(world.reflector->lists(), 1U);
      EXPECT_EQ(world.ProblemKind(), Problem::kNone);
    }
  }
}

TEST(Reflector, EachListAndWatchIsLogged_AtItsLevel) {
  World world;
  world.Sync();
  std::vector<std::string> begun;
  for (const auto& line : world.logger.lines()) {
    if (line.level == base::LogLevel::kWatches) begun.push_back(line.text);
  }
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_TRUE(begun[0].starts_with("Listing a resource resource=")) << begun[0];
  EXPECT_TRUE(begun[1].starts_with("Watching a resource resource=")) << begun[1];
  EXPECT_TRUE(begun[1].ends_with(" version=100")) << begun[1];
}

TEST(Reflector, M2_CutsOfWatchesAreNamedOnceAndWithoutAlarm) {
  World world;
  (void)BlindFor(world, seconds(20), Bookmark(100));
  EXPECT_EQ(world.logger.Count("Renewing a watch whose connection was cut"), 1U);
  EXPECT_EQ(world.logger.Count(""), 1U);
}

TEST(Reflector, M2_WatchThatIsCutWithinASecondBacksOff) {
  World world;
  world.Sync();
  const TimePoint start = world.clock.Now();
  int cuts = 0;
  for (; world.clock.Now() - start < minutes(10); ++cuts) {
    (void)world.Feed(Bookmark(100));
    world.clock.Advance(milliseconds(999));
    world.Breaks();
    ASSERT_EQ(world.Next().kind, Kind::kStream);
  }
  EXPECT_LT(cuts, 60);
}

// The first three are renewed at once, and the others a second after the one before.
TEST(Reflector, REV4_K20_WatchThatIsCutAfterEachChangeGoesOnAtMostOnceASecond) {
  World world;
  world.Sync();
  const TimePoint start = world.clock.Now();
  int cuts = 0;
  for (; world.clock.Now() - start < minutes(1); ++cuts) {
    (void)world.Feed(Added("b", 101 + cuts));
    world.clock.Advance(milliseconds(10));
    world.Breaks();
    EXPECT_LE(world.Wait(), milliseconds(990)) << cuts;
    ASSERT_EQ(world.last.kind, Kind::kStream);
  }
  EXPECT_LE(cuts, 64);
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(Reflector, WA5_ErrorEvent410ListsAgainAtOnce) {
  for (const char* reason : {"Expired", "Gone"}) {
    World world;
    world.Sync();
    EXPECT_FALSE(world.Feed(Event("ERROR", Status(410, reason))));
    EXPECT_EQ(world.Poll().kind, Kind::kSend);
    EXPECT_FALSE(world.Asks("resourceVersion"));
    EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@90"}})) << "until the list is read";
    EXPECT_EQ(world.ProblemKind(), Problem::kNone);
  }
}

TEST(Reflector, WA6_Status410ListsAgainAtOnce) {
  World world;
  world.Sync();
  world.Reply(410, Status(410, "Expired"));
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
}

TEST(Reflector, LW6_VersionInTheServersFutureListsAgainAtOnce) {
  const std::string details =
      R"({"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1})";
  World world;
  world.Sync();
  world.Reply(504, Status(504, "Timeout", details));
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  World other;
  other.Sync();
  EXPECT_FALSE(other.Feed(Event("ERROR", Status(504, "Timeout", details))));
  EXPECT_EQ(other.Poll().kind, Kind::kSend);
}

TEST(Reflector, WA5_ErrorEvent429KeepsTheVersionAndWaitsAsAsked) {
  World world;
  world.Sync();
  EXPECT_FALSE(
      world.Feed(Event("ERROR", Status(429, "TooManyRequests", R"({"retryAfterSeconds":20})"))));
  EXPECT_GE(world.Wait(), seconds(20));
  EXPECT_EQ(world.last.kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=100&"));
}

TEST(Reflector, WA5_AnyOtherErrorEventBacksOffAndListsAgain) {
  for (const std::string& object :
       {Status(500, "InternalError"), Status(504, "Timeout"), Status(400, "BadRequest"),
        std::string("null"), std::string(R"({"kind":"Node"})"), std::string("[]")}) {
    World world;
    world.Sync();
    EXPECT_FALSE(world.Feed(Event("ERROR", object))) << object;
    EXPECT_GE(world.Wait(), milliseconds(800)) << object;
    EXPECT_EQ(world.last.kind, Kind::kSend) << object;
  }
}

TEST(Reflector, WA6_WatchThatIsRefusedForAMomentKeepsItsVersion) {
  for (const int status : {401, 429, 500, 502, 503, 504}) {
    World world;
    world.Sync();
    world.Reply(status, "", seconds(9));
    EXPECT_GE(world.Wait(), seconds(9)) << status;
    EXPECT_EQ(world.last.kind, Kind::kStream) << status;
    EXPECT_TRUE(world.Asks("resourceVersion=100&")) << status;
  }
  World world;
  world.Sync();
  world.Fails(ErrorCode::kUnavailable);
  EXPECT_EQ(world.Next().kind, Kind::kStream);
}

TEST(Reflector, WA6_WatchThatIsRefusedForItsParametersListsAgain) {
  for (const int status : {400, 422}) {
    World world;
    world.Sync();
    world.Reply(status);
    EXPECT_EQ(world.Poll().kind, Kind::kWait);
    EXPECT_EQ(world.Next().kind, Kind::kSend);
  }
}

TEST(Reflector, WA7_BookmarkIsNoObject) {
  World world;
  world.Sync();
  (void)world.Feed(Bookmark(120));
  EXPECT_EQ(world.sink.applied, 0);
  EXPECT_EQ(world.sink.version, "120");
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@90"}}));
}

TEST(Reflector, WA8_UnknownTypeIsSkippedAndNamedOnce) {
  World world;
  world.Sync();
  for (const char* type : {"SOMETHING", "", "added"}) {
    EXPECT_TRUE(world.Feed(Event(type, Object("x", 105))));
  }
  EXPECT_TRUE(world.Feed(Event("SOMETHING", R"({"metadata":{"resourceVersion":"no"}})")));
  EXPECT_EQ(world.sink.applied, 0);
  EXPECT_EQ(world.logger.Count("unknown type"), 1U);
  EXPECT_TRUE(world.Feed(Added("b", 106)));
  world.clock.Advance(minutes(1));
  world.End();
  (void)world.Poll();
  EXPECT_TRUE(world.Asks("resourceVersion=106&"));
}

TEST(Reflector, M12_ListThatAnswersAWatchIsNoEvent) {
  World world;
  world.Sync();
  EXPECT_FALSE(world.Feed(Page("101", {Object("b", 101)})));
  EXPECT_EQ(world.ProblemKind(), Problem::kUnavailable);
  EXPECT_GE(world.Wait(), milliseconds(800));
  EXPECT_EQ(world.last.kind, Kind::kSend);
}

TEST(Reflector, WA8_UnknownMembersAreIgnored) {
  World world;
  world.Sync();
  EXPECT_TRUE(world.Feed(R"({"future":{"a":[1]},"object":)" + Object("b", 101) +
                         R"(,"type":"ADDED","type":"MODIFIED"})"));
  EXPECT_EQ(world.sink.objects.at("b"), "v@101");
}

TEST(Reflector, WA9_FramesAreFoundByTheirGrammar) {
  World world;
  world.Sync();
  const std::string pretty =
      "{\n  \"type\": \"ADDED\",\n  \"object\": {\n    \"metadata\": {\n"
      "      \"name\": \"p\",\n      \"resourceVersion\": \"101\"\n    },\n"
      "    \"value\": \"}\\n{\"\n  }\n}\n";
  EXPECT_TRUE(world.Feed(pretty));
  EXPECT_EQ(world.sink.objects.at("p"), "}\n{@101");
  std::string joined = Added("b", 102) + Added("c", 103);
  std::erase(joined, '\n');
  EXPECT_TRUE(world.Feed(joined));
  EXPECT_TRUE(world.Feed("\r\n\r\n" + Added("d", 104) + "\r\n"));
  EXPECT_EQ(world.sink.objects.size(), 5U);
}

TEST(Reflector, WA10_EventBeyondTheBoundEndsTheStreamAndListsAgain) {
  World world;
  world.Sync();
  const std::string chunk(1U << 20U, 'x');
  EXPECT_TRUE(world.Feed(R"({"type":"ADDED","object":{"value":")"));
  int chunks = 0;
  while (chunks < 100 && world.Feed(chunk)) ++chunks;
  EXPECT_EQ(chunks, 15);  // With the beginning, the sixteenth passes 16 MiB.
  EXPECT_GE(world.Wait(), milliseconds(800));
  EXPECT_EQ(world.last.kind, Kind::kSend);
}

TEST(Reflector, WA10_LargeEventBelowTheBoundIsTaken) {
  World world;
  world.Sync();
  EXPECT_TRUE(world.Feed(Added("b", 101, std::string(3U << 20U, 'x'))));
  EXPECT_EQ(world.sink.objects.at("b").size(), (3U << 20U) + 4);
}

TEST(Reflector, BytesOneByOneTakeLinearTime) {
  World world;
  world.Sync();
  const std::string event = Added("b", 101, std::string(2U << 20U, 'x'));
  for (const char byte : event) {
    ASSERT_TRUE(world.Feed(std::string(1, byte)));  // Quadratic time would be hours.
  }
  EXPECT_EQ(world.sink.objects.at("b").size(), (2U << 20U) + 4);
}

TEST(Reflector, WA12_PartialEventIsDroppedAndTheWatchGoesOnFromTheLastWholeOne) {
  World world;
  world.Sync();
  (void)world.Feed(Added("b", 101) + Added("c", 102).substr(0, 60));
  world.Breaks();
  EXPECT_FALSE(world.sink.objects.contains("c"));
  EXPECT_EQ(world.Wait(), milliseconds(0));
  EXPECT_EQ(world.last.kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=101&"));
  EXPECT_TRUE(world.Feed(Added("c", 102))) << "nothing is left of the partial one";
  EXPECT_TRUE(world.sink.objects.contains("c"));
}

TEST(Reflector, WA12_LastEventWithoutANewlineIsDelivered) {
  World world;
  world.Sync();
  std::string event = Added("b", 101);
  event.pop_back();
  (void)world.Feed(event);
  world.End();
  EXPECT_TRUE(world.sink.objects.contains("b"));
}

TEST(Reflector, F37_GarbageEndsTheStreamAndListsAgain) {
  for (const std::string& garbage :
       {std::string("<html>"), std::string("{\"type\":\"ADDED\",\"object\":{\n{\"type\""),
        std::string("]"), std::string("\0", 1), std::string("\x1F\x8B gzip"),
        std::string(20'000, '['), Event("ADDED", "null"), Event("ADDED", "{}"),
        Event("ADDED", R"({"metadata":null})"), Event("MODIFIED", R"({"metadata":{"name":"b"}})"),
        Event("ADDED", R"({"kind":"Table","metadata":{"resourceVersion":"101"}})"),
        std::string("{\"type\":\"ADDED\",\"object\":{\"a\":\"\\x\"}}")}) {
    World world;
    world.Sync();
    EXPECT_FALSE(world.Feed(garbage)) << garbage;
    EXPECT_EQ(world.sink.applied, 0) << garbage;
    EXPECT_GE(world.Wait(), milliseconds(800)) << garbage;
    EXPECT_EQ(world.last.kind, Kind::kSend) << garbage;
  }
}

TEST(Reflector, RV3_EventThatGoesBackIsNotAppliedAndTheTruthIsListed) {
  World world;
  world.Sync();
  (void)world.Feed(Added("b", 110));
  EXPECT_FALSE(world.Feed(Added("b", 105, "old")));
  EXPECT_EQ(world.sink.objects.at("b"), "v@110");
  EXPECT_EQ(world.reflector->versions_gone_back(), 1U);
  EXPECT_EQ(world.Next().kind, Kind::kSend);
}

TEST(Reflector, RV3_BookmarkThatGoesBackIsIgnored) {
  World world;
  world.Sync();
  EXPECT_TRUE(world.Feed(Bookmark(120) + Bookmark(110) + Event("SOMETHING", Object("x", 90))));
  EXPECT_EQ(world.sink.version, "120");
  EXPECT_EQ(world.reflector->versions_gone_back(), 0U);
}

TEST(Reflector, RV3_OpaqueVersionsAreFollowedWithoutTheGuard) {
  World world;
  (void)world.Poll();
  world.Reply(200, Page("abc", {}));
  (void)world.Poll();
  EXPECT_TRUE(world.Asks("resourceVersion=abc&"));
  EXPECT_TRUE(world.Feed(Added("a", 9) + Event("ADDED", R"({"metadata":{"name":"b",
      "resourceVersion":"x/1"},"value":"v"})") +
                         Added("c", 3)));
  EXPECT_EQ(world.sink.objects.size(), 3U);
  world.clock.Advance(minutes(1));
  world.End();
  (void)world.Poll();
  EXPECT_TRUE(world.Asks("resourceVersion=3&"));
}

// ---- Stalls.

TEST(Reflector, HO3_SilentWatchIsRenewedWithoutAnError) {
  World world;
  world.Sync();
  (void)world.Feed(Bookmark(120));
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  EXPECT_EQ(world.last.until, world.clock.Now() + seconds(120));
  world.clock.Advance(seconds(119));
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  world.clock.Advance(seconds(1));
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  EXPECT_TRUE(world.last.abandon);
  EXPECT_TRUE(world.Asks("resourceVersion=120&"));
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(Reflector, HO3_EveryFrameIsASignOfLifeAndHalfAFrameIsNone) {
  World world;
  world.Sync();
  world.clock.Advance(seconds(100));
  (void)world.Feed(Bookmark(120));
  world.clock.Advance(seconds(100));
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  (void)world.Feed("{\"type\":");
  world.clock.Advance(seconds(20));
  EXPECT_EQ(world.Poll().kind, Kind::kStream);
  EXPECT_TRUE(world.last.abandon);
}

TEST(Reflector, F8_WatchThatStaysSilentIsListedAgainInTheEnd) {
  World world;
  world.Sync();
  const TimePoint start = world.clock.Now();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(world.Next().kind, Kind::kStream);
  EXPECT_EQ(world.Next().kind, Kind::kSend);
  EXPECT_EQ(world.clock.Now() - start, seconds(360));
}

// An API server whose etcd was restored accepts a watch from a version that it does not have yet,
// and is silent. A load balancer cuts idle connections. Returns the LISTs of a day.
std::uint64_t ListsInADay(World& world, seconds cut_after) {
  TimePoint cut_at = TimePoint::max();
  for (const TimePoint end = world.clock.Now() + std::chrono::hours(24); world.clock.Now() < end;
       world.clock.Advance(seconds(1))) {
    if (world.clock.Now() >= cut_at) {
      cut_at = TimePoint::max();
      world.Breaks();
    }
    (void)world.Poll();
    if (world.last.abandon) cut_at = TimePoint::max();
    if (world.last.kind == Kind::kSend) {
      world.Reply(200, Page("1200", {}));
    } else if (world.last.kind == Kind::kStream && world.Feed("")) {
      cut_at = world.clock.Now() + cut_after;
    }
  }
  return world.reflector->lists();
}

TEST(Reflector, REV4_K4_SilentWatchIsListedEveryFiveMinutesHoweverItEnds) {
  for (const seconds cut_after : {seconds(20), seconds(60), seconds(119), seconds(100'000)}) {
    SCOPED_TRACE(cut_after.count());
    World world;
    const std::uint64_t lists = ListsInADay(world, cut_after);
    EXPECT_GE(lists, 24 * 60 / 6U);
    EXPECT_LE(lists, 24 * 60 / 5 + 1U);
  }
}

TEST(Reflector, REV4_K4_ViewIsCurrentForFiveMinutesAfterItsLastProof) {
  for (const std::string& proof : {std::string(), Added("b", 101), Bookmark(100)}) {
    SCOPED_TRACE(proof);
    World world;
    world.Sync();
    EXPECT_TRUE(world.Feed(""));
    if (!proof.empty()) world.clock.Advance(minutes(2));
    EXPECT_TRUE(world.Feed(proof));
    const TimePoint proven = world.clock.Now();
    while (world.clock.Now() < proven + minutes(5)) {
      EXPECT_EQ(world.reflector->CurrentAsOf(world.clock.Now()), world.clock.Now());
      world.clock.Advance(minutes(1));
      world.End();
      if (world.Poll().kind != Kind::kStream) break;
      EXPECT_TRUE(world.Feed(Event("SOMETHING", Object("x", 110)))) << "no proof";
    }
    EXPECT_EQ(world.clock.Now(), proven + minutes(5));
    ASSERT_EQ(world.last.kind, Kind::kSend);
    world.clock.Advance(minutes(1));
    EXPECT_EQ(world.reflector->CurrentAsOf(world.clock.Now()), proven + minutes(5));
    world.Reply(200, Page("120", {}));
    EXPECT_EQ(world.reflector->CurrentAsOf(world.clock.Now()), world.clock.Now());
  }
}

TEST(Reflector, REV4_K4_BookmarkThatGoesBackProvesNothing) {
  World world;
  world.Sync();
  for (int i = 0; i < 10 && world.Poll().kind != Kind::kSend; ++i) {
    EXPECT_TRUE(world.Feed(Bookmark(90)));
    world.clock.Advance(minutes(1));
  }
  EXPECT_EQ(world.last.kind, Kind::kSend);
  EXPECT_TRUE(world.last.abandon);
}

// The caller need not call Poll() before the time that it was given.
TEST(Reflector, REV4_K4_EndOfTheProofIsATimeToPoll) {
  World world({.stall_timeout = minutes(20)});
  world.Sync();
  EXPECT_TRUE(world.Feed(Bookmark(100)));
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  EXPECT_EQ(world.last.until, world.clock.Now() + minutes(5));
  world.clock.Advance(minutes(5));
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_EQ(world.reflector->CurrentAsOf(world.clock.Now()), world.clock.Now());
}

TEST(Reflector, REV4_K4_WatchThatEndsHasBeenOpen) {
  World world;
  world.Sync();
  int watches = 0;
  for (; watches < 10 && world.last.kind == Kind::kStream; ++watches) {
    world.clock.Advance(minutes(1));
    world.End();  // No call says that the 200 has arrived.
    (void)world.Poll();
  }
  EXPECT_EQ(watches, 5);
}

TEST(Reflector, REV4_K4_WatchThatOpensAfterFiveMinutesWithoutProofIsListed) {
  World world;
  world.Sync();
  const TimePoint proven = world.clock.Now();
  for (int i = 0; i < 40; ++i) {
    world.Reply(503);
    EXPECT_GT(world.Wait(), seconds(0));
    EXPECT_EQ(world.last.kind, Kind::kStream) << "a refused watch is retried";
  }
  EXPECT_FALSE(world.Feed(""));
  EXPECT_LE(world.reflector->CurrentAsOf(world.clock.Now()), proven + minutes(5));
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(Reflector, REV4_K4_OwnerMayWantAListOnceMore) {
  World world;
  world.Sync();
  EXPECT_TRUE(world.Feed(Bookmark(100)));
  world.reflector->ListAgain();
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_TRUE(world.last.abandon);
  world.reflector->ListAgain();
  world.Reply(200, Page("120", {Object("b", 110)}));
  EXPECT_EQ(world.sink.objects, (Objects{{"b", "v@110"}}));
  EXPECT_EQ(world.Poll().kind, Kind::kStream) << "one list was in progress";
  world.reflector->ListAgain();
  EXPECT_FALSE(world.Feed(Added("c", 121))) << "what the watch delivers is not trusted";
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_EQ(world.reflector->lists(), 3U);
}

TEST(Reflector, HO4_WatchThatTheServerDoesNotEndIsRenewedWithoutAnError) {
  World world;
  world.Sync();
  const TimePoint start = world.clock.Now();
  const nanoseconds limit = world.last.request.timeout;
  while (world.Poll().kind == Kind::kWait) {
    world.clock.Advance(seconds(1));
    (void)world.Feed(Bookmark(120));
    ASSERT_LT(world.clock.Now() - start, minutes(20));
  }
  EXPECT_TRUE(world.last.abandon);
  EXPECT_EQ(world.last.kind, Kind::kStream);
  EXPECT_GE(world.clock.Now() - start, limit);

  World other;
  other.Sync();
  for (int i = 0; i < 11; ++i) {
    other.clock.Advance(seconds(30));
    (void)other.Feed(Bookmark(120));
  }
  other.Breaks(ErrorCode::kDeadlineExceeded);  // The caller's clock for the request came first.
  EXPECT_EQ(other.Poll().kind, Kind::kStream);
  EXPECT_EQ(other.ProblemKind(), Problem::kNone);
}

TEST(Reflector, ListWithoutAnyReplyIsAbandoned) {
  World world;
  (void)world.Poll();
  world.clock.Advance(world.last.request.timeout + seconds(5));
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  EXPECT_TRUE(world.last.abandon);
  EXPECT_EQ(world.Poll().kind, Kind::kWait);
  EXPECT_FALSE(world.last.abandon) << "once";
  EXPECT_EQ(world.Next().kind, Kind::kSend);
}

TEST(Reflector, WhatBelongsToAnEndedStreamIsIgnored) {
  World world;
  world.Sync();
  EXPECT_FALSE(world.Feed(Event("ERROR", Status(410, "Expired"))));
  EXPECT_FALSE(world.Feed(Added("late", 500)));
  world.End();
  world.Breaks();
  EXPECT_EQ(world.Poll().kind, Kind::kSend);
  EXPECT_FALSE(world.Feed(Added("late", 500))) << "a list is under way";
  world.End();
  world.Reply(200, Page("200", {}));
  EXPECT_EQ(world.sink.objects, Objects());
}

// ---- Back-off.

// The waits after `count` failures in a row.
std::vector<nanoseconds> Waits(World& world, int status, int count) {
  std::vector<nanoseconds> waits;
  (void)world.Next();
  for (int i = 0; i < count; ++i) {
    world.Reply(status);
    waits.push_back(world.Wait());
  }
  return waits;
}

TEST(Reflector, RT1_BackOffDoublesFrom800MillisecondsAndStaysBelow30Seconds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    World world({}, seed);
    nanoseconds base = milliseconds(800);
    for (const nanoseconds wait : Waits(world, 503, 12)) {
      EXPECT_GE(wait, base);
      EXPECT_LT(wait, base * 2);
      EXPECT_LT(wait, seconds(30));
      base = std::min<nanoseconds>(base * 2, seconds(15));
    }
  }
}

TEST(Reflector, RT1_BackOffDiffersBetweenStreams) {
  World one({}, 1);
  World two({}, 2);
  EXPECT_NE(Waits(one, 503, 3), Waits(two, 503, 3));
}

TEST(Reflector, RT1_TwoHealthyMinutesForgetTheFailures) {
  World world;
  (void)Waits(world, 503, 10);
  world.Reply(200, Page("100", {}));
  (void)world.Next();
  const auto watch_for_and_lose_the_server = [&](seconds time) {
    (void)world.Feed(Bookmark(100));
    world.clock.Advance(time);
    world.Breaks();
    EXPECT_EQ(world.Poll().kind, Kind::kStream);
    world.Fails(ErrorCode::kUnavailable);
    return world.Wait();
  };
  EXPECT_GE(watch_for_and_lose_the_server(seconds(119)), seconds(15)) << "one second too early";
  EXPECT_LT(watch_for_and_lose_the_server(seconds(120)), milliseconds(1600));
}

TEST(Reflector, RT1_TimeThatPassesInTimeoutsIsNotHealthy) {
  World world;
  (void)world.Next();
  for (int i = 0; i < 12; ++i) {
    world.clock.Advance(minutes(3));
    world.Fails(ErrorCode::kDeadlineExceeded);
    const nanoseconds wait = world.Wait();
    if (i > 6) {
      EXPECT_GE(wait, seconds(15));
    }
  }
}

TEST(Reflector, RT2_RetryAfterIsTheLeastThatIsWaited) {
  World world;
  (void)world.Next();
  world.Reply(429, "", seconds(60));
  const nanoseconds wait = world.Wait();
  EXPECT_GE(wait, seconds(60));
  EXPECT_LE(wait, seconds(72));
}

// ---- Problems.

TEST(Reflector, WA6_MissingRightIsNamedOnceWithTheCure) {
  World world;
  (void)Waits(world, 403, 5);
  EXPECT_EQ(world.ProblemKind(), Problem::kForbidden);
  EXPECT_EQ(world.reflector->problem().message.rfind(
                "grant list on nodes at cluster scope to this identity", 0),
            0U)
      << world.reflector->problem().message;
  EXPECT_EQ(world.logger.Count("Cannot list a resource"), 1U);
  world.Reply(200, Page("100", {}));
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
  EXPECT_EQ(world.reflector->problem().message, "");
  EXPECT_EQ(world.logger.Count("Resource can be read again"), 1U);
}

TEST(Reflector, REV4_K8_ReadsFail_SinceTheFirstFailureAfterASuccess) {
  World world;
  EXPECT_EQ(world.reflector->failing_since(), std::nullopt);
  (void)world.Next();
  world.Reply(500);
  const TimePoint first = world.clock.Now();
  for (int i = 0; i < 3; ++i) {
    (void)world.Next();
    world.Reply(503);
  }
  EXPECT_EQ(world.reflector->failing_since(), first);
  (void)world.Next();
  world.Reply(200, Page("100", {}));
  EXPECT_EQ(world.reflector->failing_since(), std::nullopt);
  (void)world.Next();
  world.Reply(500);
  EXPECT_EQ(world.reflector->failing_since(), world.clock.Now());
}

TEST(Reflector, WA6_MissingRightToWatchIsNamedAndTheStoreStays) {
  World world;
  world.Sync();
  world.Reply(403, Status(403, "Forbidden"));
  EXPECT_EQ(world.ProblemKind(), Problem::kForbidden);
  EXPECT_EQ(world.reflector->problem().message,
            "grant watch on nodes at cluster scope to this identity (403 Forbidden: because)");
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@90"}}));
  EXPECT_TRUE(world.reflector->HasSynced());
  EXPECT_EQ(world.Next().kind, Kind::kStream);
  EXPECT_TRUE(world.Asks("resourceVersion=100&"));
  EXPECT_TRUE(world.Feed(""));  // The 200 itself.
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(Reflector, MissingRightInANamespaceIsNamedThere) {
  base::ManualClock clock;
  FakeSink sink;
  RecordingLogger logger;
  SeededRandom random(1);
  Reflector reflector({.resource = kDaemonSets, .ns = "ns"}, sink, random, logger);
  (void)reflector.Poll(clock.Now());
  reflector.OnReply(clock.Now(), http::Response{.status = 403});
  EXPECT_EQ(reflector.problem().message,
            "grant list on daemonsets.apps in namespace ns to this identity (403: no explanation)");
}

TEST(Reflector, WA6_ResourceThatIsNotServedIsNamedAndLookedForAgain) {
  World world;
  world.Sync();
  world.Reply(404, "404 page not found");
  EXPECT_EQ(world.ProblemKind(), Problem::kNotServed);
  EXPECT_EQ(world.reflector->problem().message,
            "install the CRD of nodes, or enable v1 at the API server (404: 404 page not found)");
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@90"}}));
  EXPECT_EQ(world.Next().kind, Kind::kSend) << "a CRD that comes back has a new history";
  world.Reply(200, Page("200", {}));
  world.Poll();
  EXPECT_TRUE(world.Feed(Bookmark(201)));
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

// ---- A resource with several versions.

struct VersionedWorld : World {
  VersionedWorld() : World({.versions = {"v1", "v1beta2", "v1beta1"}}) {}

  // The reflector lists in `version`, and is told that it is not served.
  void RefuseList(const std::string& version) {
    EXPECT_EQ(Next().kind, Kind::kSend);
    EXPECT_TRUE(Asks("/" + version + "/nodes")) << last.request.path;
    Reply(404, "404 page not found");
  }
  // It is asked whether `version` lists nodes.
  void Discover(const std::string& version, bool served) {
    EXPECT_EQ(Next().kind, Kind::kSend);
    EXPECT_EQ(last.request.path, "/api/" + version);
    const std::string name = served ? "nodes" : "pods";
    Reply(200, R"({"kind":"APIResourceList","resources":[{"name":")" + name + R"("}]})");
  }
  void ListAndWatch(const std::string& version) {
    EXPECT_EQ(Next().kind, Kind::kSend);
    EXPECT_TRUE(Asks("/" + version + "/nodes?limit")) << last.request.path;
    Reply(200, Page("100", {Object("a", 90)}));
    EXPECT_EQ(Next().kind, Kind::kStream);
    EXPECT_TRUE(Asks("/" + version + "/nodes?watch")) << last.request.path;
    EXPECT_EQ(reflector->resource().version, version);
  }
};

TEST(ReflectorVersions, PreferredVersionIsReadWithoutAskingForIt) {
  VersionedWorld world;
  world.ListAndWatch("v1");
}

TEST(ReflectorVersions, F28_FirstServedVersionIsReadAtOnceAndWithoutAlarm) {
  VersionedWorld world;
  const TimePoint start = world.clock.Now();
  world.RefuseList("v1");
  world.Discover("v1", false);
  world.Discover("v1beta2", true);
  world.ListAndWatch("v1beta2");
  EXPECT_EQ(world.clock.Now(), start);
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
  EXPECT_EQ(world.logger.Count("Cannot"), 0U);
  EXPECT_EQ(world.logger.Count("version=v1beta2"), 1U);
}

TEST(ReflectorVersions, VersionThatIsServedNoMoreIsLeftAndWhatWasReadStays) {
  VersionedWorld world;
  world.ListAndWatch("v1");
  world.Breaks();
  EXPECT_EQ(world.Next().kind, Kind::kStream);
  world.Reply(404, "404 page not found");  // The server was downgraded.
  world.Discover("v1", false);
  world.Discover("v1beta2", false);
  EXPECT_EQ(world.sink.objects, (Objects{{"a", "v@90"}}));
  world.Discover("v1beta1", true);
  world.ListAndWatch("v1beta1");

  world.Breaks();
  EXPECT_EQ(world.Next().kind, Kind::kStream);
  world.Reply(404, "404 page not found");  // And upgraded, past the old version.
  world.Discover("v1", true);
  world.ListAndWatch("v1");
}

TEST(ReflectorVersions, F28_NoVersionAtAllIsNamedAndLookedForEvery5To10Seconds) {
  VersionedWorld world;
  world.RefuseList("v1");
  for (int round = 0; round < 20; ++round) {
    const TimePoint start = world.clock.Now();
    for (const char* version : {"v1", "v1beta2", "v1beta1"}) world.Discover(version, false);
    const nanoseconds wait = world.clock.Now() - start;  // Before the first, for the last time.
    EXPECT_TRUE(round < 5 || wait >= seconds(5));
    EXPECT_LE(wait, seconds(10));
  }
  EXPECT_EQ(world.ProblemKind(), Problem::kNotServed);
  EXPECT_EQ(
      world.reflector->problem().message,
      "enable one version of nodes at the API server (nodes is served in none of v1, v1beta2, "
      "v1beta1)");
  EXPECT_EQ(world.logger.Count("Cannot list"), 1U);
  world.Discover("v1", true);
  world.ListAndWatch("v1");
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

TEST(ReflectorVersions, REV4_K8_OnlyDiscovery_SaysThatAResourceIsNotServed) {
  World world({.versions = {"v1"}});
  const auto discover = [&](const std::string& name) {
    EXPECT_EQ(world.Next().kind, Kind::kSend);
    EXPECT_EQ(world.last.request.path, "/api/v1");
    world.Reply(200, R"({"kind":"APIResourceList","resources":[{"name":")" + name + R"("}]})");
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(world.Next().kind, Kind::kSend);
    world.Reply(404, "404 page not found");  // Of a proxy.
    discover("nodes");
    EXPECT_TRUE(world.reflector->IsServed());
  }
  EXPECT_EQ(world.Next().kind, Kind::kSend);
  world.Reply(404, "404 page not found");
  discover("pods");
  EXPECT_FALSE(world.reflector->IsServed());
  EXPECT_EQ(world.reflector->problem().message,
            "install the CRD of nodes, or enable v1 at the API server (nodes is served in none of "
            "v1)");
  EXPECT_EQ(world.Next().kind, Kind::kSend);
  world.Fails(ErrorCode::kUnavailable);
  EXPECT_FALSE(world.reflector->IsServed()) << "nothing new is known";
  discover("nodes");
  EXPECT_TRUE(world.reflector->IsServed());
}

TEST(ReflectorVersions, ServersThatDisagreeAreNotAskedAsFastAsTheyAnswer) {
  VersionedWorld world;
  const TimePoint start = world.clock.Now();
  int lists = 0;
  for (; lists < 100 && world.clock.Now() - start < minutes(2); ++lists) {
    world.RefuseList("v1");
    world.Discover("v1", true);
  }
  EXPECT_LT(lists, 30);
}

TEST(ReflectorVersions, M1_WatchThatIsNotServedIsNotListedAsFastAsTheServerAnswers) {
  using Versions = std::vector<std::string>;
  for (const Versions& versions : {Versions{}, Versions{"v1"}, Versions{"v1", "v1beta2"}}) {
    SCOPED_TRACE(versions.size());
    World world({.versions = versions});
    const TimePoint start = world.clock.Now();
    for (int requests = 0; world.clock.Now() - start < minutes(10); ++requests) {
      ASSERT_LT(requests, 1000);
      if (world.Next().kind == Kind::kStream) {
        world.Reply(404, "404 page not found");
      } else if (world.Asks("/nodes")) {
        world.Reply(200, Page("100", {Object("a", 90)}));
      } else {
        world.Reply(200, R"({"kind":"APIResourceList","resources":[{"name":"nodes"}]})");
      }
    }
    EXPECT_LE(world.reflector->lists(), 10 * 60 / 5 + 10U);
    EXPECT_EQ(world.logger.Count("Cannot watch"), 1U);
    EXPECT_EQ(world.logger.Count(""), 1U);
    EXPECT_EQ(world.ProblemKind(), Problem::kNotServed);
  }
}

TEST(ReflectorVersions, VersionThatCannotBeAskedIsNoneThatIsNotServed) {
  VersionedWorld world;
  world.RefuseList("v1");
  (void)world.Next();
  world.Reply(503);
  EXPECT_EQ(world.ProblemKind(), Problem::kUnavailable);
  EXPECT_GT(world.Wait(), nanoseconds(0));
  EXPECT_EQ(world.last.request.path, "/api/v1");
  world.Reply(403);
  EXPECT_EQ(world.ProblemKind(), Problem::kForbidden);
  EXPECT_NE(world.reflector->problem().message.find("system:discovery"), std::string::npos);
  world.Discover("v1", true);
  world.ListAndWatch("v1");
}

TEST(Reflector, F29_WhatAPersonMustPutRightIsLookedAtEvery5To10Seconds) {
  for (const int status : {403, 404}) {
    World world;
    const std::vector<nanoseconds> waits = Waits(world, status, 30);
    for (std::size_t i = 5; i < waits.size(); ++i) {
      EXPECT_GE(waits[i], seconds(5));
      EXPECT_LE(waits[i], seconds(10));
    }
  }
}

TEST(Reflector, C20_WhatWeCanDoWithoutIsAskedForEverMoreRarelyAndSaysWhatItCosts) {
  World world({.cost_without = "nobody knows"});
  const std::vector<nanoseconds> waits = Waits(world, 403, 30);
  EXPECT_LT(waits[0], seconds(2)) << "it may pass";
  for (std::size_t i = 15; i < waits.size(); ++i) EXPECT_GE(waits[i], std::chrono::minutes(10));
  EXPECT_EQ(world.logger.Count("without it nobody knows"), 1U);
  const std::vector<nanoseconds> others = Waits(world, 503, 3);
  EXPECT_LE(others[2], seconds(30)) << "that is no refusal";
}

TEST(Reflector, ProblemIsLoggedOncePerChange) {
  World world;
  (void)Waits(world, 503, 4);
  EXPECT_EQ(world.logger.Count("Cannot list"), 1U);
  world.Reply(403);
  (void)world.Next();
  world.Reply(403);
  (void)world.Next();
  EXPECT_EQ(world.logger.Count("Cannot list"), 2U);
  world.Reply(503);
  (void)world.Next();
  EXPECT_EQ(world.logger.Count("Cannot list"), 3U);
  EXPECT_EQ(world.logger.Count("again"), 0U);
  world.Reply(200, Page("100", {}));
  EXPECT_EQ(world.logger.Count("Resource can be read again"), 1U);
}

TEST(Reflector, ViewHasCaughtUpOnceAWatchHasBeenOpenForASecond) {
  World world;
  EXPECT_FALSE(world.reflector->HasCaughtUp(world.clock.Now()));
  world.Sync();
  world.clock.Advance(seconds(3));
  EXPECT_FALSE(world.reflector->HasCaughtUp(world.clock.Now())) << "it is not open";
  ASSERT_TRUE(world.Feed(Added("b", 101)));
  EXPECT_FALSE(world.reflector->HasCaughtUp(world.clock.Now())) << "there may be more";
  world.clock.Advance(milliseconds(999));
  EXPECT_FALSE(world.reflector->HasCaughtUp(world.clock.Now()));
  world.clock.Advance(milliseconds(1));
  EXPECT_TRUE(world.reflector->HasCaughtUp(world.clock.Now()));
  world.End();
  EXPECT_FALSE(world.reflector->HasCaughtUp(world.clock.Now()));
}

TEST(Reflector, ListThatWorksDoesNotHideAWatchThatDoesNot) {
  World world;
  for (int i = 0; i < 5; ++i) {
    world.Sync();
    EXPECT_FALSE(world.Feed("garbage"));
    EXPECT_EQ(world.ProblemKind(), Problem::kUnavailable);
  }
  world.Sync();
  EXPECT_EQ(world.ProblemKind(), Problem::kUnavailable);
  EXPECT_EQ(world.logger.Count("Cannot watch"), 1U);
  EXPECT_EQ(world.logger.Count("Resource can be read again"), 0U);
  (void)world.Feed(Bookmark(101));
  EXPECT_EQ(world.ProblemKind(), Problem::kNone);
}

// ---- Properties.

// A random history of a collection: a stream of events, and what is there after it.
struct History {
  std::string stream = {};
  Objects objects = {};
  int version = 100;
};

History RandomHistory(std::mt19937& random) {
  static const std::string values[] = {
      "v",         "}{", R"(\")", R"(\\)", "\xC3\xA9", "\xF0\x9F\x98\x80", R"(\ud83d\ude00)",
      R"(\n\r\n)", ""};
  History history;
  for (auto events = random() % 12; events > 0; --events) {
    const std::string name(1, static_cast<char>('a' + random() % 4));
    const std::string& value = values[random() % std::size(values)];
    const int version = ++history.version;
    switch (random() % 4) {
      case 0:
        history.stream += Bookmark(version);
        break;
      case 1:
        history.stream += Event("DELETED", Object(name, version, value));
        history.objects.erase(name);
        break;
      default: {
        history.stream +=
            Event(random() % 2 == 0 ? "ADDED" : "MODIFIED", Object(name, version, value));
        const std::string decoded = json::Parse("\"" + value + "\"")->AsString();
        history.objects[name] = decoded + "@" + std::to_string(version);
      }
    }
    if (random() % 8 == 0) history.stream.pop_back();  // Without its newline.
    if (random() % 8 == 0) history.stream += "\r\n";
  }
  return history;
}

TEST(ReflectorProperty, WA11_AnySplitOfTheStreamGivesTheSameStore) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::mt19937 random(seed);
    const History history = RandomHistory(random);
    World world;
    world.Sync("100", {});
    std::string_view rest = history.stream;
    while (!rest.empty()) {
      const std::size_t most = random() % 3 == 0 ? 400 : 9;
      const std::string piece(rest.substr(0, random() % most));
      rest.remove_prefix(piece.size());
      ASSERT_TRUE(world.Feed(piece)) << "seed " << seed;
    }
    ASSERT_EQ(world.sink.objects, history.objects) << "seed " << seed;
    ASSERT_EQ(world.sink.version, std::to_string(history.version)) << "seed " << seed;
  }
}

TEST(ReflectorProperty, DamagedStreamIsTakenWithoutHarmAndListedAgain) {
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::mt19937 random(seed);
    History history = RandomHistory(random);
    if (history.stream.empty()) continue;
    history.stream[random() % history.stream.size()] = static_cast<char>(random());
    World world;
    world.Sync("100", {});
    if (world.Feed(history.stream)) world.End();
    ASSERT_NE(world.Next().kind, Kind::kWait) << "seed " << seed;
  }
}

// A server with one collection that changes; it fails now and then.
class Server {
 public:
  explicit Server(std::mt19937& random) : random_(random) {}

  void Change() {
    const std::string name(1, static_cast<char>('a' + random_() % 5));
    ++version_;
    const bool there = objects_.contains(name);
    if (there && random_() % 2 == 0) {
      objects_.erase(name);
      events_.push_back({version_, Event("DELETED", Object(name, version_))});
    } else {
      objects_[name] = version_;
      events_.push_back({version_, Event(there ? "MODIFIED" : "ADDED", Object(name, version_))});
    }
    if (random_() % 20 == 0) Compact();
  }
  void Compact() {
    oldest_ = version_;
    events_.clear();
  }

  std::string List() const {
    std::vector<std::string> items;
    for (const auto& [name, version] : objects_) items.push_back(Object(name, version));
    return Page(std::to_string(version_), items);
  }
  // Everything after `version`; an ERROR event if that is not known any more.
  std::string Watch(int version) const {
    if (version < oldest_) return Event("ERROR", Status(410, "Expired"));
    std::string stream;
    for (const auto& [at, event] : events_) {
      if (at > version) stream += event;
    }
    return stream + Bookmark(version_);
  }
  Objects objects() const {
    Objects objects;
    for (const auto& [name, version] : objects_) objects[name] = "v@" + std::to_string(version);
    return objects;
  }

 private:
  std::mt19937& random_;
  int version_ = 100;
  int oldest_ = 100;
  std::map<std::string, int> objects_;
  std::vector<std::pair<int, std::string>> events_;
};

// One turn with the server; `fails` lets it fail in every way.
void Turn(World& world, Server& server, std::mt19937& random, bool fails) {
  (void)world.Next();
  const bool list = world.last.kind == Kind::kSend;
  if (fails && random() % 3 == 0) {
    switch (random() % 6) {
      case 0:
        return world.Reply(std::vector<int>{401, 403, 404, 410, 429, 500, 503}[random() % 7]);
      case 1:
        return world.Fails(ErrorCode::kUnavailable);
      case 2:
        return world.Fails(ErrorCode::kDeadlineExceeded);
      case 3:
        return world.Reply(200, "<html>");
      case 4:
        return;  // Silence.
      default:
        if (list) return world.Reply(200, server.List().substr(0, 40));
        return world.End();
    }
  }
  if (list) return world.Reply(200, server.List());
  const std::string path = world.last.request.path;
  const std::string version = path.substr(path.find("resourceVersion=") + 16);
  std::string stream = server.Watch(std::stoi(version));
  const bool breaks = fails && random() % 3 == 0;
  if (breaks) stream.resize(random() % (stream.size() + 1));
  if (!world.Feed(stream)) return;
  world.clock.Advance(milliseconds(random() % 4000));
  if (breaks) {
    world.Breaks();
  } else {
    world.End();
  }
}

TEST(ReflectorProperty, WhateverHappenedTheStoreEqualsTheServerOnceItAnswersAgain) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Server server(random);
    World world({}, seed);
    for (int turn = 0; turn < 60; ++turn) {
      for (auto changes = random() % 3; changes > 0; --changes) server.Change();
      Turn(world, server, random, true);
    }
    for (int turn = 0; turn < 6; ++turn) Turn(world, server, random, false);
    ASSERT_EQ(world.sink.objects, server.objects()) << "seed " << seed;
    ASSERT_EQ(world.ProblemKind(), Problem::kNone) << "seed " << seed;
    ASSERT_TRUE(world.reflector->HasSynced());
  }
}

}  // namespace
}  // namespace kube
