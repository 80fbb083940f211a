#include "cli/goodput/options.hpp"
#include "cli/options/number_text.hpp"
#include "cli/options/plan_options.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/goodput/tiers_in_use.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

using units::s;

ParallelPlan plan_of(GoodputOptions const& o) {
    ParallelPlan plan;
    plan.tp = o.tp;
    plan.pp = o.pp;
    plan.cp = o.cp;
    plan.ep = o.ep;
    plan.zero = 1;
    plan.precision = precision_from(o.precision, "--precision");
    plan.optimizer = optimizer_for(o.optimizer, plan.precision);
    std::int64_t const model_ranks = o.tp * o.pp * o.cp;
    if (o.gpus % model_ranks != 0)
        throw InputError("--gpus: {} is no multiple of tp x pp x cp = {}", o.gpus, model_ranks);
    plan.dp = o.gpus / model_ranks;
    if (o.dp && model_ranks > 1 && plan.dp != *o.dp)
        throw InputError("--dp: {} x {} are not {} accelerators (dp would be {})", *o.dp, model_ranks, o.gpus, plan.dp);
    return plan;
}

CheckpointSize checkpoint_of(GoodputOptions const& o, GoodputSubject& subject) {
    int const ways = int{!o.model.empty()} + int{!o.parameters.empty()} + int{!o.checkpoint_size.empty()};
    if (ways != 1)
        throw InputError("--model: {} (one of --model, --parameters, --checkpoint-size says how large a checkpoint is)",
                         ways == 0 ? "nothing says what is saved" : "the checkpoint is given twice");
    ParallelPlan const plan = plan_of(o);
    FrameworkProfile const framework = find_framework(o.framework, "--framework");
    if (!o.checkpoint_size.empty()) {
        auto const total = parse_quantity<Bytes>(o.checkpoint_size, "--checkpoint-size");
        if (!(total >= 1 * units::KB && total <= 1e6 * units::TB))
            throw InputError("--checkpoint-size: '{}' (1 KB to 1000 PB)", o.checkpoint_size);
        subject.checkpoint_words = "given";
        CheckpointSize size{.total = total, .busiest_rank = total / o.gpus};
        size.per_node = size.busiest_rank * std::min(o.gpus, subject.gpus_per_node);
        return size;
    }
    if (!o.parameters.empty()) {
        double const parameters = count_from(o.parameters, "--parameters");
        auto const count = static_cast<std::int64_t>(in_range(parameters, "--parameters", 1e3, 1e16));
        CheckpointSize const size = even_checkpoint(count, 0, framework.memory, plan, o.gpus, subject.gpus_per_node);
        subject.checkpoint_words =
            fmt::format("{} parameters at {:.4g} bytes", human_count(parameters), size.bytes_per_parameter);
        return size;
    }
    ModelSpec const model = find_model(o.model);
    subject.model = model.name;
    ParameterCounts const counts = count_parameters(model);
    std::int64_t const embedding = counts.embedding + counts.head;
    bool const split = o.tp * o.pp * o.cp * o.ep > 1;
    CheckpointSize size =
        even_checkpoint(counts.total + counts.mtp, embedding, framework.memory, plan, o.gpus, subject.gpus_per_node);
    if (split) {
        Workload const workload{
            .sequence = model.max_positions > 0 ? std::min<std::int64_t>(4096, model.max_positions) : 4096,
            .global_batch = plan.dp * plan.pp * 2};
        ParallelPlan layout = plan;
        layout.sequence_parallel = plan.tp > 1 ? Switch::on : Switch::off;
        size = sharded_checkpoint(build_step_graph(model, layout, workload), counts.total + counts.mtp, embedding,
                                  framework.memory, subject.gpus_per_node);
    }
    subject.checkpoint_words =
        fmt::format("{} parameters at {:.4g} bytes ({}, {}), {}",
                    human_count(static_cast<double>(counts.total + counts.mtp)), size.bytes_per_parameter,
                    framework.name, o.optimizer, split ? "sharded over the plan" : "in equal shares of all ranks");
    return size;
}

/// Puts measured times in place of computed ones: what training stands still for a snapshot at every tier that takes
/// one, writing and reading at the tier of `--storage`, and what follows on its write at the one that it drains into.
void replace_times(GoodputOptions const& o, CheckpointMode mode, std::vector<CheckpointTier>& tiers) {
    bool const sync = mode == CheckpointMode::sync;
    if (sync && !o.stall.empty() && !o.write_time.empty())
        throw InputError(
            "--write-time: with --checkpoint sync it is what training stands still for (leave --stall out)");
    std::size_t const storage = mode == CheckpointMode::in_memory ? 1 : 0;
    Seconds& write = sync ? tiers[storage].stall : tiers[storage].lag;
    Seconds const later = time_of(o.write_time, "--write-time", write) - write;
    write += later;
    if (!sync)
        for (std::size_t drained = storage + 1; drained < tiers.size(); ++drained)
            tiers[drained].lag += later;
    for (CheckpointTier& tier : tiers)
        if (tier.stall > Seconds{}) tier.stall = time_of(o.stall, "--stall", tier.stall);
    tiers[storage].load = time_of(o.load_time, "--load-time", tiers[storage].load);
}

std::vector<CheckpointTier> tiers_of(GoodputOptions const& o, GoodputSubject& subject, BytesPerSecond host_bandwidth) {
    StorageKind storage = find_storage(o.storage, "--storage");
    StorageKind const& drain = find_storage("parallel-fs", "storage");
    if (o.storage == "host-memory")
        throw InputError("--storage: host-memory is no storage (use --checkpoint in-memory over one)");
    auto const rate = [](std::string const& text, char const* flag) {
        auto const value = parse_quantity<BytesPerSecond>(text, flag);
        if (value.base() <= 0) throw InputError("{}: '{}' is no rate (more than zero)", flag, text);
        return value;
    };
    if (!o.write_bandwidth.empty())
        storage.write_per_node = storage.read_per_node = rate(o.write_bandwidth, "--write-bandwidth");
    if (!o.aggregate_bandwidth.empty())
        storage.write_aggregate = storage.read_aggregate = rate(o.aggregate_bandwidth, "--aggregate-bandwidth");
    if (o.write_bandwidth.empty() || o.aggregate_bandwidth.empty())
        subject.assumptions.push_back(
            fmt::format("{}: {} per node{}: {}", storage.name, human(storage.write_per_node),
                        storage.write_aggregate.base() > 0 ? ", " + human(storage.write_aggregate) + " in all" : "",
                        storage.source));
    subject.mode = checkpoint_mode_from(o.checkpoint, "--checkpoint");
    subject.storage = storage.name;
    std::vector<CheckpointTier> tiers =
        checkpoint_tiers(subject.mode, storage, drain, subject.checkpoint, host_bandwidth);
    if (subject.mode == CheckpointMode::in_memory) {
        StorageKind const& memory = find_storage("host-memory", "storage");
        subject.assumptions.push_back(
            fmt::format("{}: {} per node: {}", memory.name, human(memory.write_per_node), memory.source));
        subject.assumptions.emplace_back("copies in memory survive one node, not a fabric failure (assumed)");
    }
    replace_times(o, subject.mode, tiers);
    return tiers;
}

void set_intervals(GoodputOptions const& o, GoodputSubject& subject) {
    auto const least = 1 * s;
    auto const given = [&](std::string const& text, char const* flag) {
        Seconds const interval = positive_time(text, flag);
        if (interval < least) throw InputError("{}: '{}' is too short (at least {})", flag, text, human(least));
        return interval;
    };
    std::vector<CheckpointTier>& tiers = subject.run.tiers;
    bool const drained = tiers.size() > 1 && subject.mode != CheckpointMode::in_memory;
    if (o.interval != "auto") {
        tiers.front().interval = given(o.interval, "--interval");
        if (drained) tiers.back().interval = tiers.front().interval;
    }
    if (o.storage_interval != "auto") {
        if (tiers.size() == 1)
            throw InputError("--storage-interval: there is one tier only (its interval is --interval)");
        tiers.back().interval = given(o.storage_interval, "--storage-interval");
    }
    choose_intervals(subject.run);
    std::size_t const last = tiers.size() - 1;
    if (is_fed(subject.run, last) && tiers[last].interval < tiers[last - 1].interval)
        throw InputError(
            "--storage-interval: '{}' is shorter than the {} of {}, whose snapshots are drained (at least {})",
            o.storage_interval, human(tiers[last - 1].interval), tiers[last - 1].name,
            last == 1 ? "that, or a shorter --interval" : "that");
}

}  // namespace

void set_checkpoints(GoodputOptions const& o, GoodputSubject& subject, BytesPerSecond host_bandwidth) {
    subject.checkpoint = checkpoint_of(o, subject);
    subject.run.tiers = tiers_of(o, subject, host_bandwidth);
    set_intervals(o, subject);
}

}  // namespace sextant::cli
