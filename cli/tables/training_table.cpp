#include "cli/tables/reference_tables.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/explain.hpp"
#include "planner/tables/reference_runs.hpp"

#include <fmt/format.h>

#include <set>

namespace sextant::cli {
namespace {

std::string gigabytes(Bytes bytes) { return fmt::format("{:.1f}", bytes / units::GB); }

std::string money(std::optional<double> dollars) {
    if (!dollars) return "-";
    if (*dollars < 1e6) return fmt::format("{:.0f} K", *dollars / 1e3);
    return fmt::format("{:.3g} M", *dollars / 1e6);
}

std::vector<std::string> cells(ReferenceAnswer const& a) {
    std::vector<std::string> row{a.run.model, std::to_string(a.run.accelerators), a.cluster};
    if (!a.report) {
        row.push_back("does not fit: " + a.missing);
        return row;
    }
    StageMemory const& m = a.report->estimate.memory;
    row.insert(row.end(),
               {plan_label(a.report->plan) + (a.report->unsupported.empty() ? "" : " ~"), gigabytes(m.weights),
                gigabytes(m.gradients), gigabytes(m.optimizer), gigabytes(m.activations + m.logits),
                gigabytes(m.buffers + m.workspaces + m.slack),
                gigabytes(m.reserved()) + " / " + gigabytes(a.report->limit.usable), human(a.report->estimate.time),
                fmt::format("{:.1f} K", a.report->tokens_per_second / 1e3),
                fmt::format("{:.0f}", a.report->model_rate / (1e12 * units::flop / units::s)),
                fmt::format("{:.1f} %", 100 * a.report->mfu),
                a.days < 100 ? fmt::format("{:.1f}", a.days) : fmt::format("{:.0f}", a.days), money(a.dollars)});
    return row;
}

std::vector<std::string> figures(ReferenceAnswer const& a) {
    auto const number = [](double value) { return fmt::format("{:.6g}", value); };
    std::vector<std::string> row{a.run.model,
                                 std::to_string(a.run.accelerators),
                                 a.cluster,
                                 std::to_string(a.run.sequence),
                                 std::to_string(a.run.global_batch),
                                 number(a.run.tokens),
                                 a.report ? "yes" : "no"};
    if (!a.report) {
        row.resize(19);
        row.push_back(a.missing);
        return row;
    }
    StageMemory const& m = a.report->estimate.memory;
    row.insert(row.end(), {plan_label(a.report->plan), number(m.weights / units::B), number(m.gradients / units::B),
                           number(m.optimizer / units::B), number((m.activations + m.logits) / units::B),
                           number(m.reserved() / units::B), number(a.report->limit.usable / units::B),
                           number(a.report->estimate.time / units::s), number(a.report->tokens_per_second),
                           number(a.report->mfu), number(a.days), a.dollars ? number(*a.dollars) : "", ""});
    return row;
}

std::string price_note(std::vector<ReferenceAnswer> const& answers) {
    std::set<std::string> by_basis;
    for (auto const& a : answers)
        if (a.dollars) by_basis.insert(a.cluster + " (" + a.price_basis + ")");
    std::string out = "Dollars are accelerator hours at the indicative price of each profile: ";
    for (auto const& each : by_basis)
        out += (out.ends_with(": ") ? "" : ", ") + each;
    return out + ". The others have none.";
}

Table empty_table() {
    auto const right = Align::right;
    return Table({{"model"},
                  {"GPUs", right},
                  {"cluster"},
                  {"plan"},
                  {"weights", right},
                  {"grad.", right},
                  {"optim.", right},
                  {"activ.", right},
                  {"rest", right},
                  {"total / usable", right},
                  {"step", right},
                  {"tokens/s", right},
                  {"TFLOP/s", right},
                  {"MFU", right},
                  {"days", right},
                  {"US$", right}});
}

Table empty_figures() {
    return Table({{"model"},
                  {"accelerators"},
                  {"cluster"},
                  {"sequence"},
                  {"global_batch"},
                  {"tokens"},
                  {"fits"},
                  {"plan"},
                  {"weights_bytes"},
                  {"gradients_bytes"},
                  {"optimizer_bytes"},
                  {"activations_bytes"},
                  {"peak_bytes"},
                  {"usable_bytes"},
                  {"step_time_s"},
                  {"tokens_per_s"},
                  {"mfu"},
                  {"days"},
                  {"usd"},
                  {"missing"}});
}

}  // namespace

ReferenceTable training_table(unsigned threads) {
    auto const answers = answer_reference_runs(threads);
    ReferenceTable out{.name = "training",
                       .title = "Training runs",
                       .introduction =
                           "The fastest plan that fits, of all that `sextant plan` searches; memory in GB on the "
                           "fullest rank, as it is made up: weights, "
                           "gradients, optimizer state, activations with logits, and the rest (buffers, workspaces, "
                           "what the allocator keeps).\n",
                       .table = empty_table(),
                       .figures = empty_figures(),
                       .notes = {}};
    for (ReferenceAnswer const& answer : answers) {
        out.table.add_row(cells(answer));
        out.figures.add_row(figures(answer));
    }
    for (ReferenceRun const& run : reference_runs())
        out.notes.push_back(fmt::format("{} on {}: sequences of {}, {} of them a step, {:.3g} T tokens ({}).",
                                        run.model, run.accelerators, run.sequence, run.global_batch, run.tokens / 1e12,
                                        run.tokens_source));
    out.notes.push_back(price_note(answers));
    out.notes.emplace_back(
        "Days are steps alone: failures, checkpoints and evaluation come on top (`sextant run-plan`, `sextant "
        "goodput`).");
    out.notes.emplace_back(
        "`~`: part of the time rests on no measurement (`sextant estimate` with the same plan says which and how wide "
        "the interval is). "
        "Megatron's constants, on TPUs MaxText's; bf16; no plan was run for this table.");
    return out;
}

}  // namespace sextant::cli
