#include "core/error.hpp"
#include "core/json/object_reader.hpp"
#include "core/nearest.hpp"
#include "planner/importers/deepspeed_settings.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace sextant {
namespace {

using Json = nlohmann::json;

constexpr std::int64_t most_sequences = std::int64_t{1} << 31;

constexpr std::array without_effect{"gradient_clipping",
                                    "steps_per_print",
                                    "wall_clock_breakdown",
                                    "scheduler",
                                    "zero_allow_untested_optimizer",
                                    "tensorboard",
                                    "wandb",
                                    "csv_monitor",
                                    "comms_logger",
                                    "flops_profiler",
                                    "dump_state",
                                    "checkpoint",
                                    "prescale_gradients",
                                    "gradient_predivide_factor",
                                    "memory_breakdown",
                                    "aio",
                                    "zero_force_ds_cpu_optimizer",
                                    "data_parallel_size",
                                    "autotuning",
                                    "elasticity",
                                    "disable_allgather"};
constexpr std::array zero_without_effect{
    "contiguous_gradients",  "allgather_bucket_size",    "sub_group_size",
    "round_robin_gradients", "allgather_partitions",     "reduce_scatter",
    "overlap_comm",          "ignore_unused_parameters", "load_from_fp32_weights",
    "elastic_checkpoint",    "memory_efficient_linear",  "gather_16bit_weights_on_model_save"};
constexpr std::array half_without_effect{"loss_scale", "initial_scale_power", "loss_scale_window",
                                         "hysteresis", "min_loss_scale",      "consecutive_hysteresis",
                                         "auto_cast",  "check_grad_overflow"};
constexpr std::array optimizer_without_effect{"params", "legacy_fusion"};
constexpr std::array tensor_without_effect{"tp_grain_size", "keep_module_on_host", "injection_policy_tuple"};
constexpr std::array offload_without_effect{"pin_memory",    "buffer_count",   "buffer_size", "fast_init", "nvme_path",
                                            "pipeline_read", "pipeline_write", "pipeline",    "max_in_cpu"};
constexpr std::array recompute_without_effect{"contiguous_memory_optimization", "synchronize_checkpoint_boundary",
                                              "profile"};

class Section {
public:
    Section(Json const& json, std::string path, std::string_view where) : path_(std::move(path)), where_(where) {
        if (!json.is_object()) throw InputError("{}: {} is no object", where_, path_.empty() ? "the file" : path_);
        json_ = &json;
    }

    Json const* find(std::string_view key) {
        asked_.emplace_back(key);
        auto const found = json_->find(key);
        if (found == json_->end() || found->is_null() || *found == "auto") return nullptr;
        return &*found;
    }
    std::optional<std::int64_t> integer(std::string_view key, std::int64_t least) {
        Json const* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_number_integer()) throw InputError("{}: {} is no whole number", where_, name(key));
        if (value->is_number_unsigned() && value->get<std::uint64_t>() > static_cast<std::uint64_t>(most_sequences))
            throw InputError("{}: {}: out of range ({} to {})", where_, name(key), least, most_sequences);
        auto const number = value->get<std::int64_t>();
        if (number < least || number > most_sequences)
            throw InputError("{}: {}: {} is out of range ({} to {})", where_, name(key), number, least, most_sequences);
        return number;
    }
    std::optional<double> count(std::string_view key) {
        Json const* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_number()) throw InputError("{}: {} is no number", where_, name(key));
        auto const number = value->get<double>();
        if (!(number >= 1 && number <= 1e12)) throw InputError("{}: {}: out of range (1 to 1e12)", where_, name(key));
        return number;
    }
    [[nodiscard]] bool is_auto(std::string_view key) const {
        auto const found = json_->find(key);
        return found != json_->end() && *found == "auto";
    }
    bool flag(std::string_view key) {
        Json const* const value = find(key);
        if (value == nullptr) return false;
        if (!value->is_boolean()) throw InputError("{}: {} is neither true nor false", where_, name(key));
        return value->get<bool>();
    }
    std::optional<std::string> text(std::string_view key) {
        Json const* const value = find(key);
        if (value == nullptr) return {};
        if (!value->is_string()) throw InputError("{}: {} is no text", where_, name(key));
        return value->get<std::string>();
    }
    std::optional<Section> section(std::string_view key) {
        Json const* const value = find(key);
        if (value == nullptr) return {};
        return Section(*value, name(key), where_);
    }
    [[nodiscard]] std::string name(std::string_view key) const {
        return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
    }
    void finish(ForeignPlan& out, std::span<char const* const> harmless) const {
        for (auto const& [key, value] : json_->items()) {
            if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
            bool const known =
                std::any_of(harmless.begin(), harmless.end(), [&name = key](char const* h) { return name == h; });
            if (known || key.starts_with("stage3_"))
                out.ignored.push_back(name(key));
            else
                out.warnings.push_back(name(key) + ": not known here, so counted as without effect" + hint_for(key));
        }
    }

private:
    /// The key that was asked for, is not there, and looks most like it.
    [[nodiscard]] std::string hint_for(std::string_view key) const {
        std::vector<std::string> missing;
        for (std::string const& asked : asked_)
            if (!json_->contains(asked)) missing.push_back(asked);
        return did_you_mean(key, missing);
    }

    Json const* json_ = nullptr;
    std::string path_;
    std::string_view where_;
    std::vector<std::string> asked_;
};

void read_zero(Section zero, DeepSpeedSettings& s, ForeignPlan& out, std::string_view where) {
    if (auto const stage = zero.integer("stage", 0)) {
        if (*stage > 3) throw InputError("{}: zero_optimization.stage: {} (0, 1, 2 or 3)", where, *stage);
        s.zero = static_cast<int>(*stage);
    }
    if (auto offload = zero.section("offload_optimizer")) {
        std::string const device = offload->text("device").value_or("cpu");
        s.offloads_optimizer = device != "none";
        if (device == "nvme")
            out.warnings.emplace_back("zero_optimization.offload_optimizer: NVMe is counted as host memory");
        if (Json const* const ratio = offload->find("ratio"); ratio != nullptr && *ratio != 1)
            out.warnings.push_back(offload->name("ratio") + ": counted as all of the state");
        offload->finish(out, offload_without_effect);
    }
    if (auto offload = zero.section("offload_param")) {
        std::string const device = offload->text("device").value_or("none");
        s.offloads_parameters = device != "none";
        if (device == "nvme")
            out.warnings.emplace_back("zero_optimization.offload_param: NVMe is counted as host memory");
        offload->finish(out, offload_without_effect);
    }
    s.reduce_bucket = zero.count("reduce_bucket_size");
    s.is_auto_bucket = zero.is_auto("reduce_bucket_size");
    s.reduces_by_rank =
        zero.find("use_multi_rank_bucket_allreduce") != nullptr && !zero.flag("use_multi_rank_bucket_allreduce");
    s.shard_group = zero.integer("mics_shard_size", -1);
    if (s.shard_group.value_or(1) < 1) s.shard_group.reset();
    if (zero.integer("zero_hpz_partition_size", 1).value_or(1) > 1)
        out.warnings.emplace_back("zero_optimization.zero_hpz_partition_size: ZeRO++ is counted as plain ZeRO-3");
    for (char const* key : {"zero_quantized_weights", "zero_quantized_gradients"})
        if (zero.flag(key)) out.warnings.push_back(zero.name(key) + ": transfers are counted at full width");
    zero.finish(out, zero_without_effect);
}

Optimizer optimizer_of(std::string name, std::string_view where) {
    for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (name == "adam" || name == "adamw") return Optimizer::adamw;
    if (name == "sgd") return Optimizer::sgd;
    if (name == "muon") return Optimizer::muon;
    if (name == "lion") return Optimizer::lion;
    throw InputError("{}: optimizer.type: '{}' is not modelled (Adam, AdamW, SGD, Lion or Muon)", where, name);
}

/// A format as DeepSpeed's `DtypeEnum` (runtime/config.py) reads it.
bool is_fp32(std::string_view name) {
    constexpr std::array names{"fp32", "float32", "float", "torch.float32"};
    return std::any_of(names.begin(), names.end(), [&](char const* known) { return name == known; });
}

/// Bytes of an element of what is communicated in this format; absent: the file leaves it to DeepSpeed.
std::optional<double> communicated_bytes(Section& root, std::string_view key, ForeignPlan& out) {
    auto const name = root.text(key);
    if (!name) return {};
    constexpr std::array narrow{"fp16", "float16", "half", "bf16", "bfloat16", "torch.float16", "torch.bfloat16"};
    if (is_fp32(*name)) return 4;
    if (std::any_of(narrow.begin(), narrow.end(), [&](char const* known) { return *name == known; })) return 2;
    out.warnings.push_back(fmt::format("{}: '{}' is not known here, so counted as without effect", key, *name));
    return {};
}

void read_recompute(Section recompute, DeepSpeedSettings& s, ForeignPlan& out) {
    s.offloads_checkpoints = recompute.flag("cpu_checkpointing");
    if (recompute.flag("partition_activations"))
        out.warnings.push_back(recompute.name("partition_activations") +
                               ": recomputed layers are counted as keeping their whole input");
    if (recompute.find("number_checkpoints") != nullptr)
        out.warnings.push_back(recompute.name("number_checkpoints") + ": every recomputed layer is counted as one");
    recompute.finish(out, recompute_without_effect);
}

}  // namespace

DeepSpeedSettings read_deepspeed_settings(std::string_view json, std::string_view where, ForeignPlan& out) {
    JsonDocument const document = JsonDocument::from_text(json, std::string(where));
    Section root(document.root(), "", where);
    DeepSpeedSettings s;
    s.train_batch = root.integer("train_batch_size", 1);
    s.micro_batch = root.integer("train_micro_batch_size_per_gpu", 1);
    s.accumulation_steps = root.integer("gradient_accumulation_steps", 1);
    s.sequence_parallel = root.integer("sequence_parallel_size", 1);
    if (auto tensor = root.section("tensor_parallel")) {
        s.tensor_parallel = tensor->integer("autotp_size", 0);
        tensor->finish(out, tensor_without_effect);
    }
    if (s.tensor_parallel == 0) s.tensor_parallel = 1;
    bool known = false;
    for (char const* key : {"bf16", "bfloat16", "fp16"})
        if (auto half = root.section(key)) {
            bool const enabled = half->flag("enabled");
            known = known || half->find("enabled") != nullptr;
            if (enabled) s.precision = std::string_view(key) == "fp16" ? Precision::fp16 : Precision::bf16;
            // ZeRO keeps a second copy of the weights in these formats, too: 10 bytes a parameter, which no optimizer
            // here has.
            for (char const* narrow :
                 {"bf16_master_weights_and_grads", "bf16_optimizer_states", "fp16_master_weights_and_grads"})
                if (half->flag(narrow)) out.warnings.push_back(half->name(narrow) + ": state is counted in fp32");
            half->finish(out, half_without_effect);
        }
    if (known && !s.precision) s.precision = Precision::fp32;
    if (auto optimizer = root.section("optimizer")) {
        if (auto const type = optimizer->text("type")) s.optimizer = optimizer_of(*type, where);
        optimizer->finish(out, optimizer_without_effect);
    }
    if (auto types = root.section("data_types")) {
        s.sums_in_fp32 = is_fp32(types->text("grad_accum_dtype").value_or("auto"));
        types->finish(out, {});
    }
    s.sent_bytes = communicated_bytes(root, "communication_data_type", out);
    s.cp_sent_bytes = communicated_bytes(root, "seq_parallel_communication_data_type", out);
    if (auto zero = root.section("zero_optimization")) read_zero(*zero, s, out, where);
    if (auto recompute = root.section("activation_checkpointing")) read_recompute(*recompute, s, out);
    root.finish(out, without_effect);
    return s;
}

}  // namespace sextant
