#include "test/simulation/apiserver/history.h"

#include <utility>

#include "pkg/base/check.h"

namespace simulation {

ObjectPtr History::Get(Kind kind, const kube::ObjectKey& key) const {
  const auto it = Live(kind).find(key);
  return it == Live(kind).end() ? nullptr : it->second;
}

Objects History::StateAt(Kind kind, Revision revision) const {
  if (revision >= revision_) return Live(kind);
  Objects state;
  for (const std::size_t place : ChangesOf(kind)) {
    const Change& change = changes_[place];
    if (change.revision() > revision) break;
    if (change.type == Change::Type::kDeleted) {
      state.erase(change.after->key());
    } else {
      state[change.after->key()] = change.after;
    }
  }
  return state;
}

ObjectPtr History::Put(Kind kind, json::Value value, const std::string& actor, Time time) {
  ObjectPtr after = Stamp(std::move(value));
  ObjectPtr& live = live_[Index(kind)][after->key()];
  Append({.type = live ? Change::Type::kModified : Change::Type::kAdded,
          .kind = kind,
          .before = live,
          .after = after,
          .actor = actor,
          .time = time});
  live = after;
  return after;
}

void History::Remove(Kind kind, const kube::ObjectKey& key, const std::string& actor, Time time) {
  const auto it = live_[Index(kind)].find(key);
  CHECK(it != live_[Index(kind)].end());
  const ObjectPtr before = it->second;
  live_[Index(kind)].erase(it);
  Append({.type = Change::Type::kDeleted,
          .kind = kind,
          .before = before,
          .after = Stamp(before->value()),
          .actor = actor,
          .time = time});
}

void History::ForgetPast() {
  changes_.Forget();
  for (Numbered<std::size_t>& places : of_kind_) places.Forget();
}

ObjectPtr History::Stamp(json::Value value) {
  value["metadata"]["resourceVersion"] = std::to_string(++revision_);
  return std::make_shared<const Object>(std::move(value));
}

void History::Append(Change change) {
  of_kind_[Index(change.kind)].push_back(changes_.size());
  changes_.push_back(std::move(change));
}

}  // namespace simulation
