#include "cli/serve/simulate_options.hpp"
#include "core/error.hpp"
#include "simulator/serving/request_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sextant::cli {
namespace {

/// Of a closed loop.
std::string in_flight_words(std::int64_t concurrency, std::int64_t requests) {
    if (requests > concurrency) return fmt::format("{} requests in flight at all times", concurrency);
    return fmt::format("all {} requests at once (--concurrency {})", requests, concurrency);
}

std::unique_ptr<RequestSource> trace_source(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    for (auto const& [flag, given] : {std::pair{"--prompt", !o.prompt.empty()},
                                      {"--output-tokens", !o.output_tokens.empty()},
                                      {"--count", o.count.has_value()},
                                      {"--prefixes", o.prefixes != 0},
                                      {"--prefix-tokens", o.prefix_tokens.has_value()},
                                      {"--adapters", o.adapters != 0},
                                      {"--tenants", !o.tenants.empty()},
                                      {"--arrivals", !o.arrivals.empty()}})
        if (given) throw InputError("{}: the trace says that (drop it or --trace)", flag);
    RequestTrace trace = read_request_trace(o.trace, longest_request(report));
    if (report.setup.limits.scheduler.queue == QueueOrder::priority && !trace.has_priorities)
        throw InputError("--scheduler: priority wants a column 'priority' in {}", o.trace);
    if (report.setup.limits.scheduler.queue == QueueOrder::tenant && trace.tenants.size() < 2)
        throw InputError("--scheduler: fair wants several tenants (a column 'tenant' in {})", o.trace);
    if (report.setup.router == Router::prefix_aware && !trace.has_prefixes)
        throw InputError("--router: prefix-aware wants columns 'prefix_id' and 'prefix_tokens' in {}", o.trace);
    if (report.host_prefixes > Bytes{} && !trace.has_prefixes)
        throw InputError("--host-prefixes: wants columns 'prefix_id' and 'prefix_tokens' in {}", o.trace);
    if (report.adapter_cost && trace.adapters.empty())
        throw InputError("--adapter-rank: no adapters in {} (a column 'adapter')", o.trace);
    if (!report.adapter_cost && !trace.adapters.empty())
        throw InputError("--adapter-rank: wanted, as {} has a column 'adapter'", o.trace);
    report.adapters = static_cast<std::int64_t>(trace.adapters.size());
    double prompt = 0;
    double output = 0;
    for (ServingRequest const& request : trace.requests) {
        prompt += request.prompt;
        output += request.output;
    }
    auto const count = static_cast<double>(trace.requests.size());
    report.trace = o.trace;
    report.prompt = fmt::format("of the trace, mean {:.4g}", prompt / count);
    report.output = fmt::format("of the trace, mean {:.4g}", output / count);
    report.tenants = trace.tenants;
    report.setup.tenants = static_cast<std::int64_t>(trace.tenants.size());
    if (report.setup.concurrency > 0) {
        report.load = fmt::format(
            "{}, of {}", in_flight_words(report.setup.concurrency, static_cast<std::int64_t>(trace.requests.size())),
            o.trace);
    } else {
        Seconds const span = trace.requests.back().arrival - trace.requests.front().arrival;
        report.load = span > Seconds{} ? fmt::format("arrivals of {}, {:.4g} requests/s on average", o.trace,
                                                     (count - 1) / span.base())
                                       : fmt::format("all requests of {} at once", o.trace);
    }
    return std::make_unique<ListedSource>(std::move(trace.requests));
}

double number_from(std::string_view text, std::string const& all) {
    double value = 0;
    auto const [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size() || !(value > 0 && value <= 1e9))
        throw InputError("--tenants: '{}' in '{}' is no share above 0 (N, or NAME:SHARE,NAME:SHARE,...)", text, all);
    return value;
}

/// Their shares; their names go into the report.
std::vector<double> read_tenants(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    std::vector<double> shares;
    if (o.tenants.empty()) return shares;
    std::string_view const text = o.tenants;
    if (text.find(':') == std::string_view::npos) {
        double const count = number_from(text, o.tenants);
        if (count != std::floor(count) || count > 10000)
            throw InputError("--tenants: {} is no whole number up to 10000", o.tenants);
        shares.assign(static_cast<std::size_t>(count), 1);
        for (std::size_t i = 1; i <= shares.size(); ++i)
            report.tenants.push_back(fmt::format("tenant{}", i));
    } else {
        for (std::size_t begin = 0; begin <= text.size();) {
            std::size_t const end = std::min(text.find(',', begin), text.size());
            std::string_view const part = text.substr(begin, end - begin);
            std::size_t const colon = std::min(part.rfind(':'), part.size());
            std::string const name(part.substr(0, colon));
            if (name.empty() || std::count(report.tenants.begin(), report.tenants.end(), name) > 0)
                throw InputError("--tenants: '{}' has a tenant without a name of its own", o.tenants);
            report.tenants.push_back(name);
            shares.push_back(number_from(part.substr(std::min(colon + 1, part.size())), o.tenants));
            begin = end + 1;
        }
    }
    report.setup.tenants = static_cast<std::int64_t>(shares.size());
    return shares;
}

SyntheticWorkload workload_of(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    SyntheticWorkload w;
    bool const closed = o.concurrency.has_value();
    if (closed && !o.arrivals.empty())
        throw InputError("--arrivals: with --concurrency a request arrives when another is done");
    w.process = closed               ? ArrivalProcess::closed
                : o.arrivals.empty() ? ArrivalProcess::poisson
                                     : arrival_process_from(o.arrivals, "--arrivals");
    if (!closed && w.process == ArrivalProcess::closed) throw InputError("--arrivals: closed wants --concurrency N");
    if (o.variation && w.process != ArrivalProcess::gamma)
        throw InputError("--cv: only gamma arrivals have one to choose (--arrivals gamma)");
    w.rate = o.rate.value_or(1);
    w.variation = o.variation.value_or(2);
    w.prompt = length_distribution_from(o.prompt.empty() ? "1024" : o.prompt, "--prompt");
    w.output = length_distribution_from(o.output_tokens.empty() ? "256" : o.output_tokens, "--output-tokens");
    if ((o.prefixes > 0) != o.prefix_tokens.has_value())
        throw InputError("--prefixes: both are needed, --prefixes N and --prefix-tokens TOKENS");
    check_option_range(static_cast<double>(o.prefixes), "--prefixes", 0, 1e7);
    if (o.prefix_tokens) {
        check_option_range(static_cast<double>(*o.prefix_tokens), "--prefix-tokens", 1, 1e8);
        w.prefix_tokens = static_cast<std::int32_t>(*o.prefix_tokens);
    }
    check_context(report.what.model, w.prompt.least() + w.prefix_tokens, w.output.least());
    w.prefixes = o.prefixes;
    w.adapters = o.adapters;
    w.tenant_shares = read_tenants(o, report);
    // A loop needs more requests than are in flight to be one.
    w.requests = o.count.value_or(std::max<std::int64_t>(10000, 2 * o.concurrency.value_or(0)));
    w.seed = o.seed;
    w.longest = static_cast<std::int32_t>(longest_request(report));
    return w;
}

std::unique_ptr<RequestSource> synthetic_source(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    if (report.setup.limits.scheduler.queue == QueueOrder::priority)
        throw InputError("--scheduler: priority wants requests that differ: a --trace with a column 'priority'");
    SyntheticWorkload const w = workload_of(o, report);
    if (report.setup.limits.scheduler.queue == QueueOrder::tenant && w.tenant_shares.size() < 2)
        throw InputError("--scheduler: fair wants several tenants (--tenants, or a --trace with a column 'tenant')");
    if (report.setup.router == Router::prefix_aware && w.prefixes == 0)
        throw InputError("--router: prefix-aware wants prefixes (--prefixes N --prefix-tokens TOKENS, or a --trace)");
    report.prompt = w.prompt.words();
    if (report.host_prefixes > Bytes{} && w.prefixes == 0)
        throw InputError("--host-prefixes: no prompt has one (--prefixes N --prefix-tokens TOKENS, or a --trace)");
    if (w.prefixes > 0) report.prompt += fmt::format(", after one of {} prefixes of {}", w.prefixes, w.prefix_tokens);
    report.output = w.output.words();
    switch (w.process) {
        case ArrivalProcess::closed:
            report.load = in_flight_words(*o.concurrency, w.requests);
            if (*o.concurrency > 1 && w.output.kind == LengthDistribution::Kind::fixed)
                report.load +=
                    ", in step, for their answers are equally long (lengths that vary: --output-tokens "
                    "uniform:A-B)";
            break;
        case ArrivalProcess::gamma:
            report.load = fmt::format("bursts (gamma, variation {:g}), {:g} requests/s", w.variation, w.rate);
            report.setup.interval_variation = w.variation;
            break;
        default: report.load = fmt::format("{} arrivals, {:g} requests/s", name_of(w.process), w.rate); break;
    }
    return std::make_unique<SyntheticSource>(w);
}

}  // namespace

std::int64_t longest_request(ServeSimulateReport const& report) {
    double longest = report.memory.longest();
    if (report.prompts) longest = std::min(longest, report.prompts->memory.longest());
    if (report.what.model.max_positions > 0)
        longest = std::min(longest, static_cast<double>(report.what.model.max_positions));
    return static_cast<std::int64_t>(std::min(longest, 1e9));
}

std::unique_ptr<RequestSource> simulated_requests(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    return o.trace.empty() ? synthetic_source(o, report) : trace_source(o, report);
}

}  // namespace sextant::cli
