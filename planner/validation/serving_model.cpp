#include "planner/validation/serving_model.hpp"

#include "core/measurements/row_cells.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

namespace sextant {
namespace {

/// Letters and digits of what follows the last slash, in lower case.
std::string plain(std::string_view name) {
    auto const slash = name.rfind('/');
    return letters_and_digits(slash == std::string_view::npos ? name : name.substr(slash + 1));
}

/// What makes no other shape: tuning, packaging, number formats. Longer ones first.
constexpr std::array endings{"instructfp8dynamic",
                             "instruct2507",
                             "instruct",
                             "dynamic",
                             "nvfp4",
                             "mxfp4",
                             "thinking",
                             "fp8",
                             "fp4",
                             "awq",
                             "gptq",
                             "int8",
                             "int4",
                             "w8a8",
                             "w4a16",
                             "chat",
                             "base",
                             "bf16",
                             "fp16",
                             "hf",
                             "it",
                             "v01",
                             "v02",
                             "v03",
                             "0324",
                             "0528",
                             "2506",
                             "2507",
                             "2407"};

struct OtherName {
    std::string_view name;
    std::string_view preset;
};
/// Spellings of tables, without punctuation.
constexpr OtherName other_names[] = {
    {"llamav27b", "llama-2-7b"},
    {"llamav213b", "llama-2-13b"},
    {"llamav270b", "llama-2-70b"},
    {"llama27b", "llama-2-7b"},
    {"llama213b", "llama-2-13b"},
    {"llama270b", "llama-2-70b"},
    {"llamav38b", "llama-3-8b"},
    {"llamav370b", "llama-3-70b"},
    {"metallama38b", "llama-3-8b"},
    {"metallama370b", "llama-3-70b"},
    {"llama13b", "llama-13b"},
    {"llama70b", "llama-2-70b"},
    {"metallama318b", "llama-3.1-8b"},
    {"metallama3170b", "llama-3.1-70b"},
    {"metallama31405b", "llama-3.1-405b"},
    {"deepseekr1", "deepseek-v3"},
    {"deepseekv31", "deepseek-v3"},
    {"bloom", "bloom-176b"},
    {"mixtral8x7b", "mixtral-8x7b"},
    {"gemma117b", "gemma-7b"},
    {"mistralsmall3224b", "mistral-small-24b"},
    {"mistralsmall24b", "mistral-small-24b"},
    {"falcon180b", "falcon-180b"},
    {"opt175b", "opt-175b"},
};

/// A model that is like a preset in everything but its sizes. Source: config.json of each on huggingface.co.
struct OtherSizes {
    std::string_view name;
    std::string_view preset;
    std::int64_t layers, hidden, intermediate, heads, kv_heads, head_dim, vocab;
    std::int64_t experts = 0, top_k = 0;
};
constexpr std::array other_sizes{
    OtherSizes{"gptj6b", "pythia-6.9b", 28, 4096, 16384, 16, 16, 256, 50400},
    OtherSizes{"yi6b", "llama-2-7b", 32, 4096, 11008, 32, 4, 128, 64000},
    OtherSizes{"yi34b", "llama-2-70b", 60, 7168, 20480, 56, 8, 128, 64000},
    OtherSizes{"codellama34b", "llama-2-70b", 48, 8192, 22016, 64, 8, 128, 32000},
    OtherSizes{"qwen157b", "qwen2-7b", 32, 4096, 11008, 32, 32, 128, 151936},
    OtherSizes{"qwen272b", "qwen2.5-72b", 80, 8192, 29568, 64, 8, 128, 152064},
    OtherSizes{"aquila7b", "llama-7b", 32, 4096, 11008, 32, 32, 128, 100008},
    OtherSizes{"internlm20b", "llama-2-13b", 60, 5120, 13824, 40, 40, 128, 103168},
    OtherSizes{"minimaxm2", "qwen3-235b-a22b", 62, 3072, 1536, 48, 8, 128, 200064, 256, 8},
    OtherSizes{"minimaxm21", "qwen3-235b-a22b", 62, 3072, 1536, 48, 8, 128, 200064, 256, 8},
    OtherSizes{"minimaxm25", "qwen3-235b-a22b", 62, 3072, 1536, 48, 8, 128, 200064, 256, 8},
};

ModelSpec resized(OtherSizes const& sizes) {
    ModelSpec model = find_model(sizes.preset);
    model.name = std::string(sizes.name);
    model.hidden = sizes.hidden;
    model.vocab = sizes.vocab;
    model.layers.assign(static_cast<std::size_t>(sizes.layers), model.layers.back());
    AttentionSpec& a = model.attention;
    a.heads = sizes.heads;
    a.kv_heads = sizes.kv_heads;
    a.head_dim = sizes.head_dim;
    a.value_head_dim = sizes.head_dim;
    if (model.moe) {
        model.moe->experts = sizes.experts;
        model.moe->top_k = sizes.top_k;
        model.moe->intermediate = sizes.intermediate;
    } else {
        model.mlp.intermediate = sizes.intermediate;
    }
    return model;
}

std::optional<ModelSpec> model_called(std::string const& wanted) {
    for (OtherName const& other : other_names)
        if (other.name == wanted) return find_model(other.preset);
    for (OtherSizes const& other : other_sizes)
        if (other.name == wanted) return resized(other);
    for (std::string const& name : model_names())
        if (plain(name) == wanted) return find_model(name);
    return std::nullopt;
}

std::optional<ModelSpec> search(std::string name) {
    for (int cut = 0; cut < 4; ++cut) {
        if (auto found = model_called(name)) return found;
        auto const ending = std::find_if(endings.begin(), endings.end(), [&](std::string_view e) {
            return name.size() > e.size() && name.ends_with(e);
        });
        if (ending == endings.end()) return std::nullopt;
        name.resize(name.size() - std::string_view(*ending).size());
    }
    return std::nullopt;
}

}  // namespace

std::optional<ModelSpec> serving_model(std::string const& name) {
    static std::mutex guard;
    static std::map<std::string, std::optional<ModelSpec>> known;
    std::lock_guard const lock(guard);
    auto const [entry, is_new] = known.try_emplace(name);
    if (is_new) entry->second = search(plain(name));
    return entry->second;
}

std::string format_in_name(std::string const& model) {
    std::string const name = lower_case(model);
    auto const has = [&](char const* word) { return name.find(word) != std::string::npos; };
    if (has("nvfp4") || has("mxfp4") || has("gpt-oss")) return "fp4";
    if (has("awq") || has("gptq") || has("int4") || has("w4a16")) return "int4-weights";
    if (has("w8a8") || has("int8")) return "int8";
    if (has("deepseek-v3") || has("deepseek-r1") || has("minimax-m2")) return "fp8-block";
    if (has("fp8")) return "fp8";
    return "";
}

}  // namespace sextant
