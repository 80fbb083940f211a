#include "planner/rl/rl_split.hpp"

#include <algorithm>
#include <string_view>

namespace sextant {
namespace {

constexpr std::int64_t every_number_up_to = 32;
constexpr std::int64_t most_followed = 256;
constexpr int most_followed_divisions = 8;

/// What a reason is about: the engine, training, host memory.
std::string_view subject_of(std::string_view reason) { return reason.substr(0, reason.find(':')); }

/// Of several steps that are not possible, the reason that most have: of these the first. What has no subject, such as
/// engines that are no whole number, says nothing of the others.
std::string common_reason(std::vector<RlStep> const& steps) {
    std::string out;
    std::ptrdiff_t most = 0;
    for (RlStep const& step : steps) {
        std::string_view const subject = subject_of(step.reason);
        bool const has_subject = subject.size() < step.reason.size();
        std::ptrdiff_t const same = std::count_if(
            steps.begin(), steps.end(), [&](RlStep const& other) { return subject_of(other.reason) == subject; });
        if (out.empty() || (has_subject && same > most)) {
            out = step.reason;
            most = has_subject ? same : 0;
        }
    }
    return out;
}

/// More responses a second; of equals the one that is first.
bool better(RlStep const& a, RlStep const& b) {
    return a.possible() && (!b.possible() || a.effective_rate() > b.effective_rate());
}

/// Where none is possible, the reason is that of the largest engine that could be placed: nearest to fitting.
RlStep best_engine(RlPlanner& planner, RlMode mode, std::int64_t rollout) {
    std::optional<RlStep> best;
    for (EngineSplit const split : possible_engines(planner.question())) {
        RlStep step = planner.step(mode, rollout, split);
        bool const nearer = best && !best->possible() && !step.possible() && step.replicas > 0;
        if (!best || nearer || better(step, *best)) best = std::move(step);
    }
    return *best;
}

void note(RlModeAnswer& answer, RlStep step) {
    if (step.possible() && (!answer.best || better(step, *answer.best))) answer.best = step;
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
        if (!followed_whole(*first))
            *first = planner.step(answer.mode, first->rollout_accelerators, split_of(first->engine));
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
        answer.reason = answer.splits.front().reason;
        return answer;
    }
    std::int64_t const domain = q.machine.cluster.domain_size;
    std::vector<std::int64_t> splits =
        search.rollout_accelerators ? std::vector{*search.rollout_accelerators} : coarse_splits(q.accelerators, domain);
    for (std::int64_t const n : splits)
        if (!stopped()) note(answer, best_engine(planner, mode, n));
    answer.reason = splits.empty() ? "one accelerator cannot be divided" : common_reason(answer.splits);
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

namespace {

/// All numbers of a few accelerators; beyond that whole domains, or, of domains that few fit into, powers of two.
std::int64_t division_unit(std::int64_t accelerators, std::int64_t domain) {
    constexpr std::int64_t few = 7;  // divisions
    if (accelerators <= every_number_up_to) return 1;
    if ((accelerators - 1) / domain >= few) return domain;
    std::int64_t unit = 1;
    while (2 * unit < domain && (accelerators - 1) / (2 * unit) >= few)
        unit *= 2;
    return unit;
}

}  // namespace

std::vector<std::int64_t> coarse_splits(std::int64_t accelerators, std::int64_t domain) {
    std::vector<std::int64_t> out;
    std::int64_t const unit = division_unit(accelerators, domain);
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
