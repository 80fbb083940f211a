#include "core/error.hpp"
#include "core/graph/plan_check.hpp"
#include "planner/importers/argument_reader.hpp"
#include "planner/importers/megatron_stages.hpp"
#include "planner/importers/shell_words.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::int64_t most_layers = 1 << 16;

void read_context(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    p.cp = in.degree("--context-parallel-size");
    std::string const type = in.text("--cp-comm-type").value_or("p2p");
    if (type == "allgather" || type == "all_gather")
        p.cp_mode = ContextParallel::all_gather;
    else if (type == "a2a")
        p.cp_mode = ContextParallel::ulysses;
    else if (type == "a2a+p2p")
        out.warnings.push_back("--cp-comm-type: a2a+p2p is counted as p2p over all ranks");
    else if (type != "p2p")
        throw InputError("{}: --cp-comm-type: '{}' (p2p, allgather, a2a or a2a+p2p)", in.where(), type);
    if (p.cp == 1) p.cp_mode = ContextParallel::ring;
    if (p.cp_mode == ContextParallel::ulysses && !model.attention.latent &&
        model.attention.kv_heads % (p.tp * p.cp) != 0)
        out.warnings.push_back(fmt::format(
            "--cp-comm-type: a2a: Transformer Engine refuses to exchange {} key-value heads, which are not divisible "
            "by tp x cp = {} x {}; they are counted as repeated for the ranks that have none (p2p or allgather need "
            "no heads for each rank)",
            model.attention.kv_heads, p.tp, p.cp));
}

void read_experts(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    p.ep = in.degree("--expert-model-parallel-size");
    // Where nothing is said, experts are cut like everything else.
    p.expert_tp = in.degree("--expert-tensor-parallel-size", model.moe ? p.tp : 1);
    auto const type = in.text("--moe-token-dispatcher-type");
    bool const deepep = in.flag("--moe-enable-deepep");
    bool const flexible = in.text("--moe-flex-dispatcher-backend").has_value();
    if (type == "flex" && (deepep || flexible)) p.dispatcher = Dispatcher::deduplicated;
    if (type.value_or("allgather") == "allgather" && p.ep > 1 && model.moe)
        out.warnings.push_back(fmt::format("--moe-token-dispatcher-type: allgather{} is counted as all-to-all",
                                           type ? "" : ", which Megatron-LM has where nothing is said,"));
    if (in.flag("--overlap-moe-expert-parallel-comm")) {
        bool const can = model.moe && p.ep > 1 && (p.pp == 1 || p.vpp > 1);
        if (can)
            p.schedule = Schedule::overlapped;
        else
            out.warnings.push_back(
                "--overlap-moe-expert-parallel-comm has no effect without expert parallelism, and with a pipeline "
                "without "
                "virtual stages");
    }
    if (!model.moe) {
        p.ep = p.expert_tp = 1;
        p.dispatcher = Dispatcher::all_to_all;
    }
}

void read_sharding(ArgumentReader& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    p.zero = in.flag("--use-distributed-optimizer") ? 1 : 0;
    auto const said = in.text("--data-parallel-sharding-strategy");
    if (in.flag("--use-megatron-fsdp")) {
        constexpr std::array names{"no_shard", "optim", "optim_grads", "optim_grads_params"};
        std::string const strategy = said.value_or(names.front());
        if (!said)
            out.warnings.push_back(
                "--data-parallel-sharding-strategy is not there: --use-megatron-fsdp shards nothing without it");
        auto const found = std::find(names.begin(), names.end(), strategy);
        if (found == names.end())
            throw InputError(
                "{}: --data-parallel-sharding-strategy: '{}' (no_shard, optim, optim_grads or "
                "optim_grads_params)",
                in.where(), strategy);
        p.zero = static_cast<int>(found - names.begin());
    }
    std::int64_t const instances = in.degree("--num-distributed-optimizer-instances");
    bool const overlaps = in.flag("--overlap-grad-reduce");
    static_cast<void>(in.flag("--overlap-param-gather"));
    static_cast<void>(in.flag("--no-gradient-accumulation-fusion"));
    set_data_parallel(out);
    std::int64_t const ranks = p.dp * p.cp;
    if (instances > 1 && out.accelerators) {
        if (ranks % instances != 0)
            throw InputError("{}: --num-distributed-optimizer-instances: {} do not divide dp x cp = {}", in.where(),
                             instances, ranks);
        p.shard_group = p.zero > 0 ? ranks / instances : 0;
    } else if (instances > 1) {
        out.warnings.push_back(
            "--num-distributed-optimizer-instances: say --shard-group, since the file does not tell "
            "the number of accelerators");
    }
    if (!overlaps && (ranks > 1 || !out.accelerators))
        out.warnings.push_back("--overlap-grad-reduce is not there: the profile's overlap is counted all the same");
}

/// Modules whose input goes to host memory: what that is here. Source: fine_grained_activation_offload.py and its
/// guide, Megatron-Core 0.16.
struct OffloadModule {
    std::string_view name;
    ActivationGroup input;
};
constexpr std::array offload_modules{
    OffloadModule{"attn_norm", ActivationGroup::layer_input},  OffloadModule{"qkv_linear", ActivationGroup::norm_out},
    OffloadModule{"core_attn", ActivationGroup::qkv},          OffloadModule{"attn_proj", ActivationGroup::context},
    OffloadModule{"mlp_norm", ActivationGroup::attention_out}, OffloadModule{"expert_fc1", ActivationGroup::expert_in},
    OffloadModule{"moe_act", ActivationGroup::mlp_up},
};

/// Whether activations are offloaded, and which.
bool read_activation_offload(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    auto const layers = in.integer("--cpu-offloading-num-layers", 0, most_layers).value_or(0);
    if (layers > 0 && layers < model.layer_count() - 1) out.plan.offload_layers = layers;  // the last one stays
    bool const by_module = in.flag("--fine-grained-activation-offloading");
    ActivationGroups groups;
    for (std::string const& name : in.words("--offload-modules")) {
        auto const found = std::find_if(offload_modules.begin(), offload_modules.end(),
                                        [&](OffloadModule const& m) { return m.name == name; });
        if (found == offload_modules.end())
            out.warnings.push_back(fmt::format("--offload-modules: what '{}' reads is counted as kept", name));
        else
            groups.add(found->input);
    }
    groups = groups & activations_of(model);
    if (layers > 0 || !by_module || groups.empty()) return layers > 0;
    out.plan.offloaded_activations = groups;
    return true;
}

void read_optimizer(ArgumentReader& in, ForeignPlan& out, ModelSpec const& model) {
    ParallelPlan& p = out.plan;
    std::string const name = in.text("--optimizer").value_or("adam");
    auto const first = in.text("--exp-avg-dtype");
    auto const second = in.text("--exp-avg-sq-dtype");
    bool const precise = in.flag("--use-precision-aware-optimizer");
    if (name == "sgd") {
        p.optimizer = Optimizer::sgd;
    } else if (name == "lion") {
        p.optimizer = Optimizer::lion;
    } else if (name == "muon" || name == "dist_muon") {
        p.optimizer = Optimizer::muon;
        if (name == "dist_muon") p.zero = std::max(p.zero, 1);
    } else if (name != "adam") {
        throw InputError("{}: --optimizer: '{}' (adam, sgd, lion, muon or dist_muon)", in.where(), name);
    } else if (precise && first == "bf16" && second == "bf16") {
        p.optimizer = Optimizer::adamw_bf16;
    } else if (precise && first == "fp8" && second == "fp8") {
        p.optimizer = Optimizer::adamw_8bit;
    } else if (precise && (first.value_or("fp32") != "fp32" || second.value_or("fp32") != "fp32")) {
        out.warnings.push_back("--exp-avg-dtype: moments of these formats are counted as fp32");
    }
    if (in.flag("--optimizer-cpu-offload")) p.offload = Offload::optimizer;
    if (auto const share = in.number("--optimizer-offload-fraction"); offloads_optimizer(p) && share && *share < 1)
        out.warnings.push_back("--optimizer-offload-fraction: counted as all of the state");
    if (read_activation_offload(in, out, model)) p.offload = with_activations(p.offload);
}

/// Whose attention runs: Megatron-Core's own, which is never fused and whose softmax is a flag's to choose, or
/// Transformer Engine's, which reads an environment variable. Source: backends.py of Megatron-Core 0.15, softmax.py of
/// Transformer Engine 2.8.
void read_attention(ArgumentReader& in, ForeignPlan& out, ShellScript const& script) {
    ParallelPlan& p = out.plan;
    std::string const backend = in.text("--attention-backend").value_or("auto");
    bool const own = in.text("--transformer-impl") == "local" || backend == "local";
    bool const fused = in.flag("--use-flash-attn");
    bool const flag = in.flag("--no-masked-softmax-fusion");
    bool const variable = script.value_of("NVTE_MASKED_SOFTMAX_FUSION") == "0";
    if (own || (backend == "unfused" && !fused))
        p.attention = (own ? flag : variable) ? AttentionKernel::eager : AttentionKernel::unfused;
    if (flag && !own && !variable)
        out.warnings.push_back(
            "--no-masked-softmax-fusion has no effect on Transformer Engine: NVTE_MASKED_SOFTMAX_FUSION=0 in the "
            "environment has");
}

void read_kernels(ArgumentReader& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    p.fused_cross_entropy = in.flag("--cross-entropy-loss-fusion") ? Switch::on : Switch::off;
    static_cast<void>(in.text("--cross-entropy-fusion-impl"));
    p.fp8_activation_input = in.flag("--activation-func-fp8-input-store") ? Switch::on : Switch::off;
    std::string const recipe = in.text("--fp8-recipe").value_or("delayed");
    if (in.text("--fp8-format"))
        p.precision = recipe == "mxfp8"       ? Precision::mxfp8
                      : recipe == "blockwise" ? Precision::fp8_block
                                              : Precision::fp8;
    if (in.text("--fp4-format")) p.precision = Precision::fp4;
    static_cast<void>(in.text("--fp4-recipe"));
    static_cast<void>(in.flag("--moe-grouped-gemm"));
    static_cast<void>(in.flag("--accumulate-allreduce-grads-in-fp32"));
    bool const reduced = in.flag("--grad-reduce-in-bf16");
    bool const held = in.text("--main-grads-dtype") == "bf16";
    if ((reduced || held) && takes_bf16_gradients(p.precision)) p.gradients = GradientFormat::bf16;
}

/// Products in a narrow format read copies beside 16-bit weights, unless the weights are in that format.
void read_narrow_copies(ArgumentReader& in, ForeignPlan& out) {
    ParallelPlan& p = out.plan;
    static_cast<void>(in.flag("--reuse-grad-buf-for-mxfp8-param-ag"));
    bool const fp8_weights = in.flag("--fp8-param-gather");
    bool const fp4_weights = in.flag("--fp4-param-gather");
    if (!is_narrow(p.precision) || (p.precision == Precision::fp4 ? fp4_weights : fp8_weights)) return;
    if (p.zero < 3 && !p.adapters.on())
        p.narrow_copies = Switch::on;
    else
        out.warnings.push_back(
            "--fp8-format and --fp4-format without --fp8-param-gather, --fp4-param-gather: the narrow copies that "
            "Transformer Engine keeps of weights that are sharded or frozen are not counted");
}

}  // namespace

ForeignPlan import_megatron(std::string_view text, std::string_view where, ModelSpec const& model) {
    ShellScript const script = read_script(text, where);
    ArgumentReader in(script, where);
    if (in.empty())
        throw InputError(
            "{}: no argument that begins with '--' (a script that starts Megatron-LM, or its arguments in a file, is "
            "expected)",
            where);
    ForeignPlan out;
    out.framework = "megatron";
    out.plan.pp = in.degree("--pipeline-model-parallel-size");
    read_megatron_stages(in, out, model);
    read_common_arguments(in, out, model);
    check_megatron_model(in, out, model, MegatronDialect::megatron_lm);
    settle_megatron_stages(out, model);
    read_context(in, out, model);
    read_experts(in, out, model);
    read_sharding(in, out);
    read_optimizer(in, out, model);
    read_attention(in, out, script);
    read_kernels(in, out);
    read_narrow_copies(in, out);
    if (script.value_of(tf32_variable) == "1" && out.plan.precision == Precision::fp32)
        out.plan.precision = Precision::tf32;
    in.finish(out, megatron_without_effect(), megatron_not_counted());
    return out;
}

}  // namespace sextant
