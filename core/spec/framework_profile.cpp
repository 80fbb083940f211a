#include "core/spec/framework_profile.hpp"

#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/named_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr Named<LayerSpread> layer_spreads[] = {{LayerSpread::even, "even"}, {LayerSpread::by_cost, "by-cost"}};
constexpr Named<Pipelines> pipeline_names[] = {{Pipelines::none, "none"},
                                               {Pipelines::plain, "plain"},
                                               {Pipelines::interleaved, "interleaved"},
                                               {Pipelines::uneven, "uneven"}};
constexpr Named<StageSends> send_names[] = {{StageSends::whole, "whole"}, {StageSends::parts, "parts"}};

}  // namespace

std::string_view name_of(LayerSpread spread) { return name_in<LayerSpread>(layer_spreads, spread); }
LayerSpread layer_spread_from(std::string_view name, std::string_view where) {
    return value_in<LayerSpread>(layer_spreads, name, where, "spread of layers");
}

std::string_view name_of(Pipelines pipelines) { return name_in<Pipelines>(pipeline_names, pipelines); }
Pipelines pipelines_from(std::string_view name, std::string_view where) {
    return value_in<Pipelines>(pipeline_names, name, where, "kind of pipelines");
}

std::string_view name_of(StageSends sends) { return name_in<StageSends>(send_names, sends); }
StageSends stage_sends_from(std::string_view name, std::string_view where) {
    return value_in<StageSends>(send_names, name, where, "kind of sends");
}

Bytes FrameworkMemory::usable_of(Bytes capacity) const {
    Bytes const stated = usable_fraction_up_to.value;
    return capacity - (1 - usable_fraction.value) * (stated > Bytes{} ? std::min(stated, capacity) : capacity);
}

Release FrameworkReleases::of_step(std::optional<Release> stated) const {
    return stated ? std::clamp(*stated, first, last) : midway(first, last);
}

std::string other_releases(FrameworkProfile const& framework) {
    return fmt::format("{}:release=YY.MM for another of {} to {}", framework.name.substr(0, framework.name.find(':')),
                       name_of(framework.releases->first), name_of(framework.releases->last));
}

FrameworkProfile on_generation(FrameworkProfile framework, std::string_view generation) {
    for (GenerationMemory const& own : framework.memory_on)
        if (own.generation == generation) framework.memory = own.memory;
    return framework;
}

FrameworkTiming later(FrameworkTiming timing, double years) {
    timing.gemm_scale.value *= std::exp(timing.yearly_gemm_gain.value * years);
    timing.attention_scale.value *= std::exp(timing.yearly_attention_gain.value * years);
    return timing;
}

void move_to(FrameworkProfile& framework, Release release) {
    FrameworkReleases& releases = *framework.releases;
    Release const nearest = releases.of_step(release);
    for (FrameworkTiming& timing : framework.timing)
        timing = later(std::move(timing), years_between(releases.at, nearest));
    releases.at = nearest;
}

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

FrameworkTiming const& timing_for(FrameworkProfile const& framework, std::string const& generation,
                                  Precision precision) {
    return timing_for(framework, generation, std::string(name_of(unscaled(precision))));
}

}  // namespace sextant
