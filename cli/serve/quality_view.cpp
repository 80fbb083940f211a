// weights       KV    weights/GPU  KV/token  batch     TTFT     TPOT  tok/s GPU  x bf16  products  attention  error
// ------------  ----  -----------  --------  -----  -------  -------  ---------  ------  --------  ---------  -----
#include "cli/serve/options.hpp"
#include "cli/serve/quality_report.hpp"
#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

#include <set>

namespace sextant::cli {
namespace {

std::string error_cell(std::optional<FormatQuality> const& quality) {
    return quality ? error_text(quality->usual().worst) : "unmeasured";
}

std::string verdict(FormatChoice const& c) {
    if (!c.error) return "unmeasured";
    return c.high_error() ? "HIGH" : "";
}

std::vector<std::string> speed_cells(QualityReport const& report, FormatChoice const& c) {
    if (!c.timed()) {
        std::vector<std::string> none(report.price ? 5 : 4, "-");
        return none;
    }
    auto const speed_up = report.speed_up(c);
    std::vector<std::string> out{c.estimate.saturated ? "unbounded" : latency_text(c.estimate.ttft.total()),
                                 report.request.has_later_tokens() ? latency_text(c.estimate.tpot) : "-",
                                 fmt::format("{:.0f}", report.tokens_per_s_per_gpu(c)),
                                 speed_up ? fmt::format("{:.2f}", *speed_up) : "-"};
    if (report.price) out.push_back(fmt::format("{:.3f}", *report.usd_per_million(c)));
    return out;
}

/// Errors of one format under all its scalings.
void add_scalings(Table& table, std::string const& name, FormatQuality const& quality) {
    bool usual = true;
    for (ScalingError const& s : quality.scalings) {
        table.add_row({name + (usual ? " *" : ""), s.scaling, error_text(s.first), error_text(s.second),
                       error_text(s.plain), error_text(s.worst), s.worst_inputs,
                       fmt::format("{:.2g} %", 100 * s.flushed)});
        usual = false;
    }
}

std::string errors_by_scaling(QualityReport const& report) {
    Table products({{"weights"},
                    {"scaling (weights+activations)"},
                    {"weights", Align::right},
                    {"activations", Align::right},
                    {"output", Align::right},
                    {"worst", Align::right},
                    {"on"},
                    {"zeroed", Align::right}});
    Table attention({{"cache"},
                     {"scaling"},
                     {"keys", Align::right},
                     {"values", Align::right},
                     {"output", Align::right},
                     {"worst", Align::right},
                     {"on"},
                     {"zeroed", Align::right}});
    std::set<std::string> seen;
    for (FormatChoice const& c : report.choices) {
        if (c.products && seen.insert("w" + c.weights).second) add_scalings(products, c.weights, *c.products);
        std::string const cache(name_of(c.cache));
        if (c.attention && seen.insert("c" + cache).second) add_scalings(attention, cache, *c.attention);
    }
    std::string out =
        "\nrms error over rms value, by scaling (* usual, taken above); output of normal inputs, and of the "
        "worst ones\n";
    return out + products.text() + "\n" + attention.text();
}

/// What the rows do not say of their weights: how they run, whose they are, why they have no times.
std::set<std::string> quality_remarks(QualityReport const& report) {
    std::set<std::string> out;
    for (FormatChoice const& c : report.choices) {
        if (!c.note.empty()) out.insert(c.note);
        if (c.released)
            out.insert(
                fmt::format("{} weights: the checkpoint's own, as released: no error but that of rounded "
                            "activations",
                            c.weights));
        if (!c.refused.empty()) out.insert(fmt::format("{} weights: {}", c.weights, c.refused));
    }
    return out;
}

}  // namespace

std::string error_text(double share) {
    return fmt::format("{:.{}f} %", 100 * share, share < 0.00995 ? 2 : share < 0.0995 ? 1 : 0);
}

std::string quality_line(ServingPlan const& plan) {
    auto const products = weights_quality(shipped_format_errors(), plan);
    auto const attention = cache_quality(shipped_format_errors(), plan.cache);
    std::string out;
    auto const add = [&](std::string const& what, std::optional<FormatQuality> const& quality) {
        if (!out.empty()) out += "; ";
        if (!quality) {
            out += what + ": error not measured";
            return;
        }
        ScalingError const& usual = quality->usual();
        out += fmt::format("{}: {}{} output error ({}, worst inputs)", what,
                           usual.worst > high_format_error ? "HIGH, " : "", error_text(usual.worst), usual.scaling);
    };
    GemmFormat const* const format = find_gemm_format(plan.weights);
    std::string const name =
        !are_stored_otherwise(plan) || plan.released ? plan.weights : plan.stored + " weights, " + plan.weights;
    bool const rounds = format != nullptr && (plan.released ? format->left : format->right) < 2;
    if (rounds) add(fmt::format("{} products{}", name, plan.released ? " of weights as released" : ""), products);
    if (plan.cache != CacheFormat::bf16) add(fmt::format("{} cache", name_of(plan.cache)), attention);
    return out;
}

Table quality_table(QualityReport const& report) {
    std::vector<Column> columns{{"weights"},
                                {"acts"},
                                {"KV"},
                                {"weights/GPU", Align::right},
                                {"KV/token", Align::right},
                                {"batch", Align::right},
                                {"TTFT", Align::right},
                                {"TPOT", Align::right},
                                {"tok/s GPU", Align::right},
                                {"x " + report.baseline.weights, Align::right}};
    if (report.price) columns.push_back({"USD/Mtok", Align::right});
    columns.insert(columns.end(), {{"products", Align::right}, {"attention", Align::right}, {"error"}});
    Table table(columns);
    for (FormatChoice const& c : report.choices) {
        std::vector<std::string> cells{c.weights,
                                       c.activations,
                                       std::string(name_of(c.cache)),
                                       human(c.memory.weights),
                                       human(c.cache_bytes_per_token * units::B),
                                       fmt::format("{:g}", c.largest)};
        for (std::string& cell : speed_cells(report, c))
            cells.push_back(std::move(cell));
        cells.insert(cells.end(), {error_cell(c.products), error_cell(c.attention), verdict(c)});
        table.add_row(cells);
    }
    return table;
}

std::string quality_text(QualityReport const& report) {
    ServingCase const& what = report.what;
    std::string out = fmt::format(
        "{} on {}: number formats of a replica of {} (tp {}, engine {})\nrequests of {:g} tokens in, {:g} out; {}\n\n",
        named(what.model), what.cluster.name, what.plan.accelerators(), what.plan.tp, what.engine.name,
        report.request.prompt, report.request.output,
        report.by_rate ? fmt::format("{:g} a second", report.load) : fmt::format("{:g} at all times", report.load));
    out += quality_table(report).text();
    for (std::string const& remark : quality_remarks(report))
        out += wrapped("- " + remark, "  ");
    out += errors_by_scaling(report) + "errors: " + report.source + "\n\nassumed\n";
    for (std::string const& text : report.assumptions)
        out += "  " + wrapped(text, "    ", 96);
    return out;
}

}  // namespace sextant::cli
