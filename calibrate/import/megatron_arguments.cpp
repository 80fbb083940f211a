#include "calibrate/import/megatron_arguments.hpp"

#include "calibrate/import/log_line.hpp"
#include "core/is_one_of.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sextant {
namespace {

class Arguments {
public:
    explicit Arguments(MegatronArguments const& values) : values_(values) {}

    /// Empty where it was not given.
    [[nodiscard]] std::string text(std::string_view name) const {
        auto const found = values_.find(name);
        return found == values_.end() || found->second == "None" ? "" : found->second;
    }
    [[nodiscard]] bool on(std::string_view name) const { return text(name) == "True"; }
    [[nodiscard]] std::int64_t number(std::string_view name, std::int64_t otherwise = 0) const {
        std::int64_t value = 0;
        return is_number(text(name), value) ? value : otherwise;
    }
    [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }

private:
    MegatronArguments const& values_;
};

char const* flag(bool on) { return on ? "1" : "0"; }

/// "core_attn+mlp" of "['core_attn', 'mlp']".
std::string joined(std::string_view list) {
    std::string out;
    for (char const c : list) {
        if (c == ',') out += '+';
        if (c != '[' && c != ']' && c != '\'' && c != '"' && c != ' ' && c != ',') out += c;
    }
    return out;
}

/// Chunks of layers of a stage.
std::int64_t chunks_of_stage(Arguments const& in) {
    std::int64_t const stages = in.number("pipeline_model_parallel_size", 1);
    if (stages <= 1) return 1;
    std::int64_t const stated = in.number("virtual_pipeline_model_parallel_size");
    if (stated > 0) return stated;
    std::int64_t const layers = in.number("num_layers_per_virtual_pipeline_stage");
    return layers > 0 ? std::max<std::int64_t>(1, in.number("num_layers") / stages / layers) : 1;
}

/// Layers of a stage that the method "block" recomputes: so many of each chunk, as far as it has them.
std::int64_t block_layers(Arguments const& in) {
    std::int64_t const chunks = chunks_of_stage(in);
    std::int64_t const stages = std::max<std::int64_t>(1, in.number("pipeline_model_parallel_size", 1));
    std::int64_t const of_chunk = in.number("num_layers") / stages / chunks;
    std::int64_t const stated = in.number("recompute_num_layers", 1);
    return chunks * (of_chunk > 0 ? std::min(stated, of_chunk) : std::min<std::int64_t>(stated, 1 << 16));
}

std::string recompute_of(Arguments const& in) {
    std::string const granularity = in.text("recompute_granularity");
    if (granularity.empty()) return "none";
    if (granularity == "full")
        return in.text("recompute_method") == "block" ? fmt::format("full, {} layers of each stage", block_layers(in))
                                                      : "full";
    std::string const modules = joined(in.text("recompute_modules"));
    return modules.empty() ? granularity : granularity + ":" + modules;
}

std::string precision_of(Arguments const& in) {
    if (!in.text("fp4").empty()) return "nvfp4";
    if (!in.text("fp8").empty()) {
        std::string const recipe = in.text("fp8_recipe");
        return recipe == "mxfp8" ? "mxfp8" : recipe == "blockwise" ? "fp8 blockwise" : "fp8";
    }
    return in.on("bf16") ? "bf16" : in.on("fp16") ? "fp16" : "fp32";
}

std::string zero_stage_of(Arguments const& in) {
    if (in.on("use_torch_fsdp2")) return "3";
    if (in.on("use_megatron_fsdp") || in.on("use_custom_fsdp")) {
        constexpr std::array stages{std::string_view("no_shard"), std::string_view("optim"),
                                    std::string_view("optim_grads"), std::string_view("optim_grads_params")};
        auto const* const found =
            std::find(stages.begin(), stages.end(), std::string_view(in.text("data_parallel_sharding_strategy")));
        if (found != stages.end()) return fmt::to_string(found - stages.begin());
    }
    return flag(in.on("use_distributed_optimizer"));
}

/// Layers with experts among the others, "([0]*3+[1]*13)": of a list, or of every so many layers one.
std::string expert_layers(std::string_view frequency, std::int64_t layers) {
    std::string out;
    std::int64_t every = 0;
    if (is_number(frequency, every)) {
        for (std::int64_t i = 0; every > 1 && i < std::min<std::int64_t>(layers, 10000); ++i)
            out += fmt::format("{}[{}]*1", out.empty() ? "" : "+", i % every == 0 ? 1 : 0);
    } else {
        for (char const c : frequency)
            if (c == '0' || c == '1') out += fmt::format("{}[{}]*1", out.empty() ? "" : "+", c);
    }
    return out.empty() ? "" : "moe-layer-freq=(" + out + ")";
}

void put_experts(Arguments const& in, CellRow& row, std::vector<std::string>& notes) {
    std::int64_t const experts = in.number("num_experts");
    put(row, "arch", experts > 0 ? "moe" : "dense");
    if (experts <= 0) return;
    put(row, "moe_experts", fmt::to_string(experts));
    put(row, "moe_topk", in.text("moe_router_topk"));
    std::string const width = in.text("moe_ffn_hidden_size");
    put(row, "moe_ffn_hidden", width.empty() ? in.text("ffn_hidden_size") : width);
    std::string const shared = in.text("moe_shared_expert_intermediate_size");
    if (!shared.empty()) {
        put(row, "moe_shared", "1");
        notes.push_back("shared expert width " + shared);
    }
    put(row, "ep", in.text("expert_model_parallel_size"));
    if (auto const cut = in.text("expert_tensor_parallel_size"); !cut.empty())
        notes.push_back("expert-tensor-parallel-size=" + cut);
    if (auto const layers = expert_layers(in.text("moe_layer_freq"), in.number("num_layers")); !layers.empty())
        notes.push_back(layers);
}

/// What the columns have no place for is read from the model's name (planner/validation/row_model.cpp).
std::string model_name(Arguments const& in) {
    std::string name = "Megatron-LM model";
    if (in.text("position_embedding_type") == "rope" || in.on("use_rotary_position_embeddings")) name += " rope";
    if (in.has("add_bias_linear") && !in.on("add_bias_linear")) name += " disable_bias_linear";
    if (in.on("qk_layernorm")) name += " qk_layernorm";
    return name;
}

void put_model(Arguments const& in, CellRow& row, std::vector<std::string>& notes) {
    if (in.on("is_hybrid_model") || !in.text("hybrid_override_pattern").empty())
        throw RowSkip("attention and recurrent layers in one model, which no column says");
    if (!in.text("window_size").empty()) throw RowSkip("attention in a window of the sequence, which no column says");
    put(row, "model", model_name(in));
    put(row, "layers", in.text("num_layers"));
    put(row, "hidden", in.text("hidden_size"));
    put(row, "ffn_hidden", in.text("ffn_hidden_size"));
    put(row, "heads", in.text("num_attention_heads"));
    put(row, "kv_heads", in.text(in.on("group_query_attention") ? "num_query_groups" : "num_attention_heads"));
    put(row, "head_dim", in.text("kv_channels"));
    std::string const padded = in.text("padded_vocab_size");
    put(row, "vocab", padded.empty() ? in.text("vocab_size") : padded);
    put(row, "gated_mlp", flag(in.on("swiglu")));
    put(row, "tied_embed", flag(!in.on("untie_embeddings_and_output_weights")));
    if (in.on("multi_latent_attention")) notes.emplace_back("multi-latent attention");
    if (auto const modules = in.number("mtp_num_layers"); modules > 0)
        notes.push_back(fmt::format("mtp-num-layers={}", modules));
    put_experts(in, row, notes);
}

/// How the ranks of a sequence exchange keys and values; around a ring where nothing is said.
void put_context(Arguments const& in, std::vector<std::string>& notes) {
    std::string const type = joined(in.text("cp_comm_type"));
    if (type.empty() || type == "p2p") return;
    if (type == "a2a")
        notes.emplace_back("ulysses (cp-comm-type=a2a)");
    else if (type == "allgather" || type == "all_gather")
        notes.emplace_back("cp-comm-type=all_gather");
    else
        throw RowSkip(
            fmt::format("context parallelism of several kinds ('{}'), which no column says", type.substr(0, 40)));
}

void put_layout(Arguments const& in, CellRow& row, std::vector<std::string>& notes) {
    put(row, "num_gpus", in.text("world_size"));
    put(row, "dp", in.text("data_parallel_size"));
    put(row, "tp", in.text("tensor_model_parallel_size"));
    put(row, "pp", in.text("pipeline_model_parallel_size"));
    put(row, "cp", in.text("context_parallel_size"));
    bool const is_cut = !in.text("virtual_pipeline_model_parallel_size").empty() ||
                        in.number("num_layers_per_virtual_pipeline_stage") > 0;
    if (is_cut && in.number("pipeline_model_parallel_size", 1) > 1)
        put(row, "vpp", fmt::to_string(chunks_of_stage(in)));
    if (auto const layout = in.text("pipeline_model_parallel_layout"); !layout.empty())
        notes.push_back("pipeline-model-parallel-layout=" + layout);
    if (in.number("context_parallel_size", 1) > 1) put_context(in, notes);
    for (char const* which : {"first", "last"})
        if (auto const layers = in.text(fmt::format("decoder_{}_pipeline_num_layers", which)); !layers.empty())
            notes.push_back(fmt::format("decoder-{}-pipeline-num-layers={}", which, layers));
    put(row, "zero_stage", zero_stage_of(in));
    put(row, "sequence_parallel", flag(in.on("sequence_parallel")));
    if (auto const instances = in.number("num_distributed_optimizer_instances"); instances > 1)
        notes.push_back(fmt::format("num-distributed-optimizer-instances={}", instances));
}

void put_rest(Arguments const& in, CellRow& row, std::vector<std::string>& notes) {
    put(row, "seq_len", in.text("seq_length"));
    put(row, "micro_batch", in.text("micro_batch_size"));
    put(row, "global_batch_seqs", in.text("global_batch_size"));
    put(row, "framework", "Megatron-LM");
    put(row, "precision", precision_of(in));
    put(row, "recompute", recompute_of(in));
    std::string const attention = in.text("attention_backend");
    if (in.on("use_flash_attn") || attention == "AttnBackend.flash" || attention == "AttnBackend.fused")
        put(row, "flash_attention", "1");
    if (attention == "AttnBackend.unfused" || attention == "AttnBackend.local") put(row, "flash_attention", "0");
    if (in.on("cross_entropy_loss_fusion")) notes.emplace_back("cross-entropy-loss-fusion=True");
    if (in.on("overlap_moe_expert_parallel_comm")) notes.emplace_back("EP comm overlap=on");
    if (in.on("moe_enable_deepep") || in.text("moe_flex_dispatcher_backend") == "deepep")
        notes.emplace_back("dispatcher=deepep");
    if (auto const optimizer = in.text("optimizer"); !optimizer.empty() && optimizer != "adam")
        notes.push_back("optimizer=" + optimizer);
    if (in.on("optimizer_cpu_offload")) {
        std::string const share = in.text("optimizer_offload_fraction");
        bool const whole = share.empty() || share == "1.0";
        notes.push_back(whole ? "optimizer offload" : "optimizer offload of the fraction " + share);
    }
    if (in.on("enable_cuda_graph") || !in.text("cuda_graph_impl").empty())
        if (in.text("cuda_graph_impl") != "none") notes.push_back("cuda-graph-impl=" + in.text("cuda_graph_impl"));
}

}  // namespace

void add_argument(std::string_view line, MegatronArguments& arguments) {
    auto const words = words_of(line);
    auto const dots = std::find_if(words.begin(), words.end(), [](std::string_view word) {
        return word.find_first_not_of('.') == std::string_view::npos;
    });
    if (dots == words.begin() || dots == words.end() || dots + 1 == words.end()) return;
    auto const begin = static_cast<std::size_t>((dots + 1)->data() - line.data());
    arguments.insert_or_assign(std::string(*(dots - 1)), std::string(trimmed(line.substr(begin), " \t\r")));
}

CellRow cells_of(MegatronArguments const& arguments) {
    Arguments const in(arguments);
    CellRow row;
    std::vector<std::string> notes;
    put_model(in, row, notes);
    put_layout(in, row, notes);
    put_rest(in, row, notes);
    std::string text;
    for (std::string const& note : notes)
        text += (text.empty() ? "" : "; ") + note;
    put(row, "notes", text);
    return row;
}

}  // namespace sextant
