#include "planner/validation/row_sharding.hpp"

#include "core/measurements/row_cells.hpp"
#include "core/text.hpp"
#include "core/words.hpp"
#include "planner/validation/row_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sextant {
namespace {

struct Sharding {
    std::int64_t stage = 0;
    bool in_node = false;  ///< sharded inside a node, replicated between nodes
};

/// PyTorch's ways to shard, by the ZeRO stage that shards as much.
struct ShardingName {
    std::string_view name;  ///< letters and digits, lower case
    Sharding sharding;
};

constexpr std::array sharding_names{ShardingName{"fsdp", {3}},
                                    ShardingName{"fsdp2", {3}},
                                    ShardingName{"fullshard", {3}},
                                    ShardingName{"shardgradop", {2}},
                                    ShardingName{"hsdp", {3, true}},
                                    ShardingName{"hybridshard", {3, true}},
                                    ShardingName{"hybridshardzero2", {2, true}},
                                    ShardingName{"noshard", {0}},
                                    ShardingName{"ddp", {0}},
                                    ShardingName{"none", {0}}};

/// What of these a text may name in passing, the longest first: "DDP" and "none" may be said of anything.
constexpr std::array named_in_texts{ShardingName{"hybrid_shard_zero2", {2, true}},
                                    ShardingName{"hybrid_shard", {3, true}}, ShardingName{"full_shard", {3}},
                                    ShardingName{"shard_grad_op", {2}}, ShardingName{"no_shard", {0}}};

/// The stage that a text begins with, behind one of `words`: a digit that is no part of a number, a word or a choice
/// ("3D", "1/2").
std::optional<std::int64_t> leading_stage(std::string_view text, std::initializer_list<std::string_view> words) {
    for (std::string_view const word : words)
        if (text.starts_with(word)) {
            text = value_behind(text, word.size());
            break;
        }
    if (text.empty() || text[0] < '0' || text[0] > '3') return {};
    bool const part = text.size() > 1 && (is_letter(text[1]) || is_digit(text[1]) || text[1] == '/');
    bool const fraction = text.size() > 2 && text[1] == '.' && is_digit(text[2]);
    if (part || fraction) return {};
    return text[0] - '0';
}

/// "ZeRO-3", "zero_stage=2", "DeepSpeed stage 3", "ds_z3"; ZeRO-Offload shards as stage 2 does (Ren et al.,
/// arXiv:2101.06840).
std::optional<std::int64_t> numbered_stage(std::string_view text) {
    constexpr std::string_view zero = "zero";
    for (auto at = stated_at(text, zero); at != nowhere; at = stated_at(text, zero, at + 1)) {
        std::string_view const behind = value_behind(text, at + zero.size());
        if (auto const stage = leading_stage(behind, {"stage", "dp"})) return stage;
        if (behind.starts_with("offload")) return 2;
    }
    for (std::string_view const program : {std::string_view("deepspeed"), std::string_view("ds")})
        for (auto at = stated_at(text, program); at != nowhere; at = stated_at(text, program, at + 1)) {
            std::string_view const behind = value_behind(text, at + program.size());
            if (!behind.starts_with("stage") && !behind.starts_with("z")) continue;
            if (auto const stage = leading_stage(behind, {"stage", "z"})) return stage;
        }
    return {};
}

/// "FSDP", "FSDP2", "HSDP"; no keys of settings ("fsdp_size=", "ici_fsdp_parallelism=1").
bool names_method(std::string_view text, std::string_view word) {
    for (auto at = stated_at(text, word); at != nowhere; at = stated_at(text, word, at + 1)) {
        std::string_view const behind = text.substr(at + word.size());
        if (!behind.starts_with("_") && !behind.starts_with("=")) return true;
    }
    return false;
}

/// What a text in lower case says of sharding. Names of strategies say more than a number, which says more than the
/// name of the method; a text that names DDP beside FSDP says neither.
std::optional<Sharding> sharding_in(std::string const& text) {
    std::string joined = text;
    std::replace(joined.begin(), joined.end(), ' ', '_');
    for (ShardingName const& known : named_in_texts)
        if (stated_at(joined, known.name) != nowhere) return known.sharding;
    bool const in_node = names_method(text, "hsdp");
    if (auto const stage = numbered_stage(text)) return Sharding{*stage, in_node};
    if (in_node) return Sharding{3, true};
    bool const is_fsdp = names_method(text, "fsdp") || names_method(text, "fsdp1") || names_method(text, "fsdp2") ||
                         stated_at(text, "fully sharded data parallel") != nowhere;
    if (is_fsdp && !names_method(text, "ddp")) return Sharding{3};
    return {};
}

void set_sharding(TrainingRow& row, Sharding const& sharding) {
    row.zero_stage = sharding.stage;
    row.shards_in_node = sharding.in_node;
}

}  // namespace

void read_zero_stage(std::string_view cell, TrainingRow& row) {
    row.sharding = std::string(cell);
    std::string name = letters_and_digits(cell);
    constexpr std::string_view type = "shardingstrategy";
    if (name.starts_with(type)) name.erase(0, type.size());
    for (ShardingName const& known : sharding_names)
        if (name == known.name) return set_sharding(row, known.sharding);
    std::string text = lower_case(cell);
    if (has(text, "offload"))
        if (auto const sharding = sharding_in(text)) return set_sharding(row, *sharding);
    bool named = false;
    for (std::string_view const word : {"zero", "stage"})
        if (auto const at = text.find(word); at != std::string::npos) {
            text.erase(at, word.size());
            named = true;
        }
    // "1 (distributed optimizer)", "FSDP full shard", "3 + offload": the name, or what the cell begins with.
    auto const begins = leading_stage(trimmed(text), {"stage", "zero"});
    if (!begins || text.find_first_of(" ,;(+") != std::string::npos) {
        if (auto const sharding = sharding_in(lower_case(cell))) return set_sharding(row, *sharding);
        bool const by_optimizer = name.find("distributedoptim") != std::string::npos ||
                                  name.find("distoptim") != std::string::npos || name.find("distopt") == 0;
        if (begins || by_optimizer) return set_sharding(row, {begins.value_or(1)});
    }
    std::string problem;
    row.zero_stage = count_in(named ? trimmed(text, " \t-_") : std::string_view(text), "zero_stage", problem);
    if (!problem.empty() && row.unreadable.empty())
        row.unreadable =
            fmt::format("zero_stage '{}' is not known (0 to 3, FULL_SHARD, HYBRID_SHARD, SHARD_GRAD_OP, NO_SHARD)",
                        cell.substr(0, 60));
}

TrainingRow with_named_sharding(TrainingRow row) {
    if (row.zero_stage) return row;
    for (std::string const* const text : {&row.framework, &row.notes})
        if (auto const sharding = sharding_in(lower_case(*text))) {
            set_sharding(row, *sharding);
            break;
        }
    return row;
}

}  // namespace sextant
