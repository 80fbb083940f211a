#include "kernels/harness/bench.hpp"

namespace sextant::bench {

char const* name_of(Cache cache) { return cache == Cache::hot ? "hot" : "cold"; }
char const* name_of(Launch launch) { return launch == Launch::stream ? "stream" : "graph"; }

std::vector<Variant> hot_and_cold() { return {{Cache::hot, Launch::stream}, {Cache::cold, Launch::stream}}; }

}  // namespace sextant::bench
