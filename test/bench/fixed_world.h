// A fixed world of 1,000 domains on 5,000 nodes, as the API server lists it.
//
// It is always the same: no clock, no randomness, no threads. A folder holds it, one file for each
// collection and one page of a list on each line.
#pragma once

#include <memory>
#include <string>

#include "controller/compute_domain/cache/cache.h"
#include "controller/compute_domain/model/observed.h"

namespace fixed_world {

// Writes the world into the folder.
void Make(const std::string& folder);

// Reads the folder's lists into a cache.
std::unique_ptr<compute_domain::Cache> Read(const std::string& folder);
// Returns what is known of the domain, with the facts of a controller that writes cliques.
compute_domain::Observed Look(const compute_domain::Cache& cache, const std::string& uid);

}  // namespace fixed_world
