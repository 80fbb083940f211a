#include "planner/validation/row_spelling.hpp"

#include "cost_models/kernel_estimate.hpp"
#include "planner/remat_policies.hpp"
#include "planner/validation/row_adapters.hpp"

#include "core/error.hpp"
#include "core/is_one_of.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>

namespace sextant {
namespace {

/// float16 that is not bfloat16.
bool has_float16(std::string_view text) {
    constexpr std::string_view name = "float16";
    for (auto at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1))
        if (at == 0 || text[at - 1] != 'b') return true;
    return false;
}

/// A number in a text that is no part of a word or of a version ("FSDP2", "fp8", "ZeRO-3"), with what is around it.
struct LooseNumber {
    double value = 0;
    std::string before;       ///< the word before it
    std::string_view behind;  ///< the text behind it, without blanks
};

std::vector<LooseNumber> loose_numbers(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    std::vector<LooseNumber> found;
    for (std::size_t at = text.find_first_of("0123456789"); at != std::string_view::npos;) {
        LooseNumber number;
        auto const [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), number.value);
        std::size_t const behind = error == std::errc{} ? static_cast<std::size_t>(end - text.data()) : at + 1;
        number.behind = trimmed(text.substr(behind), " -");
        auto const letter_at = [&](std::size_t place) { return has(letters, text.substr(place, 1)); };
        bool const hyphenated = at > 1 && text[at - 1] == '-' && letter_at(at - 2);
        bool const attached = (at > 0 && (letter_at(at - 1) || text[at - 1] == '.')) ||
                              (hyphenated && !number.behind.starts_with("layer"));
        if (!attached) {
            auto const last = text.substr(0, at).find_last_of(letters);
            auto const first = last == std::string_view::npos ? last : text.substr(0, last).find_last_not_of(letters);
            std::size_t const begin = first == std::string_view::npos ? 0 : first + 1;
            if (last != std::string_view::npos) number.before = std::string(text.substr(begin, last + 1 - begin));
            found.push_back(std::move(number));
        }
        at = text.find_first_of("0123456789", behind);
    }
    return found;
}

/// Megatron's size of chunks, which hold all layers ("recompute_num_layers=12").
bool counts_chunks(std::string_view text) { return has(text, "num_layers") || has(text, "num-layers"); }

/// Recomputed layers of the stage's, as a text counts them. Only a number beside "layers" or "blocks" is one of layers.
struct CountedLayers {
    std::optional<std::int64_t> layers;  ///< absent: the text counts none
    bool is_clear = true;                ///< false: there is a number that may mean anything
};

CountedLayers counted_layers(std::string_view text, std::int64_t per_stage) {
    auto const share = [&](double of_all) {
        return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(per_stage) * of_all));
    };
    if (has(text, "uniform")) return {};
    if (has(text, "every other") || has(text, "every-other") || has(text, "every second") || has(text, "half of") ||
        has(text, "half the") || text == "half" || text == "1/2")
        return {.layers = share(0.5)};
    bool const in_blocks = has(text, "block");
    bool const in_chunks = counts_chunks(text);
    for (LooseNumber const& number : loose_numbers(text)) {
        std::string_view behind = number.behind;
        for (std::string_view const ordinal : {"st", "nd", "rd", "th"})
            if (behind.starts_with(ordinal)) behind = trimmed(behind.substr(ordinal.size()), " -");
        bool const of_layers = behind.starts_with("layer") || behind.starts_with("block");
        if (number.value <= 0) continue;
        // "16/32 layers", "layers 1-16"
        bool const of_all = behind.starts_with("/");
        bool const to = !behind.empty() && behind[0] >= '0' && behind[0] <= '9';
        if (double second = 0; of_all || to) {
            std::string_view const rest = of_all ? behind.substr(1) : behind;
            std::from_chars(rest.data(), rest.data() + rest.size(), second);
            if (!has(text, "layer") || second < number.value) return {.layers = {}, .is_clear = false};
            return {.layers =
                        of_all ? share(number.value / second) : static_cast<std::int64_t>(second - number.value) + 1};
        }
        auto const count = static_cast<std::int64_t>(std::min(number.value, 1e6));
        if (number.before == "every" && (of_layers || behind.empty())) return {.layers = share(1 / number.value)};
        if (behind.starts_with("%")) return {.layers = share(std::min(1.0, number.value / 100))};
        bool const named = number.before.ends_with("layers") || number.before.starts_with("block");
        if (named && in_chunks && !in_blocks) return {};
        if (of_layers || named) return {.layers = count};
        return {.layers = {}, .is_clear = false};
    }
    return {};
}

void recompute_layers(TrainingCase& out, std::int64_t layers) {
    std::int64_t const per_stage = std::max<std::int64_t>(1, out.model.layer_count() / out.plan.pp);
    out.plan.recompute = Recompute::full;
    out.plan.recompute_layers = layers >= per_stage ? 0 : std::max<std::int64_t>(1, layers);
}

/// What says that something is recomputed, and not what.
constexpr std::array words_of_selection{
    std::string_view("selective"),   std::string_view("sel"),           std::string_view("sac"),
    std::string_view("recompute"),   std::string_view("recomputation"), std::string_view("activation"),
    std::string_view("activations"), std::string_view("checkpointing"), std::string_view("checkpoint"),
    std::string_view("ac"),          std::string_view("only"),          std::string_view("of"),
    std::string_view("and"),         std::string_view("modules")};
constexpr std::array words_of_core_attention{std::string_view("attention"), std::string_view("attn"),
                                             std::string_view("core_attention"), std::string_view("core")};

constexpr std::array words_of_none{
    std::string_view("none"),    std::string_view("0"),        std::string_view("false"),   std::string_view("no"),
    std::string_view("off"),     std::string_view("disabled"), std::string_view("without"), std::string_view("w/o"),
    std::string_view("nothing"), std::string_view("not used"), std::string_view("unused")};
constexpr std::array words_of_full{std::string_view("1"),
                                   std::string_view("true"),
                                   std::string_view("yes"),
                                   std::string_view("on"),
                                   std::string_view("enabled"),
                                   std::string_view("ac"),
                                   std::string_view("ac on"),
                                   std::string_view("all"),
                                   std::string_view("all layers"),
                                   std::string_view("every layer"),
                                   std::string_view("uniform"),
                                   std::string_view("checkpoint every layer"),
                                   std::string_view("each layer"),
                                   std::string_view("layer"),
                                   std::string_view("per layer"),
                                   std::string_view("per-layer"),
                                   std::string_view("block"),
                                   std::string_view("blocks"),
                                   std::string_view("per block"),
                                   std::string_view("each block"),
                                   std::string_view("every block"),
                                   std::string_view("per-block"),
                                   std::string_view("transformer block"),
                                   std::string_view("transformer blocks"),
                                   std::string_view("transformer layer"),
                                   std::string_view("gc"),
                                   std::string_view("remat"),
                                   std::string_view("unsloth")};

/// Formats of what adapters stand on, which are no format of products.
constexpr std::array words_of_base{std::string_view("nf4"),  std::string_view("fp4"),  std::string_view("4-bit"),
                                   std::string_view("4bit"), std::string_view("int4"), std::string_view("8-bit"),
                                   std::string_view("8bit"), std::string_view("int8"), std::string_view("qlora")};
/// 16 bits of which the row does not say which.
constexpr std::array words_of_half{std::string_view("mixed"), std::string_view("mixed precision"),
                                   std::string_view("amp"),   std::string_view("16-bit"),
                                   std::string_view("16bit"), std::string_view("16-true"),
                                   std::string_view("16"),    std::string_view("mixed-precision")};
constexpr std::array words_of_single{std::string_view("32-true"), std::string_view("32-bit"), std::string_view("32"),
                                     std::string_view("single"), std::string_view("full precision")};

/// The modules in "selective:[layernorm moe_act]", "selective: norm, act, shared_expert" or "selective:moe+layernorm".
RecomputeModules named_modules(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    RecomputeModules found;
    for (std::size_t at = text.find_first_of(letters); at != std::string_view::npos;) {
        std::size_t const end = std::min(text.find_first_not_of(letters, at), text.size());
        std::string_view const word = text.substr(at, end - at);
        at = text.find_first_of(letters, end);
        if (is_one_of(words_of_selection, word)) continue;
        std::string_view const name = word == "norm"                             ? "layernorm"
                                      : word == "act"                            ? "moe_act"
                                      : word == "shared_expert"                  ? "shared_experts"
                                      : is_one_of(words_of_core_attention, word) ? "core_attn"
                                                                                 : word;
        try {
            found |= recompute_modules_from(name, "recompute");
        } catch (InputError const&) {
            throw RowSkip(fmt::format("recompute of '{}' is not modelled", word));
        }
    }
    return found;
}

/// What MaxText's policy of that name, or of these tensors, keeps of the model.
std::optional<RematPolicy> maxtext_policy(std::string_view text, ModelSpec const& model) {
    try {
        std::optional<RematPolicy> policy = remat_policy_in(text);
        if (!policy) return policy;
        ActivationGroups const there = activations_of(model);
        return RematPolicy{.kept = policy->kept & there, .offloaded = policy->offloaded & there};
    } catch (InputError const& e) {
        throw RowSkip(e.what());
    }
}

/// What the model has not has no effect.
void recompute_modules(TrainingCase& out, RecomputeModules modules) {
    modules = modules & modules_of(out.model);
    if (modules.empty()) return;
    out.plan.recompute = Recompute::selective;
    out.plan.recompute_modules = modules;
}

/// fp8 by how the row says that it is scaled: "MXFP8", "FP8-MX", "FP8 blockwise", and "FP8 (MX or blockwise)" by what
/// the device has.
Precision scaled_fp8(std::string const& text, AcceleratorProfile const& accelerator) {
    if (has(text, "mx") && accelerator.applies_scales()) return Precision::mxfp8;
    return has(text, "block") ? Precision::fp8_block : Precision::fp8;
}

}  // namespace

bool is_mlperf(TrainingRow const& row) { return row.source_id.starts_with("mlperf"); }

Precision precision_of(TrainingRow const& row, TrainingCase& out) {
    std::string const text = lower_case(row.precision);
    bool const is_base = trains_adapters(row) && has_any(text, words_of_base);
    bool const has_16_bits = has(text, "bf16") || has(text, "fp16") || has(text, "float16");
    if (is_one_of(words_of_half, text) || (is_base && !has_16_bits)) {
        Precision const usual = two_byte_precision(out.cluster->accelerator);
        out.assumptions.push_back(fmt::format("{} where 16 bits are stated", name_of(usual)));
        return usual;
    }
    if (has(text, "fp4") && !is_base) return Precision::fp4;
    if (row.notes_have("_fp4.sh")) {
        out.assumptions.emplace_back("fp4 as the configuration's name says, whose other products are in bf16");
        return Precision::fp4;
    }
    for (std::string_view const word : {"fp8", "fp-8", "float8", "f8e4m3", "e4m3", "e5m2"})
        if (has(text, word)) return scaled_fp8(text, out.cluster->accelerator);
    if (has(text, "fp16") || has_float16(text) || text == "half" || text == "16-mixed") return Precision::fp16;
    if (has(text, "bf16") || has(text, "bfloat16")) return Precision::bf16;
    if (has(text, "tf32")) return Precision::tf32;
    if (has(text, "fp32") || has(text, "float32") || is_one_of(words_of_single, text)) return Precision::fp32;
    if (!text.empty()) throw RowSkip("precision '" + row.precision + "' is not known here");
    bool const has_fp8 = out.cluster->accelerator.peak.contains(Precision::fp8);
    std::string const& family = family_name(*out.framework);
    // Submissions in fp4 are of NVIDIA's devices that have it, and say so in the names of their configurations:
    // config_DGXB200_8x8x1xtp1pp1cp2_8b.sh has nodes, accelerators of one, micro-batch and layout.
    bool const names_configuration = row.notes_have("config_") && row.notes_have("xtp");
    bool const may_be_fp4 =
        out.cluster->accelerator.peak.contains(Precision::fp4) && out.cluster->accelerator.vendor != "AMD";
    if (has_fp8 && is_mlperf(row) && (is_mlperf_adapters(row) || names_configuration || !may_be_fp4)) {
        out.assumptions.emplace_back("fp8 as every submission of this benchmark that states a precision");
        return Precision::fp8;
    }
    // Recipes of these publish steps in both formats.
    constexpr std::array<std::string_view, 4> trains_in_fp8{"megatron", "generic", "maxtext", "torchtitan"};
    if (has_fp8 && is_one_of(trains_in_fp8, family)) throw OpenCellSkip(OpenCell::precision);
    out.assumptions.emplace_back("bf16 where no precision is stated");
    return Precision::bf16;
}

void apply_recompute(TrainingRow const& row, TrainingCase& out) {
    std::string const text = lower_case(row.recompute);
    ParallelPlan& plan = out.plan;
    // vTrain's configurations ask for full recompute. Layers of 2,048 on 8 x 1,024 tokens take 17.1 ms, forward and
    // backward, on one A100: 12.7 ms for products alone at 260 TFLOP/s if all ran again, 16.8 ms predicted if not.
    if (row.source_id == "vtrain-single") {
        out.assumptions.emplace_back("no recompute, which the times of vTrain's layers leave no room for");
        return;
    }
    std::int64_t const per_stage = std::max<std::int64_t>(1, out.model.layer_count() / plan.pp);
    if (text.empty()) {
        // config_MI300X_*.sh of training_results_v5.1 (AMD's, ASUSTeK, MangoBoost): ACG=full, ACM=block, ACL=21;
        // those of the MI325X and of NVIDIA's devices set none.
        if (is_mlperf_adapters(row) && row.gpu == "MI300X") {
            out.assumptions.emplace_back("21 layers recomputed as in the submissions' configuration for the MI300X");
            return recompute_layers(out, 21);
        }
        if (trains_adapters(row) && row.framework_has("torchtune")) {
            out.assumptions.emplace_back("full recompute as in torchtune's configurations for LoRA");
            plan.recompute = Recompute::full;
            return;
        }
        bool const remat = is_framework(*out.framework, "maxtext");
        if (remat) throw OpenCellSkip(OpenCell::recompute);
        out.assumptions.emplace_back("no recompute where none is stated");
        return;
    }
    if (is_one_of(words_of_none, text) || text.starts_with("no ") || text.starts_with("w/o ") ||
        text.starts_with("without ") || has(text, "everything_saveable"))
        return;
    if (auto const remat = maxtext_policy(text, out.model)) return apply(*remat, plan);
    if (has(text, "offload")) throw RowSkip("recompute policy with offload of some activations");
    if (has(text, "selective layer")) return recompute_layers(out, per_stage / 2);
    if (text == "op" || has(text, "selective op") || has(text, "selective_op") || has(text, "selective:op") ||
        has(text, "llama3_8b.toml"))
        return recompute_modules(out, {RecomputeModule::op});
    bool const some = has(text, "sel") || has(text, "sac") || has(text, "dots");
    bool const checkpointing = has(text, "checkpointing") && !some;
    bool const is_word = is_one_of(words_of_full, text);
    CountedLayers const counted = is_word ? CountedLayers{} : counted_layers(text, per_stage);
    bool const every = some && has(text, "every") && counted.layers;
    if (has(text, "full") || is_word || has(text, "nothing_saveable") || checkpointing || every ||
        ((counted.layers || counts_chunks(text)) && !some)) {
        if (!counted.is_clear)
            throw RowSkip("recompute policy '" + row.recompute + "': a number of what? ('8 layers', or 'full')");
        if (counted.layers) return recompute_layers(out, *counted.layers);
        plan.recompute = Recompute::full;
        return;
    }
    // Keeps the outputs of projections (with "flash" or "context" that of attention, too): all else runs again.
    if (has(text, "save_dot_only") || has(text, "dots")) {
        bool const keeps_attention = has(text, "flash") || has(text, "context");
        return apply(remat_policy(keeps_attention ? "minimal_with_context" : "minimal"), plan);
    }
    RecomputeModules const modules = named_modules(text);
    if (!some && modules.empty()) throw RowSkip("recompute policy '" + row.recompute + "' is not modelled");
    if (!modules.empty() && modules != RecomputeModules{RecomputeModule::core_attn})
        return recompute_modules(out, modules);
    if (modules.empty() && (is_framework(*out.framework, "torchtitan") || row.framework_has("fms-fsdp"))) {
        out.assumptions.emplace_back("selective recompute of an unstated share as half the layers");
        return recompute_layers(out, per_stage / 2);
    }
    plan.recompute = Recompute::selective;
}

}  // namespace sextant
