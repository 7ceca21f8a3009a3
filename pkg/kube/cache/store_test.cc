#include "pkg/kube/cache/store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "pkg/base/testing/wait_until.h"
#include "pkg/kube/testing/fakes.h"

namespace kube {
namespace {

struct Thing {
  ObjectMeta meta = {};
  std::string value = {};
  std::vector<std::string> tags = {};
  friend bool operator==(const Thing&, const Thing&) = default;
};

base::Result<Thing> DecodeThing(json::View object) {
  Thing thing = {.meta = TRY(DecodeMeta(object)), .value = std::string(object["value"].AsString())};
  if (thing.value == "poison") return base::Fail(base::ErrorCode::kInvalid, "poison");
  object["tags"].ForEach([&](json::View tag) { thing.tags.emplace_back(tag.AsString()); });
  return thing;
}

auto Fields(Thing& thing) {
  auto& [meta, value, tags] = thing;
  return std::tie(meta, value, tags);
}

using ThingPtr = std::shared_ptr<const Thing>;
using Names = std::vector<std::string>;

struct Object {
  std::string name = {};
  int version = 0;
  std::string value = "v";
  Names tags = {};
  std::string uid = {};  // Empty: as the name.

  std::string Text() const {
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

// Once for each form in which objects are held.
template <typename ThingStore>
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

  Names InStore() const { return NamesOf(store_.List()); }
  Names Tagged(const std::string& tag) const {
    const std::vector<ThingPtr> tagged = store_.ByIndex(tag);
    std::vector<ObjectKey> keys;
    std::vector<Thing> copies;
    for (const ThingPtr& thing : tagged) {
      keys.push_back(thing->meta.key);
      copies.push_back(*thing);
    }
    EXPECT_EQ(store_.KeysByIndex(tag), keys);
    EXPECT_EQ(store_.CopiesByIndex(tag), copies);
    return NamesOf(tagged);
  }
  static Names NamesOf(const std::vector<ThingPtr>& things) {
    Names names;
    for (const ThingPtr& thing : things) {
      names.push_back(thing->meta.key.name + "@" + thing->meta.resource_version);
    }
    return names;
  }
  ThingPtr Get(const std::string& name) const { return store_.Get({.ns = "ns", .name = name}); }
  Names TakeSeen() { return std::exchange(seen_, {}); }

  json::Parser parser_;
  RecordingLogger logger_;
  Names seen_;
  ThingStore store_{DecodeThing, [](const Thing& thing) { return thing.tags; },
                    [this](const ThingPtr& before, const ThingPtr& after) {
                      const auto text = [](const ThingPtr& thing) {
                        if (!thing) return std::string("-");
                        return thing->meta.uid + "@" + thing->meta.resource_version;
                      };
                      seen_.push_back(text(before) + ">" + text(after));
                    },
                    logger_};
};

// As Packed, but opening one calls `hook` first.
template <typename T>
class Hooked {
 public:
  explicit Hooked(T object) : packed_(std::move(object)) {}
  KeyView key() const { return packed_.key(); }
  std::shared_ptr<const T> Open() const {
    if (hook) hook();
    return packed_.Open();
  }
  T Copy() const {
    if (hook) hook();
    return packed_.Copy();
  }
  ObjectMeta Identity() const { return packed_.Identity(); }
  static inline std::function<void()> hook;

 private:
  PackedForm<T> packed_;
};

TEST(StoreTest, M10_WriterNeedNotWaitForAReaderThatUnpacks) {
  RecordingLogger logger;
  Store<Thing, Hooked> store(
      DecodeThing, [](const Thing& thing) { return thing.tags; }, {}, logger);
  json::Parser parser;
  store.Apply(*parser.Parse(Object{"a", 1, "v", {"red"}}.Text()), false);
  int waited = 0;
  Hooked<Thing>::hook = [&] {
    auto write = std::async(std::launch::async, [&] { store.Advance("9"); });
    if (write.wait_for(base::kHangs) != std::future_status::ready) ++waited;
  };
  EXPECT_EQ(store.List().size(), 1U);
  EXPECT_EQ(store.ByIndex("red").size(), 1U);
  EXPECT_EQ(store.CopiesByIndex("red").size(), 1U);
  EXPECT_TRUE(store.Get({.ns = "ns", .name = "a"}));
  Hooked<Thing>::hook = {};
  EXPECT_EQ(waited, 0);
}

using Forms = testing::Types<Store<Thing, SharedForm>, Store<Thing, PackedForm>>;
TYPED_TEST_SUITE(StoreTest, Forms);

TYPED_TEST(StoreTest, LW1_ListReplacesEverythingAtOnce) {
  this->Replace({{"b", 2}, {"a", 1}}, 5);
  EXPECT_EQ(this->InStore(), (Names{"a@1", "b@2"}));
  EXPECT_EQ(this->store_.resource_version(), "5");
  EXPECT_EQ(this->store_.size(), 2U);
  EXPECT_EQ(this->TakeSeen(), (Names{"->uid-a@1", "->uid-b@2"}));
}

TYPED_TEST(StoreTest, F13_NothingChangesForReadersUntilTheListEnds) {
  this->Replace({{"a", 1}}, 5);
  this->store_.BeginReplace();
  this->store_.ReplaceAdd(this->View(Object{"b", 6}.Text()));
  EXPECT_EQ(this->InStore(), Names{"a@1"});
  EXPECT_EQ(this->store_.resource_version(), "5");
  this->store_.BeginReplace();  // That list was abandoned.
  this->store_.ReplaceAdd(this->View(Object{"c", 7}.Text()));
  this->store_.EndReplace("9");
  EXPECT_EQ(this->InStore(), Names{"c@7"});
}

TYPED_TEST(StoreTest, IN1_WhatVanishedDuringAListIsReportedWithItsLastState) {
  this->Replace({{"a", 1}, {"b", 2}, {"c", 3}}, 5);
  (void)this->TakeSeen();
  this->Replace({{"b", 2}, {"c", 7}, {"d", 8}}, 9);
  EXPECT_EQ(this->TakeSeen(), (Names{"uid-a@1>-", "uid-c@3>uid-c@7", "->uid-d@8"}));
  EXPECT_EQ(this->InStore(), (Names{"b@2", "c@7", "d@8"}));
}

TYPED_TEST(StoreTest, OfAnUnchangedObjectNobodyIsTold) {
  this->Replace({{"a", 1}}, 5);
  (void)this->TakeSeen();
  this->Replace({{"a", 1}}, 9);
  EXPECT_EQ(this->TakeSeen(), Names());
}

TYPED_TEST(StoreTest, EventsAddChangeAndRemove) {
  this->Apply({"a", 1});
  this->Apply({"a", 2});
  EXPECT_EQ(this->store_.resource_version(), "2");
  this->Delete({"a", 3});
  EXPECT_EQ(this->store_.resource_version(), "3");
  EXPECT_EQ(this->TakeSeen(), (Names{"->uid-a@1", "uid-a@1>uid-a@2", "uid-a@2>-"}));
  EXPECT_EQ(this->store_.size(), 0U);
}

TYPED_TEST(StoreTest, DeletionOfWhatIsNotThereTellsNobodyAndAdvances) {
  this->Delete({"a", 3});
  EXPECT_EQ(this->TakeSeen(), Names());
  EXPECT_EQ(this->store_.resource_version(), "3");
}

TYPED_TEST(StoreTest, WA7_BookmarkMovesTheVersionAndNothingElse) {
  this->Replace({{"a", 1}}, 5);
  (void)this->TakeSeen();
  this->store_.Advance("8");
  EXPECT_EQ(this->store_.resource_version(), "8");
  EXPECT_EQ(this->TakeSeen(), Names());
}

TYPED_TEST(StoreTest, F11_ObjectThatTookTheNameOfAnotherIsTwoIncarnations) {
  this->Apply({.name = "a", .version = 1, .uid = "one"});
  this->Apply({.name = "a", .version = 4, .uid = "two"});
  EXPECT_EQ(this->TakeSeen(), (Names{"->one@1", "one@1>-", "->two@4"}));
  this->Replace({{.name = "a", .version = 8, .uid = "three"}}, 9);
  EXPECT_EQ(this->TakeSeen(), (Names{"two@4>-", "->three@8"}));
}

TYPED_TEST(StoreTest, RV3_ObjectNeverGoesBackToAnOlderVersion) {
  this->Apply({"a", 10});
  this->Apply({"a", 9});
  this->Delete({"a", 8});
  EXPECT_EQ(this->InStore(), Names{"a@10"});
  EXPECT_EQ(this->store_.resource_version(), "10");
}

TYPED_TEST(StoreTest, F27_ListOfARestoredServerGoesBack) {
  this->Replace({{"a", 100}, {"b", 90}}, 100);
  this->Replace({{"a", 50}}, 60);
  EXPECT_EQ(this->InStore(), Names{"a@50"});
  EXPECT_EQ(this->store_.resource_version(), "60");
  this->Apply({"a", 61});
  EXPECT_EQ(this->InStore(), Names{"a@61"});
}

// Its counter runs over the same versions again, and gives them to other states.
TYPED_TEST(StoreTest, M6_ListOfARestoredServerCountsAlsoWhereTheVersionIsTheSame) {
  this->Replace({{"a", 4, "lost"}, {"b", 1}}, 9);
  this->TakeSeen();
  this->Replace({{"a", 4, "restored"}, {"b", 1}}, 5);
  EXPECT_EQ(this->Get("a")->value, "restored");
  EXPECT_EQ(this->TakeSeen(), (Names{"uid-a@4>uid-a@4", "uid-b@1>uid-b@1"}));
}

TYPED_TEST(StoreTest, LW8_OfAnObjectThatIsListedTwiceTheNewerOneCounts) {
  this->Replace({{"a", 7}, {"b", 1}, {"a", 3}}, 9);
  EXPECT_EQ(this->InStore(), (Names{"a@7", "b@1"}));
  this->Replace({{"a", 7}, {"a", 8}}, 9);
  EXPECT_EQ(this->InStore(), Names{"a@8"});
}

TYPED_TEST(StoreTest, IN4_IndexFollowsEveryChange) {
  this->Replace({{"b", 1, "v", {"red"}}, {"a", 2, "v", {"red", "blue"}}}, 5);
  EXPECT_EQ(this->Tagged("red"), (Names{"a@2", "b@1"}));
  EXPECT_EQ(this->Tagged("blue"), Names{"a@2"});
  this->Apply({"a", 6, "v", {"green", "red"}});
  EXPECT_EQ(this->Tagged("red"), (Names{"a@6", "b@1"}));
  EXPECT_EQ(this->Tagged("blue"), Names());
  EXPECT_EQ(this->Tagged("green"), Names{"a@6"});
  this->Delete({"b", 7});
  EXPECT_EQ(this->Tagged("red"), Names{"a@6"});
  this->Replace({}, 9);
  EXPECT_EQ(this->Tagged("red"), Names());
}

TYPED_TEST(StoreTest, IndexKeyThatAnObjectHasTwiceIsOneEntry) {
  this->Apply({"a", 1, "v", {"red", "red"}});
  EXPECT_EQ(this->Tagged("red"), Names{"a@1"});
  this->Apply({"a", 2, "v", {"red", "red"}});
  EXPECT_EQ(this->Tagged("red"), Names{"a@2"});
  this->Delete({"a", 3});
  EXPECT_EQ(this->Tagged("red"), Names());
}

TYPED_TEST(StoreTest, F32_PoisonObjectIsLeftOutOfAListAndHoldsNobodyUp) {
  this->Replace({{"a", 1}, {"b", 2, "poison"}, {"c", 3}}, 5);
  EXPECT_EQ(this->InStore(), (Names{"a@1", "c@3"}));
  EXPECT_EQ(this->store_.unreadable(), 1U);
  EXPECT_EQ(
      this->logger_.Count("Left out an object that cannot be read namespace=ns name=b err=poison"),
      1U);
}

TYPED_TEST(StoreTest, F32_PoisonIsLoggedOnceUntilItCanBeRead) {
  this->Replace({{"b", 2, "poison"}}, 5);
  this->Apply({"b", 6, "poison"});
  this->Replace({{"b", 6, "poison"}}, 7);
  EXPECT_EQ(this->logger_.Count("Left out"), 1U);
  this->Apply({"b", 8});
  EXPECT_EQ(this->store_.unreadable(), 0U);
  EXPECT_EQ(this->InStore(), Names{"b@8"});
  this->Apply({"b", 9, "poison"});
  EXPECT_EQ(this->logger_.Count("Left out"), 2U);
  this->Delete({"b", 10, "poison"});
  EXPECT_EQ(this->store_.unreadable(), 0U);
  EXPECT_EQ(this->store_.size(), 0U);
}

TYPED_TEST(StoreTest, F32_LastGoodStateOfAPoisonObjectStays) {
  this->Replace({{"a", 1}}, 5);
  (void)this->TakeSeen();
  this->Apply({"a", 6, "poison"});
  EXPECT_EQ(this->InStore(), Names{"a@1"});
  EXPECT_EQ(this->store_.resource_version(),
            "6");  // Or a reader that waits for 6 would wait for ever.
  this->Replace({{"a", 6, "poison"}}, 9);
  EXPECT_EQ(this->InStore(), Names{"a@1"});
  EXPECT_EQ(this->TakeSeen(), Names());
  this->Apply({"a", 10});
  EXPECT_EQ(this->TakeSeen(), Names{"uid-a@1>uid-a@10"});
}

TYPED_TEST(StoreTest, F32_PoisonOfANewIncarnationEndsTheOldOne) {
  this->Replace({{"a", 1}}, 5);
  this->Apply({.name = "a", .version = 6, .value = "poison", .uid = "other"});
  EXPECT_EQ(this->store_.size(), 0U);
  this->Apply({.name = "b", .version = 7, .uid = "one"});
  (void)this->TakeSeen();
  this->Replace({{.name = "b", .version = 8, .value = "poison", .uid = "two"}}, 9);
  EXPECT_EQ(this->TakeSeen(), Names{"one@7>-"});
}

TYPED_TEST(StoreTest, F32_PoisonThatVanishedIsNotCountedAnyMore) {
  this->Replace({{"a", 1, "poison"}, {"b", 2}}, 5);
  this->Replace({{"b", 2}}, 9);
  EXPECT_EQ(this->store_.unreadable(), 0U);
}

TYPED_TEST(StoreTest, DeletionNeedsNoMoreThanTheIdentity) {
  this->Apply({"a", 1});
  this->Delete({"a", 2, "poison"});
  EXPECT_EQ(this->store_.size(), 0U);
  EXPECT_EQ(this->logger_.Count("Left out"), 0U);
}

// A store of what is not "foreign".
template <typename ThingStore>
class WantingStoreTest : public StoreTest<ThingStore> {
 protected:
  WantingStoreTest()
      : wanting_(
            DecodeThing, [](const Thing& thing) { return thing.tags; }, {}, this->logger_,
            IsWanted) {}

  static bool IsWanted(const Thing& thing) { return thing.value != "foreign"; }
  void List(const std::vector<Object>& objects, int version) {
    wanting_.BeginReplace();
    for (const Object& object : objects) wanting_.ReplaceAdd(this->View(object.Text()));
    wanting_.EndReplace(std::to_string(version));
  }
  void Put(const Object& object) { wanting_.Apply(this->View(object.Text()), false); }
  Names Kept() const { return this->NamesOf(wanting_.List()); }

  ThingStore wanting_;
};

TYPED_TEST_SUITE(WantingStoreTest, Forms);

TYPED_TEST(WantingStoreTest, C14_WhatNobodyWantsIsNotKept) {
  this->List({{"a", 1}, {"b", 2, "foreign"}}, 5);
  EXPECT_EQ(this->Kept(), Names{"a@1"});
  this->Put({"c", 6, "foreign"});
  EXPECT_EQ(this->Kept(), Names{"a@1"});
  EXPECT_EQ(this->wanting_.resource_version(), "6");
  EXPECT_EQ(this->wanting_.unreadable(), 0U);
}

TYPED_TEST(WantingStoreTest, C14_WhatNobodyWantsAnyMoreGoesAndMayComeBack) {
  this->List({{"a", 1}, {"b", 2}}, 5);
  this->Put({"a", 6, "foreign"});
  this->List({{"a", 6, "foreign"}, {"b", 7, "foreign"}}, 8);
  EXPECT_EQ(this->Kept(), Names{});
  this->Put({"a", 9});
  EXPECT_EQ(this->Kept(), Names{"a@9"});
}

TYPED_TEST(WantingStoreTest, C14_LW8_OfAnObjectThatIsListedTwiceTheNewerOneCounts) {
  this->List({{"a", 1}, {"a", 2, "foreign"}, {"b", 4}, {"b", 3, "foreign"}}, 5);
  EXPECT_EQ(this->Kept(), Names{"b@4"});
}

TYPED_TEST(StoreTest, ObjectThatAReaderHoldsDoesNotChange) {
  this->Apply({"a", 1, "old"});
  const ThingPtr held = this->Get("a");
  this->Apply({"a", 2, "new"});
  EXPECT_EQ(held->value, "old");
  EXPECT_EQ(this->Get("a")->value, "new");
  EXPECT_EQ(this->Get("b"), nullptr);
}

TYPED_TEST(StoreTest, HandlerMayReadTheStore) {
  Names found;
  TypeParam* self = nullptr;
  TypeParam store(
      DecodeThing, [](const Thing&) { return Names(); },
      [&](const ThingPtr&, const ThingPtr& after) {
        found = this->NamesOf(self->List());
        EXPECT_EQ(self->Get(after->meta.key)->meta, after->meta);
      },
      this->logger_);
  self = &store;
  store.Apply(this->View(Object{"a", 1}.Text()), false);
  EXPECT_EQ(found, Names{"a@1"});
}

TYPED_TEST(StoreTest, IndexAndListAlwaysAgree) {
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
        this->Replace(objects, ++version);
      } else if (random() % 3 == 0) {
        this->Delete(any());
      } else {
        this->Apply(any());
      }
      for (const char* tag : {"red", "blue"}) {
        Names expected;
        for (const ThingPtr& thing : this->store_.List()) {
          if (std::ranges::count(thing->tags, tag) > 0) {
            expected.push_back(thing->meta.key.name + "@" + thing->meta.resource_version);
          }
        }
        ASSERT_EQ(this->Tagged(tag), expected);
      }
    }
  }
}

TYPED_TEST(StoreTest, HandlersSeeEveryIncarnationBeginAndEnd) {
  std::mt19937 random(11);
  std::map<std::string, ThingPtr> told;  // By UID: what the handler knows.
  TypeParam store(
      DecodeThing, [](const Thing&) { return Names(); },
      [&](const ThingPtr& before, const ThingPtr& after) {
        const std::string& uid = (before ? before : after)->meta.uid;
        ASSERT_EQ(told[uid] == nullptr, before == nullptr);
        if (before) {
          ASSERT_EQ(told[uid]->meta, before->meta);
        }
        told[uid] = after;
        if (before && after) {
          ASSERT_EQ(before->meta.uid, after->meta.uid);
        }
      },
      this->logger_);
  int version = 1;
  for (int step = 0; step < 3000; ++step) {
    const std::string name(1, static_cast<char>('a' + random() % 4));
    const Object object = {.name = name,
                           .version = ++version,
                           .value = random() % 5 == 0 ? "poison" : "v",
                           .uid = name + std::to_string(random() % 2)};
    if (random() % 10 == 0) {
      store.BeginReplace();
      store.ReplaceAdd(this->View(object.Text()));
      store.EndReplace(std::to_string(version));
    } else {
      store.Apply(this->View(object.Text()), random() % 3 == 0);
    }
  }
  std::size_t alive = 0;
  for (const auto& [uid, thing] : told) alive += thing ? 1U : 0U;
  EXPECT_EQ(alive, store.size());
}

TYPED_TEST(StoreTest, ReadersAndTheWriterMayRunAtTheSameTime) {
  std::atomic<bool> over = false;
  std::size_t seen = 0;
  std::jthread reader([&] {
    for (bool last = false; !last;) {
      last = over;
      for (const ThingPtr& thing : this->store_.ByIndex("red")) seen += thing->tags.size();
      seen +=
          this->store_.List().size() + this->store_.size() + this->store_.resource_version().size();
      if (const ThingPtr thing = this->Get("a")) seen += thing->value.size();
    }
  });
  for (int version = 1; version <= 2000; ++version) {
    this->Apply({std::string(1, static_cast<char>('a' + version % 3)), version, "v", {"red"}});
    if (version % 50 == 0) this->Replace({{"a", version, "v", {"red"}}}, version);
  }
  over = true;
  reader.join();
  EXPECT_GT(seen, 0U);
}

}  // namespace
}  // namespace kube
