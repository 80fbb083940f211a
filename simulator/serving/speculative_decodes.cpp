#include "simulator/serving/speculative_decodes.hpp"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr std::uint64_t of_guesses = 105;

}  // namespace

double Speculation::tokens_per_step() const {
    auto const k = static_cast<double>(tokens);
    return acceptance >= 1 ? k + 1 : (1 - std::pow(acceptance, k + 1)) / (1 - acceptance);
}

SpeculativeDecodes::SpeculativeDecodes(CacheShape const& shape, Speculation const& speculation, std::uint64_t stream)
    : shape_(shape), speculation_(speculation), random_(speculation.seed, stream, of_guesses) {}

void SpeculativeDecodes::join(std::int32_t slot, std::int64_t context, std::int64_t remaining) {
    if (static_cast<std::size_t>(slot) >= places_.size()) places_.resize(static_cast<std::size_t>(slot) + 1);
    places_[static_cast<std::size_t>(slot)] = members_.size();
    members_.push_back({slot, context, remaining, {slot, 0, shape_.blocks(context)}});
    context_ += context;
}

Decodes::Progress SpeculativeDecodes::leave(std::int32_t slot) {
    std::size_t const place = places_[static_cast<std::size_t>(slot)];
    Progress const progress = members_[place].progress;
    context_ -= members_[place].context;
    members_[place] = members_.back();
    places_[static_cast<std::size_t>(members_[place].slot)] = place;
    members_.pop_back();
    return progress;
}

std::int64_t SpeculativeDecodes::needed(Member const& member) const {
    std::int64_t const most = member.context + std::min(member.remaining, speculation_.tokens + 1);
    return std::max(member.progress.blocks, shape_.blocks(most));
}

std::int64_t SpeculativeDecodes::blocks_wanted() const {
    std::int64_t wanted = 0;
    for (Member const& member : members_)
        wanted += needed(member) - member.progress.blocks;
    return wanted;
}

void SpeculativeDecodes::take_blocks() {
    for (Member& member : members_)
        member.progress.blocks = needed(member);
}

std::int64_t SpeculativeDecodes::step(std::vector<Progress>& ended) {
    std::int64_t all = 0;
    double const log_acceptance = std::log(speculation_.acceptance);
    std::size_t const first_ended = ended.size();
    for (Member& member : members_) {
        // P(n guesses right) = a^n (1 - a): the whole part of log u / log a.
        double const right = speculation_.acceptance >= 1 ? static_cast<double>(speculation_.tokens)
                                                          : std::floor(std::log(random_.uniform()) / log_acceptance);
        std::int64_t const accepted =
            right < static_cast<double>(speculation_.tokens) ? static_cast<std::int64_t>(right) : speculation_.tokens;
        std::int64_t const tokens = std::min(member.remaining, accepted + 1);
        member.remaining -= tokens;
        member.context += tokens;
        member.progress.tokens += tokens;
        context_ += tokens;
        all += tokens;
        if (member.remaining == 0) ended.push_back({.slot = member.slot});
    }
    for (std::size_t i = first_ended; i < ended.size(); ++i)
        ended[i] = leave(ended[i].slot);
    return all;
}

}  // namespace sextant
