#include "planner/rl/rl_split.hpp"

#include <algorithm>

namespace sextant {
namespace {

constexpr std::int64_t every_number_up_to = 32;
constexpr std::int64_t most_followed = 256;
constexpr int most_followed_divisions = 8;

/// More responses a second; of equals the one that is first.
bool better(RlStep const& a, RlStep const& b) {
    return a.possible() && (!b.possible() || a.effective_rate() > b.effective_rate());
}

RlStep best_engine(RlPlanner& planner, RlMode mode, std::int64_t rollout) {
    std::optional<RlStep> best;
    for (std::int64_t const tp : possible_rollout_tp(planner.question())) {
        RlStep step = planner.step(mode, rollout, tp);
        if (!best || better(step, *best)) best = std::move(step);
    }
    return *best;
}

void note(RlModeAnswer& answer, RlStep step) {
    if (step.possible() && (!answer.best || better(step, *answer.best))) answer.best = step;
    answer.reason = step.reason;
    answer.splits.push_back(std::move(step));
}

/// Followed as far as ever.
bool followed_whole(RlStep const& step) { return step.followed >= std::min(step.replicas, most_followed); }

/// The division that the few replicas of the search say is best, with every replica (up to `most_followed`); where the
/// whole fleet is slower than its few were, the next in line, until one is first that was followed whole.
void follow_all(RlPlanner& planner, RlModeAnswer& answer) {
    std::int64_t const few = planner.question().followed_replicas;
    planner.follow(most_followed);
    std::optional<RlStep> whole;
    for (int followed = 0; followed < most_followed_divisions; ++followed) {
        auto const first = std::min_element(answer.splits.begin(), answer.splits.end(), better);
        if (whole && !better(*first, *whole)) break;
        if (!followed_whole(*first)) *first = planner.step(answer.mode, first->rollout_accelerators, first->engine.tp);
        if (!whole || better(*first, *whole)) whole = *first;
    }
    planner.follow(few);
    answer.best = std::move(whole);
}

RlModeAnswer search_mode(RlPlanner& planner, RlMode mode, RlSearch const& search) {
    RlQuestion const& q = planner.question();
    RlModeAnswer answer;
    answer.mode = mode;
    auto const stopped = [&] { return search.stop && search.stop(); };
    if (mode == RlMode::colocated) {
        note(answer, best_engine(planner, mode, q.accelerators));
        return answer;
    }
    std::int64_t const domain = q.machine.cluster.domain_size;
    std::vector<std::int64_t> splits =
        search.rollout_accelerators ? std::vector{*search.rollout_accelerators} : coarse_splits(q.accelerators, domain);
    if (splits.empty()) answer.reason = "one accelerator cannot be divided";
    for (std::int64_t const n : splits)
        if (!stopped()) note(answer, best_engine(planner, mode, n));
    if (!search.rollout_accelerators && answer.best)
        for (std::int64_t const n : refine_splits(splits, answer.best->rollout_accelerators, domain))
            if (!stopped()) note(answer, best_engine(planner, mode, n));
    if (mode == RlMode::asynchronous && answer.best && !stopped()) follow_all(planner, answer);
    std::sort(answer.splits.begin(), answer.splits.end(),
              [](RlStep const& a, RlStep const& b) { return a.rollout_accelerators < b.rollout_accelerators; });
    return answer;
}

}  // namespace

RlModeAnswer const* RlAnswer::find(RlMode mode) const {
    auto const found = std::find_if(modes.begin(), modes.end(), [&](auto const& m) { return m.mode == mode; });
    return found == modes.end() ? nullptr : &*found;
}

RlStep const* RlAnswer::best(RlMode mode) const {
    RlModeAnswer const* const found = find(mode);
    return found != nullptr && found->best ? &*found->best : nullptr;
}

RlStep const* RlAnswer::best() const {
    RlStep const* out = nullptr;
    for (RlModeAnswer const& mode : modes)
        if (mode.best && (out == nullptr || better(*mode.best, *out))) out = &*mode.best;
    return out;
}

std::vector<std::int64_t> coarse_splits(std::int64_t accelerators, std::int64_t domain) {
    std::vector<std::int64_t> out;
    std::int64_t const unit = accelerators <= every_number_up_to ? 1 : domain;
    std::int64_t const units = (accelerators - 1) / unit;
    // Powers of two leave the trainer sizes that batches divide into.
    std::int64_t stride = 1;
    while (units / stride > every_number_up_to)
        stride *= 2;
    for (std::int64_t n = stride; n <= units; n += stride)
        out.push_back(n * unit);
    return out;
}

std::vector<std::int64_t> refine_splits(std::vector<std::int64_t> const& tried, std::int64_t best,
                                        std::int64_t domain) {
    std::vector<std::int64_t> out;
    if (tried.size() < 2) return out;
    std::int64_t const gap = tried[1] - tried[0];
    std::int64_t const unit = gap % domain == 0 ? domain : 1;
    std::int64_t const stride = std::max<std::int64_t>(1, gap / unit / 8) * unit;
    for (std::int64_t n = best - gap + stride; n < best + gap; n += stride)
        if (n > 0 && n <= tried.back() && std::find(tried.begin(), tried.end(), n) == tried.end()) out.push_back(n);
    return out;
}

RlAnswer search_rl(RlPlanner& planner, RlSearch const& search) {
    RlAnswer answer;
    for (RlMode const mode : search.modes)
        answer.modes.push_back(search_mode(planner, mode, search));
    answer.interrupted = search.stop && search.stop();
    return answer;
}

}  // namespace sextant
