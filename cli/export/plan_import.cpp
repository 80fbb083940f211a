#include "cli/export/plan_import.hpp"

#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "core/nearest.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/importers/shell_words.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>

namespace sextant::cli {
namespace {

/// Options whose answers can be compared with those of the same value alone: workload, machine, and what is trained in
/// which numbers. The others are the plan's own, and restrict a search.
constexpr std::array same_question{"--gpus",        "--seq",       "--global-batch", "--document-tokens",
                                   "--framework",   "--precision", "--gradients",    "--optimizer",
                                   "--max-memory",  "--price",     "--lora-rank",    "--lora-targets",
                                   "--base-weights"};

struct Source {
    char const* option;
    std::string value;
};

/// Every option that names a foreign file; no value: it was not given.
std::array<Source, 4> foreign_sources(PlanOptions const& o) {
    return {Source{"--from-megatron", o.from_megatron}, Source{"--from-deepspeed", o.from_deepspeed},
            Source{"--from-torchtitan", o.from_torchtitan}, Source{"--from-accelerate", o.from_accelerate}};
}

std::optional<Source> source_of(PlanOptions const& o) {
    std::optional<Source> found;
    for (Source const& source : foreign_sources(o)) {
        if (source.value.empty()) continue;
        if (found)
            throw InputError("{}: {} is given as well (one file describes the plan)", source.option, found->option);
        found = source;
    }
    return found;
}

/// The JSON that a launch script names with --deepspeed_config, beside the script.
ForeignPlan import_deepspeed_file(std::string const& path, ModelSpec const& model) {
    std::string const text = read_text_file(path);
    std::size_t const first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos)
        throw InputError("{}: the file is empty (DeepSpeed's JSON, or a script with --deepspeed_config, is expected)",
                         path);
    if (text[first] == '{') return import_deepspeed(text, "", path, model);
    std::vector<std::string> const words = shell_words(text, path);
    auto const option = std::find(words.begin(), words.end(), "--deepspeed_config");
    if (option == words.end() || option + 1 == words.end())
        throw InputError("{}: neither JSON nor a script with --deepspeed_config (one of them is expected)", path);
    std::string const config = (std::filesystem::path(path).parent_path() / *(option + 1)).string();
    return import_deepspeed(read_text_file(config), text, path, model);
}

/// With the JSON that it names with deepspeed_config_file, beside it.
ForeignPlan import_accelerate_file(std::string const& path, ModelSpec const& model) {
    std::string const text = read_text_file(path);
    auto const config = accelerate_deepspeed_file(text, path);
    if (!config) return import_accelerate(text, "", path, model);
    return import_accelerate(text, read_text_file((std::filesystem::path(path).parent_path() / *config).string()), path,
                             model);
}

ForeignPlan read_source(Source const& source, ModelSpec const& model) {
    std::string_view const option = source.option;
    if (option == "--from-deepspeed") return import_deepspeed_file(source.value, model);
    if (option == "--from-torchtitan") return import_torchtitan(read_text_file(source.value), source.value, model);
    if (option == "--from-accelerate") return import_accelerate_file(source.value, model);
    bool const arguments = source.value.starts_with("--");
    return arguments ? import_megatron(source.value, option, model)
                     : import_megatron(read_text_file(source.value), source.value, model);
}

void report(ForeignPlan const& plan, Source const& source, CommandContext& context) {
    std::string const name = comment_text(source.value.starts_with("--") ? source.option : source.value);
    if (!plan.ignored.empty())
        context.err << fmt::format("sextant: {}: without effect here: {}\n", name, comment_text(join(plan.ignored)));
    for (std::string const& warning : plan.warnings)
        context.err << fmt::format("sextant: {}: {}\n", name, comment_text(warning));
}

bool names_attention(Given const& given) { return given("--attention") || given("--flash-attention"); }

/// What the file says and a search takes as given.
void fill_subject(PlanOptions& o, ForeignPlan const& foreign, Given const& given) {
    if (!given("--framework")) o.framework = foreign.framework;
    o.mtp_modules = foreign.mtp_modules;
    if (!given("--seq")) o.sequence = foreign.sequence;
    if (!given("--global-batch")) o.global_batch = foreign.global_batch;
    if (!given("--precision")) o.precision = name_of(foreign.plan.precision);
    if (!given("--optimizer")) o.optimizer = name_of(foreign.plan.optimizer);
    if (!names_attention(given)) o.attention = name_of(foreign.plan.attention);
    if (!given("--dropout")) o.dropout = foreign.plan.dropout == Switch::on;
    if (!given("--fused-cross-entropy")) o.fused_cross_entropy = foreign.plan.fused_cross_entropy == Switch::on;
    if (!given("--fp8-activation-input")) o.fp8_activation_input = foreign.plan.fp8_activation_input == Switch::on;
    if (!given("--narrow-copies")) o.narrow_copies = foreign.plan.narrow_copies == Switch::on;
}

/// The global batch of the plan that `filled` describes: the file's, or what its data-parallel ranks have together.
std::optional<std::int64_t> batch_of(PlanOptions const& filled, ForeignPlan const& foreign) {
    if (filled.global_batch || (!foreign.rank_batch && !foreign.accumulation)) return filled.global_batch;
    constexpr std::int64_t beyond_any = std::int64_t{1} << 32;  // refused as a global batch, with its own message
    ParallelPlan const plan = single_plan(filled, nullptr);
    std::int64_t const rank_batch =
        foreign.rank_batch ? *foreign.rank_batch : std::min(*foreign.accumulation, beyond_any) * plan.micro_batch;
    return std::min(rank_batch, beyond_any) * plan.dp;
}

/// What the file leaves to the number of data-parallel ranks of the plan that `filled` describes.
void settle_ranks(PlanOptions& filled, ForeignPlan& foreign, Source const& source, Given const& given) {
    if (given("--micro-batch")) foreign.accumulation.reset();
    if (!filled.global_batch || (!foreign.accumulation && !foreign.pipeline_batch)) return;
    settle_batches(foreign, single_plan(filled, nullptr), *filled.global_batch, source.value);
    if (!given("--micro-batch")) filled.micro_batch = std::to_string(foreign.plan.micro_batch);
}

void require_accelerators(PlanOptions const& o, ForeignPlan const& foreign, Source const& source) {
    if (!o.accelerators.empty() || !o.dp.empty()) return;
    std::string const name = source.value.starts_with("--") ? "the list" : source.value;
    std::string const why = foreign.no_accelerators.empty() ? "does not say how many accelerators it runs on"
                                                            : "is no whole plan: " + foreign.no_accelerators;
    throw InputError("{}: {} {} (--gpus or --dp does)", source.option, name, why);
}

}  // namespace

void add_import_options(CLI::App& app, PlanOptions& o) {
    auto const add = [&](char const* flag, std::string& target, char const* what, char const* kind) {
        app.add_option(flag, target, what)->option_text(kind)->group("Plan of another program");
    };
    add("--from-megatron", o.from_megatron, "Megatron-LM's arguments, or a script that has them", "FILE|ARGS");
    add("--from-deepspeed", o.from_deepspeed, "DeepSpeed's JSON, or a launch script that names it", "FILE");
    add("--from-torchtitan", o.from_torchtitan, "torchtitan's TOML; options given here count before those of a file",
        "FILE");
    add("--from-accelerate", o.from_accelerate, "Accelerate's YAML: FSDP, DeepSpeed or plain data parallelism", "FILE");
}

Given given_options(CLI::App const& app) {
    return [&app](char const* name) {
        CLI::Option const* const option = app.get_option_no_throw(name);
        return option != nullptr && option->count() > 0;
    };
}

PlanOptions with_plan(PlanOptions o, ParallelPlan const& p, std::optional<std::int64_t> accelerators,
                      Given const& given) {
    auto const degree = [&](char const* option, std::string& target, std::int64_t value) {
        if (!given(option)) target = std::to_string(value);
    };
    degree("--tp", o.tp, p.tp);
    degree("--pp", o.pp, p.pp);
    degree("--cp", o.cp, p.cp);
    degree("--ep", o.ep, p.ep);
    degree("--micro-batch", o.micro_batch, p.micro_batch);
    degree("--zero", o.zero, p.zero);
    bool const own_pipeline = given("--schedule") || given("--vpp") || given("--pp");
    if (!given("--vpp") && !own_pipeline) o.vpp = std::to_string(p.vpp);
    if (!own_pipeline) o.schedule = name_of(p.schedule);
    if (!given("--stage-layers") && !own_pipeline) o.stage_layers = p.stage_layers;
    if (!given("--gpus") && !given("--dp") && accelerators) o.accelerators = std::to_string(*accelerators);
    if (!given("--gpus") && !given("--dp") && !accelerators && p.dp > 1) o.dp = std::to_string(p.dp);
    if (!given("--recompute") && !given("--recompute-layers")) o.recompute_layers = p.recompute_layers;
    bool const own_modules = given("--recompute") || given("--recompute-modules");
    if (!own_modules && p.recompute == Recompute::selective) o.recompute_modules = modules_text(p.recompute_modules);
    if (!own_modules) o.recompute = name_of(p.recompute);
    if (!given("--recompute") && !given("--keep-activations") && keeps_activations(p))
        o.keep_activations = activations_text(p.kept_activations);
    if (!given("--offload") && !given("--offload-activations") && offloads_some_activations(p))
        o.offload_activations = activations_text(p.offloaded_activations);
    if (!given("--offload") && !given("--offload-layers") && offloads_some_layers(p))
        o.offload_layers = p.offload_layers;
    if (!given("--offload")) o.offload = name_of(p.offload);
    if (!given("--cp-mode")) o.cp_mode = name_of(p.cp_mode);
    if (!given("--moe-dispatcher")) o.moe_dispatcher = name_of(p.dispatcher);
    if (!given("--gradients")) o.gradients = name_of(p.gradients);
    if (!given("--expert-tp")) o.expert_tp = p.expert_tp;
    if (!given("--expert-imbalance")) o.expert_imbalance = p.expert_imbalance;
    if (!given("--shard-group") && o.zero != "0") o.shard_group = p.shard_group;
    if (!given("--precision")) o.precision = name_of(p.precision);
    if (!given("--optimizer")) o.optimizer = name_of(p.optimizer);
    bool const own_sequence = given("--sequence-parallel") || given("--tp");
    if (!own_sequence) o.sequence_parallel = p.sequence_parallel == Switch::on;
    if (!names_attention(given)) o.attention = name_of(p.attention);
    if (!given("--dropout")) o.dropout = p.dropout == Switch::on;
    if (!given("--fused-cross-entropy")) o.fused_cross_entropy = p.fused_cross_entropy == Switch::on;
    if (!given("--fp8-activation-input")) o.fp8_activation_input = p.fp8_activation_input == Switch::on;
    if (!given("--narrow-copies")) o.narrow_copies = p.narrow_copies == Switch::on;
    if (!given("--loss-chunks")) o.loss_chunks = p.loss_chunks;
    if (!given("--lora-rank") && p.adapters.on()) {
        o.lora_rank = p.adapters.rank;
        if (!given("--lora-targets")) o.lora_targets = targets_text(p.adapters.targets);
        if (!given("--base-weights")) o.base_weights = name_of(p.adapters.base);
    }
    return o;
}

PlanOptions with_import(PlanOptions const& options, CLI::App const& app, CommandContext& context) {
    auto const source = source_of(options);
    if (!source) return options;
    Given const given = given_options(app);
    ForeignPlan foreign = read_source(*source, find_model(options.model));
    PlanOptions filled = with_plan(options, foreign.plan, foreign.accelerators, given);
    fill_subject(filled, foreign, given);
    require_accelerators(filled, foreign, *source);
    filled.global_batch = batch_of(filled, foreign);
    settle_ranks(filled, foreign, *source, given);
    report(foreign, *source, context);
    return filled;
}

SearchImport import_for_search(PlanOptions const& options, CLI::App const& app, CommandContext& context) {
    auto const source = source_of(options);
    if (!source) return {.search = options};
    Given const given = given_options(app);
    ForeignPlan foreign = read_source(*source, find_model(options.model));
    SearchImport out{.search = options};
    fill_subject(out.search, foreign, given);
    if (!given("--gpus") && foreign.accelerators) out.search.accelerators = std::to_string(*foreign.accelerators);
    if (out.search.accelerators.empty()) require_accelerators(out.search, foreign, *source);
    // The plan as it is: what restricts the search does not change it.
    PlanOptions present = out.search;
    if (foreign.accelerators || !present.accelerators.empty()) present.dp.clear();
    Given const nothing = [](char const*) { return false; };
    present = with_plan(present, foreign.plan, foreign.accelerators, nothing);
    out.search.global_batch = present.global_batch = batch_of(present, foreign);
    settle_ranks(present, foreign, *source, nothing);
    report(foreign, *source, context);
    out.present = std::move(present);
    return out;
}

bool names_import(PlanOptions const& options) {
    auto const sources = foreign_sources(options);
    return std::any_of(sources.begin(), sources.end(), [](Source const& source) { return !source.value.empty(); });
}

std::string presets_of_import(CLI::App const& app) {
    constexpr std::size_t most_named = 12;
    for (char const* const option : {"--from-megatron", "--from-deepspeed", "--from-torchtitan"}) {
        CLI::Option const* const given = app.get_option_no_throw(option);
        if (given == nullptr || given->count() == 0) continue;
        Source const source{option, given->results().front()};
        std::vector<std::string> fitting;
        for (std::string const& name : model_names()) {
            try {
                static_cast<void>(read_source(source, find_model(name)));
            } catch (InputError const&) {
                continue;  // of another size, or unreadable
            }
            fitting.push_back(name);
        }
        if (fitting.empty() || fitting.size() > most_named) return "";
        return fmt::format("; {} goes with {}", source.value.starts_with("--") ? "the list" : source.value,
                           join(fitting));
    }
    return "";
}

std::string better_plan_line(PlanOptions const& o, CLI::App const& app) {
    auto const source = source_of(o);
    if (!source) return "";
    std::string line = fmt::format("what would be better: sextant plan --model {} --cluster {}",
                                   sextant::shell_quoted(o.model), sextant::shell_quoted(o.cluster));
    bool const arguments = source->value.starts_with("--");
    line += fmt::format(" {}{}{}", source->option, arguments ? "=" : " ", sextant::shell_quoted(source->value));
    for (char const* const name : same_question) {
        CLI::Option const* const option = app.get_option_no_throw(name);
        if (option != nullptr && option->count() > 0)
            line += fmt::format(" {} {}", name, sextant::shell_quoted(option->results().back()));
    }
    // A file may state how many micro-batches a step has, and not how long these are.
    Given const given = given_options(app);
    if (given("--micro-batch") && !given("--global-batch") && o.global_batch)
        line += fmt::format(" --global-batch {}", *o.global_batch);
    return line + "\n";
}

}  // namespace sextant::cli
