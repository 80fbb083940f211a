#include "planner/validation/row_adapters.hpp"

#include "core/is_one_of.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "planner/report.hpp"
#include "planner/validation/row_words.hpp"
#include "simulator/closed_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace sextant {
namespace {

using Target = AdapterTarget;

/// Rank and targets where a row does not state them.
struct Usual {
    std::int64_t rank;
    AdapterTargets targets;
    char const* source;
};

/// NeMo: the performance mode of its finetune recipes (nemo/collections/llm/recipes/llama3_8b.py). torchtune:
/// recipes/configs/llama3_1/70B_lora.yaml and 405B_qlora.yaml.
Usual usual_of(TrainingRow const& row) {
    if (row.framework_has("torchtune"))
        return {16, AdapterTargets{Target::q, Target::v, Target::output, Target::gate, Target::up, Target::down},
                "torchtune's configurations"};
    if (row.framework_has("nemo") || row.framework_has("megatron"))
        return {16, AdapterTargets{Target::qkv}, "NeMo's finetune recipes"};
    return {16, attention_targets(), "usual for LoRA"};
}

/// What a row says of its adapters may stand in its name, its framework, its notes and with its precision.
std::array<std::string, 4> texts_of(TrainingRow const& row) {
    return {lower_case(row.notes), lower_case(row.model), lower_case(row.framework), lower_case(row.precision)};
}

/// The ranks of latent attention are called so, too: "q_lora 1536", "kv_lora 512", "q-lora-rank".
bool is_latent_rank(std::string_view before, std::string_view behind) {
    bool const is_rank = behind.starts_with("-rank") || behind.starts_with("_rank");
    auto const names = [&](std::string_view matrix) {
        if (!before.ends_with(matrix)) return false;
        before.remove_suffix(matrix.size());
        return before.empty() || !is_letter(before.back());
    };
    if (before.empty()) return false;
    char const joint = before.back();
    before.remove_suffix(1);
    if (joint != '_' && joint != '-' && joint != ' ') return false;
    return names("kv") || ((joint == '_' || is_rank) && (names("q") || names("o")));
}

/// Whether a text in lower case says that adapters are trained: "LoRA", "QLoRA", "rsLoRA", "Q-LoRA".
bool says_adapters(std::string_view text) {
    constexpr std::string_view word = "lora";
    for (auto at = text.find(word); at != nowhere; at = text.find(word, at + 1)) {
        std::string_view before = text.substr(0, at);
        std::string_view const behind = text.substr(at + word.size());
        for (std::string_view const prefix : {std::string_view("q"), std::string_view("rs")})
            if (before.ends_with(prefix)) before.remove_suffix(prefix.size());
        bool const begins = before.empty() || !is_letter(before.back());
        bool const ends = behind.empty() || !is_letter(behind[0]) || behind.starts_with("s ");
        if (begins && ends && !is_latent_rank(before, behind) && !is_denied(text, before.size())) return true;
    }
    return false;
}

/// "r=64", "lora_r: 16", "rank 32", "rank-8"; not the ranks of processes ("rank 0", "on rank 3").
std::optional<std::int64_t> rank_in(std::string_view text) {
    constexpr std::array<std::string_view, 10> processes{"on",  "dp",   "tp",    "pp",  "data",
                                                         "mpi", "last", "first", "per", "each"};
    for (std::string_view const word : {std::string_view("rank"), std::string_view("r")})
        for (auto at = stated_at(text, word); at != nowhere; at = stated_at(text, word, at + 1)) {
            std::string_view const behind = trimmed(text.substr(at + word.size()));
            bool const assigns = behind.starts_with("=") || behind.starts_with(":");
            if ((word == "r" && !assigns) || is_one_of(processes, word_before(text, at))) continue;
            std::string_view const value = value_behind(behind, 0);
            std::int64_t rank = 0;
            auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), rank);
            if (error == std::errc{} && rank > 0) return rank;
        }
    return {};
}

bool fits(TrainingCase const& c) {
    ClosedForm form(c.model, c.workload, *c.cluster, *c.framework, c.plan.precision);
    return form.evaluate(c.plan).peak() <= default_memory_limit(*c.cluster, *c.framework).usable;
}

}  // namespace

bool trains_adapters(TrainingRow const& row) {
    auto const texts = texts_of(row);
    return std::any_of(texts.begin(), texts.end(), says_adapters);
}

bool is_mlperf_adapters(TrainingRow const& row) {
    return trains_adapters(row) && row.source_id.starts_with("mlperf-lora");
}

void narrow_until_it_fits(TrainingRow const& row, TrainingCase& out) {
    // FP8_ACT or FP8_ACTIVATION of configurations that are written for one device: Dell's for two nodes of B200
    // (training_results_v5.1), those for one of H200 (tp 1, cp 2). Others leave the 0 of the common one.
    AcceleratorProfile const& device = out.cluster->accelerator;
    if (!is_mlperf_adapters(row) || device.vendor != "NVIDIA" || !device.peak.contains(out.plan.precision)) return;
    if (fits(out)) return;
    TrainingCase narrow = out;
    narrow.plan.fp8_activation_input = Switch::on;
    if (!fits(narrow)) return;
    out.plan = narrow.plan;
    out.assumptions.emplace_back("inputs of activations in fp8, without which it does not fit");
}

void apply_adapters(TrainingRow const& row, TrainingCase& out) {
    if (!trains_adapters(row)) return;
    LowRankAdapters& adapters = out.plan.adapters;
    Usual const usual = usual_of(row);
    auto const texts = texts_of(row);
    auto const say = [&](std::initializer_list<std::string_view> words) {
        return std::any_of(texts.begin(), texts.end(), [&](std::string const& text) { return has_any(text, words); });
    };
    std::optional<std::int64_t> rank;
    for (std::string const& text : texts)
        if (!rank) rank = rank_in(text);
    adapters.rank = rank.value_or(usual.rank);
    // The fused layers of Megatron-Core have one adapter for queries, keys and values.
    bool const fused = is_framework(*out.framework, "megatron");
    bool const on_attention = row.notes_have("attention adapters");
    bool const on_all = say({"all linear", "all-linear", "all_linear"});
    if (on_attention)
        adapters.targets = fused ? AdapterTargets{Target::qkv, Target::output} : attention_targets();
    else if (on_all)
        adapters.targets =
            fused ? AdapterTargets{Target::qkv, Target::output, Target::gate_up, Target::down} : all_targets();
    else
        adapters.targets = usual.targets;
    if (!rank || (!on_attention && !on_all))
        out.assumptions.push_back(fmt::format("adapters of rank {} on {} as in {}", adapters.rank,
                                              targets_text(adapters.targets), usual.source));
    if (say({"qlora", "q-lora", "nf4", "4-bit", "4bit", "int4"}))
        adapters.base = BaseWeights::nf4;
    else if (say({"load_in_8bit", "8-bit base", "int8", "int8 base", "llm.int8"}))
        adapters.base = BaseWeights::int8;
    else if (is_mlperf_adapters(row) && out.plan.precision == Precision::fp8)
        adapters.base = BaseWeights::fp8;  // fp8_params of the reference's configuration
}

}  // namespace sextant
