// Why pods find no channel, and what to do. Pure.
// This only explains: no decision depends on it.
#pragma once

#include <map>
#include <optional>

#include "controller/compute_domain/status/explanation/advice.h"

namespace compute_domain {

// Returns why pods find no channel on the nodes where they may run: no node has one, claims and
// domains hold them all, or their clique is full. If pods have several causes, one that only a
// person can end. Empty if no pod lacks a channel. REQUIRES: observed.domain, here and below.
std::optional<Shortage> FindShortage(const Observed& observed);

// Returns the cause for each pod that the scheduler found no channel for. Key: its UID.
std::map<kube::Uid, Shortage> FindShortages(const Observed& observed);

}  // namespace compute_domain
