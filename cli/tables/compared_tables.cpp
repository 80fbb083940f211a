#include "cli/tables/reference_tables.hpp"

#include "cli/view/percent_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/tables/compared_plans.hpp"
#include "planner/tables/serving_rows.hpp"

#include <fmt/format.h>

namespace sextant::cli {
namespace {

std::string number(double value) { return fmt::format("{:.6g}", value); }

Table figures_table() {
    return Table({{"model"},
                  {"accelerators"},
                  {"way"},
                  {"framework"},
                  {"fits"},
                  {"step_time_s"},
                  {"mfu"},
                  {"bubble_share"},
                  {"peak_bytes"},
                  {"state_bytes"},
                  {"usable_bytes"},
                  {"remark"}});
}

std::vector<std::string> figures(ComparedPlan const& row) {
    std::vector<std::string> out{row.model, std::to_string(row.accelerators), row.way, row.framework};
    if (!row.report) {
        out.resize(11);
        out.push_back(row.remark);
        return out;
    }
    auto const& e = row.report->estimate;
    out.insert(out.end(),
               {row.report->fits ? "yes" : "no", number(e.time / units::s), number(row.report->mfu),
                number(bubble_share(*row.report)), number(e.peak() / units::B), number(e.memory.state() / units::B),
                number(row.report->limit.usable / units::B), row.remark});
    return out;
}

}  // namespace

ReferenceTable parallelism_table() {
    auto const right = Align::right;
    ReferenceTable out{.name = "parallelism",
                       .title = "DDP, FSDP, FSDP2, ZeRO and three dimensions by size of the model",
                       .introduction =
                           "On h100-sxm, every accelerator a data-parallel rank, against the fastest plan over tensor, "
                           "context, pipeline "
                           "and data parallelism (3D). State: weights, gradients and optimizer of the fullest rank. "
                           "Last column: the two "
                           "largest losses, or why it cannot run.\n",
                       .table = Table({{"model"},
                                       {"GPUs", right},
                                       {"way"},
                                       {"constants"},
                                       {"step", right},
                                       {"MFU", right},
                                       {"state", right},
                                       {"memory", right},
                                       {"why"}}),
                       .figures = figures_table(),
                       .notes = {"Of each way the fastest micro-batch and recompute policy that fits (none, parts of "
                                 "layers, or eighths of the layers whole), or else the smallest. DDP keeps 16 to 18 "
                                 "bytes a parameter on every rank.",
                                 "FSDP and FSDP2 differ in the constants that were fitted to their measured runs "
                                 "(docs/calibration.md), not in what is sharded."}};
    for (ComparedPlan const& row : compare_data_parallelism()) {
        std::vector<std::string> cells{row.model, std::to_string(row.accelerators), row.way, row.framework};
        if (row.report) {
            bool const fits = row.report->fits;
            cells.insert(cells.end(),
                         {fits ? human(row.report->estimate.time) : "-", fits ? percent(row.report->mfu) : "-",
                          human(row.report->estimate.memory.state()), human(row.report->estimate.peak()), row.remark});
        } else {
            cells.insert(cells.end(), {"-", "-", "-", "-", row.remark});
        }
        out.table.add_row(cells);
        out.figures.add_row(figures(row));
    }
    return out;
}

ReferenceTable schedule_table() {
    auto const right = Align::right;
    ReferenceTable out{.name = "schedules",
                       .title = "Pipeline schedules side by side",
                       .introduction =
                           "gpt3-175b on 64 h100-sxm: tp 8, pp 8, 32 microbatches of one sequence of 2,048 tokens. "
                           "Time by walking each schedule; memory of "
                           "the fullest stage.\n",
                       .table = Table({{"schedule"},
                                       {"step", right},
                                       {"bubble", right},
                                       {"MFU", right},
                                       {"activations", right},
                                       {"memory", right},
                                       {"fits"},
                                       {"losses, or why not"}}),
                       .figures = figures_table(),
                       .notes = {"Pictures, formulas and sources of every schedule: docs/schedules.md.",
                                 "What does not fit is timed all the same: it shows what more memory would buy."}};
    for (ComparedPlan const& row : compare_schedules()) {
        std::vector<std::string> cells{row.way};
        if (row.report) {
            auto const& e = row.report->estimate;
            cells.insert(cells.end(),
                         {human(e.time), percent(bubble_share(*row.report)), percent(row.report->mfu),
                          human(e.memory.activations), human(e.peak()), row.report->fits ? "yes" : "no", row.remark});
        } else {
            cells.insert(cells.end(), {"-", "-", "-", "-", "-", "-", row.remark});
        }
        out.table.add_row(cells);
        out.figures.add_row(figures(row));
    }
    return out;
}

ReferenceTable serving_table() {
    auto const right = Align::right;
    RequestShape const request = serving_table_request();
    ReferenceTable out{
        .name = "serving",
        .title = "Serving",
        .introduction = fmt::format(
            "One replica under vLLM's constants, prompts of {:.0f} tokens and answers of {:.0f}, a new request for "
            "each that ends. First token and "
            "time per token are means; dollars are for a million tokens of output at the profile's indicative price.\n",
            request.prompt, request.output),
        .table = Table({{"model"},
                        {"weights"},
                        {"cluster"},
                        {"GPUs", right},
                        {"requests", right},
                        {"first token", right},
                        {"per token", right},
                        {"tokens/s", right},
                        {"per GPU", right},
                        {"US$/M", right}}),
        .figures = Table({{"model"},
                          {"weights"},
                          {"cluster"},
                          {"accelerators"},
                          {"concurrency"},
                          {"ttft_s"},
                          {"tpot_s"},
                          {"output_tokens_per_s"},
                          {"usd_per_million_tokens"},
                          {"missing"}}),
        .notes = {"How well such figures agree with measured runs: docs/validation.md; engines, and what is assumed of "
                  "them: docs/serving.md."}};
    for (ServedTableRow const& row : serving_rows()) {
        std::vector<std::string> cells{row.what.model.name, row.what.plan.weights, row.what.cluster.name,
                                       std::to_string(row.what.plan.accelerators()),
                                       fmt::format("{:.0f}", row.concurrency)};
        std::vector<std::string> values = cells;
        if (row.estimate) {
            auto const& e = *row.estimate;
            double const gpus = static_cast<double>(row.what.plan.accelerators());
            cells.insert(cells.end(),
                         {human(e.ttft.total()), human(e.tpot), fmt::format("{:.0f}", e.output_tokens_per_s),
                          fmt::format("{:.0f}", e.output_tokens_per_s / gpus),
                          row.million_tokens_dollars ? fmt::format("{:.2f}", *row.million_tokens_dollars) : "-"});
            values.insert(values.end(),
                          {number(e.ttft.total() / units::s), number(e.tpot / units::s), number(e.output_tokens_per_s),
                           row.million_tokens_dollars ? number(*row.million_tokens_dollars) : "", ""});
        } else {
            cells.push_back(row.missing);
            values.resize(9);
            values.push_back(row.missing);
        }
        out.table.add_row(cells);
        out.figures.add_row(values);
    }
    return out;
}

}  // namespace sextant::cli
