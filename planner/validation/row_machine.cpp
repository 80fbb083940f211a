#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/text.hpp"
#include "cost_models/block_price.hpp"
#include "cost_models/token_dispatch.hpp"
#include "planner/validation/own_machine.hpp"
#include "planner/validation/row_adapters.hpp"
#include "planner/validation/row_framework.hpp"
#include "planner/validation/row_release.hpp"
#include "planner/validation/row_sharding.hpp"
#include "planner/validation/row_spelling.hpp"
#include "planner/validation/stated_links.hpp"
#include "planner/validation/train_validation.hpp"
#include "planner/validation/training_case.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

/// All-gather bus bandwidth in GB/s from "<scope> [AR/AG/RS ]all-reduce/all-gather/reduce-scatter" of a probe that ran
/// before the job; 0 without.
double probed_all_gather(std::string_view notes, std::string_view scope) {
    constexpr std::string_view key = "measured bus bandwidth GB/s";
    auto at = notes.find(key);
    if (at == std::string_view::npos) return 0;
    at = notes.find(scope, at);
    if (at == std::string_view::npos) return 0;
    at = notes.find('/', at + scope.size());
    double value = 0;
    if (at != std::string_view::npos) std::from_chars(notes.data() + at + 1, notes.data() + notes.size(), value);
    return value > 0 ? value : 0;
}

/// The row's own measured bandwidths, where it prints them, instead of those usual for the device.
void apply_probe(TrainingRow const& row, ClusterSpec& cluster) {
    constexpr BytesPerSecond gigabytes = units::GB / units::s;
    auto const as_measured = [](Sourced<double>& efficiency, double value) {
        efficiency = {
            .value = std::clamp(value, 0.001, 1.0), .basis = Basis::measured, .source = "probe printed with the run"};
    };
    if (double const inside = probed_all_gather(row.notes, "intra-node "); inside > 0)
        as_measured(cluster.scale_up.ring_efficiency, inside * gigabytes / cluster.scale_up.bandwidth.value);
    if (double const world = probed_all_gather(row.notes, "world AR/AG/RS "); world > 0 && cluster.scale_out)
        as_measured(
            cluster.scale_out->ring_efficiency,
            world * gigabytes / (static_cast<double>(cluster.domain_size) * cluster.scale_out->bandwidth.value));
}

/// The device of a row; notes may tell the H100 with 96 GB from the usual one.
std::string_view device_of(TrainingRow const& row) {
    // The first tables of torchao's documentation and the logs of its tutorial are of one team's runs: the same plan in
    // bf16 takes 1.332 and 1.300 s, and the logs give memory as percentages of 95 GiB.
    bool const larger =
        row.gpu.starts_with("H100") && (row.notes_have("implies a 95 GiB device") ||
                                        (row.source_id == "torchao" && row.notes_have("H100 variant not stated")));
    return larger ? "H100-96GB-HBM2e" : std::string_view(row.gpu);
}

bool is_rack(ClusterSpec const& cluster) { return cluster.domain_size > 16; }

/// The nearest multiple of `step`, if `value` is within 2 % of it: figures are rounded where they are printed.
std::optional<std::int64_t> near_multiple(double value, std::int64_t step) {
    if (!(value >= 1 && value < 1e12) || step < 1) return std::nullopt;
    auto const multiple = static_cast<std::int64_t>(std::llround(value / static_cast<double>(step))) * step;
    if (multiple < 1 || std::abs(static_cast<double>(multiple) / value - 1) > 0.02) return std::nullopt;
    return multiple;
}

/// The row with the length of sequences that it states in its notes.
TrainingRow with_notes(TrainingRow row) {
    if (!row.seq_len) row.seq_len = row.note_number("; sequence ");
    return row;
}

/// Time and tokens a second of a step make its tokens: with them the batch follows from the length of sequences, or the
/// length from the batch.
TrainingRow with_tokens_of_a_step(TrainingRow const& row, std::vector<std::string>& assumptions) {
    if (row.seq_len.has_value() == row.global_batch.has_value() || !row.iter_time_s) return row;
    double const rate =
        row.tokens_per_s.value_or(row.tokens_per_s_per_gpu.value_or(0) * static_cast<double>(row.num_gpus.value_or(0)));
    double const tokens = *row.iter_time_s * rate;
    TrainingRow whole = row;
    if (row.seq_len) {
        std::int64_t const shares =
            std::max<std::int64_t>(1, row.dp.value_or(1)) * std::max<std::int64_t>(1, row.micro_batch.value_or(1));
        whole.global_batch =
            near_multiple(tokens / static_cast<double>(std::max<std::int64_t>(1, *row.seq_len)), shares);
        if (whole.global_batch) assumptions.emplace_back("batch from the step's time and tokens/s");
    } else if (*row.global_batch > 0) {
        whole.seq_len = near_multiple(tokens / static_cast<double>(*row.global_batch), 128);
        if (whole.seq_len) assumptions.emplace_back("length of sequences from the step's time and tokens/s");
    }
    return whole;
}

}  // namespace

CaseBuilder::CaseBuilder(std::string profile) : profile_(std::move(profile)) {
    if (!profile_.empty()) framework_named(profile_);  // a bad profile fails before any row is read
}

std::shared_ptr<FrameworkProfile const> CaseBuilder::framework_named(std::string const& name) {
    auto const [found, is_new] = frameworks_.try_emplace(name);
    if (is_new) found->second = std::make_shared<FrameworkProfile const>(find_framework(name, "--profile"));
    return found->second;
}

/// A family's profile with memory constants of a version or machine that only some measured runs are of.
std::shared_ptr<FrameworkProfile const> CaseBuilder::changed(std::shared_ptr<FrameworkProfile const> const& profile,
                                                             std::string_view change,
                                                             std::function<void(FrameworkProfile&)> const& apply) {
    auto const [found, is_new] = changed_.try_emplace({profile.get(), std::string(change)});
    if (is_new) {
        FrameworkProfile copy = *profile;
        apply(copy);
        found->second = std::make_shared<FrameworkProfile const>(std::move(copy));
    }
    return found->second;
}

std::shared_ptr<FrameworkProfile const> CaseBuilder::framework_changed(
    std::string const& name, std::string const& change, std::function<void(FrameworkMemory&)> const& apply) {
    return changed(framework_named(name), change, [&](FrameworkProfile& profile) { apply(profile.memory); });
}

/// nanotron as it was for those runs of the Ultra-Scale Playbook that say "after_pp_fix=False": a pipeline holds no
/// gathered inputs; without one every tensor-parallel layer keeps both of its, 2 bytes each.
/// Source: reserved memory of 524 such runs, median error 10 % with the later constants, 5 % with these.
std::shared_ptr<FrameworkProfile const> CaseBuilder::before_pipeline_fix(TrainingRow const& row) {
    bool const keeps = row.pp.value_or(1) == 1 && row.tp.value_or(1) > 1;
    auto const layers = static_cast<double>(keeps ? row.layers.value_or(0) : 0);
    return framework_changed("nanotron", fmt::format("before the fix, {} layers", layers), [&](FrameworkMemory& m) {
        m.held_gather_bytes.value = 0;
        m.step_buffer_bytes.value += 4 * layers;
    });
}

/// Of a logit of a rank under an eager loss_parallel: PyTorch makes arrays of 28 bytes of it more than for a
/// compiled one. Source: 13.74 and 6.38 GB of one step (kernels/train_step/track_torchtitan.py, tp 4).
constexpr double eager_split_logit = 38;

/// torchtitan before 0.1: logits in fp32, with an eager loss: 2 bytes of the product's result, 4 of theirs, 4 of the
/// softmax, as many of the gradients of both, 2 of the product's. Source: three rows of torchao, 51.2 GB reserved where
/// later releases reserve 33.2 (with 20 bytes 50.4).
std::shared_ptr<FrameworkProfile const> CaseBuilder::first_torchtitan() {
    return framework_changed("torchtitan", "before 0.1", [](FrameworkMemory& m) {
        m.logits_bytes.value = m.logits_bytes_reserved.value = 20;
        m.split_logits_bytes.value = eager_split_logit;
        m.repeated_key_value_bytes.value = 2;
    });
}

/// torchtitan from 0.3 on: local tensors and no DTensor in tensor parallelism; CUDA graphs write gradients where they
/// were, so that zero_grad() does not free them. Source: peaks tracked on fake tensors
/// (hardware_profiles/measurements).
std::shared_ptr<FrameworkProfile const> CaseBuilder::later_torchtitan(TrainingRow const& row) {
    bool const graphs = row.notes_have("gradients stay");
    return framework_changed("torchtitan", graphs ? "0.3 with CUDA graphs" : "0.3", [&](FrameworkMemory& m) {
        m.whole_embedding_gradient.value = 0;
        if (graphs) m.frees_gradients.value = 0;
    });
}

/// FSDP2 with the units of torchtitan that runs op by op: eager code's constants but for the ends, and torchtitan's own
/// code neither repeats keys and values nor copies what attention leaves. Where its loss alone is eager, logits are as
/// wide as eager code has them. Source: peaks tracked on fake tensors (hardware_profiles/measurements).
std::shared_ptr<FrameworkProfile const> CaseBuilder::eager_torchtitan(TrainingRow const& row) {
    if (row.framework_has("loss eager"))
        return framework_changed("torchtitan", "eager loss", [](FrameworkMemory& m) {
            m.logits_bytes.value = 12;
            m.split_logits_bytes.value = eager_split_logit;
        });
    bool const own = row.framework_has("torchtitan eager");
    return framework_changed("fsdp", own ? "torchtitan" : "units as torchtitan", [&](FrameworkMemory& m) {
        m.end_units.value = 1;
        if (!own) return;
        m.repeated_key_value_bytes.value = 0;
        m.norm_copy_bytes.value = 0;
    });
}

/// The memory of a GH200 is a NUMA node of its system, which holds some of it; what is read from the device counts
/// that. Source: 26 runs of Sailor on Alps, 4.1 GB besides tensors; 33 of the same framework on V100, 1.5-1.8 GB.
std::shared_ptr<FrameworkProfile const> CaseBuilder::beside_a_system(std::string const& family) {
    return framework_changed(family, "beside a system", [](FrameworkMemory& m) { m.context.value += 2.3 * units::GB; });
}

/// The profile with the constants of the row's release.
std::shared_ptr<FrameworkProfile const> CaseBuilder::framework_of(TrainingRow const& row, TrainingCase& out) {
    auto profile = family_profile(row, out);
    out.release = release_of(row);
    if (!profile->releases) return profile;
    bool const as_given = !profile_.empty() && !out.release;
    Release const release = as_given ? profile->releases->at : profile->releases->of_step(out.release);
    return changed(profile, name_of(release), [&](FrameworkProfile& moved) { move_to(moved, release); });
}

std::shared_ptr<FrameworkProfile const> CaseBuilder::on_devices(std::shared_ptr<FrameworkProfile const> const& profile,
                                                                std::string const& generation) {
    if (profile->memory_on.empty()) return profile;
    return changed(profile, generation, [&](FrameworkProfile& own) { own = on_generation(own, generation); });
}

/// Megatron-LM of 2021-22 scattered what it sent to the next stage, Megatron-Core does not.
std::shared_ptr<FrameworkProfile const> CaseBuilder::sending_parts(
    std::shared_ptr<FrameworkProfile const> const& profile) {
    return changed(profile, "sends parts", [](FrameworkProfile& early) { early.usual.sends = StageSends::parts; });
}

std::shared_ptr<FrameworkProfile const> CaseBuilder::family_profile(TrainingRow const& row, TrainingCase& out) {
    if (!profile_.empty()) return framework_named(profile_);
    FrameworkFamily const named = family_of(row);
    std::string_view family = named.family;
    out.kinship = named.kinship;
    if (named.kinship == Kinship::kin)
        out.assumptions.push_back(fmt::format("constants of {} for a framework like it", family));
    if (family == fallback_family && is_mlperf(row)) {
        family = "megatron";
        out.assumptions.emplace_back("NeMo, from which the submissions of this benchmark are derived");
    } else if (named.word.empty()) {
        if (FrameworkProfile const* const called = known_framework(row.framework)) family = called->name;
    }
    if (family == "nanotron" && row.notes_have("after_pp_fix=False")) return before_pipeline_fix(row);
    if (row.framework_has("torchtitan") && row.framework_has("eager")) return eager_torchtitan(row);
    if (family == "torchtitan" && row.notes_have("torchtitan 0.0")) return first_torchtitan();
    if (row.framework_has("torchtitan compiled 0.3")) return later_torchtitan(row);
    if (family == fallback_family) out.assumptions.emplace_back("constants of no framework in particular");
    if (out.cluster->accelerator.name.starts_with("gh200")) return beside_a_system(std::string(family));
    return framework_named(std::string(family));
}

std::optional<ClusterSpec> CaseBuilder::usual_machine(std::string_view device) const {
    if (own_machine_ && has_device(*own_machine_, device)) return own_machine_;
    return cluster_for_device(device);
}

/// The usual cluster of the row's device, with what the row states of its nodes and links.
CaseBuilder::RowMachine CaseBuilder::machine_of(TrainingRow const& row) const {
    auto usual = usual_machine(device_of(row));
    if (!usual) throw RowSkip(fmt::format("no profile for device '{}'", row.gpu.substr(0, 60)));
    LinkedCluster linked = with_stated_links(row, *std::move(usual));
    ClusterSpec& cluster = linked.cluster;
    std::int64_t const per_node = row.gpus_per_node.value_or(0);
    // A rack or torus joins more than what the table calls a node, and a bridge less ("4-way NVLINK bridge").
    bool const bridged = cluster.scale_up.kind == ScaleUpKind::mesh && per_node > cluster.domain_size &&
                         lower_case(row.intra_node_link).find("bridge") != std::string::npos;
    if (per_node > 0 && !is_rack(cluster) && cluster.scale_up.kind != ScaleUpKind::torus && !bridged)
        cluster.domain_size = per_node;
    if (probed_all_gather(row.notes, "world AR/AG/RS ") > 0) apply_probe(row, cluster);
    if (linked.gbps == 0) linked.assumptions.emplace_back("network between nodes as usual for the device");
    return {.cluster = std::make_shared<ClusterSpec const>(std::move(cluster)),
            .network_is_stated = linked.network_is_stated,
            .assumptions = std::move(linked.assumptions)};
}

std::shared_ptr<ClusterSpec const> CaseBuilder::cluster_of(TrainingRow const& row, TrainingCase& out) {
    if (row.gpu.empty()) throw RowSkip("device is not stated");
    std::int64_t const per_node = row.gpus_per_node.value_or(0);
    if (per_node == 0) out.assumptions.emplace_back("accelerators per node as usual for the device");
    double const probe = probed_all_gather(row.notes, "world AR/AG/RS ");
    auto const key = fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", device_of(row), row.intra_node_link, row.inter_node_link,
                                 per_node, row.inter_node_gbps.value_or(0), probe,
                                 probe > 0 ? probed_all_gather(row.notes, "intra-node ") : 0.0, is_mlperf(row));
    auto found = clusters_.find(key);
    if (found == clusters_.end()) found = clusters_.emplace(key, machine_of(row)).first;
    RowMachine const& machine = found->second;
    ClusterSpec const& cluster = *machine.cluster;
    out.network_is_stated = machine.network_is_stated;
    if (row.num_gpus.value_or(0) > cluster.domain_size)
        out.assumptions.insert(out.assumptions.end(), machine.assumptions.begin(), machine.assumptions.end());
    if (is_rack(cluster) && cluster.scale_up.kind == ScaleUpKind::switched && per_node > 0 &&
        per_node < cluster.domain_size)
        out.assumptions.push_back(
            fmt::format("nodes of {} are trays of racks that join {} accelerators", per_node, cluster.domain_size));
    return machine.cluster;
}

TrainingCase CaseBuilder::build(TrainingRow const& as_stated) {
    if (!as_stated.unreadable.empty()) throw RowSkip("unusable cell: " + as_stated.unreadable);
    TrainingCase out;
    TrainingRow const row = with_named_sharding(with_tokens_of_a_step(with_notes(as_stated), out.assumptions));
    out.model = model_of(row, out.assumptions);
    out.cluster = cluster_of(row, out);
    out.framework = on_devices(framework_of(row, out), out.cluster->accelerator.generation);
    if (is_framework(*out.framework, "megatron") && is_early_megatron(row))
        out.framework = sending_parts(out.framework);
    plan_of(row, out);
    if (out.framework->releases && !out.release &&
        tells_releases_apart(timing_for(*out.framework, out.cluster->accelerator.generation, out.plan.precision)))
        out.assumptions.push_back(fmt::format(
            "{} ({})",
            profile_.empty() ? "a release midway between those fitted" : "the release that the profile is of",
            name_of(out.framework->releases->at)));
    if (out.plan.world_size() > out.cluster->domain_size && !out.cluster->scale_out)
        throw RowSkip(
            "more accelerators than one domain of the device's cluster, which has no network between domains");
    if (out.time_reason.empty() && outruns_its_format(row, out))
        out.time_reason = row.precision.empty() ? "faster than any measured step in the format that is assumed for it"
                                                : "faster than 80 % of the peak of the format it states";
    if (out.time_reason.empty() && crawls(row, out))
        out.time_reason =
            fmt::format("slower than {:g} % of the peak: is the time in another unit?", 100 * least_share);
    if (out.time_reason.empty()) out.time_reason = contradiction_in(row, out);
    // Through a proxy on the host (DeepEP on EFA) steps are up to three times as slow as with NCCL's exchange, which
    // such a plan is priced with.
    if (out.time_reason.empty() && out.plan.dispatcher == Dispatcher::deduplicated &&
        !sends_once(*out.cluster, place(GroupKind::expert, out.plan, *out.cluster)))
        out.time_reason = "tokens sent once per domain over a network that devices do not send on: no profile has how";
    return out;
}

}  // namespace sextant
