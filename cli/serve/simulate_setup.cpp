#include "cli/serve/simulate_options.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "cost_models/serving/recurrent_state.hpp"

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

void read_replicas(ServeSimulateOptions const& o, ServingSetup& setup) {
    auto const number = [](std::optional<std::int64_t> value, char const* flag) {
        check_option_range(static_cast<double>(value.value_or(1)), flag, 1, 32768);
        return value.value_or(1);
    };
    setup.replicas = number(o.replicas, "--replicas");
    if (!o.prefill_replicas && !o.decode_replicas) return;
    if (!o.prefill_replicas || !o.decode_replicas || o.replicas)
        throw InputError("--prefill-replicas: wants --decode-replicas beside it, and no --replicas");
    setup.prefill_replicas = number(o.prefill_replicas, "--prefill-replicas");
    setup.replicas = setup.prefill_replicas + number(o.decode_replicas, "--decode-replicas");
}

/// Default of the host cache. Source: vLLM's `swap_space` of its first engine, GiB per accelerator.
constexpr Bytes default_host_cache = 4 * units::GiB;

/// Of a group's cache, in so many bytes of each of its ranks.
std::int64_t blocks_on_host(Bytes bytes, ServingMemory const& memory, ReplicaLimits const& limits) {
    constexpr double most = 1e12;
    double const tokens = bytes / memory.cache_per_token;
    return static_cast<std::int64_t>(std::min(most, tokens / static_cast<double>(limits.shape.block_tokens))) *
           limits.shape.groups();
}

void read_preemption(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    ReplicaLimits& limits = report.setup.limits;
    limits.preemption = preemption_policy_from(o.preemption, "--preemption");
    if (limits.preemption == PreemptionPolicy::recompute) {
        if (!o.host_cache.empty()) throw InputError("--host-cache: nothing goes there (--preemption swap)");
        return;
    }
    report.host_cache = o.host_cache.empty() ? default_host_cache : parse_quantity<Bytes>(o.host_cache, "--host-cache");
    if (Bytes const host = report.what.cluster.host_memory.value; host > Bytes{} && report.host_cache > host)
        throw InputError("--host-cache: {} are more than the {} that an accelerator of {} has on its host",
                         human(report.host_cache), human(host), report.what.cluster.name);
    limits.host_blocks = blocks_on_host(report.host_cache, report.memory, limits);
}

void read_host_prefixes(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    if (o.host_prefixes.empty()) return;
    ReplicaLimits& limits = report.setup.limits;
    report.host_prefixes = parse_quantity<Bytes>(o.host_prefixes, "--host-prefixes");
    if (report.host_prefixes < Bytes{})
        throw InputError("--host-prefixes: {} (a size from 0 up is expected)", o.host_prefixes);
    if (limits.prefix_caching == PrefixCaching::off)
        throw InputError("--host-prefixes: prefixes are not kept ({})",
                         report.what.model.recurrent ? "the model has recurrent layers" : "drop --no-prefix-caching");
    if (Bytes const host = report.what.cluster.host_memory.value, both = report.host_prefixes + report.host_cache;
        host > Bytes{} && both > host)
        throw InputError("--host-prefixes: {} are more than the {} that an accelerator of {} has on its host",
                         human(both), human(host), report.what.cluster.name);
    limits.host_prefix_blocks = blocks_on_host(report.host_prefixes, report.memory, limits);
}

/// Those of replicas for prompts that differ: what decodes are held to of their batch and cache is their own.
ReplicaLimits prompt_limits(ServeSimulateOptions const& o, ServeSimulateReport const& report) {
    ReplicaLimits const& decodes = report.setup.limits;
    ReplicaLimits limits = replica_limits(report.prompts->what, report.prompts->memory);
    limits.adapter_slots = decodes.adapter_slots;
    limits.scheduler = decodes.scheduler;
    limits.prefix_caching = decodes.prefix_caching;
    limits.host_prefix_blocks = blocks_on_host(report.host_prefixes, report.prompts->memory, limits);
    limits.speculation = decodes.speculation;
    limits.shape.state_blocks *= states_of_request(report.prompts->what, std::max<std::int64_t>(0, o.speculate));
    if (limits.admission == Admission::prompt)
        limits.watermark_blocks = static_cast<std::int64_t>(o.watermark * static_cast<double>(limits.blocks));
    return limits;
}

void take_adapters(ServingMemory& memory, AdapterCost const& cost, std::int64_t slots, std::int64_t block_tokens) {
    auto const block = static_cast<double>(block_tokens);
    memory.cache -= cost.bytes * slots;
    memory.cache_tokens = block * std::floor(std::max(0.0, memory.cache / (memory.cache_per_token * block)));
}

}  // namespace

void read_adapters(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    bool const wanted = o.adapters != 0 || o.adapter_rank || o.adapter_slots;
    if (!wanted) return;
    check_option_range(static_cast<double>(o.adapters), "--adapters", 0, 1e6);
    if (o.adapters == 0 && o.trace.empty())
        throw InputError("--adapter-rank: there are no adapters (--adapters N, or a trace with a column 'adapter')");
    std::int64_t const slots = o.adapter_slots.value_or(8);
    check_option_range(static_cast<double>(slots), "--adapter-slots", 1, 1e5);
    report.adapter_rank = o.adapter_rank.value_or(16);
    report.adapters = o.adapters;
    report.adapter_cost = adapter_cost(report.what, report.adapter_rank);
    report.setup.limits.adapter_slots = o.adapters > 0 ? std::min(slots, o.adapters) : slots;
    std::int64_t const block_tokens = report.what.plan.block_tokens;
    take_adapters(report.memory, *report.adapter_cost, report.setup.limits.adapter_slots, block_tokens);
    if (!report.prompts) return;
    report.prompts->adapter_cost = adapter_cost(report.prompts->what, report.adapter_rank);
    take_adapters(report.prompts->memory, *report.prompts->adapter_cost, report.setup.limits.adapter_slots,
                  block_tokens);
}

void check_option_range(double value, char const* flag, double least, double most) {
    if (!(value >= least && value <= most))
        throw InputError("{}: {:g} is out of range ({:g} to {:g})", flag, value, least, most);
}

void read_serve_simulate_setup(ServeSimulateOptions const& o, ServeSimulateReport& report) {
    ServingSetup& setup = report.setup;
    read_replicas(o, setup);
    setup.router = router_from(o.router, "--router");
    if (!o.network.empty()) {
        if (setup.prefill_replicas == 0)
            throw InputError("--network: no cache goes from one replica to another (--prefill-replicas)");
        setup.network = network_mode_from(o.network, "--network");
    }
    report.clock = serving_clock_from(o.events, "--events");
    // Recorded requests that replicas follow are what is asked about, from the first on.
    setup.warmup_share = o.warmup.value_or(!o.trace.empty() && !o.autoscale.empty() ? 0 : setup.warmup_share);
    check_option_range(o.watermark, "--watermark", 0, 0.5);
    ReplicaLimits& limits = setup.limits;
    std::int64_t const adapter_slots = limits.adapter_slots;  // read before: the memory is without them
    limits = replica_limits(report.what, report.memory);
    limits.adapter_slots = adapter_slots;
    if (!o.scheduler.empty()) limits.scheduler = scheduler_from(o.scheduler, "--scheduler");
    if (limits.admission == Admission::prompt)
        limits.watermark_blocks = static_cast<std::int64_t>(o.watermark * static_cast<double>(limits.blocks));
    // A prefix that is shared would need the states at its end kept as well.
    bool const computed_again = o.no_prefix_caching || report.what.model.recurrent;
    limits.prefix_caching = computed_again ? PrefixCaching::off : PrefixCaching::on;
    read_preemption(o, report);
    read_host_prefixes(o, report);
    if (o.speculate == 0 && (o.acceptance || o.draft_cost))
        throw InputError("{}: nothing is guessed (--speculate K)", o.acceptance ? "--acceptance" : "--draft-cost");
    if (o.speculate != 0 && !o.acceptance)
        throw InputError("--speculate: how often a guess is right is not said (--acceptance 0.7)");
    limits.speculation = {.tokens = o.speculate,
                          .acceptance = o.acceptance.value_or(0),
                          .draft_share = o.draft_cost.value_or(0),
                          .seed = o.seed};
    limits.shape.state_blocks *= states_of_request(report.what, std::max<std::int64_t>(0, o.speculate));
    if (report.prompts) setup.prefill_limits = prompt_limits(o, report);
    if (o.concurrency) {
        check_option_range(static_cast<double>(*o.concurrency), "--concurrency", 1, 1e7);
        setup.concurrency = *o.concurrency;
    }
    if (o.rate) check_option_range(*o.rate, "--rate", 1e-6, 1e9);
    read_fleet_changes(o, report);
    if (!o.slo_ttft.empty()) setup.objective.ttft = parse_quantity<Seconds>(o.slo_ttft, "--slo-ttft");
    if (!o.slo_tpot.empty()) setup.objective.tpot = parse_quantity<Seconds>(o.slo_tpot, "--slo-tpot");
    int const ways =
        int{o.rate.has_value()} + int{o.concurrency.has_value() && o.trace.empty()} + int{!o.trace.empty()};
    if (ways != 1)
        throw InputError(
            "serve simulate: {} (one of --rate, --concurrency and --trace; --concurrency also with a "
            "trace)",
            ways == 0 ? "no load" : "more than one load");
}

}  // namespace sextant::cli
