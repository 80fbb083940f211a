#pragma once

#include "calibrate/scaling/power_law.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace sextant {

/// Steps that one model needs to a loss, at one batch.
struct BatchRow {
    double parameters = 0;
    double batch = 0;
    double steps = 0;
};

/// S = S_min + E_min / B of one model size.
struct CriticalBatchOfSize {
    double parameters = 0;
    double least_steps = 0;
    double least_samples = 0;
    double half_squares = 0;  ///< half the sum of squared log residuals
    std::size_t rows = 0;
    double batch_at_overhead = 0;
};

struct CriticalBatchFit {
    std::vector<CriticalBatchOfSize> sizes;
    PowerLaw at_overhead;  ///< batch whose steps exceed linear scaling by the overhead, over N
    PowerLaw noise_scale;  ///< E_min / S_min (McCandlish), over N
};

struct CriticalBatchOptions {
    double overhead = 0.2;     ///< steps beyond linear scaling that are accepted
    double linear_from = 256;  ///< batch from which halving steps with doubled batch is counted
};

/// Least squares of ln S per size; B with S(B) = (1 + overhead) S(B0) B0 / B is
/// (1 + overhead) (B0 + E_min/S_min) - E_min/S_min.
/// @throws InputError: a size with fewer than two batches; steps that do not fall with the batch; one size only.
/// Source: McCandlish et al., arXiv:1812.06162; Zhang et al., arXiv:2410.21676 (overhead of 20 % from batch 256).
CriticalBatchFit fit_critical_batch(std::vector<BatchRow> const& rows, CriticalBatchOptions const& options,
                                    std::string const& where);

/// One run of a search over learning rate and batch.
struct TuningRow {
    double parameters = 0;
    double tokens = 0;
    double learning_rate = 0;
    double batch = 0;
    double loss = 0;
};

/// Both forms, from the same rows.
struct TuningLaws {
    std::size_t cells = 0;  ///< different (N, D)
    std::size_t rows = 0;   ///< near-optimal ones
    std::size_t edges = 0;  ///< cells whose best run has the lowest or highest learning rate or batch that was tried
    // lr = lr_coef N^lr_N D^lr_D, batch = batch_coef D^batch_D (Step law)
    double lr_coefficient = 0, lr_by_parameters = 0, lr_by_tokens = 0;
    PowerLaw batch_by_tokens;
    // lr and batch over C = 6 N D (DeepSeek)
    PowerLaw lr_by_flops;
    PowerLaw batch_by_flops;
};

/// Least squares in logarithms over the runs within `flat` of the lowest loss of their (N, D).
/// @throws InputError: fewer than three cells, or cells whose N or D do not vary.
/// Source: Li et al. (Step Law), arXiv:2503.04715; DeepSeek LLM, arXiv:2401.02954, section 3.1 (both take 0.25 %).
TuningLaws fit_tuning_laws(std::vector<TuningRow> const& rows, double flat, std::string const& where);

}  // namespace sextant
