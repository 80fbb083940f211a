// Counters over time, for Perfetto.
#include "cli/serve/simulate_report.hpp"

#include <fmt/format.h>

namespace sextant::cli {

std::string serve_simulate_trace(ServeSimulateReport const& report) {
    std::string out = R"({"displayTimeUnit":"ms","traceEvents":[)"
                      "\n"
                      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"serving, all replicas"}})";
    ServingSample before{};
    for (ServingSample const& s : report.outcome.series) {
        double const ts = s.at.in(units::us);
        double const span = (s.at - before.at).base();
        auto const counter = [&](char const* name, double value) {
            out +=
                fmt::format(",\n{{\"ph\":\"C\",\"pid\":1,\"ts\":{:.3f},\"name\":\"{}\",\"args\":{{\"value\":{:g}}}}}",
                            ts, name, value);
        };
        counter("requests waiting", static_cast<double>(s.waiting));
        counter("requests running", static_cast<double>(s.running));
        counter("KV cache, %", 100 * s.cache_use);
        if (span > 0) counter("output tokens/s", static_cast<double>(s.tokens_out - before.tokens_out) / span);
        before = s;
    }
    return out + "\n]}\n";
}

}  // namespace sextant::cli
