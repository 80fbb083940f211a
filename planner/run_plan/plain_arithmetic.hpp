#pragma once

#include "core/spec/model_spec.hpp"
#include "planner/run_plan/training_run.hpp"

#include <string>
#include <vector>

namespace sextant {

/// The arithmetic that people carry in their heads: 6 N D over what the machine does at an assumed utilisation.
struct PlainArithmetic {
    double parameters = 0;  ///< as the model is called: 70e9 for "llama-2-70b"
    double tokens = 0;
    double mfu = 0;
    FlopsPerSecond peak;  ///< of one accelerator
    double accelerators = 0;
    /// 6 N D / (accelerators * peak * mfu). Source: Kaplan et al., arXiv:2001.08361, section 2.1.
    [[nodiscard]] Seconds time() const;
};

/// Parameters as the model's name has them ("llama-2-70b": 70e9), if that is within a tenth of the active parameters;
/// else the active parameters, exactly.
double named_parameters(ModelSpec const& model);

/// One term of a difference between two times, with its sign.
struct TimeTerm {
    std::string name;
    std::string why;
    Seconds time;
};

/// From the plain arithmetic to the wall clock of a run, term by term; the terms add up to `run.wall - plain.time()`.
///
/// N as it is, not as it is called; parameters that are looked up, not multiplied; the products of attention, over the
/// full square as MFU has it; the step down to the peak from the assumed MFU; then every part of the step as it was
/// priced: products and attention beyond their time at peak, memory-bound kernels, host, recompute, each exposed
/// communication, bubble, optimizer, offload, fixed costs; the last step filled up; failures and checkpoints.
std::vector<TimeTerm> explain_difference(PlainArithmetic const& plain, ModelSpec const& model, TrainingRun const& run);

/// The utilisation with which the plain arithmetic would give this wall clock.
double plain_mfu_of(PlainArithmetic const& plain, Seconds wall);

}  // namespace sextant
