#include "pkg/kube/cache/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

struct Thing {
  ObjectMeta meta = {};
  std::string value = {};
  std::vector<std::string> tags = {};
};

base::Result<Thing> DecodeThing(json::View object) {
  Thing thing = {.meta = TRY(DecodeMeta(object)), .value = std::string(object["value"].AsString())};
  if (thing.value == "poison") return base::Fail(base::ErrorCode::kInvalid, "poison");
  object["tags"].ForEach([&](json::View tag) { thing.tags.emplace_back(tag.AsString()); });
  return thing;
}

using ThingStore = Store<Thing>;
using Names = std::vector<std::string>;

struct Object {
  std::string name = {};
  int version = 0;
  std::string value = "v";
  Names tags = {};
  std::string uid = {};  // Empty: as the name.

  [[nodiscard]] std::string Text() const {
    json::Value object = json::Value::Object();
    object["metadata"]["namespace"] = "ns";
    object["metadata"]["name"] = name;
    object["metadata"]["uid"] = uid.empty() ? "uid-" + name : uid;
    object["metadata"]["resourceVersion"] = std::to_string(version);
    object["value"] = value;
    for (const std::string& tag : tags) object["tags"].Append(tag);
    return json::Serialize(object);
  }
};

class StoreTest : public testing::Test {
 protected:
  void Replace(const std::vector<Object>& objects, int version) {
    store_.BeginReplace();
    for (const Object& object : objects) store_.ReplaceAdd(View(object.Text()));
    store_.EndReplace(std::to_string(version));
  }
  void Apply(const Object& object) { store_.Apply(View(object.Text()), false); }
  void Delete(const Object& object) { store_.Apply(View(object.Text()), true); }

  json::View View(const std::string& text) { return *parser_.Parse(text); }

  [[nodiscard]] Names InStore() const { return NamesOf(store_.List()); }
  [[nodiscard]] Names Tagged(const std::string& tag) const { return NamesOf(store_.ByIndex(tag)); }
  static Names NamesOf(const std::vector<ThingStore::Ptr>& things) {
    Names names;
    for (const ThingStore::Ptr& thing : things) {
      names.push_back(thing->meta.key.name + "@" + thing->meta.resource_version);
    }
    return names;
  }
  [[nodiscard]] ThingStore::Ptr Get(const std::string& name) const {
    return store_.Get({.ns = "ns", .name = name});
  }
  Names TakeSeen() { return std::exchange(seen_, {}); }

  json::Parser parser_;
  RecordingLogger logger_;
  Names seen_;
  ThingStore store_{DecodeThing, [](const Thing& thing) { return thing.tags; },
                    [this](const ThingStore::Ptr& before, const ThingStore::Ptr& after) {
                      const auto text = [](const ThingStore::Ptr& thing) {
                        if (!thing) return std::string("-");
                        return thing->meta.uid + "@" + thing->meta.resource_version;
                      };
                      seen_.push_back(text(before) + ">" + text(after));
                    },
                    logger_};
};

TEST_F(StoreTest, LW1_ListReplacesEverythingAtOnce) {
  Replace({{"b", 2}, {"a", 1}}, 5);
  EXPECT_EQ(InStore(), (Names{"a@1", "b@2"}));
  EXPECT_EQ(store_.resource_version(), "5");
  EXPECT_EQ(store_.size(), 2U);
  EXPECT_EQ(TakeSeen(), (Names{"->uid-a@1", "->uid-b@2"}));
}

TEST_F(StoreTest, F13_NothingChangesForReadersUntilTheListEnds) {
  Replace({{"a", 1}}, 5);
  store_.BeginReplace();
  store_.ReplaceAdd(View(Object{"b", 6}.Text()));
  EXPECT_EQ(InStore(), Names{"a@1"});
  EXPECT_EQ(store_.resource_version(), "5");
  store_.BeginReplace();  // That list was abandoned.
  store_.ReplaceAdd(View(Object{"c", 7}.Text()));
  store_.EndReplace("9");
  EXPECT_EQ(InStore(), Names{"c@7"});
}

TEST_F(StoreTest, IN1_WhatVanishedDuringAListIsReportedWithItsLastState) {
  Replace({{"a", 1}, {"b", 2}, {"c", 3}}, 5);
  (void)TakeSeen();
  Replace({{"b", 2}, {"c", 7}, {"d", 8}}, 9);
  EXPECT_EQ(TakeSeen(), (Names{"uid-a@1>-", "uid-c@3>uid-c@7", "->uid-d@8"}));
  EXPECT_EQ(InStore(), (Names{"b@2", "c@7", "d@8"}));
}

TEST_F(StoreTest, UnchangedObjectKeepsItsPointerAndNobodyIsTold) {
  Replace({{"a", 1}}, 5);
  (void)TakeSeen();
  const ThingStore::Ptr before = Get("a");
  Replace({{"a", 1}}, 9);
  EXPECT_EQ(Get("a"), before);
  EXPECT_EQ(TakeSeen(), Names());
}

TEST_F(StoreTest, EventsAddChangeAndRemove) {
  Apply({"a", 1});
  Apply({"a", 2});
  EXPECT_EQ(store_.resource_version(), "2");
  Delete({"a", 3});
  EXPECT_EQ(store_.resource_version(), "3");
  EXPECT_EQ(TakeSeen(), (Names{"->uid-a@1", "uid-a@1>uid-a@2", "uid-a@2>-"}));
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(StoreTest, DeletionOfWhatIsNotThereTellsNobodyAndAdvances) {
  Delete({"a", 3});
  EXPECT_EQ(TakeSeen(), Names());
  EXPECT_EQ(store_.resource_version(), "3");
}

TEST_F(StoreTest, WA7_BookmarkMovesTheVersionAndNothingElse) {
  Replace({{"a", 1}}, 5);
  (void)TakeSeen();
  store_.Advance("8");
  EXPECT_EQ(store_.resource_version(), "8");
  EXPECT_EQ(TakeSeen(), Names());
}

TEST_F(StoreTest, F11_ObjectThatTookTheNameOfAnotherIsTwoIncarnations) {
  Apply({.name = "a", .version = 1, .uid = "one"});
  Apply({.name = "a", .version = 4, .uid = "two"});
  EXPECT_EQ(TakeSeen(), (Names{"->one@1", "one@1>-", "->two@4"}));
  Replace({{.name = "a", .version = 8, .uid = "three"}}, 9);
  EXPECT_EQ(TakeSeen(), (Names{"two@4>-", "->three@8"}));
}

TEST_F(StoreTest, RV3_ObjectNeverGoesBackToAnOlderVersion) {
  Apply({"a", 10});
  Apply({"a", 9});
  Delete({"a", 8});
  EXPECT_EQ(InStore(), Names{"a@10"});
  EXPECT_EQ(store_.resource_version(), "10");
}

TEST_F(StoreTest, F27_ListOfARestoredServerGoesBack) {
  Replace({{"a", 100}, {"b", 90}}, 100);
  Replace({{"a", 50}}, 60);
  EXPECT_EQ(InStore(), Names{"a@50"});
  EXPECT_EQ(store_.resource_version(), "60");
  Apply({"a", 61});
  EXPECT_EQ(InStore(), Names{"a@61"});
}

TEST_F(StoreTest, LW8_OfAnObjectThatIsListedTwiceTheNewerOneCounts) {
  Replace({{"a", 7}, {"b", 1}, {"a", 3}}, 9);
  EXPECT_EQ(InStore(), (Names{"a@7", "b@1"}));
  Replace({{"a", 7}, {"a", 8}}, 9);
  EXPECT_EQ(InStore(), Names{"a@8"});
}

TEST_F(StoreTest, IN4_IndexFollowsEveryChange) {
  Replace({{"b", 1, "v", {"red"}}, {"a", 2, "v", {"red", "blue"}}}, 5);
  EXPECT_EQ(Tagged("red"), (Names{"a@2", "b@1"}));
  EXPECT_EQ(Tagged("blue"), Names{"a@2"});
  Apply({"a", 6, "v", {"green", "red"}});
  EXPECT_EQ(Tagged("red"), (Names{"a@6", "b@1"}));
  EXPECT_EQ(Tagged("blue"), Names());
  EXPECT_EQ(Tagged("green"), Names{"a@6"});
  Delete({"b", 7});
  EXPECT_EQ(Tagged("red"), Names{"a@6"});
  Replace({}, 9);
  EXPECT_EQ(Tagged("red"), Names());
}

TEST_F(StoreTest, IndexKeyThatAnObjectHasTwiceIsOneEntry) {
  Apply({"a", 1, "v", {"red", "red"}});
  EXPECT_EQ(Tagged("red"), Names{"a@1"});
  Apply({"a", 2, "v", {"red", "red"}});
  EXPECT_EQ(Tagged("red"), Names{"a@2"});
  Delete({"a", 3});
  EXPECT_EQ(Tagged("red"), Names());
}

TEST_F(StoreTest, F32_PoisonObjectIsLeftOutOfAListAndHoldsNobodyUp) {
  Replace({{"a", 1}, {"b", 2, "poison"}, {"c", 3}}, 5);
  EXPECT_EQ(InStore(), (Names{"a@1", "c@3"}));
  EXPECT_EQ(store_.unreadable(), 1U);
  EXPECT_EQ(logger_.Count("Left out an object that cannot be read namespace=ns name=b err=poison"),
            1U);
}

TEST_F(StoreTest, F32_PoisonIsLoggedOnceUntilItCanBeRead) {
  Replace({{"b", 2, "poison"}}, 5);
  Apply({"b", 6, "poison"});
  Replace({{"b", 6, "poison"}}, 7);
  EXPECT_EQ(logger_.Count("Left out"), 1U);
  Apply({"b", 8});
  EXPECT_EQ(store_.unreadable(), 0U);
  EXPECT_EQ(InStore(), Names{"b@8"});
  Apply({"b", 9, "poison"});
  EXPECT_EQ(logger_.Count("Left out"), 2U);
  Delete({"b", 10, "poison"});
  EXPECT_EQ(store_.unreadable(), 0U);
  EXPECT_EQ(store_.size(), 0U);
}

TEST_F(StoreTest, F32_LastGoodStateOfAPoisonObjectStays) {
  Replace({{"a", 1}}, 5);
  (void)TakeSeen();
  Apply({"a", 6, "poison"});
  EXPECT_EQ(InStore(), Names{"a@1"});
  EXPECT_EQ(store_.resource_version(), "6");  // Or a reader that waits for 6 would wait for ever.
  Replace({{"a", 6, "poison"}}, 9);
  EXPECT_EQ(InStore(), Names{"a@1"});
  EXPECT_EQ(TakeSeen(), Names());
  Apply({"a", 10});
  EXPECT_EQ(TakeSeen(), Names{"uid-a@1>uid-a@10"});
}

TEST_F(StoreTest, F32_PoisonOfANewIncarnationEndsTheOldOne) {
  Replace({{"a", 1}}, 5);
  Apply({.name = "a", .version = 6, .value = "poison", .uid = "other"});
  EXPECT_EQ(store_.size(), 0U);
  Apply({.name = "b", .version = 7, .uid = "one"});
  (void)TakeSeen();
  Replace({{.name = "b", .version = 8, .value = "poison", .uid = "two"}}, 9);
  EXPECT_EQ(TakeSeen(), Names{"one@7>-"});
}

TEST_F(StoreTest, F32_PoisonThatVanishedIsNotCountedAnyMore) {
  Replace({{"a", 1, "poison"}, {"b", 2}}, 5);
  Replace({{"b", 2}}, 9);
  EXPECT_EQ(store_.unreadable(), 0U);
}

TEST_F(StoreTest, DeletionNeedsNoMoreThanTheIdentity) {
  Apply({"a", 1});
  Delete({"a", 2, "poison"});
  EXPECT_EQ(store_.size(), 0U);
  EXPECT_EQ(logger_.Count("Left out"), 0U);
}

TEST_F(StoreTest, ObjectThatAReaderHoldsDoesNotChange) {
  Apply({"a", 1, "old"});
  const ThingStore::Ptr held = Get("a");
  Apply({"a", 2, "new"});
  EXPECT_EQ(held->value, "old");
  EXPECT_EQ(Get("a")->value, "new");
  EXPECT_EQ(Get("b"), nullptr);
}

TEST_F(StoreTest, HandlerMayReadTheStore) {
  Names found;
  ThingStore* self = nullptr;
  ThingStore store(
      DecodeThing, [](const Thing&) { return Names(); },
      [&](const ThingStore::Ptr&, const ThingStore::Ptr& after) {
        found = NamesOf(self->List());
        EXPECT_EQ(self->Get(after->meta.key), after);
      },
      logger_);
  self = &store;
  store.Apply(View(Object{"a", 1}.Text()), false);
  EXPECT_EQ(found, Names{"a@1"});
}

TEST_F(StoreTest, IndexAndListAlwaysAgree) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    int version = 1000 * (static_cast<int>(seed) + 1);
    const auto any = [&] {
      Object object = {.name = std::string(1, static_cast<char>('a' + random() % 6)),
                       .version = ++version,
                       .uid = std::to_string(random() % 3)};
      if (random() % 8 == 0) object.value = "poison";
      for (const char* tag : {"red", "blue"}) {
        if (random() % 2 == 0) object.tags.push_back(tag);
      }
      return object;
    };
    for (int step = 0; step < 100; ++step) {
      if (random() % 20 == 0) {
        std::vector<Object> objects;
        for (auto i = random() % 8; i > 0; --i) objects.push_back(any());
        Replace(objects, ++version);
      } else if (random() % 3 == 0) {
        Delete(any());
      } else {
        Apply(any());
      }
      for (const char* tag : {"red", "blue"}) {
        Names expected;
        for (const ThingStore::Ptr& thing : store_.List()) {
          if (std::ranges::count(thing->tags, tag) > 0) {
            expected.push_back(thing->meta.key.name + "@" + thing->meta.resource_version);
          }
        }
        ASSERT_EQ(Tagged(tag), expected);
      }
    }
  }
}

TEST_F(StoreTest, HandlersSeeEveryIncarnationBeginAndEnd) {
  std::mt19937 random(11);
  std::map<std::string, ThingStore::Ptr> told;  // By UID: what the handler knows.
  ThingStore store(
      DecodeThing, [](const Thing&) { return Names(); },
      [&](const ThingStore::Ptr& before, const ThingStore::Ptr& after) {
        const std::string& uid = (before ? before : after)->meta.uid;
        ASSERT_EQ(told[uid], before);
        told[uid] = after;
        if (before && after) {
          ASSERT_EQ(before->meta.uid, after->meta.uid);
        }
      },
      logger_);
  int version = 1;
  for (int step = 0; step < 3000; ++step) {
    const std::string name(1, static_cast<char>('a' + random() % 4));
    const Object object = {.name = name,
                           .version = ++version,
                           .value = random() % 5 == 0 ? "poison" : "v",
                           .uid = name + std::to_string(random() % 2)};
    if (random() % 10 == 0) {
      store.BeginReplace();
      store.ReplaceAdd(View(object.Text()));
      store.EndReplace(std::to_string(version));
    } else {
      store.Apply(View(object.Text()), random() % 3 == 0);
    }
  }
  std::size_t alive = 0;
  for (const auto& [uid, thing] : told) alive += thing ? 1U : 0U;
  EXPECT_EQ(alive, store.size());
}

TEST_F(StoreTest, ReadersAndTheWriterMayRunAtTheSameTime) {
  std::atomic<bool> over = false;
  std::size_t seen = 0;
  std::jthread reader([&] {
    for (bool last = false; !last;) {
      last = over;
      for (const ThingStore::Ptr& thing : store_.ByIndex("red")) seen += thing->tags.size();
      seen += store_.List().size() + store_.size() + store_.resource_version().size();
      if (const ThingStore::Ptr thing = Get("a")) seen += thing->value.size();
    }
  });
  for (int version = 1; version <= 2000; ++version) {
    Apply({std::string(1, static_cast<char>('a' + version % 3)), version, "v", {"red"}});
    if (version % 50 == 0) Replace({{"a", version, "v", {"red"}}}, version);
  }
  over = true;
  reader.join();
  EXPECT_GT(seen, 0U);
}

}  // namespace
}  // namespace kube
