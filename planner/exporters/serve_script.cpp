#include "planner/exporters/serve_script.hpp"

#include "core/is_one_of.hpp"
#include "core/quantity_text.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/left_out.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace sextant {
namespace {

using Notes = std::vector<NotExpressed>;

bool is_quantised(ServeLaunch const& l) { return !l.checkpoint.method.empty(); }

/// The plan's weights are those that the engine makes of the checkpoint.
bool as_stored(ServeLaunch const& l) {
    std::string const& weights = l.plan.weights;
    if (l.plan.weights_origin == FormatOrigin::checkpoint || l.plan.released) return true;
    return !l.checkpoint.weights.empty() && (weights == l.checkpoint.weights || weights == l.run_weights);
}

/// What the weights are to be quantised to, whatever they are multiplied in.
std::string const& quantised_to(ServeLaunch const& l) { return l.plan.stored.empty() ? l.plan.weights : l.plan.stored; }

void note_weights(ServeLaunch const& l, Notes& notes) {
    std::string const& weights = quantised_to(l);
    if (as_stored(l)) return;
    if (is_quantised(l))
        notes.push_back(
            {"weights",
             fmt::format("the engine loads the checkpoint as it is, in {}, whatever the command says: {} has to come "
                         "with another one, which the path names (--model-path), or leave --weights out",
                         l.checkpoint.weights.empty() ? l.checkpoint.method : l.checkpoint.weights, weights)});
    else if (weights != "bf16" && weights != "fp16" && weights != "fp8")
        notes.push_back({"weights", fmt::format("{} has to come with the checkpoint that the path names", weights)});
}

}  // namespace

std::int64_t nodes_of(ServeLaunch const& l) { return (l.plan.accelerators() + l.per_node - 1) / l.per_node; }

std::int64_t of_group(std::int64_t total, std::int64_t groups) {
    return std::max<std::int64_t>(1, (total + groups - 1) / groups);
}

bool quantises_to_fp8(ServeLaunch const& l) { return quantised_to(l) == "fp8" && !as_stored(l) && !is_quantised(l); }

void note_common(ServeLaunch const& l, Notes& notes) {
    note_weights(l, notes);
    if (l.plan.cache == CacheFormat::int4 || l.plan.cache == CacheFormat::int8)
        notes.push_back(
            {"kv_cache", fmt::format("there is no {} cache: the command leaves the default", name_of(l.plan.cache))});
    if (std::string const remark = left_out_remark(l.model); !remark.empty())
        notes.push_back({"model", remark + "; the engine loads them too, so less memory is left for the cache"});
    if (l.plan.ep > 1 && l.exchange == Dispatcher::deduplicated)
        notes.push_back({"moe_dispatcher", "sending tokens once per domain needs DeepEP (or its like) installed"});
    if (l.plan.expert_imbalance > 1) notes.push_back({"expert_imbalance", "an assumption on traffic, no option"});
    notes.insert(notes.end(), l.notes.begin(), l.notes.end());
}

std::optional<std::int64_t> chosen_context(ServeLaunch const& l, char const* allow, Notes& notes) {
    std::int64_t const context = l.model.max_positions;
    if (l.own_context == 0 || context == l.own_context) return std::nullopt;
    if (context > l.own_context)
        notes.push_back({"context", fmt::format("the model's config goes to {} tokens, and {} are asked for: scaled "
                                                "positions in the config (rope_scaling), or {}",
                                                l.own_context, context, allow)});
    return context;
}

void note_device(ServeLaunch const& l, char const* engine, std::span<std::string_view const> generations,
                 Notes& notes) {
    AcceleratorProfile const& device = l.cluster.accelerator;
    if (device.generation.empty() || is_one_of(generations, device.generation)) return;
    notes.push_back(
        {"accelerator", fmt::format("{} is not documented to run on {}, of the generation '{}' (it is on "
                                    "{}): another --engine or --cluster",
                                    engine, device.title, device.generation, fmt::join(generations, ", "))});
}

std::int64_t nearest_block(ServeLaunch const& l, std::span<std::int64_t const> sizes, char const* whose, Notes& notes) {
    std::int64_t const wanted = l.plan.block_tokens;
    std::int64_t const nearest =
        *std::ranges::min_element(sizes, {}, [&](std::int64_t size) { return std::abs(size - wanted); });
    if (nearest != wanted)
        notes.push_back({"block_tokens", fmt::format("{} blocks of {} tokens, and not of {}: the command has {} "
                                                     "(--block-tokens {} predicts that)",
                                                     whose, fmt::join(sizes, ", "), wanted, nearest, nearest)});
    return nearest;
}

std::string misfit_words(ServingMemory const& m) {
    return fmt::format(
        "weights {}, activations {} and {} beside them leave no room for a cache in the {} that the engine takes of "
        "each accelerator's {} (larger --tp or --pp, narrower --weights, larger --memory-utilisation)",
        human(m.weights), human(m.activations), human(m.overhead), human(m.usable), human(m.capacity));
}

std::string file_stem(ServeLaunch const& l, char const* engine) {
    std::string const name = engine;
    if (l.role == ServeRole::whole) return name;
    return name + (l.role == ServeRole::prefill ? "_prefill" : "_decode");
}

std::string serve_script(ServeLaunch const& l, ServeScript const& s, Notes const& notes) {
    ServingPlan const& p = l.plan;
    std::string text = "#!/usr/bin/env bash\n";
    text += fmt::format("# {}, written by 'sextant export serve' for {}.\n", s.title, s.written);
    text +=
        comment_lines(fmt::format("{} on {}: one replica on {} accelerators (tp {}, pp {}, attention dp {}, ep {}); "
                                  "{} in all, each started like this",
                                  named(l.model), l.cluster.name, p.accelerators(), p.tp, p.pp, p.attention_dp, p.ep,
                                  l.replicas == 1 ? "one" : fmt::format("{} behind a load balancer", l.replicas)));
    if (l.role == ServeRole::prefill)
        text += comment_lines(fmt::format(
            "It processes prompts only; their caches go to replicas of another command ({}).", split_words(l.peer)));
    if (l.role == ServeRole::decode)
        text += comment_lines(fmt::format(
            "It decodes only; the caches of prompts come from replicas of another command ({}).", split_words(l.peer)));
    if (nodes_of(l) > 1) text += comment_lines(fmt::format("A replica spans {} nodes of {}.", nodes_of(l), l.per_node));
    if (!l.memory.fits()) text += comment_lines("DOES NOT FIT: " + misfit_words(l.memory));
    text += notes.empty() ? "# Every part of the plan is expressed.\n" : "# NOT EXPRESSED:\n";
    for (NotExpressed const& note : notes)
        text += comment_lines(fmt::format("- {}: {}", note.field, note.message));
    text += fmt::format("set -euo pipefail\n\nmodel_default={}\nmodel=${{MODEL_PATH:-$model_default}}\n{}",
                        shell_quoted(operand(l.model_path)), s.variables);
    text += fmt::format("\narguments=(\n{})\n", s.arguments.text());
    return text + fmt::format("\nexec {} \"${{arguments[@]}}\"\n", s.program);
}

}  // namespace sextant
