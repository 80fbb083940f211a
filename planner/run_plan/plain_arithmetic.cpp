#include "planner/run_plan/plain_arithmetic.hpp"

#include "core/graph/model_flops.hpp"
#include "core/spec/parameters.hpp"
#include "planner/explain.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

namespace sextant {
namespace {

constexpr double flops_per_parameter_token = 6;

/// FLOPs of training on one token without the products of attention, which grow with the sequence: those of sequences
/// of one and of two tokens, extended to none.
Flops flops_of_products(ModelSpec const& model) {
    return model_flops_per_step(model, {.sequence = 1, .global_batch = 2}) -
           model_flops_per_step(model, {.sequence = 2, .global_batch = 1}) / 2;
}

char const* reason_of(std::string_view part) {
    if (part.starts_with("memory-bound")) return "norms, activations, residuals";
    if (part.starts_with("host")) return "between kernels, and waiting for launches";
    if (part == "recompute") return "forward work again, to save memory";
    if (part == "bubble") return "stages that wait for others";
    if (part == "optimizer") return "the update of the weights";
    if (part == "fixed") return "per step, whatever the plan";
    if (part == "offload") return "to and from the host, where not hidden";
    return "what compute does not hide";
}

/// The step's own parts, for the whole run.
void add_step_parts(std::vector<TimeTerm>& terms, TrainingRun const& run, Seconds products_at_peak,
                    Seconds attention_at_peak) {
    double const steps = run.tokens / static_cast<double>(run.step.workload.tokens());
    for (auto const& [name, time] : breakdown_parts(run.step.estimate.breakdown)) {
        Seconds const whole = steps * time;
        if (name == "matrix products") {
            terms.push_back({"matrix products below peak", "what kernels reach; the slowest stage has more",
                             whole - products_at_peak});
        } else if (name == "attention") {
            terms.push_back(
                {"attention below peak", "what kernels reach, without the masked half", whole - attention_at_peak});
        } else if (whole > Seconds{}) {
            terms.push_back({std::string(name), reason_of(name), whole});
        }
    }
}

void add_failures(std::vector<TimeTerm>& terms, TrainingRun const& run) {
    if (!run.goodput) return;
    TimeUse<double> const& shares = run.goodput->expected.shares;
    Seconds const saving = shares.stall * run.wall;
    Seconds const again = shares.rewind * run.wall;
    terms.push_back({"checkpoints", "training stands still for copies", saving});
    terms.push_back({"work lost in failures", "since the last usable checkpoint", again});
    terms.push_back({"restarts", "noticing, replacing, loading, starting", run.wall - run.productive - saving - again});
}

}  // namespace

Seconds PlainArithmetic::time() const {
    return flops_per_parameter_token * parameters * tokens * units::flop / (accelerators * mfu * peak);
}

double named_parameters(ModelSpec const& model) {
    auto const exact = static_cast<double>(count_parameters(model).active);
    std::string const& name = model.name;
    for (std::size_t at = 0; at < name.size(); ++at) {
        bool const begins =
            std::isdigit(static_cast<unsigned char>(name[at])) != 0 &&
            (at == 0 || (std::isalnum(static_cast<unsigned char>(name[at - 1])) == 0 && name[at - 1] != '.'));
        if (!begins) continue;
        char* stop = nullptr;
        double const number = std::strtod(name.c_str() + at, &stop);
        auto const unit = std::tolower(static_cast<unsigned char>(*stop));
        bool const ends = *stop != '\0' && std::isalnum(static_cast<unsigned char>(stop[1])) == 0;
        double const scale = unit == 'm' ? 1e6 : unit == 'b' ? 1e9 : unit == 't' ? 1e12 : 0;
        double const named = number * scale;
        if (ends && std::abs(named / exact - 1) <= 0.1) return named;
    }
    return exact;
}

std::vector<TimeTerm> explain_difference(PlainArithmetic const& plain, ModelSpec const& model, TrainingRun const& run) {
    auto const exact = static_cast<double>(count_parameters(model).active);
    Workload const& workload = run.step.workload;
    FlopsPerSecond const peak = plain.accelerators * plain.peak;
    Flops const six_n = flops_per_parameter_token * exact * units::flop;
    Flops const products = flops_of_products(model);
    Flops const all = model_flops_per_step(model, workload) / static_cast<double>(workload.tokens());
    auto const at_mfu = [&](Flops per_token) { return plain.tokens * per_token / (plain.mfu * peak); };
    auto const at_peak = [&](Flops per_token) { return plain.tokens * per_token / peak; };

    std::vector<TimeTerm> terms;
    terms.push_back({"parameters as they are",
                     fmt::format("{:.5g} B, not {:.5g} B", exact / 1e9, plain.parameters / 1e9),
                     at_mfu(six_n) - plain.time()});
    terms.push_back({"embeddings", "tables and norms are no products", at_mfu(products) - at_mfu(six_n)});
    terms.push_back({"attention FLOPs", fmt::format("the square of {} positions", workload.shape().attended()),
                     at_mfu(all - products)});
    terms.push_back({"no assumed MFU", fmt::format("at peak, not at {:g} %: the losses come next", 100 * plain.mfu),
                     at_peak(all) - at_mfu(all)});
    add_step_parts(terms, run, at_peak(products), at_peak(all - products));
    double const steps = run.tokens / static_cast<double>(workload.tokens());
    terms.push_back({"whole steps", "the last step is a full one", (run.steps - steps) * run.step.estimate.time});
    add_failures(terms, run);
    return terms;
}

double plain_mfu_of(PlainArithmetic const& plain, Seconds wall) { return plain.mfu * (plain.time() / wall); }

}  // namespace sextant
