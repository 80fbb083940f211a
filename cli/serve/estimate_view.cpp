// llama-3.1-70b on h100-sxm: a replica of 4 (tp 4, weights bf16, cache bf16, engine vllm)
// requests of 1024 tokens in, 256 out
//
// concurrency  TTFT      TPOT     per user  per GPU  requests/s  USD/Mtok  cache  W/GPU  bound by
// -----------  --------  -------  --------  -------  ----------  --------  -----  -----  --------
#include "cli/serve/estimate.hpp"
#include "cli/serve/quality_report.hpp"
#include "cli/view/latency_text.hpp"
#include "core/quantity_text.hpp"
#include "planner/left_out.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant::cli {
namespace {

std::string first_token(ServeEstimateReport const& report) {
    Table table({{std::string(name_of(report.load))},
                 {"TTFT", Align::right},
                 {"boundary", Align::right},
                 {"tokenise", Align::right},
                 {"queue", Align::right},
                 {"host", Align::right},
                 {"prefill", Align::right}});
    for (ServeRow const& row : report.rows) {
        if (row.estimate.saturated) continue;  // the queue grows: there is no time to the first token
        FirstTokenTime const& t = row.estimate.ttft;
        table.add_row({fmt::format("{:g}", row.load), latency_text(t.total()), latency_text(t.boundary),
                       latency_text(t.tokenise), latency_text(t.queue), latency_text(t.host), latency_text(t.prefill)});
    }
    return "\nto the first token\n" + table.text();
}

std::string iterations(ServeEstimateReport const& report) {
    Table table({{std::string(name_of(report.load))},
                 {"decode iteration", Align::right},
                 {"products", Align::right},
                 {"KV cache", Align::right},
                 {"small kernels", Align::right},
                 {"network", Align::right},
                 {"head", Align::right},
                 {"host", Align::right}});
    for (ServeRow const& row : report.rows) {
        IterationTime const& t = row.estimate.iteration;
        table.add_row({fmt::format("{:g}", row.load), latency_text(t.total()), latency_text(t.gemm),
                       latency_text(t.decode), latency_text(t.streaming), latency_text(t.communication),
                       latency_text(t.head), latency_text(t.host)});
    }
    return "\nwhere an iteration goes\n" + table.text();
}

std::string cache_text(ServeEstimateReport const& report) {
    ServingMemory const& m = report.memory;
    std::string out = fmt::format("{:.0f} tokens at {} of each rank ({} of the model)", m.cache_tokens,
                                  human(m.cache_per_token), human(report.cache_bytes_per_token * units::B));
    double const request = report.request.prompt + report.request.output;
    double const kept = m.shape.kept(request);
    if (m.state > Bytes{})
        return out + fmt::format("; states of recurrent layers take {} more of each request", human(m.state));
    return std::abs(kept - request) < 1 ? out
                                        : out + fmt::format("; windows make a request take what {:.0f} would", kept);
}

}  // namespace

std::string near_capacity_text(ServeEstimateReport const& report) {
    std::string rates;
    double trusted = 0;
    for (ServeRow const& row : report.rows)
        if (row.estimate.near_capacity()) {
            rates += fmt::format("{}{:g} ({:.0f} %)", rates.empty() ? "" : ", ", row.load, 100 * row.estimate.use);
            trusted = row.estimate.trusted;
        }
    if (rates.empty()) return {};
    return fmt::format(
        "Near the capacity: {} requests/s. Above {:.0f} % of it the queue grows fast, and times to the first token are "
        "a guide at most; sextant serve simulate --rate follows it.",
        rates, 100 * trusted);
}

Table serve_estimate_table(ServeEstimateReport const& report) {
    std::vector<Column> columns{
        {std::string(name_of(report.load))}, {"TTFT", Align::right},      {"TPOT", Align::right},
        {"tok/s user", Align::right},        {"tok/s GPU", Align::right}, {"req/s", Align::right}};
    if (report.price) columns.push_back({"USD/Mtok", Align::right});
    columns.insert(columns.end(), {{"batch", Align::right}, {"cache", Align::right}, {"W/GPU", Align::right}});
    if (report.what.model.moe) columns.push_back({"experts", Align::right});
    columns.push_back({"bound by"});
    Table table(columns);
    for (ServeRow const& row : report.rows) {
        ServingEstimate const& e = row.estimate;
        auto const tpot = report.tpot(row);
        std::vector<std::string> cells{
            fmt::format("{:g}", row.load),
            e.saturated ? std::string("unbounded") : latency_text(e.ttft.total()),
            tpot ? latency_text(*tpot) : "-",
            tpot ? fmt::format("{:.1f}", units::s / *tpot) : "-",
            fmt::format("{:.0f}", e.output_tokens_per_s / static_cast<double>(report.what.plan.accelerators())),
            fmt::format("{:.3g}", e.requests_per_s)};
        if (report.price) cells.push_back(fmt::format("{:.3f}", usd_per_million(report, row)));
        cells.push_back(fmt::format("{:.1f}", e.decodes));
        cells.push_back(fmt::format("{:.0f} %", 100 * e.cache_share));
        cells.push_back(fmt::format("{:.0f}", row.watts));
        if (report.what.model.moe) cells.push_back(fmt::format("{:.0f} %", 100 * row.touched));
        cells.push_back(e.saturated ? "SATURATED: " + row.bound : row.bound);
        table.add_row(cells);
    }
    for (ServeMisfitRow const& row : report.misfits) {
        std::vector<std::string> cells(columns.size(), "-");
        cells.front() = fmt::format("{:g}", row.batch);
        cells.back() = fmt::format("DOES NOT FIT: the cache holds {:g}", report.held);
        table.add_row(cells);
    }
    return table;
}

std::string serve_estimate_text(ServeEstimateReport const& report) {
    ServingCase const& what = report.what;
    ServingMemory const& m = report.memory;
    std::string out = fmt::format("{} on {}: a replica of {} ({})\nrequests of {:g} tokens in, {:g} out\n\n",
                                  named(what.model), what.cluster.name, what.plan.accelerators(),
                                  serving_plan_text(what), report.request.prompt, report.request.output);
    std::string const states = m.state_pool > Bytes{} ? fmt::format("states {}, ", human(m.state_pool)) : "";
    out += aligned_pairs(
               {{"memory of a GPU", fmt::format("{} of {}: weights {}, activations {}, overhead {}, {}cache {}",
                                                human(m.usable), human(m.capacity), human(m.weights),
                                                human(m.activations), human(m.overhead), states, human(m.cache))},
                {"cache", cache_text(report)},
                {"largest batch", fmt::format("{:g} requests of {:g} tokens", report.largest,
                                              report.request.prompt + report.request.output)},
                {"capacity", fmt::format("{:.3g} requests/s a replica", report.capacity)},
                {"80 % of runs", serving_interval_text(report.support)}}) +
           "\n";
    if (std::string const line = quality_line(what.plan); !line.empty()) out += wrapped(line, "  ") + "\n";
    out += serve_estimate_table(report).text();
    if (std::string const near = near_capacity_text(report); !near.empty()) out += wrapped(near, "");
    out += first_token(report) + iterations(report);
    out += "\nassumed\n";
    for (std::string const& text : report.assumptions)
        out += "  " + wrapped(text, "    ", 96);
    return out;
}

}  // namespace sextant::cli
