#include "cli/plan/report_view.hpp"

#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hourly_price.hpp"
#include "core/spec/parameters.hpp"
#include "planner/explain.hpp"
#include "planner/left_out.hpp"
#include "planner/price_words.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// "41.9 M of 8.03 B parameters (0.52 %): rank 16 on attention, base weights nf4".
std::string trained_text(PlanQuestion const& q, StepReport const& r) {
    LowRankAdapters const& a = r.plan.adapters;
    auto const trained = static_cast<double>(r.trained_parameters);
    double const all = static_cast<double>(count_parameters(q.model).total) + trained;
    return fmt::format("{} of {} parameters ({:.2g} %): rank {} on {}, base weights {}", human_count(trained),
                       human_count(all), 100 * trained / all, a.rank, targets_text(a.targets), name_of(a.base));
}

Pairs key_figures(PlanQuestion const& q, StepReport const& r) {
    double const per_gpu = r.tokens_per_second / static_cast<double>(r.accelerators);
    Pairs pairs{
        {"step time", fmt::format("{}  (80 %: {} to {})", human(r.estimate.time),
                                  human(r.interval.low * r.estimate.time), human(r.interval.high * r.estimate.time))},
        {"throughput",
         fmt::format("{} tokens/s, {} per accelerator", human_count(r.tokens_per_second), human_count(per_gpu))},
        {"MFU / HFU", fmt::format("{} / {}  ({}, {} per accelerator)", percent(r.mfu), percent(r.hfu),
                                  human(r.model_rate), human(r.hardware_rate))},
        {"memory", fmt::format("{} reserved (80 %: {} to {}), {} allocated, of {} usable: {}", human(r.estimate.peak()),
                               human(r.estimate.memory.reserved_low), human(r.estimate.memory.reserved_high),
                               human(r.estimate.memory.allocated()), human(r.limit.usable),
                               r.estimate.peak() <= r.limit.usable ? "fits" : "DOES NOT FIT")}};
    if (r.estimate.memory.host > r.limit.host)
        pairs.emplace_back("host memory", host_misfit_words(r.estimate.memory, r.limit) + ": DOES NOT FIT");
    if (r.plan.adapters.on()) {
        pairs.emplace_back("trained", trained_text(q, r));
        pairs.emplace_back("MFU counts", "the work that this needs: forward, gradients of inputs, adapters");
    } else if (r.hfu < r.mfu)
        pairs.emplace_back("MFU counts", "attention over all pairs of tokens; HFU those under the mask, as they run");
    if (r.step_cost)
        pairs.emplace_back("cost", fmt::format("{} a step, {} per million tokens", human(*r.step_cost),
                                               human(*r.million_tokens_cost)));
    else
        pairs.emplace_back("cost", no_price);
    if (auto const price = hourly_price(q.cluster)) pairs.emplace_back("price", price_words(*price));
    return pairs;
}

Pairs memory_lines(StageMemory const& m) {
    Pairs pairs{{"weights", human(m.weights)},       {"gradients", human(m.gradients)},
                {"optimizer", human(m.optimizer)},   {"activations", human(m.activations)},
                {"logits", human(m.logits)},         {"buffers", human(m.buffers)},
                {"workspaces", human(m.workspaces)}, {"slack", human(m.slack)}};
    if (m.reference > Bytes{}) pairs.emplace_back("reference", human(m.reference));
    if (m.host > Bytes{}) pairs.emplace_back("in host memory", human(m.host));
    return pairs;
}

}  // namespace

std::string documents_text(Workload const& workload) {
    if (workload.document <= 0) return "";
    if (workload.preference != Preference::none)
        return fmt::format(" (pairs of {}, {})", workload.document, name_of(workload.preference));
    SequenceShape const shape = workload.shape();
    if (shape.attended() == workload.document) return fmt::format(" in documents of {}", workload.document);
    return fmt::format(" in {} documents of {} (of {} at most)", shape.documents(), shape.attended(),
                       workload.document);
}

std::string room_option(Bytes limit) { return fmt::format("--max-memory {:.0f}GB", std::floor(limit.in(units::GB))); }

std::string headline(PlanQuestion const& q, std::int64_t accelerators, Precision precision) {
    std::int64_t const context = q.model.max_positions;
    std::string const beyond = context > 0 && q.workload.positions() > context
                                   ? fmt::format(" (beyond the model's context of {})", context)
                                   : "";
    return fmt::format("{} on {} x {}, seq {}{}{}, global batch {} ({} tokens a step), {}, {}", named(q.model),
                       accelerators, q.cluster.name, q.workload.sequence, beyond, documents_text(q.workload),
                       q.workload.global_batch, human_count(static_cast<double>(q.workload.tokens())),
                       name_of(precision), q.framework.name);
}

std::string at_price(ClusterSpec const& cluster) {
    auto const price = hourly_price(cluster);
    return price ? " at " + price_words(*price) : "";
}

std::string assumption_lines(std::vector<std::string> const& assumptions, std::size_t most) {
    if (assumptions.empty()) return "stands on no assumed value\n";
    std::string text = fmt::format("stands on {} assumed values", assumptions.size());
    if (assumptions.size() > most) text += fmt::format("; the first {} (--explain lists all)", most);
    text += ":\n";
    for (std::size_t i = 0; i < std::min(most, assumptions.size()); ++i)
        text += wrapped("  " + assumptions[i], "    ");
    return text;
}

std::string unsupported_lines(std::vector<std::string> const& unsupported) {
    if (unsupported.empty()) return "every term of the time has measurements behind it (docs/calibration.md)\n";
    std::string text = "not supported by any measurement, so the interval is wider:\n";
    for (std::string const& term : unsupported)
        text += wrapped("  " + term, "    ");
    return text;
}

std::string host_misfit_words(StageMemory const& memory, MemoryLimit const& limit) {
    return fmt::format("{} are offloaded, and there are {} of host memory per accelerator", human(memory.host),
                       human(limit.host));
}

std::string fit_words(StageMemory const& memory, MemoryLimit const& limit) {
    if (limit.admits(memory)) return "fits";
    return memory.host > limit.host ? "DOES NOT FIT: " + host_misfit_words(memory, limit) : "DOES NOT FIT";
}

std::string refusal_sentence(FrameworkProfile const& framework, std::vector<std::string> const& not_expressed) {
    if (not_expressed.empty()) return "";
    return fmt::format("! {} may refuse this, or run it otherwise: {}", framework.name, fmt::join(not_expressed, "; "));
}

std::string refusal_markdown(FrameworkProfile const& framework, std::vector<std::string> const& not_expressed) {
    return not_expressed.empty() ? "" : refusal_sentence(framework, not_expressed) + "\n\n";
}

std::string estimate_text(PlanQuestion const& q, StepReport const& r, std::vector<std::string> const& explanation) {
    std::string text = wrapped(headline(q, r.accelerators, r.plan.precision));
    text +=
        fmt::format("plan: {}, {} microbatches, {}\n", plan_label(r.plan), r.microbatches, name_of(r.plan.schedule));
    if (!r.not_expressed.empty()) text += wrapped(refusal_sentence(q.framework, r.not_expressed), "  ");
    text += "\n";
    text += aligned_pairs(key_figures(q, r), "  ");
    text += fmt::format("\nwhere the step goes (stage {}):\n", r.estimate.slowest_stage);
    Table parts({{"part"}, {"time", Align::right}, {"share", Align::right}});
    for (auto const& [name, time] : breakdown_parts(r.estimate.breakdown))
        if (time > Seconds{}) parts.add_row({std::string(name), human(time), percent(time / r.estimate.time)});
    text += parts.text();
    text += fmt::format("\nmemory of stage {}, the fullest:\n", r.estimate.fullest_stage) +
            aligned_pairs(memory_lines(r.estimate.memory), "  ");
    if (!r.measured.empty()) {
        text += "\nmeasured:\n";
        for (std::string const& line : r.measured)
            text += wrapped("  - " + line, "    ");
    }
    if (!explanation.empty()) {
        text += "\nwhy:\n";
        for (std::string const& line : explanation)
            text += wrapped("  - " + line, "    ");
    }
    text += "\n" + unsupported_lines(r.unsupported);
    std::vector<std::string> const assumptions = all_assumptions(r);
    text += assumption_lines(assumptions, explanation.empty() ? 3 : assumptions.size());
    text += fmt::format("graph digest {}\n", r.digest);
    return text;
}

namespace {

void add_figures(Table& table, StepReport const& r) {
    auto const add = [&](std::string key, double value) { table.add_row({std::move(key), fmt::format("{}", value)}); };
    add("iteration_time_s", r.estimate.time.base());
    add("tokens_per_s", r.tokens_per_second);
    add("tokens_per_s_per_gpu", r.tokens_per_second / static_cast<double>(r.accelerators));
    add("model_tflops_per_gpu", r.model_rate.base() / 1e12);
    add("hardware_tflops_per_gpu", r.hardware_rate.base() / 1e12);
    add("mfu", r.mfu);
    add("hfu", r.hfu);
    add("peak_bytes", r.estimate.peak().base());
    add("allocated_bytes", r.estimate.memory.allocated().base());
    add("usable_bytes", r.limit.usable.base());
    add("fits", r.fits ? 1 : 0);
    if (r.step_cost) {
        add("step_cost_usd", r.step_cost->base());
        add("million_tokens_cost_usd", r.million_tokens_cost->base());
    }
    for (auto const& [name, time] : breakdown_parts(r.estimate.breakdown))
        add(fmt::format("{} [s]", name), time.base());
}

Table key_and_value() { return Table({{"key"}, {"value", Align::right}}); }

}  // namespace

std::string measured_markdown(StepReport const& report) {
    std::string text;
    for (std::string const& line : report.measured)
        text += "- " + line + "\n";
    return text.empty() ? text : "\nMeasured:\n\n" + text;
}

Table estimate_table(StepReport const& report) {
    Table table = key_and_value();
    add_figures(table, report);
    return table;
}

Table estimate_table(PlanQuestion const& question, StepReport const& report) {
    Table table = key_and_value();
    table.add_row({"model", question.model.name});
    table.add_row({"cluster", question.cluster.name});
    table.add_row({"framework", question.framework.name});
    table.add_row({"seq", fmt::format("{}", question.workload.sequence)});
    table.add_row({"global_batch", fmt::format("{}", question.workload.global_batch)});
    table.add_row({"gpus", fmt::format("{}", report.accelerators)});
    add_figures(table, report);
    return table;
}

}  // namespace sextant::cli
