#pragma once

#include <optional>
#include <span>
#include <vector>

namespace sextant {

/// A run that a learning rate and a batch are wanted for.
struct RateQuestion {
    double parameters = 0;
    double tokens = 0;
    double flops = 0;
    double loss = 0;  ///< in nats; 0: not known
};

/// A published rule for the peak learning rate, the batch or the critical batch. The rules disagree by factors: show
/// them side by side, never one alone.
struct RateLaw {
    char const* name;
    char const* formula;
    char const* basis;  ///< "published", "fitted" or "assumed" (as remembered)
    char const* source;
    double (*learning_rate)(RateQuestion const&) = nullptr;   ///< peak, of Adam
    double (*batch)(RateQuestion const&) = nullptr;           ///< best batch, tokens
    double (*critical_batch)(RateQuestion const&) = nullptr;  ///< tokens beyond which a larger batch wastes data
    double (*noise_scale)(RateQuestion const&) = nullptr;     ///< E_min / S_min in tokens: what `batch_trade` takes
};

std::span<RateLaw const> rate_laws();

/// What the rules say, and from where to where.
struct RateBand {
    struct Entry {
        RateLaw const* law;
        std::optional<double> learning_rate;
        std::optional<double> batch;
        std::optional<double> critical_batch;
        std::optional<double> noise_scale;
    };
    std::vector<Entry> entries;
    double learning_rate_low = 0;
    double learning_rate_high = 0;
    double batch_low = 0;
    double batch_high = 0;
};

/// @pre parameters, tokens and flops positive.
RateBand rate_band(RateQuestion const& question);

/// Best B / (lr weight_decay D) of AdamW, the share of a run over which it averages: 1.084 (D/N)^-0.527.
/// Source: Bergsma et al. (Power Lines), arXiv:2505.13738.
double adamw_timescale(double parameters, double tokens);

}  // namespace sextant
