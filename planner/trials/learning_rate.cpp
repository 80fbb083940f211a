#include "planner/trials/learning_rate.hpp"

#include "core/error.hpp"
#include "core/spec/named_values.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

namespace sextant {
namespace {

constexpr Named<RateShape> shapes[] = {{RateShape::cosine, "cosine"},
                                       {RateShape::wsd, "wsd"},
                                       {RateShape::linear, "linear"},
                                       {RateShape::constant, "constant"}};
constexpr Named<DecayShape> decays[] = {
    {DecayShape::linear, "linear"}, {DecayShape::cosine, "cosine"}, {DecayShape::sqrt, "sqrt"}};

constexpr std::int64_t most_steps = std::int64_t{1} << 50;

double half_cosine(double x) { return 0.5 * (1 + std::cos(std::numbers::pi * x)); }

void check(char const* what, double value, double least, double most) {
    if (!(value >= least && value <= most))
        throw InputError("{}: {} is out of range ({} to {})", what, value, least, most);
}

void check(CalendarSpec const& spec) {
    check("tokens", spec.tokens, 1, 1e18);
    check("learning rate", spec.peak_rate, 1e-12, 1e3);
    if (spec.decay_tokens) check("tokens of the decay", *spec.decay_tokens, 1, 1e18);
    check("warm-up tokens", spec.warmup_tokens, 0, std::min(spec.tokens, spec.decay_end()));
    check("decay share", spec.decay_share, 0, 1);
    check("final share of the learning rate", spec.final_share, 0, 1);
    if (spec.shape == RateShape::wsd && spec.warmup_tokens > (1 - spec.decay_share) * spec.decay_end())
        throw InputError("warm-up tokens: {:g} reach into the decay over the last {:g} % (less warm-up or decay)",
                         spec.warmup_tokens, 100 * spec.decay_share);
    if (spec.batches.empty() || spec.batches.front().from_tokens != 0)
        throw InputError("batch: there is none for the first step (the first phase starts at zero tokens)");
    double before = -1;
    for (BatchPhase const& phase : spec.batches) {
        check("tokens per step", phase.batch_tokens, 1, 1e15);
        if (!(phase.from_tokens > before))
            throw InputError("batch: a phase from {:g} tokens does not come after one from {:g}", phase.from_tokens,
                             before);
        before = phase.from_tokens;
    }
    if (before >= spec.tokens)
        throw InputError("batch: a phase from {:g} tokens is after the end of the run ({:g})", before, spec.tokens);
}

}  // namespace

std::string_view name_of(RateShape shape) { return name_in<RateShape>(shapes, shape); }
std::string_view name_of(DecayShape shape) { return name_in<DecayShape>(decays, shape); }
RateShape rate_shape_from(std::string_view name, std::string_view where) {
    return value_in<RateShape>(shapes, name, where, "schedule of the learning rate");
}
DecayShape decay_shape_from(std::string_view name, std::string_view where) {
    return value_in<DecayShape>(decays, name, where, "decay");
}

std::vector<BatchPhase> linear_batch_ramp(double first, double last, double tokens) {
    check("tokens per step", first, 1, 1e15);
    check("tokens per step", last, first, 1e15);
    check("tokens of the ramp", tokens, 1, 1e18);
    double const increments = std::max(1.0, std::round((last - first) / first));
    if (increments > 1e4)
        throw InputError("batch: a ramp from {:g} to {:g} has more than 10000 steps (begin with more)", first, last);
    std::vector<BatchPhase> phases;
    for (double i = 0; i <= increments; ++i)
        phases.push_back({tokens * i / increments, first + (last - first) * i / increments});
    return phases;
}

TrainingCalendar::TrainingCalendar(CalendarSpec spec) : spec_(std::move(spec)) {
    check(spec_);
    for (std::size_t i = 0; i < spec_.batches.size(); ++i) {
        double const batch = spec_.batches[i].batch_tokens;
        bool const last = i + 1 == spec_.batches.size();
        double const until = last ? spec_.tokens : spec_.batches[i + 1].from_tokens;
        if (until <= tokens_) continue;  // a step of the phase before reached beyond this one
        double const count = std::ceil((until - tokens_) / batch * (1 - 1e-12));
        if (static_cast<double>(steps_) + count > static_cast<double>(most_steps))
            throw InputError("batch: {:g} tokens per step make too many steps", batch);
        phases_.push_back({steps_, tokens_, batch});
        steps_ += static_cast<std::int64_t>(count);
        tokens_ += count * batch;
    }
}

double TrainingCalendar::rate_at(double tokens) const {
    double const t = std::clamp(tokens, 0.0, spec_.tokens);
    if (t < spec_.warmup_tokens) return spec_.peak_rate * t / spec_.warmup_tokens;
    double const end = spec_.final_share;
    double const until = spec_.decay_end();
    auto const part = [&](double from) { return until > from ? std::min(1.0, (t - from) / (until - from)) : 0.0; };
    double share = 1;
    if (spec_.shape == RateShape::cosine) share = end + (1 - end) * half_cosine(part(spec_.warmup_tokens));
    if (spec_.shape == RateShape::linear) share = 1 - (1 - end) * part(spec_.warmup_tokens);
    if (spec_.shape == RateShape::wsd) {
        double const x = std::max(0.0, part((1 - spec_.decay_share) * until));
        if (spec_.decay == DecayShape::linear) share = 1 - (1 - end) * x;
        if (spec_.decay == DecayShape::cosine) share = end + (1 - end) * half_cosine(x);
        if (spec_.decay == DecayShape::sqrt) share = 1 - (1 - end) * std::sqrt(x);
    }
    return spec_.peak_rate * share;
}

TrainingCalendar::Phase const& TrainingCalendar::phase_of(std::int64_t step) const {
    auto const after = std::upper_bound(phases_.begin(), phases_.end(), step - 1,
                                        [](std::int64_t s, Phase const& phase) { return s < phase.first_step; });
    return *std::prev(after);
}

double TrainingCalendar::tokens_after(std::int64_t step) const {
    Phase const& phase = phase_of(step);
    return phase.first_tokens + static_cast<double>(step - phase.first_step) * phase.batch;
}

CalendarRow TrainingCalendar::row(std::int64_t step) const {
    double const tokens = tokens_after(step);
    return {.step = step, .tokens = tokens, .batch_tokens = phase_of(step).batch, .rate = rate_at(tokens)};
}

std::int64_t TrainingCalendar::step_reaching(double tokens) const {
    for (std::size_t i = phases_.size(); i-- > 0;)
        if (phases_[i].first_tokens < tokens || i == 0) {
            double const count = std::ceil((tokens - phases_[i].first_tokens) / phases_[i].batch * (1 - 1e-12));
            return std::clamp<std::int64_t>(phases_[i].first_step + static_cast<std::int64_t>(count), 1, steps_);
        }
    return 1;
}

std::vector<CalendarRow> TrainingCalendar::rows(std::int64_t samples) const {
    std::map<std::int64_t, std::string> events;
    auto const mark = [&](std::int64_t step, std::string const& what) {
        std::string& text = events[std::clamp<std::int64_t>(step, 1, steps_)];
        text += (text.empty() ? "" : ", ") + what;
    };
    mark(1, "start");
    for (std::size_t i = 1; i < phases_.size(); ++i)
        mark(phases_[i].first_step + 1, phases_[i].batch < phases_[i - 1].batch ? "batch shrinks" : "batch grows");
    if (spec_.warmup_tokens > 0) mark(step_reaching(spec_.warmup_tokens), "warm-up ends");
    if (spec_.shape == RateShape::wsd && spec_.decay_share > 0)
        if (double const from = (1 - spec_.decay_share) * spec_.decay_end(); from < spec_.tokens)
            mark(step_reaching(from), "decay begins");
    if (spec_.shape != RateShape::constant && spec_.decay_end() < spec_.tokens)
        mark(step_reaching(spec_.decay_end()), "decay ends");
    mark(steps_, "end");
    for (std::int64_t i = 1; i < samples; ++i) {
        double const share = static_cast<double>(i) / static_cast<double>(samples);
        events.try_emplace(std::clamp<std::int64_t>(std::llround(share * static_cast<double>(steps_)), 1, steps_), "");
    }
    std::vector<CalendarRow> result;
    for (auto const& [step, event] : events) {
        result.push_back(row(step));
        result.back().event = event;
    }
    return result;
}

double TrainingCalendar::rate_area() const {
    // Trapezoids over each phase of constant batch: the rate is smooth there but for two corners.
    double area = 0;
    for (std::size_t i = 0; i < phases_.size(); ++i) {
        Phase const& phase = phases_[i];
        std::int64_t const end = i + 1 < phases_.size() ? phases_[i + 1].first_step : steps_;
        std::int64_t const count = end - phase.first_step;
        std::int64_t const pieces = std::min<std::int64_t>(count, 20000);
        double const width = static_cast<double>(count) / static_cast<double>(pieces);
        for (std::int64_t p = 0; p < pieces; ++p)  // the middle of each piece, half a step on: the rate of whole steps
            area += width * rate_at(phase.first_tokens + ((static_cast<double>(p) + 0.5) * width + 0.5) * phase.batch);
    }
    return area;
}

}  // namespace sextant
