// quantity,value
// requests_per_s,40.1
//
// number,arrival_s,prompt,output,...
#include "cli/serve/simulate_report.hpp"
#include "core/csv.hpp"

#include <fmt/format.h>

namespace sextant::cli {

Table serve_simulate_table(ServeSimulateReport const& report) {
    ServingOutcome const& o = report.outcome;
    Table table({{"quantity"}, {"value", Align::right}});
    auto const add = [&](std::string const& name, auto const& value) {
        table.add_row({name, fmt::format("{}", value)});
    };
    add("model", report.what.model.name);
    add("cluster", report.what.cluster.name);
    add("engine", report.what.engine.name);
    add("state", o.interrupted ? "interrupted" : name_of(o.state));
    add("requests_arrived", o.whole.arrived);
    add("requests_finished", o.whole.finished);
    add("requests_measured", o.measured);
    add("requests_per_s", report.requests_per_s());
    add("output_tokens_per_s", report.output_tokens_per_s());
    add("output_tokens_per_s_per_gpu", report.output_tokens_per_s_per_gpu());
    if (auto const usd = report.usd_per_million_output_tokens()) add("usd_per_million_output_tokens", *usd);
    if (o.state == SteadyState::overloaded) {
        add("capacity_requests_per_s", o.capacity ? fmt::format("{}", *o.capacity) : "");
        add("offered_requests_per_s", o.offered);
        add("overloaded_since_s", o.onset.base());
    }
    if (report.has_latencies()) {
        if (report.setup.objective.any()) {
            add("good_share", report.good_share());
            add("good_requests_per_s", report.good_share() * report.requests_per_s());
        }
        for (NamedSpread const& row : named_spreads(report)) {
            if (row.spread.count == 0) continue;
            std::string const key = row.key;
            add(key + "_mean_s", row.spread.mean.base());
            add(key + "_p50_s", row.spread.p50.base());
            add(key + "_p90_s", row.spread.p90.base());
            add(key + "_p95_s", row.spread.p95.base());
            add(key + "_p99_s", row.spread.p99.base());
            add(key + "_largest_s", row.spread.largest.base());
        }
    }
    add("running_mean", report.per_second(o.window.running));
    add("waiting_mean", report.per_second(o.window.waiting));
    add("waiting_most", o.most_waiting);
    add("cache_use_mean", report.mean_cache_use());
    add("cache_use_most", o.most_cache_use);
    add("prefix_hit_rate", report.hit_rate());
    if (report.host_prefixes > Bytes{}) add("host_prefix_tokens", o.window.counters.loaded_tokens);
    add("tokens_per_step", report.tokens_per_step());
    add("preemptions", o.whole.counters.preemptions);
    add("recomputed_tokens", o.whole.counters.recomputed_tokens);
    add("swaps", o.whole.counters.swaps);
    if (report.adapter_cost) add("adapter_hit_rate", report.adapter_hit_rate());
    if (report.setup.changes()) {
        add("replicas_up_mean", report.replicas_up());
        add("gpu_hours", report.gpu_hours());
        add("availability", report.availability());
        add("failures", o.failures);
        add("restarted_requests", o.restarted);
    }
    add("utilisation", report.utilisation());
    return table;
}

std::string request_csv_header() {
    return "number,arrival_s,prompt,output,prefix,tenant,priority,replica,cached_tokens,preemptions,queue_s,ttft_s,"
           "tpot_s,e2e_s,adapter,restarts\n";
}

std::string request_csv_row(FinishedRequest const& r, std::vector<std::string> const& tenants) {
    auto const tenant = static_cast<std::size_t>(r.request.tenant);
    return fmt::format("{},{:.9g},{},{},{},{},{},{},{},{},{:.9g},{:.9g},{},{:.9g},{},{}\n", r.number,
                       r.request.arrival.base(), r.request.prompt, r.request.output,
                       r.request.prefix >= 0 ? fmt::format("{}", r.request.prefix) : "",
                       tenant < tenants.size() ? csv_cell(tenants[tenant]) : "", r.request.priority, r.replica,
                       r.cached_tokens, r.preemptions, (r.scheduled - r.request.arrival).base(), r.ttft().base(),
                       r.request.output > 1 ? fmt::format("{:.9g}", r.tpot().base()) : "", r.e2e().base(),
                       r.request.adapter >= 0 ? fmt::format("{}", r.request.adapter) : "", r.restarts);
}

}  // namespace sextant::cli
