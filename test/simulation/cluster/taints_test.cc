#include "test/simulation/cluster/taints.h"

#include <gtest/gtest.h>

#include <vector>

namespace simulation {
namespace {

using json::Value;

const Value kTaint = Value::Object({{"key", "team"}, {"value", "a"}, {"effect", "NoSchedule"}});

Value PodWith(Value toleration) {
  return Value::Object({{"tolerations", Value::Array({std::move(toleration)})}});
}

TEST(Tolerates, OnlyWhatItsKeyValueAndEffectSay) {
  EXPECT_FALSE(Tolerates(Value(), kTaint));
  EXPECT_TRUE(Tolerates(PodWith(Value::Object({{"operator", "Exists"}})), kTaint));
  EXPECT_TRUE(Tolerates(PodWith(Value::Object({{"key", "team"}, {"operator", "Exists"}})), kTaint));
  EXPECT_FALSE(
      Tolerates(PodWith(Value::Object({{"key", "else"}, {"operator", "Exists"}})), kTaint));
  EXPECT_TRUE(Tolerates(PodWith(Value::Object({{"key", "team"}, {"value", "a"}})), kTaint));
  EXPECT_FALSE(Tolerates(PodWith(Value::Object({{"key", "team"}, {"value", "b"}})), kTaint));
  EXPECT_FALSE(
      Tolerates(PodWith(Value::Object({{"operator", "Exists"}, {"effect", "NoExecute"}})), kTaint));
}

Object Node(Value spec) {
  return Object(Value::Object(
      {{"metadata", Value::Object({{"name", "n"}, {"uid", "u"}, {"resourceVersion", "1"}})},
       {"spec", std::move(spec)}}));
}

TEST(ToleratesAll, LooksAtTaintsOfThatEffect) {
  const Object node = Node(Value::Object({{"taints", Value::Array({kTaint})}}));
  EXPECT_FALSE(ToleratesAll(Value(), node, "NoSchedule"));
  EXPECT_TRUE(ToleratesAll(Value(), node, "NoExecute"));
}

TEST(ToleratesAll, OfACordonedNodeIsWhatDaemonSetsDo) {
  const Object node = Node(Value::Object({{"unschedulable", true}}));
  Value pod = Value::Object();
  EXPECT_FALSE(ToleratesAll(pod, node, "NoSchedule"));
  AddDaemonTolerations(pod);
  EXPECT_TRUE(ToleratesAll(pod, node, "NoSchedule"));
}

}  // namespace
}  // namespace simulation
