#include "simulator/collectives/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace sextant {
namespace {

/// Longest chain of transfers behind every slot of every rank since the phase began.
class Chains {
public:
    Chains(CollectiveShape const& shape, std::int64_t slots)
        : shape_(shape), slots_(slots), behind_(static_cast<std::size_t>(shape.ranks * slots)) {}

    void begin_phase() { std::fill(behind_.begin(), behind_.end(), Hops{}); }

    /// Chain lengths at the end of each transfer of a round.
    std::vector<Hops> run(Round const& round) {
        std::vector<Hops> ends;
        ends.reserve(round.transfers.size());
        for (Transfer const& t : round.transfers) {
            Hops longest;
            for (std::int32_t i = 0; i < t.count; ++i)
                longest = std::max(longest, behind_[at(t.source, t.from + i)]);
            ends.push_back(longest + step_between(shape_, t.source, t.destination));
        }
        std::vector<std::pair<std::size_t, Hops>> arrivals;
        for (Transfer const& t : round.transfers)
            for (std::int32_t i = 0; i < t.count; ++i)
                arrivals.emplace_back(at(t.destination, t.to + i), behind_[at(t.source, t.from + i)] +
                                                                       step_between(shape_, t.source, t.destination));
        for (auto const& [slot, hops] : arrivals)
            behind_[slot] = std::max(behind_[slot], hops);
        return ends;
    }

private:
    [[nodiscard]] std::size_t at(std::int32_t rank, std::int32_t slot) const {
        return static_cast<std::size_t>(rank * slots_ + slot);
    }
    CollectiveShape const& shape_;
    std::int64_t slots_;
    std::vector<Hops> behind_;
};

}  // namespace

std::optional<std::string> unless_too_many(CollectiveShape const& shape, std::int64_t transfers) {
    if (transfers <= most_transfers) return std::nullopt;
    return fmt::format("{} ranks: {} transfers (at most {})", shape.ranks, transfers, most_transfers);
}

Hops step_between(CollectiveShape const& shape, std::int32_t a, std::int32_t b) {
    if (shape.domain_of(a) != shape.domain_of(b)) return {.out = 1, .up = 0};
    return {.out = 0, .up = static_cast<std::int32_t>(shape.distance(a, b))};
}

void merge_flows(std::vector<CollectiveFlow>& flows) {
    auto const place = [](CollectiveFlow const& f) { return std::tuple(f.phase, f.source, f.destination); };
    std::stable_sort(flows.begin(), flows.end(),
                     [&](CollectiveFlow const& a, CollectiveFlow const& b) { return place(a) < place(b); });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < flows.size(); ++i) {
        if (kept > 0 && place(flows[kept - 1]) == place(flows[i])) {
            flows[kept - 1].share += flows[i].share;
            flows[kept - 1].hops = std::max(flows[kept - 1].hops, flows[i].hops);
        } else {
            flows[kept++] = flows[i];
        }
    }
    flows.resize(kept);
}

CollectiveFlows flows_of(CollectiveShape const& shape, CollectiveProgram const& program) {
    CollectiveFlows result{
        .rounds = static_cast<std::int64_t>(program.rounds.size()), .phases = program.phases, .flows = {}};
    std::vector<std::int64_t> rounds_of_phase(program.phases.size());
    for (Round const& round : program.rounds)
        ++rounds_of_phase[static_cast<std::size_t>(round.phase)];
    bool const pipelined = std::any_of(rounds_of_phase.begin(), rounds_of_phase.end(), [](auto n) { return n > 1; });
    Chains chains(shape, pipelined ? program.slots : 0);
    double const chunk = 1 / static_cast<double>(program.chunks);
    std::int32_t phase = -1;
    for (Round const& round : program.rounds) {
        bool const alone = rounds_of_phase[static_cast<std::size_t>(round.phase)] == 1;
        if (pipelined && round.phase != phase) chains.begin_phase();
        phase = round.phase;
        std::vector<Hops> const ends = alone ? std::vector<Hops>{} : chains.run(round);
        for (std::size_t i = 0; i < round.transfers.size(); ++i) {
            Transfer const& t = round.transfers[i];
            result.flows.push_back({phase, t.source, t.destination, chunk * t.count,
                                    alone ? step_between(shape, t.source, t.destination) : ends[i]});
        }
    }
    merge_flows(result.flows);
    return result;
}

CollectiveFlows flows_of(CollectiveAlgorithm const& algorithm, CollectiveShape const& shape) {
    return algorithm.flows != nullptr ? algorithm.flows(shape) : flows_of(shape, algorithm.program(shape));
}

}  // namespace sextant
