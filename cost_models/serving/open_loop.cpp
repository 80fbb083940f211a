#include "cost_models/serving/batch_occupancy.hpp"
#include "cost_models/serving/serving_group.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace sextant {
namespace {

/// Of the capacity: of fewer requests each is alone, and shares of the time can no longer be told from 0 and 1.
constexpr double fewest = 1e-9;

/// Requests that hold a place, and the time from token to token that follows.
struct Occupied {
    BatchOccupancy batch;
    Seconds tpot{};
};

/// Of all states of a batch, in each of which so many requests a second end as begin in it: p(n) mu(n) = p(n - 1) rate.
/// @param tpot of rising numbers of requests, from 1 to the last place; linear between them
Seconds mean_tpot(std::vector<double> const& numbers, std::vector<std::pair<double, Seconds>> const& tpot) {
    Seconds sum{};
    double all = 0;
    std::size_t at = 0;
    for (std::size_t n = 1; n < numbers.size(); ++n) {
        auto const requests = static_cast<double>(n);
        while (at + 1 < tpot.size() && tpot[at + 1].first <= requests)
            ++at;
        Seconds here = tpot[at].second;
        if (at + 1 < tpot.size())
            here += (requests - tpot[at].first) / (tpot[at + 1].first - tpot[at].first) * (tpot[at + 1].second - here);
        sum += numbers[n - 1] * here;
        all += numbers[n - 1];
    }
    return sum + (1 - all) * tpot.back().second;  // the requests that waited for a place
}

class OpenLoop {
public:
    OpenLoop(IterationModel const& model, RequestShape const& request, double rate, double capacity)
        : model_(model),
          request_(request),
          asked_(rate),
          rate_(std::max(rate, fewest * capacity)),
          capacity_(capacity),
          groups_(groups_of(model)),
          places_(groups_ * most_requests(model, request)),
          first_share_(share_of(held_at(1, 1 - 1 / request.output))) {}

    [[nodiscard]] ServingEstimate estimate() const {
        double const loops = share_of_loops();
        Occupied const all = loops < 1 ? as_random_prompts() : as_loops();
        Occupied const few = loops > 0 && loops < 1 ? as_loops() : all;
        auto const between = [&](auto const& a, auto const& b) { return a + loops * (b - a); };
        double const requests = between(all.batch.mean, few.batch.mean);
        Held const held = held_at(requests, share_of(held_at(requests, first_share_)));
        ServingEstimate out = estimate_at(model_, request_, held.decodes, held.prompts.mix);
        if (request_.has_later_tokens()) {
            out.tpot = std::max(held.prompts.mix.plain.total(), between(all.tpot, few.tpot));
            out.decodes = rate_ * (request_.output - 1) * (out.tpot / units::s);
        }
        Seconds const for_place = between(all.batch.wait, few.batch.wait);
        // Prompts that nothing else holds a place than others: for a place is for these. Who waited for a place begins
        // as it is left.
        Seconds const before = (1 - between(all.batch.full, few.batch.full)) * held.prompts.before;
        out.ttft.queue = request_.has_later_tokens() ? for_place + before : std::max(for_place, held.prompts.before);
        out.use = asked_ / capacity_;
        out.busy = held.prompts.mix.own_pace * working(few.batch);
        if (places_ < static_cast<double>(model_.what().plan.max_batch) || model_.what().plan.pp > 1)
            out.trusted = least_trusted_use;
        out.requests_per_s = asked_;
        finish(out, model_, request_);
        return out;
    }

private:
    struct Held {
        RandomPrompts prompts;
        double decodes = 0;
        Seconds time;  ///< that a request holds a place
    };

    /// With few places prompts come as others leave theirs, with many at random; in between both are part of it.
    [[nodiscard]] double share_of_loops() const {
        constexpr double few = 6;      // of a group
        constexpr double least = 0.1;  // a share below which the loops are not looked at
        if (!request_.has_later_tokens()) return 0;
        return std::clamp((few * groups_ / places_ - least) / (1 - least), 0.0, 1.0);
    }

    /// n requests in the batch leave it as those of a loop of n do.
    [[nodiscard]] Occupied as_loops() const {
        std::vector<std::pair<double, Seconds>> tpot;
        Occupied out;
        out.batch = batch_occupancy(rate_, places_, [&](double requests) {
            ServingGroup const group = group_of(model_, request_, requests / groups_);
            tpot.emplace_back(requests, group.mix.mean);
            return requests >= places_ ? capacity_ : groups_ * group.rate;
        });
        out.tpot = mean_tpot(out.batch.numbers, tpot);
        return out;
    }

    /// n requests in the batch meet prompts that come at random, whatever n is.
    [[nodiscard]] Occupied as_random_prompts() const {
        // Batches are asked for in rising order: each begins with what was found of the one before.
        double share = first_share_;
        Occupied out;
        out.batch = batch_occupancy(rate_, places_, [&](double requests) {
            if (requests >= places_) return capacity_;
            Held const held = held_at(requests, share);
            share = share_of(held);
            return requests / (held.time / units::s);
        });
        if (!request_.has_later_tokens()) return out;
        RandomPrompts const prompts = held_at(out.batch.mean, share_of(held_at(out.batch.mean, share))).prompts;
        // Where every place is taken prompts begin as others end, not at random.
        Seconds const alone = prompts.mix.chunks * prompts.mix.mixed.total();
        Seconds const during = prompts.during + out.batch.full * (alone - prompts.during);
        out.tpot = (out.batch.mean / rate_ * units::s - during) / (request_.output - 1);  // Little's law
        return out;
    }

    /// @param share of its time that a request decodes, a guess
    [[nodiscard]] Held held_at(double requests, double share) const {
        Held held;
        held.decodes = requests / groups_ * share;
        held.prompts = random_prompts(model_, request_, held.decodes, rate_ / groups_);
        held.time = (request_.output - 1) * held.prompts.mix.mean + held.prompts.during + held.prompts.after;
        return held;
    }

    /// Of the time that a request holds a place, it decodes.
    [[nodiscard]] double share_of(Held const& held) const {
        PromptMix const& mix = held.prompts.mix;
        Seconds const decoding = (request_.output - 1) * mix.mean;
        return decoding / (decoding + mix.chunks * mix.mixed.total());
    }

    /// Share of its time that a stage works.
    [[nodiscard]] double working(BatchOccupancy const& batch) const {
        double share = 0;
        for (std::size_t n = 1; n < batch.numbers.size(); ++n)
            share += batch.numbers[n] * working_share(model_, static_cast<double>(n));
        return share;
    }

    IterationModel const& model_;
    RequestShape const& request_;
    double asked_, rate_, capacity_, groups_, places_;
    double first_share_;  ///< of its time that a request by itself decodes
};

/// More comes than can be served: the figures of the full replica.
ServingEstimate saturated(IterationModel const& model, RequestShape const& request, double rate, double capacity) {
    ServingGroup const full = full_group(model, request);
    ServingEstimate out = estimate_at(model, request, full.decodes, full.mix);
    out.saturated = true;
    out.use = rate / capacity;
    out.requests_per_s = capacity;
    finish(out, model, request);
    return out;
}

}  // namespace

ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate) {
    return open_loop(model, request, rate, serving_capacity(model, request));
}

ServingEstimate open_loop(IterationModel const& model, RequestShape const& request, double rate, double capacity) {
    if (capacity <= rate) return saturated(model, request, rate, capacity);
    return OpenLoop(model, request, rate, capacity).estimate();
}

}  // namespace sextant
