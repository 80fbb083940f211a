#include "planner/validation/serving_case.hpp"

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/engine_catalog.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "cost_models/serving/memory_share.hpp"
#include "cost_models/serving/prompt_mix.hpp"
#include "planner/validation/row_words.hpp"
#include "planner/validation/served_loop.hpp"
#include "planner/validation/serving_figures.hpp"
#include "planner/validation/serving_layout.hpp"
#include "planner/validation/serving_machine.hpp"
#include "planner/validation/serving_model.hpp"
#include "planner/validation/unmodelled_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sextant {
namespace {

/// inference-perf's `shared_prefix` goes round a fixed set of prompts, system prompts x users: where that is small
/// against the requests, all but the last block of a prompt is in the prefix cache, else the system prompt is.
void apply_shared_prefix(ServingRow const& row, ServedCase& out) {
    auto const shared = row.noted("shared_prefix: system");
    if (!shared) return;
    auto const systems = row.noted(" tok x ");
    auto const users = row.noted(" prompts x ");
    auto const requests = row.noted("successes");
    if (systems && users && requests && 10 * *systems * *users < *requests) {
        double const half_block = static_cast<double>(out.what.plan.block_tokens) / 2;
        out.request.cached = std::max(0.0, out.request.prompt - half_block);
        out.assumptions.emplace_back("the prompts come again and again, and are in the prefix cache");
    } else {
        out.request.cached = std::min(static_cast<double>(*shared), out.request.prompt - 1);
        out.assumptions.emplace_back("the shared system prompt is in the prefix cache, nothing else");
    }
}

/// Whether a row's limit of requests in flight (vLLM's --max-concurrency) is always reached. With all requests there
/// from the beginning it is; with a rate where requests a second times the seconds that each takes, without its wait
/// for a place, reach the limit, or where clearly fewer are served than arrive.
bool fills_its_limit(ServingRow const& row, double output) {
    if (!row.concurrency || row.unlimited_rate) return row.unlimited_rate && row.concurrency;
    std::optional<double> latency_ms = row.e2e_ms;
    if (!latency_ms && row.ttft_ms && row.tpot_ms) latency_ms = *row.ttft_ms + (output - 1) * *row.tpot_ms;
    if (latency_ms) return *row.request_rate * *latency_ms / 1000 >= *row.concurrency;
    constexpr double behind = 0.9;  // assumed: what the end of a run, with few in flight, takes away
    return row.output_tokens_per_s && *row.output_tokens_per_s < behind * *row.request_rate * output;
}

/// One batch from beginning to end, by the notes ("static KV cache" is none) or as TensorRT-LLM's tables are of before
/// 0.12, from its gptSessionBenchmark; later releases have no such benchmark for a server to be compared with.
bool is_static_batch(ServingRow const& row, EngineProfile const& engine) {
    std::string const notes = lower_case(row.notes);
    constexpr std::array phrases{"static batch", "static-batch", "static single batch", "static inference"};
    auto const is_said = [&](std::string_view phrase) {
        for (auto at = notes.find(phrase); at != nowhere; at = notes.find(phrase, at + 1))
            if (!is_denied(notes, at, 2)) return true;
        return false;
    };
    if (std::any_of(phrases.begin(), phrases.end(), is_said) || has(notes, "batch 1,")) return true;
    constexpr std::int64_t first_served = 12;
    return engine.program == EngineProgram::tensorrt_llm && row.engine_version.starts_with("0.") &&
           row.minor_version().value_or(0) < first_served && !has(notes, "concurrency");
}

/// A length that benchmarks set, but for a few requests that ended early or were cut into tokens otherwise: a power of
/// two, or once and a half one, or 1, 2 or 5 times a power of ten, within 0.2 % (assumed). Means of real requests lie
/// anywhere.
bool is_near_set_length(double length) {
    constexpr double few = 0.002;
    for (double const first : {1.0, 1.5})
        for (double usual = first * 16; usual <= 2 * length; usual *= 2)
            if (std::abs(length - usual) <= few * usual) return true;
    for (double decade = 10; decade <= 2 * length; decade *= 10)
        for (double const digit : {1.0, 2.0, 5.0})
            if (std::abs(length - digit * decade) <= few * digit * decade) return true;
    return false;
}

/// Prompts and answers of people, by the name of a collection in the notes, or by a mean that no fixed length has.
bool are_real_requests(ServingRow const& row) {
    constexpr std::array collections{"sharegpt", "lmsys",    "wildchat",  "ultrachat", "alpaca", "dolly",
                                     "openorca", "burstgpt", "longbench", "humaneval", "gsm8k"};
    std::string const notes = lower_case(row.notes);
    auto const is_named = [&](std::string_view name) { return stated_at(notes, name) != nowhere; };
    auto const is_mean = [](std::optional<double> length) {
        return length && *length != std::floor(*length) && !is_near_set_length(*length);
    };
    return std::any_of(collections.begin(), collections.end(), is_named) || is_mean(row.input_len) ||
           is_mean(row.output_len);
}

void apply_load(ServingRow const& row, ServedCase& out) {
    refuse_unmodelled(row);
    if (row.mixed_rate) throw RowSkip("several request rates in one row");
    if (!row.input_len) throw RowSkip("input_len is not stated");
    if (!(*row.input_len > 0)) throw RowSkip("input_len is zero (tokens of a prompt)");
    bool const first_only = row.ttft_ms && !row.tpot_ms && !row.output_tokens_per_s;
    if (!row.output_len && !first_only && !row.tpot_ms) throw RowSkip("output_len is not stated");
    constexpr double longest = RequestShape::longest;
    if (!(*row.input_len <= longest && row.output_len.value_or(0) <= longest))
        throw RowSkip("input_len or output_len is above 1e8 tokens");
    out.request.prompt = std::max(1.0, *row.input_len);
    out.request.output = std::max(1.0, row.output_len.value_or(first_only ? 1 : 200));
    if (!row.output_len && !first_only) out.assumptions.emplace_back("200 tokens of output where none are stated");
    if (benchmark_of(row) == Benchmark::inferencex) {
        // Drawn uniformly from 0.8 to 1.0 of the nominal lengths.
        out.request.prompt *= 0.9;
        out.request.output *= 0.9;
        out.least_length = 0.8;
    }
    apply_shared_prefix(row, out);
    bool const has_rate = row.unlimited_rate || row.request_rate;
    bool const is_limited = has_rate && fills_its_limit(row, out.request.output);
    if (is_limited) out.assumptions.emplace_back("as many in flight as the concurrency lets, at the stated rate");
    if (row.unlimited_rate && !is_limited) {
        out.load = ServedLoad::unlimited;
    } else if (row.request_rate && !is_limited) {
        out.load = ServedLoad::open_loop;
        out.amount = *row.request_rate;
    } else if (row.concurrency) {
        out.load = is_static_batch(row, out.what.engine) ? ServedLoad::static_batch : ServedLoad::closed_loop;
        out.amount = *row.concurrency;
    } else {
        throw RowSkip("neither a batch nor a request rate is stated");
    }
    if (out.load == ServedLoad::closed_loop && out.least_length == 1 && are_real_requests(row)) {
        out.least_length = 0;
        out.assumptions.emplace_back("lengths even up to twice their mean, as of real requests");
    }
    if (out.load != ServedLoad::unlimited && !(out.amount > 0)) throw RowSkip("the batch or request rate is zero");
    if (out.load != ServedLoad::open_loop && out.amount > 1e6) throw RowSkip("a batch of more than a million");
}

/// The limits of a batch, as wide as the row needs and rounded so that rows share their tables.
void apply_limits(ServingRow const& row, ServedCase& out) {
    ServingPlan& plan = out.what.plan;
    auto const rounded = [](double value, std::int64_t most) {
        return std::min<std::int64_t>(
            most, static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp(value, 1.0, 1e9)))));
    };
    EngineProfile const& engine = out.what.engine;
    AcceleratorProfile const& device = out.what.cluster.accelerator;
    if (out.load == ServedLoad::static_batch) {
        plan.max_batched_tokens = 8192;
        plan.max_batch = rounded(std::max(64.0, out.amount), 1 << 20);
        if (!is_vllm_or_sglang(engine.program))
            plan.max_batched_tokens = rounded(std::max(8192.0, out.amount * out.request.prompt), 1 << 20);
    } else {
        ServerSetup const setup = out.load == ServedLoad::closed_loop
                                      ? server_setup(row, engine, device, *row.input_len, out.amount / out.replicas)
                                      : default_setup(engine, device);
        bool const all_at_once = out.load == ServedLoad::unlimited;
        plan.max_batched_tokens = setup.max_batched_tokens;
        plan.max_batch = all_at_once ? 2048 : rounded(std::max(1024.0, out.amount), 1 << 20);
        if (setup.group_batch) plan.max_batch = *setup.group_batch * plan.attention_dp;
        if (setup.max_batch) plan.max_batch = *setup.max_batch;
        out.cut = setup.cut;
        out.prompts = setup.prompts;
        if (setup.prompts) out.what.engine.prompts = *setup.prompts;
        if (!setup.assumption.empty()) out.assumptions.push_back(setup.assumption);
    }
    if (auto const tokens = row.noted("max_num_batched_tokens"); tokens && *tokens > 0)
        plan.max_batched_tokens = *tokens;
    if (auto const seqs = row.noted("max_num_seqs"); seqs && *seqs > 0) plan.max_batch = *seqs;
    plan.max_batch = std::min(plan.max_batch, plan.max_batched_tokens * plan.attention_dp);
    if (auto const sent = row.prompts_sent(); sent && out.load != ServedLoad::static_batch)
        out.requests = static_cast<double>(*sent);
    if (out.load == ServedLoad::closed_loop) out.amount = std::min(out.amount, out.requests);
    if (out.load == ServedLoad::unlimited)
        out.assumptions.push_back(
            fmt::format("at most {:.0f} sequences, and what the cache holds",
                        std::min(out.requests, static_cast<double>(plan.max_batch) * out.replicas)));
}

/// The profiles of vLLM before 0.8 on AMD are of one source, whose products run at a twentieth of the peak, and hold
/// for versions before ROCm had kernels of its own (0.6); elsewhere the engine is what it is on other devices.
void apply_rocm(ServingRow const& row, ServedCase& out) {
    constexpr std::int64_t own_kernels = 6;
    bool const before = row.engine_version.starts_with("0.") && row.minor_version().value_or(own_kernels) < own_kernels;
    if (!before && !row.source_id.starts_with("argonne")) {
        out.assumptions.emplace_back("vLLM before 0.8 on AMD as on other devices");
        return;
    }
    bool const older = out.what.cluster.accelerator.generation == "cdna2";
    out.what.engine = find_engine(older ? "vllm-v0-rocm-cdna2" : "vllm-v0-rocm", "engine");
}

std::string key_of(ServedCase const& c) {
    ServingPlan const& p = c.what.plan;
    bool const first = c.what.engine.prompts == PromptOrder::first;
    return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", c.what.model.name, c.what.cluster.name,
                       c.what.engine.name, c.load == ServedLoad::static_batch ? "batch" : "server", p.tp, p.pp, p.ep,
                       p.attention_dp, p.weights, p.stored, name_of(p.cache), p.max_batch, p.max_batched_tokens,
                       p.memory_utilisation, first ? "first" : "mixed", static_cast<int>(c.what.engine.grouped_heads));
}

/// What a run of so many requests prints at the most, of a replica: the last of them comes at (requests - 1) / rate,
/// and is answered `latency` later.
void put_run_length(ServingEstimate& out, ServedCase const& c, Seconds latency) {
    if (!std::isfinite(c.requests)) return;
    double const seconds = (c.requests - 1) / c.amount + latency / units::s;
    double const rate = std::min(out.requests_per_s, c.requests / c.replicas / seconds);
    out.output_tokens_per_s = std::min(out.output_tokens_per_s, rate * c.request.output);
    out.requests_per_s = rate;
}

/// Runs that are followed from beginning to end. Longer ones are as their largest batch.
bool is_followed(ServedCase const& c) {
    constexpr double most = 100'000;  // about a second of computing
    return c.requests <= most;
}

/// All requests there from the beginning: as many in flight as the run has and the cache holds.
ServingEstimate at_once(IterationModel const& model, ServedCase const& c) {
    bool const whole = c.what.engine.admission == Admission::whole;
    double const context = admitted_context(c.what.engine, c.request);
    double const fitting = std::max(1.0, largest_batch(c.what, model.memory(), context));
    double const each = std::max(1.0, c.requests / c.replicas);
    if (!is_followed(c)) return closed_loop(model, c.request, std::min(fitting, each));
    return served_loop(model, {.concurrency = each,
                               .request = c.request,
                               .least_length = c.least_length,
                               .sent = each,
                               .most_running = whole ? fitting : INFINITY,
                               .cut = c.cut});
}

/// Requests at a rate: in the steady state, where a run's end takes what the last answer takes. A run at more than can
/// be served is over before they fill the server, or is served as if all came at once.
ServingEstimate at_rate(IterationModel const& model, ServedCase const& c) {
    ServingEstimate out = open_loop(model, c.request, c.amount / c.replicas);
    Seconds latency = out.latency;
    if (out.saturated && is_followed(c)) {
        out = at_once(model, c);
        latency = std::min(latency, out.latency);
        out.saturated = true;
    }
    put_run_length(out, c, latency);
    return out;
}

/// A loop with the requests of the run, where the source says how many.
ServingEstimate simulated_loop(IterationModel const& model, ServedCase const& c) {
    LoopLoad load{
        .concurrency = c.amount / c.replicas, .request = c.request, .least_length = c.least_length, .cut = c.cut};
    if (std::isfinite(c.requests)) load.sent = c.requests / c.replicas;
    ServingEstimate out = served_loop(model, load);
    if (c.rate_in_flight) out.output_tokens_per_s = load.concurrency * c.request.output / (out.latency / units::s);
    return out;
}

}  // namespace

std::string_view name_of(ServedLoad load) {
    constexpr std::array names{"static batch", "fixed concurrency", "request rate", "unlimited rate"};
    return names.at(static_cast<std::size_t>(load));
}

EngineProfile without_server(EngineProfile engine) {
    engine.request_overhead.value = {};
    engine.tokenise_per_token.value = {};
    return engine;
}

ServedCase served_case(ServingRow const& row, EngineProfile const* engine, ClusterSpec const* machine) {
    if (!row.algorithm.empty())
        throw RowSkip("steps of reinforcement learning: 'sextant rl --measured FILE.csv' predicts these");
    ServedCase out;
    out.what.engine = engine != nullptr ? *engine : measured_engine(row, out.assumptions);
    if (engine != nullptr) check_engine(row);
    if (row.model.empty()) throw RowSkip("model is not stated");
    auto model = serving_model(row.model);
    if (!model) throw RowSkip(fmt::format("no preset for model '{}'", row.model.substr(0, 60)));
    out.what.model = *std::move(model);
    apply_load(row, out);
    out.what.cluster = measured_cluster(row, machine, out.assumptions);
    // Engines on these run PyTorch's extension instead of kernels of their own, several times slower than on others.
    if (out.what.cluster.accelerator.generation == "xe-hpc")
        throw RowSkip(fmt::format("no profile for engine '{}' on Intel GPUs", row.engine.substr(0, 40)));
    if (engine == nullptr && out.what.engine.name == "vllm-v0" && out.what.cluster.accelerator.vendor == "AMD")
        apply_rocm(row, out);
    apply_layout(row, out);
    measured_weights(row, out.what.cluster.accelerator, out.what.engine, out.assumptions).put_into(out.what.plan);
    out.what.plan.cache = measured_cache(row);
    share_experts(out);
    apply_limits(row, out);
    out.what.plan.memory_utilisation =
        default_memory_share(out.what.engine, out.what.cluster.accelerator, out.what.plan);
    if (out.load == ServedLoad::static_batch) out.what.engine = without_server(out.what.engine);
    apply_measured(row, out);
    out.key = key_of(out);
    return out;
}

std::optional<ServedCase> squeezed(ServingRow const& row, ServedCase c) {
    ServingMemory const memory = serving_memory(c.what);
    if (memory.weights > memory.capacity) return std::nullopt;
    constexpr double most = 0.97;
    constexpr double least_tokens = 2048;
    ServingPlan& plan = c.what.plan;
    plan.memory_utilisation = std::max(plan.memory_utilisation, most);
    plan.max_batched_tokens = std::min(plan.max_batched_tokens,
                                       static_cast<std::int64_t>(std::ceil(std::max(least_tokens, c.request.prompt))));
    double const places = row.concurrency ? std::ceil(std::min(*row.concurrency, c.requests) / c.replicas) : 1e9;
    plan.max_batch = std::clamp<std::int64_t>(static_cast<std::int64_t>(places), 1,
                                              std::min(plan.max_batch, plan.max_batched_tokens * plan.attention_dp));
    c.assumptions.emplace_back(
        "0.97 of the memory, and no more tokens and sequences than the row needs, since it did run");
    c.key = key_of(c);
    return c;
}

ServedPrediction predict_served(IterationModel const& model, ServedCase const& c) {
    double const each = c.amount / c.replicas;
    ServingEstimate out;
    double stretch = 1;
    try {
        switch (c.load) {
            case ServedLoad::static_batch: {
                // Sequences that the cache does not hold wait for the others.
                ServingMemory const& memory = model.memory();
                if (memory.weights > memory.capacity)
                    throw RowSkip(fmt::format("weights of {} a device do not fit its {}", human(memory.weights),
                                              human(memory.capacity)));
                double const fitting = largest_batch(c.what, memory, admitted_context(c.what.engine, c.request));
                double const together = fitting >= 1 ? std::min(each, fitting) : each;
                stretch = each / together;
                out = static_batch(model, c.request, together);
                break;
            }
            case ServedLoad::closed_loop: out = simulated_loop(model, c); break;
            case ServedLoad::open_loop: out = at_rate(model, c); break;
            case ServedLoad::unlimited: out = at_once(model, c); break;
        }
    } catch (InputError const&) {
        throw DoesNotFit("not one request fits the cache beside the weights, by the memory model");
    }
    ServedPrediction p{.ttft = out.ttft.total(),
                       .tpot = out.tpot,
                       .output_tokens_per_s = out.output_tokens_per_s * c.replicas,
                       .saturated = out.saturated};
    if (stretch > 1) p.saturated = true;
    p.queue_unknown = c.load == ServedLoad::unlimited && !is_followed(c);
    return p;
}

}  // namespace sextant
