#include "core/spec/framework_profile.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"

namespace sextant {

FrameworkTiming const& timing_for(FrameworkProfile const& framework, std::string const& generation,
                                  std::string const& precision) {
    // The generation weighs more than the precision: constants move more between machines than between number formats.
    FrameworkTiming const* best = nullptr;
    int best_score = -1;
    for (auto const& entry : framework.timing) {
        if (entry.generation != "*" && entry.generation != generation) continue;
        if (entry.precision != "*" && entry.precision != precision) continue;
        int const score = (entry.generation != "*" ? 2 : 0) + (entry.precision != "*" ? 1 : 0);
        if (score > best_score) {
            best = &entry;
            best_score = score;
        }
    }
    if (best != nullptr) return *best;
    std::vector<std::string> known;
    for (auto const& entry : framework.timing)
        known.push_back(entry.generation + "/" + entry.precision);
    throw InputError("framework '{}': no timing entry for generation '{}' in {} (it has: {})", framework.name,
                     generation, precision, join(known));
}

}  // namespace sextant
