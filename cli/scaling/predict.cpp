#include "cli/scaling/predict.hpp"

#include "cli/options/number_text.hpp"
#include "cli/output.hpp"
#include "cli/scaling/choice.hpp"
#include "cli/scaling/pages.hpp"
#include "cli/scaling/subcommand.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/repeated_data.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

namespace sextant::cli {
namespace {

/// When tokens repeat, those that know what a repetition is worth come first.
constexpr char const* repeating_laws = "muennighoff-c4,muennighoff-lower-basin,chinchilla-huber";
constexpr char const* usual_laws =
    "chinchilla-huber,chinchilla-lad,hoffmann-tex,hoffmann-rounded,muennighoff-c4,"
    "gadre-c4,gadre-redpajama";

struct Options {
    std::string parameters;
    std::string total_parameters;
    std::string model;
    std::string tokens;
    std::string unique_tokens;
    std::string target;
    std::vector<std::string> laws;
    double experts = 0;
    std::optional<double> granularity;
    double bits = 0;
    double post_training_bits = 0;
    ScalingMachineOptions machine;
    OutputOptions output;
};

/// Experts and their granularity as the model has them, where no flag says otherwise.
void read_experts(Options const& o, ModelSpec const& model, PredictReport& report) {
    if (!model.moe) return;
    MoeSpec const& moe = *model.moe;
    LawSetting& setting = report.setting;
    if (o.experts == 0) {
        setting.experts = static_cast<double>(moe.experts);
        report.assumptions.push_back(
            fmt::format("{} experts per layer, as {} has (--experts)", moe.experts, model.name));
    }
    if (!o.granularity && moe.intermediate > 0) {
        auto const active = static_cast<double>(moe.top_k * moe.intermediate + moe.shared_intermediate);
        setting.granularity = active / static_cast<double>(moe.intermediate);
        report.assumptions.push_back(
            fmt::format("granularity {:.4g}: width of all experts of a token over that of one (--granularity)",
                        setting.granularity));
    }
}

void read_size(Options const& o, PredictReport& report) {
    if (o.parameters.empty() == o.model.empty())
        throw InputError("scaling predict: {} (one of --params and --model)",
                         o.model.empty() ? "no size" : "two sizes");
    if (!o.model.empty()) {
        ModelSpec const model = find_model(o.model);
        ParameterCounts const count = count_parameters(model);
        report.parameters = static_cast<double>(count.active);
        report.total_parameters = static_cast<double>(count.total);
        read_experts(o, model, report);
    } else {
        report.parameters = count_from(o.parameters, "--params");
        report.total_parameters = report.parameters;
        if (o.experts > 1 && o.total_parameters.empty()) {
            // A token passes granularity experts, which together are one dense feed-forward.
            double const held = std::max(1.0, report.setting.experts / report.setting.granularity);
            report.total_parameters = report.parameters * held;
            report.assumptions.push_back(
                fmt::format("all parameters: the active ones times {:.4g}, experts over granularity, which counts "
                            "attention as often as experts: more than there are (--total-params)",
                            held));
        }
    }
    if (o.total_parameters.empty()) return;
    report.total_parameters = count_from(o.total_parameters, "--total-params");
    if (report.total_parameters < report.parameters)
        throw InputError("--total-params: {} are fewer than the active ones, {}", report.total_parameters,
                         report.parameters);
}

LawSetting setting_from(Options const& o) {
    LawSetting setting;
    auto const within = [](double value, double low, double high, char const* flag) {
        if (!(value >= low && value <= high)) throw InputError("{}: {} ({:g} to {:g})", flag, value, low, high);
        return value;
    };
    if (o.experts != 0) setting.experts = within(o.experts, 1, 1e6, "--experts");
    if (o.granularity) setting.granularity = within(*o.granularity, 1e-3, 1e6, "--granularity");
    if (o.bits != 0) {
        double const bits = within(o.bits, 1, 64, "--bits");
        setting.bits = {.weights = bits, .activations = bits, .kv_cache = bits};
    }
    if (o.post_training_bits != 0) within(o.post_training_bits, 1, 64, "--post-training-bits");
    if (!o.unique_tokens.empty()) setting.unique_tokens = count_from(o.unique_tokens, "--unique-tokens");
    return setting;
}

/// Laws that the question calls for besides the named ones.
void add_called_for(std::vector<PublishedLaw>& laws, Options const& o, LawSetting const& setting) {
    auto const add = [&](char const* name) {
        if (std::none_of(laws.begin(), laws.end(), [&](PublishedLaw const& l) { return l.name == name; }))
            laws.push_back({.name = name, .law = find_scaling_law(name, "--law")});
    };
    if (!o.unique_tokens.empty()) {
        add("muennighoff-c4");
        add("muennighoff-lower-basin");
    }
    if (setting.experts > 1)
        for (char const* name : {"clark-s-base-refit", "krajewski-moe", "krajewski-dense", "ludziejewski-moe"})
            add(name);
    if (o.bits > 0) add("kumar-precision");
}

/// Laws that the question asks more than they know.
void add_remarks(PredictReport& report) {
    auto const others = [&](auto const& knows) {
        std::vector<std::string> names;
        for (PredictRow const& row : report.rows)
            if (!knows(row.answer.form)) names.push_back(row.answer.name);
        return names;
    };
    auto const add = [&](std::vector<std::string> const& names, char const* what) {
        if (!names.empty()) report.assumptions.push_back(fmt::format("{} by {}", what, join(names)));
    };
    if (report.setting.unique_tokens > 0)
        add(others([](std::string const& form) { return form == "data-constrained"; }),
            "repeated tokens are as good as new ones");
    if (report.setting.experts > 1)
        add(others([](std::string const& form) { return form.starts_with("moe-"); }),
            "a dense model of the N active parameters");
}

/// The granularity law has no term for the number of experts: all its runs had as many for each granularity.
void warn_of_experts(ScalingAnswer& answer, LawSetting const& setting) {
    constexpr double fitted = 64;  // Source: Krajewski et al., arXiv:2402.07871 (expansion rate)
    double const per_granularity = setting.experts / setting.granularity;
    if (answer.form != "moe-granularity" || !(setting.experts > 1) || std::abs(per_granularity / fitted - 1) < 0.01)
        return;
    answer.warnings.push_back(
        fmt::format("its runs had {:g} experts per granularity, this model has {:.3g}: the law does not see the "
                    "difference",
                    fitted, per_granularity));
}

bool knows_repetition(PublishedLaw const& law, PredictReport const& report) {
    return report.setting.unique_tokens > 0 && law.law.law == "data-constrained";
}

PredictRow row_of(PublishedLaw const& law, PredictReport const& report) {
    // The granularity law counts all parameters (docs/scaling.md), the others those a token passes.
    double const size = law.law.law == "moe-granularity" ? report.total_parameters : report.parameters;
    PredictRow row{.answer = loss_answer(law, size, report.tokens, report.setting, "--law")};
    warn_of_experts(row.answer, report.setting);
    double const unique = report.setting.unique_tokens;
    if (knows_repetition(law, report)) {
        RepeatedDataLaw const repeated = repeated_data_of(law.law, "--law");
        row.penalty = repeated_penalty(repeated, size, report.tokens, unique);
        if (report.target) row.tokens_for_target = tokens_for_loss(repeated, size, *report.target, unique);
    } else if (row.answer.chinchilla && law.law.law != "moe-granularity") {
        row.penalty = allocation_penalty(*row.answer.chinchilla, size, report.tokens);
        if (report.target) row.tokens_for_target = tokens_for_loss(*row.answer.chinchilla, size, *report.target);
    }
    // A law may have a loss and yet no optimum that doubles can hold.
    if (row.penalty && !(std::isfinite(row.penalty->loss) && std::isnormal(row.penalty->compute_needed)))
        row.penalty.reset();
    return row;
}

/// Tokens that reach the target by this law, infinite where no number does.
double tokens_for_target(PredictReport const& report, PublishedLaw const& law) {
    if (knows_repetition(law, report))
        return tokens_for_loss(repeated_data_of(law.law, "--law"), report.parameters, *report.target,
                               report.setting.unique_tokens);
    ScalingAnswer const probe = loss_answer(law, report.parameters, 1e12, report.setting, "--law");
    if (!probe.chinchilla) throw InputError("--loss: the first law, {}, cannot be turned round", law.name);
    return tokens_for_loss(*probe.chinchilla, report.parameters, *report.target);
}

/// That no number of tokens reaches the target, and what would.
std::string why_never(PredictReport const& report, PublishedLaw const& law) {
    constexpr double endless = 1e40;
    ScalingAnswer const lowest = loss_answer(law, report.parameters, endless, report.setting, "--law");
    bool const repeated = knows_repetition(law, report);
    return fmt::format(
        "no number of tokens brings {:g} parameters to a loss of {:g} by {} (endless {} bring them to {:.4g}; a larger "
        "model{} would do more)\n",
        report.parameters, *report.target, law.name,
        repeated ? fmt::format("repetitions of {:g}", report.setting.unique_tokens) : "ones", lowest.loss.value_or(0),
        repeated ? " or more --unique-tokens" : "");
}

/// Tokens as given, or those that reach the target by the first law. Nothing: no number of tokens does.
std::optional<double> tokens_from(Options const& o, PredictReport const& report, PublishedLaw const& first) {
    if (!o.tokens.empty()) return count_from(o.tokens, "--tokens");
    if (!report.target) throw InputError("scaling predict: neither --tokens nor --loss (one of them is needed)");
    double const tokens = tokens_for_target(report, first);
    if (!(tokens < 1e40)) return std::nullopt;
    return tokens;
}

int predict(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    PredictReport report{.setting = setting_from(o), .machine = machine_from(o.machine)};
    read_size(o, report);
    if (!o.target.empty()) report.target = count_from(o.target, "--loss");
    std::vector<PublishedLaw> laws = laws_from(o.laws, o.unique_tokens.empty() ? usual_laws : repeating_laws);
    auto const tokens = tokens_from(o, report, laws.front());
    if (!tokens) {
        context.err << why_never(report, laws.front());
        return exit_code::answer_is_no;
    }
    report.tokens = *tokens;
    add_called_for(laws, o, report.setting);
    for (PublishedLaw const& law : laws)
        report.rows.push_back(row_of(law, report));
    add_remarks(report);
    PredictRow const& first = report.rows.front();
    if (first.penalty && !(report.setting.unique_tokens > 0 && first.answer.form == "data-constrained")) {
        double const flops = report.flops() * first.penalty->compute_needed;
        report.same_loss = compute_optimum(*first.answer.chinchilla, flops);
        report.flops_over_same_loss = 1 / first.penalty->compute_needed;
    }
    if (o.post_training_bits > 0) {
        report.post_training_bits = o.post_training_bits;
        report.rounding = rounding_penalty(find_scaling_law("kumar-precision", "--post-training-bits"),
                                           report.parameters, report.tokens, o.post_training_bits);
    }
    report.rates = rate_band({.parameters = report.parameters,
                              .tokens = report.tokens,
                              .flops = report.flops(),
                              .loss = first.answer.loss.value_or(0)});
    if (report.machine) {
        report.cost = run_cost(report.machine->machines, report.flops() * units::flop);
        for (std::string const& a : report.machine->assumptions)
            report.assumptions.push_back(a);
    }
    switch (format) {
        case Format::json: deliver(o.output, context, predict_json(report)); break;
        case Format::text: deliver(o.output, context, predict_text(report)); break;
        case Format::html: deliver(o.output, context, scaling_predict_page(report)); break;
        default: deliver(o.output, context, render(predict_table(report), format)); break;
    }
    return exit_code::done;
}

}  // namespace

Subcommand describe_scaling_predict(CLI::App& scaling, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *scaling.add_subcommand("predict", "the loss of N parameters and D tokens, and what is lost by it");
    app.add_option("--params", o->parameters, "parameters (those a token passes, with experts)")->option_text("N");
    app.add_option("--model", o->model, "a model whose active parameters are N")->option_text("NAME|config.json");
    app.add_option("--tokens", o->tokens, "tokens trained on (default: those that reach --loss)")->option_text("D");
    app.add_option("--loss", o->target, "a loss to reach: the tokens that it needs")->option_text("L");
    app.add_option("--law", o->laws, "whose constants; several are compared, the first answers (see 'scaling laws')")
        ->option_text("NAME|FILE.json[,...]");
    app.add_option("--unique-tokens", o->unique_tokens, "tokens that differ, the rest being repetitions")
        ->option_text("U");
    add_positive(app, "--experts", o->experts, "experts per layer (default: the model's): adds the laws of experts")
        ->option_text("E");
    app.add_option("--granularity", o->granularity,
                   "width of a dense layer over that of an expert (default: the model's, or 1)")
        ->option_text("G");
    app.add_option("--total-params", o->total_parameters, "all parameters, experts included")->option_text("N");
    add_positive(app, "--bits", o->bits, "of weights, activations and cache in training (shape only)")
        ->option_text("P");
    add_positive(app, "--post-training-bits", o->post_training_bits, "weights rounded afterwards (shape only)")
        ->option_text("P");
    add_machine_options(app, o->machine);
    add_output_options(app, o->output, formats_and_page);
    app.footer(
        "Losses of laws fitted to different corpora cannot be compared with each other. Exit code 1 when no\n"
        "number of tokens reaches --loss. Sizes take K, M, B, T.\n\nExamples:\n"
        "  sextant scaling predict --params 70B --tokens 1.4T\n"
        "  sextant scaling predict --model llama-3.1-8b --tokens 15T --format json\n"
        "  sextant scaling predict --params 7B --loss 2.0 --law chinchilla-huber\n"
        "  sextant scaling predict --params 1B --tokens 100B --unique-tokens 10B\n"
        "  sextant scaling predict --params 3B --tokens 1T --experts 64 --granularity 8\n");
    return {.app = &app, .run = [o, &context] { return predict(*o, context); }};
}

}  // namespace sextant::cli
