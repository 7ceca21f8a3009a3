#include "test/simulation/apiserver/watch_stream.h"

#include <gtest/gtest.h>

#include "pkg/kube/client/request.h"
#include "test/simulation/apiserver/api_server.h"
#include "test/simulation/apiserver/fixtures.h"

namespace simulation {
namespace {

using json::Value;

class WatchStreamTest : public testing::Test {
 protected:
  WatchStreamTest() {
    store.Create("user", Kind::kNode, "", NodeObject("node-0", "b"));
    start = store.revision();
  }

  WatchStream Watch(const std::string& label_selector, Revision from, Revision view = kNewest) {
    return server.OpenWatch(
        "a",
        kube::WatchRequest(kube::kNodes, {.label_selector = label_selector,
                                          .resource_version = std::to_string(from)}),
        view);
  }
  void Label(const std::string& value) {
    store.Edit("user", Kind::kNode, {.name = "node-0"},
               [&](Value& node) { node["metadata"]["labels"]["a"] = value; });
  }
  // "ADDED 981", or nothing.
  static std::string Show(const std::optional<std::string>& frame) {
    if (!frame) return "";
    EXPECT_EQ(frame->back(), '\n');
    const Value event = *json::Parse(*frame);
    const std::string& version = At(event, {"object", "metadata", "resourceVersion"}).AsString();
    return event["type"].AsString() + " " + (version.empty() ? "-" : version);
  }

  ObjectStore store{500};
  ApiServer server{store};
  Revision start = 0;
};

TEST_F(WatchStreamTest, ShowsWhatComesAfterItsStartAndNothingTwice) {
  WatchStream stream = Watch("", start);
  EXPECT_EQ(stream.opening().status, 200);
  EXPECT_EQ(Show(stream.Next()), "");
  Label("x");
  store.Delete("user", Kind::kNode, {.name = "node-0"});
  EXPECT_EQ(Show(stream.Next()), "MODIFIED 502");
  EXPECT_EQ(Show(stream.Next()), "DELETED 503");
  EXPECT_EQ(Show(stream.Next()), "");
}

TEST_F(WatchStreamTest, ShowsNothingThatItsServerDoesNotKnowYet) {
  Label("x");
  Label("y");
  WatchStream stream = Watch("", start, 502);
  EXPECT_EQ(Show(stream.Next(502)), "MODIFIED 502");
  EXPECT_EQ(Show(stream.Next(502)), "");
  EXPECT_EQ(Show(stream.Next(503)), "MODIFIED 503");
}

TEST_F(WatchStreamTest, ObjectThatComesToMatchASelectorIsAddedAndOneThatLeavesItIsDeleted) {
  WatchStream stream = Watch("a=x", start);
  Label("y");
  Label("x");
  Label("z");
  Label("w");
  EXPECT_TRUE(stream.IsBehind());
  EXPECT_EQ(Show(stream.Next()), "ADDED 503");
  const auto left = stream.Next();
  EXPECT_EQ(Show(left), "DELETED 504");
  EXPECT_NE(left->find("\"a\":\"x\""), std::string::npos) << "with its earlier content";
  EXPECT_FALSE(stream.IsBehind()) << "it does not show the last change";
  EXPECT_EQ(Show(stream.Next()), "");
}

TEST_F(WatchStreamTest, BookmarkCarriesTheRevisionOfOtherKindsToo) {
  WatchStream stream = Watch("a=x", start);
  store.Create("user", Kind::kNamespace, "", NamespaceObject("n"));
  EXPECT_EQ(Show(stream.Bookmark()), "BOOKMARK 502");
  Label("x");
  EXPECT_EQ(Show(stream.Bookmark()), "") << "an event is still to be sent";
  EXPECT_EQ(Show(stream.Bookmark(502)), "BOOKMARK 502") << "but not by a server that lags behind";
}

TEST_F(WatchStreamTest, VersionBelowTheCompactionIsGone) {
  Label("x");
  Label("y");
  server.Compact(502);
  WatchStream as_event = Watch("", start);
  EXPECT_EQ(as_event.opening().status, 200);
  const auto frame = as_event.Next();
  EXPECT_EQ(Show(frame), "ERROR -");
  EXPECT_NE(frame->find("\"code\":410"), std::string::npos);
  server.SetGoneAsStatus(true);
  EXPECT_EQ(Watch("", start).opening().status, 410);
  WatchStream fresh = Watch("", 502);
  EXPECT_EQ(Show(fresh.Next()), "MODIFIED 503");
}

TEST_F(WatchStreamTest, VersionThatAServerHasNotReachedIsTooLarge) {
  Label("x");
  const WatchStream stream = Watch("", 502, 501);
  EXPECT_EQ(stream.opening().status, 504);
  EXPECT_NE(stream.opening().body.text().find("ResourceVersionTooLarge"), std::string::npos);
}

TEST_F(WatchStreamTest, WithoutAVersionWhatIsThereComesFirst) {
  WatchStream stream = Watch("", 0);
  EXPECT_EQ(Show(stream.Next()), "ADDED 501");
  Label("x");
  EXPECT_EQ(Show(stream.Next()), "MODIFIED 502");
}

TEST_F(WatchStreamTest, KindThatIsNotServedIsNotFound) {
  store.SetServed(Kind::kNode, false);
  EXPECT_EQ(Watch("", start).opening().status, 404);
}

TEST_F(WatchStreamTest, ExpiredStreamSaysSoOnceAndEnds) {
  WatchStream stream = Watch("", start);
  Label("x");
  EXPECT_NE(stream.Expire().find("\"code\":410"), std::string::npos);
  EXPECT_EQ(Show(stream.Next()), "");
  EXPECT_FALSE(stream.IsOpen());
}

TEST_F(WatchStreamTest, CutStreamHasHalfAnEventAndWhoWatchesAnewHasItWhole) {
  WatchStream stream = Watch("", start);
  stream.Break();
  EXPECT_TRUE(stream.IsOpen()) << "as long as nothing happens nobody notices";
  EXPECT_EQ(Show(stream.Bookmark()), "BOOKMARK 501");
  Label("x");
  Label("y");
  const auto half = stream.Next();
  ASSERT_TRUE(half);
  EXPECT_TRUE(stream.IsCut());
  EXPECT_FALSE(stream.IsOpen());
  EXPECT_EQ(Show(stream.Next()), "");
  WatchStream second = Watch("", start);
  const auto whole = second.Next();
  EXPECT_TRUE(whole->starts_with(*half));
  EXPECT_EQ(Show(whole), "MODIFIED 502");
  EXPECT_EQ(Show(second.Next()), "MODIFIED 503");
}

TEST_F(WatchStreamTest, StreamThatExpiresIsNotCut) {
  WatchStream stream = Watch("", start);
  stream.Break();
  EXPECT_NE(stream.Expire().find("\"code\":410"), std::string::npos);
  EXPECT_FALSE(stream.IsCut());
}

}  // namespace
}  // namespace simulation
