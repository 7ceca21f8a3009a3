// Events that other controllers write about the controller's objects. Pure.
#pragma once

#include <string>
#include <string_view>

namespace api {

// Returns why the pods of a DaemonSet are not created, e.g. because of a quota: a sentence without
// its dot. `events` is an EventList of events.k8s.io/v1 about it. Empty if there is no Event of a
// failure, or a newer one of a success.
//
// Each attempt names another pod. "*" replaces what differs, so that the text stays the same.
std::string DecodeCreationTrouble(std::string_view events, std::string_view daemon_set);

}  // namespace api
