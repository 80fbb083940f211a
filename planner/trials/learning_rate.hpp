#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// Learning rate over a run, after a linear warm-up from zero.
enum class RateShape : std::uint8_t {
    cosine,    ///< half a cosine down to the final share. Source: Loshchilov and Hutter, arXiv:1608.03983
    wsd,       ///< constant, then down over the last part. Source: MiniCPM, arXiv:2404.06395
    linear,    ///< straight down to the final share
    constant,  ///< no decay
};
/// How wsd comes down.
enum class DecayShape : std::uint8_t {
    linear,
    cosine,
    sqrt,  ///< 1 - sqrt(x). Source: Haegele et al., arXiv:2405.18392
};
std::string_view name_of(RateShape shape);
std::string_view name_of(DecayShape shape);
/// @throws InputError with the known names and the nearest one.
RateShape rate_shape_from(std::string_view name, std::string_view where);
DecayShape decay_shape_from(std::string_view name, std::string_view where);

/// From these tokens on, so many tokens per step.
struct BatchPhase {
    double from_tokens = 0;
    double batch_tokens = 0;
};

/// A batch that grows from `first` to `last` in equal steps of `first` tokens, evenly over `tokens`.
/// Source: the ramp of GPT-3 (arXiv:2005.14165, appendix B) as Megatron-LM does it.
/// @throws InputError: not growing, more than 10,000 steps.
std::vector<BatchPhase> linear_batch_ramp(double first, double last, double tokens);

/// What a run's calendar follows from.
struct CalendarSpec {
    double tokens = 0;
    double peak_rate = 0;
    RateShape shape = RateShape::cosine;
    DecayShape decay = DecayShape::linear;
    double warmup_tokens = 0;
    double decay_share = 0.1;  ///< of the tokens, of wsd (MiniCPM uses 10 %)
    /// Where the decay ends, from the start of the run: before its end (then the final share) or after it; default: at
    /// its end. Source: Megatron-LM's --lr-decay-samples.
    std::optional<double> decay_tokens{};
    [[nodiscard]] double decay_end() const { return decay_tokens.value_or(tokens); }
    double final_share = 0.1;         ///< of the peak rate, at the end (Chinchilla's cosine ends at 10 %)
    std::vector<BatchPhase> batches;  ///< ascending, the first from zero
};

/// A step of a calendar: what it trains on, and the rate it is trained with.
struct CalendarRow {
    std::int64_t step = 0;  ///< from 1
    double tokens = 0;      ///< seen after it
    double batch_tokens = 0;
    double rate = 0;
    std::string event{};  ///< what begins or ends here, if anything
};

/// Steps and tokens of a run.
class TrainingCalendar {
public:
    /// @throws InputError: a value out of range, phases that do not ascend, warm-up and decay that overlap.
    explicit TrainingCalendar(CalendarSpec spec);

    [[nodiscard]] std::int64_t steps() const { return steps_; }
    [[nodiscard]] double tokens() const { return tokens_; }  ///< at the end of the last step: the spec's or a few more
    /// Tokens seen after a step; beyond the run the last batch goes on. @pre step >= 1.
    [[nodiscard]] double tokens_after(std::int64_t step) const;
    /// Learning rate when this many tokens have been seen.
    [[nodiscard]] double rate_at(double tokens) const;
    /// @pre 1 <= step <= steps().
    [[nodiscard]] CalendarRow row(std::int64_t step) const;
    /// First and last step, every change, and about `samples` steps spread over the run, ascending.
    [[nodiscard]] std::vector<CalendarRow> rows(std::int64_t samples) const;
    /// Sum of the learning rate over the steps (S1 of Tissue et al., arXiv:2408.11029), by phases of `samples` steps.
    [[nodiscard]] double rate_area() const;

private:
    struct Phase {
        std::int64_t first_step;  ///< from 0
        double first_tokens;
        double batch;
    };
    [[nodiscard]] Phase const& phase_of(std::int64_t step) const;
    [[nodiscard]] std::int64_t step_reaching(double tokens) const;

    CalendarSpec spec_;
    std::vector<Phase> phases_;
    std::int64_t steps_ = 0;
    double tokens_ = 0;
};

}  // namespace sextant
