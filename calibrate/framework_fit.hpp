#pragma once

#include "calibrate/least_squares.hpp"
#include "core/spec/framework_profile.hpp"

#include <functional>
#include <string>
#include <vector>

namespace sextant {

/// One measured training step as a fit sees it: what was measured, and what any constants predict for it.
struct StepMeasurement {
    std::string source;                ///< rows of one source share their errors
    std::string generation;            ///< of the accelerator
    std::string precision;             ///< "bf16", "fp8", ...
    std::string where{};               ///< "runs.csv line 7"
    std::optional<Release> release{};  ///< where it is stated
    double release_years = 0;          ///< of its release after the one that the constants are fitted for
    double seconds = 0;
    double weight = 1;  ///< of the row; a source's rows together weigh `source_weight`
    bool has_experts = false;
    bool waits_for_host = false;  ///< for a tenth of its step and more, under the framework's shipped constants
    std::function<double(FrameworkTiming const&)> predict;  ///< seconds; thread-safe
};

/// Of less than two bytes.
bool is_narrow(std::string const& precision);

/// Seconds that constants predict which hold for the release of the fit.
double predict(StepMeasurement const& row, FrameworkTiming const& timing);

/// How a framework runs its kernels, which is known of it and not fitted: where its constants are expected.
enum class Execution : std::uint8_t {
    eager,     ///< one kernel per operation, launched from Python
    fused,     ///< hand-fused kernels (Megatron-Core, Transformer Engine)
    compiled,  ///< a compiler fuses (torch.compile, XLA)
};
Execution execution_of(std::string const& framework);

/// A fitted constant: of all entries, or a factor on those of one generation and precision.
struct TimingConstant {
    std::string key;
    std::string generation = "*";
    std::string precision = "*";
    bool is_factor = false;
    double value = 0;
    /// On its scale; absent: the rows do not identify it. Of what is expected: absent means as of any framework.
    std::optional<double> spread{};
    std::size_t sources = 0;  ///< whose rows it applies to
};

struct FrameworkFit {
    std::vector<FrameworkTiming> timing;  ///< the entry for everything first
    std::vector<TimingConstant> constants;
    std::size_t rows = 0;
    std::vector<std::string> sources;
};

/// What other frameworks say of a generation's and a precision's factors, which are of the device as well as of the
/// framework: geometric means weighted by sources, drawn towards 1 as by one source more.
std::vector<TimingConstant> expected_factors(std::vector<FrameworkFit const*> const& others);

/// What is known of a framework's constants from other measurements than the steps that are fitted. Source: rows of
/// `megatron-ci-tiny`, whose models are so small that a step is the host's time and nothing else.
std::vector<TimingConstant> known_otherwise(std::string const& framework);

/// What a known profile says of its framework somewhere else: its values and factors, each within half of the variance
/// that is expected of any framework.
std::vector<TimingConstant> known_constants(FrameworkProfile const& known);

/// The constants of `start` that step times identify, fitted to the rows: robustly, within bounds, with priors at what
/// the framework's execution makes likely, each generation's and precision's scales drawn towards the framework's.
/// Constants without rows keep the values of `start`. With no rows the priors themselves.
/// `expected`: priors in place of a factor of 1 and of a value that the execution makes likely; generations without
/// rows take them as they are. `near`: constants of an earlier fit to begin at.
FrameworkFit fit_framework(FrameworkProfile const& start, std::vector<StepMeasurement const*> const& rows,
                           FitOptions const& options, std::vector<TimingConstant> const& expected = {},
                           FrameworkFit const* near = nullptr);

/// A row predicted by constants that saw no row of its source.
struct LeftOutStep {
    StepMeasurement const* row = nullptr;
    double predicted = 0;  ///< seconds
};
/// Each of these fits begins at what is expected, not at the fit to all rows, which knows the source: where the others
/// say little, a fit ends near where it begins.
std::vector<LeftOutStep> leave_one_source_out(FrameworkProfile const& start,
                                              std::vector<StepMeasurement const*> const& rows,
                                              FitOptions const& options, std::vector<TimingConstant> const& expected);

}  // namespace sextant
