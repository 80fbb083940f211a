#include "core/spec/model_name.hpp"

#include "core/is_one_of.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/text.hpp"
#include "core/words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <vector>

namespace sextant {
namespace {

using Words = std::vector<std::string>;

/// Tuning, packaging and number formats (core/spec/named_format.hpp): they make no other shape.
constexpr std::array silent{
    "instruct", "chat",      "base",        "hf",       "it",         "pt",         "fp8",     "fp4",      "nvfp4",
    "mxfp4",    "mxfp8",     "bf16",        "fp16",     "int8",       "int4",       "8bit",    "4bit",     "awq",
    "gptq",     "gguf",      "bnb",         "kv",       "w8a8",       "w4a16",      "w4a8",    "w8a16",    "nf4",
    "dynamic",  "quantized", "thinking",    "think",    "sft",        "dpo",        "rlhf",    "full",     "model",
    "class",    "pretrain",  "pretraining", "finetune", "finetuning", "pretrained", "preview", "terminus", "turbo"};

/// Owners that some names begin with.
constexpr std::array owners{"meta", "nvidia", "google", "facebook", "openai", "microsoft", "ibm"};

struct OtherName {
    std::string_view name;  ///< as `joined`
    std::string_view preset;
};

/// Names of the same sizes under another name, and short ones that can mean nothing else.
constexpr OtherName other_names[] = {
    {"alpaca7b", "llama-7b"},
    {"aquilachat7b", "aquila-7b"},
    {"arctic", "arctic-480b"},
    {"bloom", "bloom-176b"},
    {"bloom7.1b", "bloom-7b1"},
    {"bloomberggpt", "bloomberggpt-50b"},
    {"bloomz", "bloom-176b"},
    {"bloomz7b1", "bloom-7b1"},
    {"c4aicommandr", "command-r"},
    {"c4aicommandrplus", "command-r-plus"},
    {"cerebrasgpt13b", "gpt3-13b"},
    {"commanda", "command-a-111b"},
    {"commandr35b", "command-r"},
    {"commandrplus104b", "command-r-plus"},
    {"dbrx", "dbrx-132b"},
    {"deepseek2236b", "deepseek-v2"},
    {"deepseek25", "deepseek-v2"},
    {"deepseek2lite16b", "deepseek-v2-lite"},
    {"deepseek31", "deepseek-v3"},
    {"deepseek32exp", "deepseek-v3.2"},
    {"deepseek32speciale", "deepseek-v3.2"},
    {"deepseek3671b", "deepseek-v3"},
    {"deepseek67b", "deepseek-llm-67b"},
    {"deepseek7b", "deepseek-llm-7b"},
    {"deepseekcoderv2", "deepseek-v2"},
    {"deepseekcoderv2lite", "deepseek-v2-lite"},
    {"deepseekr1", "deepseek-v3"},
    {"deepseekr1671b", "deepseek-v3"},
    {"deepseekr1distillllama70b", "llama-3.3-70b"},
    {"deepseekr1distillllama8b", "llama-3.1-8b"},
    {"deepseekr1distillqwen1.5b", "qwen2.5-1.5b"},
    {"deepseekr1distillqwen14b", "qwen2.5-14b"},
    {"deepseekr1distillqwen32b", "qwen2.5-32b"},
    {"deepseekr1distillqwen7b", "qwen2.5-7b"},
    {"deepseekv2", "deepseek-v2"},
    {"deepseekv2lite", "deepseek-v2-lite"},
    {"deepseekv3", "deepseek-v3"},
    {"deepseekv3671b", "deepseek-v3"},
    {"devstral24b", "mistral-small-24b-2503"},
    {"devstralsmall", "mistral-small-24b-2503"},
    {"devstralsmall24b", "mistral-small-24b-2503"},
    {"dotsllm1", "dots.llm1-142b"},
    {"dotsllm1inst", "dots.llm1-142b"},
    {"exaone432b", "exaone-4.0-32b"},
    {"flanpalm540b", "palm-540b"},
    {"flanpalm62b", "palm-62b"},
    {"flanpalm8b", "palm-8b"},
    {"gemma112b", "gemma-2b"},
    {"gemma117b", "gemma-7b"},
    {"glm47", "glm-4.6"},
    {"gpt1.3b", "gpt3-1.3b"},
    {"gpt13b", "gpt3-13b"},
    {"gpt145b", "megatron-145b"},
    {"gpt175b", "gpt3-175b"},
    {"gpt18b", "megatron-18b"},
    {"gpt1t", "megatron-1t"},
    {"gpt2.7b", "gpt3-2.7b"},
    {"gpt21.5b", "gpt2-xl"},
    {"gpt2124m", "gpt2"},
    {"gpt2355m", "gpt2-medium"},
    {"gpt2774m", "gpt2-large"},
    {"gpt2small", "gpt2"},
    {"gpt2xl1.5b", "gpt2-xl"},
    {"gpt310b", "megatron-310b"},
    {"gpt4allj", "gpt-j-6b"},
    {"gpt530b", "megatron-530b"},
    {"gpt6.7b", "gpt3-6.7b"},
    {"gptj", "gpt-j-6b"},
    {"gptneox", "gpt-neox-20b"},
    {"granite308b", "granite-3.3-8b"},
    {"granite318b", "granite-3.3-8b"},
    {"granite328b", "granite-3.3-8b"},
    {"granite38b", "granite-3.3-8b"},
    {"granitecode20b", "granite-20b-code"},
    {"granitecode34b", "granite-34b-code"},
    {"grok1314b", "grok-1"},
    {"grok2270b", "grok-2"},
    {"internlm251.8b", "internlm2-1.8b"},
    {"internlm2520b", "internlm2-20b"},
    {"internlm257b", "internlm2-7b"},
    {"kimik21t", "kimi-k2"},
    {"kimik2thinking", "kimi-k2-0905"},
    {"llama113b", "llama-13b"},
    {"llama130b", "llama-33b"},
    {"llama133b", "llama-33b"},
    {"llama165b", "llama-65b"},
    {"llama17b", "llama-7b"},
    {"llama234b", "codellama-34b"},
    {"llama30b", "llama-33b"},
    {"llama31nemotron70b", "llama-3.1-70b"},
    {"llama31nemotronnano8b", "llama-3.1-8b"},
    {"llama3405b", "llama-3.1-405b"},
    {"llama405b", "llama-3.1-405b"},
    {"llama4maverick", "llama-4-maverick-17b-128e"},
    {"llama4maverick17b", "llama-4-maverick-17b-128e"},
    {"llama4maverick400b", "llama-4-maverick-17b-128e"},
    {"llama4scout", "llama-4-scout-17b-16e"},
    {"llama4scout109b", "llama-4-scout-17b-16e"},
    {"llama4scout17b", "llama-4-scout-17b-16e"},
    {"llama70b", "llama-2-70b"},
    {"magistral24b", "mistral-small-24b-2503"},
    {"magistralsmall", "mistral-small-24b-2503"},
    {"magistralsmall24b", "mistral-small-24b-2503"},
    {"mathstral7b", "mistral-7b-v0.3"},
    {"megatrongpt1t", "megatron-1t"},
    {"megatronturingnlg", "megatron-530b"},
    {"megatronturingnlg530b", "megatron-530b"},
    {"minimaxm21", "minimax-m2"},
    {"minimaxm25", "minimax-m2"},
    {"mistrallarge", "mistral-large-123b"},
    {"mistrallarge2", "mistral-large-123b"},
    {"mistrallarge2512", "mistral-large-3-675b"},
    {"mistrallarge3", "mistral-large-3-675b"},
    {"mistralnemo", "mistral-nemo-12b"},
    {"mistralsmall22b", "codestral-22b"},
    {"mistralsmall3124b", "mistral-small-24b-2503"},
    {"mistralsmall3224b", "mistral-small-24b-2503"},
    {"mistralsmall324b", "mistral-small-24b"},
    {"mistralsmall4", "mistral-small-4-119b"},
    {"mistralsmallinstruct2409", "codestral-22b"},
    {"mtnlg", "megatron-530b"},
    {"mtnlg530b", "megatron-530b"},
    {"nemotron15b", "nemotron-4-15b"},
    {"nemotron22b", "nemotron-3-22b"},
    {"nemotron340b", "nemotron-4-340b"},
    {"nemotron3nano", "nemotron-3-nano-30b-a3b"},
    {"nemotron3nano30b", "nemotron-3-nano-30b-a3b"},
    {"nemotron8b", "nemotron-3-8b"},
    {"nemotronnano212b", "nemotron-nano-12b-v2"},
    {"nemotronnano29b", "nemotron-nano-9b-v2"},
    {"nemotronnanov212b", "nemotron-nano-12b-v2"},
    {"nemotronnanov29b", "nemotron-nano-9b-v2"},
    {"openchat35", "mistral-7b"},
    {"openhermes25mistral7b", "mistral-7b"},
    {"openllama13b", "llama-13b"},
    {"openllama7b", "llama-7b"},
    {"palm", "palm-540b"},
    {"phi35mini", "phi-3-mini-128k"},
    {"phi3medium14b", "phi-3-medium"},
    {"phi3mini3.8b", "phi-3-mini"},
    {"phi414b", "phi-4"},
    {"qwen1.8b", "qwen1.5-1.8b"},
    {"qwen25coder0.5b", "qwen2.5-0.5b"},
    {"qwen25coder1.5b", "qwen2.5-1.5b"},
    {"qwen25coder14b", "qwen2.5-14b"},
    {"qwen25coder32b", "qwen2.5-32b"},
    {"qwen25coder3b", "qwen2.5-3b"},
    {"qwen25coder7b", "qwen2.5-7b"},
    {"qwen25math72b", "qwen2.5-72b"},
    {"qwen25math7b", "qwen2.5-7b"},
    {"qwen3235b", "qwen3-235b-a22b"},
    {"qwen330b", "qwen3-30b-a3b"},
    {"qwen330b3a", "qwen3-30b-a3b"},
    {"qwen35397b", "qwen3.5-397b-a17b"},
    {"qwen3627b", "qwen3.5-27b"},
    {"qwen3635ba3b", "qwen3.5-35b-a3b"},
    {"qwen3coder30ba3b", "qwen3-30b-a3b-2507"},
    {"qwen3coder480b", "qwen3-coder-480b-a35b"},
    {"qwen3codernext", "qwen3-next-80b-a3b"},
    {"qwen3next80b", "qwen3-next-80b-a3b"},
    {"qwq32b", "qwen2.5-32b"},
    {"ring1t", "ling-1t"},
    {"ringflash20", "ling-flash-2.0"},
    {"ringlite", "ling-lite"},
    {"ringmini20", "ling-mini-2.0"},
    {"smollm1.7b", "smollm2-1.7b"},
    {"smollm135m", "smollm2-135m"},
    {"smollm360m", "smollm2-360m"},
    {"snowflakearctic", "arctic-480b"},
    {"snowflakearctic480b", "arctic-480b"},
    {"starcoder", "starcoder-15.5b"},
    {"tinyllama", "tinyllama-1.1b"},
    {"vicuna13b", "llama-2-13b"},
    {"vicuna13bv11", "llama-13b"},
    {"vicuna13bv13", "llama-13b"},
    {"vicuna33b", "llama-33b"},
    {"vicuna7b", "llama-2-7b"},
    {"vicuna7bv11", "llama-7b"},
    {"vicuna7bv13", "llama-7b"},
    {"wizardlm70b", "llama-2-70b"},
    {"yi1534b", "yi-34b"},
    {"yi156b", "yi-6b"},
    {"yi159b", "yi-9b"},
    {"zephyr7b", "mistral-7b"},
    {"zephyr7bbeta", "mistral-7b"},
};

/// A number, with or without a decimal point.
bool is_number(std::string_view text) {
    return !text.empty() && is_digit(text.front()) &&
           std::all_of(text.begin(), text.end(), [](char c) { return is_digit(c) || c == '.'; });
}

/// "7b", "0.5b", "8x7b", "360m".
bool is_size(std::string_view word) {
    return word.size() > 1 && (word.back() == 'b' || word.back() == 'm') && is_digit(word.front()) &&
           is_digit(word[word.size() - 2]);
}

/// Nous Research's tunings of others' models: "Hermes-3-Llama-3.1-8B", "Nous-Hermes-2-Mixtral-8x7B-DPO". Without the
/// words in front, if they are such.
void drop_tuning(Words& words) {
    auto word = words.begin();
    if (word != words.end() && *word == "nous") ++word;
    if (word == words.end() || *word != "hermes") return;
    ++word;
    while (word != words.end() && (is_number(*word) || *word == "pro" || *word == "theta"))
        ++word;
    words.erase(words.begin(), word);
}

/// The points of a name in which they are a p: "v3p1", "qwen2p5".
void restore_points(std::string& text) {
    for (std::size_t i = 1; i + 1 < text.size(); ++i)
        if (text[i] == 'p' && is_digit(text[i - 1]) && is_digit(text[i + 1])) text[i] = '.';
}

/// What follows the last slash, in lower case, cut at everything but letters, digits and decimal points. A version
/// after the first word is its number ("llama v2"), a size in front goes to the end ("70B Llama 2"), the plus that ends
/// a word is one ("Command R+"), the sign of multiplication is an x ("8×7B"), and a p between digits a point
/// (Fireworks' "v3p1").
Words words_of(std::string_view name) {
    constexpr std::string_view times = "\xc3\x97";
    auto const slash = name.rfind('/');
    std::string text = lower_case(slash == std::string_view::npos ? name : name.substr(slash + 1));
    for (auto at = text.find(times); at != std::string::npos; at = text.find(times, at))
        text.replace(at, times.size(), "x");
    restore_points(text);
    Words words(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool const point =
            text[i] == '.' && i > 0 && is_digit(text[i - 1]) && i + 1 < text.size() && is_digit(text[i + 1]);
        if (std::isalnum(static_cast<unsigned char>(text[i])) != 0 || point)
            words.back() += text[i];
        else if (!words.back().empty()) {
            bool const ends = i + 1 == text.size() || std::isalnum(static_cast<unsigned char>(text[i + 1])) == 0;
            if (text[i] == '+' && ends) words.emplace_back("plus");
            words.emplace_back();
        }
    }
    if (words.back().empty()) words.pop_back();
    if (words.size() > 1 && is_size(words.front())) std::rotate(words.begin(), words.begin() + 1, words.end());
    if (words.size() > 1 && words[1].starts_with('v') && is_number(std::string_view(words[1]).substr(1)))
        words[1].erase(0, 1);
    return words;
}

/// Letters and digits, and the decimal point of a size: OPT 1.3B is not OPT 13B.
std::string joined(Words const& words) {
    std::string text;
    for (std::string const& word : words)
        text += is_size(word) ? word : letters_and_digits(word);
    return text;
}

/// The month of a date in two words ("08-2024").
bool is_month(std::string_view word, std::string_view next) {
    return word.size() == 2 && is_number(word) && word <= "12" && next.size() == 4 && next.starts_with("20") &&
           is_number(next);
}

/// Names whose releases differ in a size, with the one release of the sizes of the preset that they mean: other
/// releases of them are presets of their own or none.
struct Releases {
    std::string_view name;  ///< as `joined`
    std::string_view same;  ///< the word for that release; empty: only the name without one
};

constexpr Releases releases[] = {
    {"c4aicommandr", "v01"},
    {"commandr", "v01"},
    {"commandr35b", "v01"},
    {"glm49b", ""},
    {"kimik2", "0711"},
    {"mistral7b", "v0.1"},
    {"mistralsmall24b", "2501"},
    {"mistralsmall3124b", "2503"},
    {"mistralsmall3224b", "2506"},
    {"mistralsmall324b", "2501"},
    {"mixtral8x22b", "v0.1"},
    {"qwen3235b", ""},
    {"qwen3235ba22b", ""},
    {"qwen330b", ""},
    {"qwen330b3a", ""},
    {"qwen330ba3b", ""},
    {"qwen34b", ""},
    {"vicuna13b", "v1.5"},
    {"vicuna7b", "v1.5"},
};

/// A date ("0528", "2407") or a version ("v0.1").
bool is_release(std::string_view word) {
    bool const date = word.size() == 4 && std::all_of(word.begin(), word.end(), is_digit);
    return date || (word.size() > 1 && word.front() == 'v' && is_number(word.substr(1)));
}

/// Tokens of a length of context ("128k", "1m"), 0 of any other word.
std::int64_t context_of(std::string_view word) {
    if (word == "1m") return 1'000'000;
    bool const length =
        word.size() > 1 && word.size() < 6 && word.back() == 'k' && std::all_of(word.begin(), word.end() - 1, is_digit);
    return length ? 1000 * std::stoll(std::string(word)) : 0;
}

/// Whether a model of this name and these words for its release has the sizes of the preset, and the length of context.
bool is_same_release(std::string const& name, std::string const& preset, Words const& dropped) {
    auto const* const differ =
        std::find_if(std::begin(releases), std::end(releases), [&](Releases const& r) { return r.name == name; });
    return std::all_of(dropped.begin(), dropped.end(), [&](std::string const& word) {
        if (auto const context = context_of(word)) return context <= find_model(preset).max_positions;
        return differ == std::end(releases) || word == differ->same;
    });
}

std::map<std::string, std::string> names_to_presets() {
    std::map<std::string, std::string> names;
    for (std::string const& preset : model_names())
        names.emplace(joined(words_of(preset)), preset);
    for (OtherName const& other : other_names)
        names.emplace(std::string(other.name), std::string(other.preset));
    return names;
}

}  // namespace

std::optional<std::string> preset_called(std::string_view name) {
    static std::map<std::string, std::string> const known = names_to_presets();
    Words words = words_of(name);
    auto const meant = [&]() -> std::optional<std::string> {
        auto const found = known.find(joined(words));
        return found == known.end() ? std::nullopt : std::optional(found->second);
    };
    if (auto found = meant()) return found;
    std::erase_if(words, [](std::string const& word) { return is_one_of(silent, word); });
    if (auto found = meant()) return found;
    if (words.size() > 1 && is_one_of(owners, words.front())) words.erase(words.begin());
    if (auto found = meant()) return found;
    drop_tuning(words);
    if (auto found = meant()) return found;
    if (words.empty()) return std::nullopt;
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
        if (is_month(words[i], words[i + 1])) words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
    auto const first = std::stable_partition(words.begin() + 1, words.end(), [](std::string const& word) {
        return !is_release(word) && context_of(word) == 0;
    });
    Words const dropped(first, words.end());
    words.erase(first, words.end());
    auto const preset = meant();
    return preset && is_same_release(joined(words), *preset, dropped) ? preset : std::nullopt;
}

}  // namespace sextant
