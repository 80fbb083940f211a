#include "cli/scaling/optimum_options.hpp"

#include "cli/options/number_text.hpp"
#include "cli/scaling/choice.hpp"
#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "core/spec/parameters.hpp"
#include "cost_models/scaling/attention_share.hpp"
#include "cost_models/scaling/batch_trade.hpp"
#include "cost_models/scaling/expert_laws.hpp"
#include "cost_models/scaling/root.hpp"
#include "planner/price_words.hpp"

#include <algorithm>
#include <cmath>

namespace sextant::cli {
namespace {

using Options = OptimumOptions;

/// Shown side by side when no law is named: the two refits of one table, the two printings of the original, another
/// corpus, and two that only divide a budget.
constexpr char const* usual_laws =
    "chinchilla-huber,chinchilla-lad,hoffmann-tex,hoffmann-rounded,muennighoff-c4,"
    "porian-tuned,deepseek-allocation";
constexpr double smaller_sizes[] = {0.75, 0.5, 0.3};
/// Width over layers of a usual dense model: 128 in GPT-3 175B, Llama 65B and their like. Source: assumed.
constexpr double usual_width_per_layer = 128;

struct Question {
    Options const& options;
    std::vector<PublishedLaw> laws;
    bool named = false;  ///< the laws were: one without an answer is an error, not a remark
    LawSetting setting;
};

BudgetKind kind_of(Options const& o) {
    int const given = !o.flops.empty() + !o.dollars.empty() + !o.days.empty() + !o.loss.empty();
    if (given != 1)
        throw InputError("scaling optimum: {} (one of --flops, --dollars, --days and --loss)",
                         given == 0 ? "no budget" : "several budgets");
    if (!o.flops.empty()) return BudgetKind::flops;
    if (!o.dollars.empty()) return BudgetKind::dollars;
    return o.days.empty() ? BudgetKind::loss : BudgetKind::days;
}

std::string const& amounts_of(Options const& o, BudgetKind kind) {
    switch (kind) {
        case BudgetKind::flops: return o.flops;
        case BudgetKind::dollars: return o.dollars;
        case BudgetKind::days: return o.days;
        default: return o.loss;
    }
}

double flops_from(BudgetKind kind, double amount, std::optional<ScalingMachine> const& machine) {
    if (kind == BudgetKind::flops) return amount;
    if (!machine) throw InputError("--{}: needs --cluster (whose peak is it?)", name_of(kind));
    if (kind == BudgetKind::days) {
        if (machine->machines.accelerators == 0) throw InputError("--days: needs --gpus (how many work so long?)");
        return flops_of_time(machine->machines, amount * units::day).base();
    }
    require_price_of_budget(machine->usd_per_hour, machine->cluster);
    return flops_of_money(machine->machines, amount * units::USD).base();
}

/// Compute that reaches the loss, over the resamples; one that never does needs endlessly much.
std::optional<LawInterval> loss_budget_interval(PublishedLaw const& law, double loss) {
    if (!has_chinchilla_form(law.law)) return std::nullopt;
    std::vector<double> flops;
    for (ChinchillaLaw const& one : chinchilla_resamples(law.law))
        flops.push_back(loss > one.E ? flops_for_loss(one, loss, "") : 1e300);
    return interval_of(std::move(flops));
}

OptimumRow row_of(PublishedLaw const& law, BudgetAnswer const& budget, BudgetKind kind, LawSetting const& setting) {
    double const flops = kind == BudgetKind::loss ? flops_of_loss(law, budget.amount, setting, "--loss") : budget.flops;
    return {.flops = flops, .answer = optimum_answer(law, flops, setting, "--law")};
}

/// The rows of one budget. A law that was not named and has no answer is left out with a remark.
void add_rows(BudgetAnswer& budget, Question const& q, OptimumReport& report) {
    for (PublishedLaw const& law : q.laws) {
        try {
            budget.rows.push_back(row_of(law, budget, report.kind, q.setting));
        } catch (InputError const& error) {
            if (q.named || &law == &q.laws.front()) throw;
            report.left_out.push_back(fmt::format("{} is left out: {}", law.name, error.what()));
        }
    }
    budget.flops = budget.rows.front().flops;
    if (report.kind == BudgetKind::loss) budget.flops_interval = loss_budget_interval(q.laws.front(), budget.amount);
}

void add_inference(BudgetAnswer& budget, Options const& o, OptimumReport& report) {
    if (o.inference_tokens.empty() && o.prefill_tokens.empty()) {
        if (o.prefill_mfu || o.decode_mfu || o.inference_price)
            throw InputError(
                "--inference-price, --prefill-mfu, --decode-mfu: need --inference-tokens or "
                "--prefill-tokens");
        return;
    }
    ScalingAnswer const& first = budget.first();
    if (!first.chinchilla) throw InputError("--inference-tokens: the first law, {}, gives no loss", first.name);
    InferenceAnswer out;
    if (!o.inference_tokens.empty()) out.demand.decode_tokens = count_from(o.inference_tokens, "--inference-tokens");
    if (!o.prefill_tokens.empty()) out.demand.prefill_tokens = count_from(o.prefill_tokens, "--prefill-tokens");
    if (o.prefill_mfu || o.decode_mfu || o.inference_price) {
        if (!report.machine || report.machine->machines.price.base() == 0)
            throw InputError("--inference-price, --prefill-mfu, --decode-mfu: need --cluster and a price");
        TrainingMachines const& m = report.machine->machines;
        out.in_dollars = true;
        double const price = o.inference_price ? *o.inference_price / 3600 : m.price.base();
        if (!(price > 0 && price < 1e6)) throw InputError("--inference-price: {} (above 0)", *o.inference_price);
        double const per_peak = price / m.peak.base();
        out.demand.training_cost = m.price.base() / (m.peak.base() * m.mfu);
        out.demand.prefill_cost = per_peak / share_from(o.prefill_mfu.value_or(m.mfu), "--prefill-mfu");
        out.demand.decode_cost = per_peak / share_from(o.decode_mfu.value_or(m.mfu), "--decode-mfu");
        auto const remark = [&](bool given, char const* flag) {
            if (!given) report.assumptions.push_back(fmt::format("utilisation as in training (assumed: {})", flag));
        };
        remark(o.prefill_mfu.has_value() || out.demand.prefill_tokens == 0, "--prefill-mfu");
        remark(o.decode_mfu.has_value() || out.demand.decode_tokens == 0, "--decode-mfu");
    }
    out.optimum = inference_optimum(*first.chinchilla, *first.loss, out.demand, "--inference-tokens");
    out.training_only =
        lifetime_cost({.parameters = first.parameters, .tokens = first.tokens, .loss = *first.loss}, out.demand);
    budget.inference = out;
}

/// The two published basins always, and any data-constrained law that was named.
void add_repeated(BudgetAnswer& budget, Question const& q) {
    if (q.options.unique_tokens.empty()) return;
    double const unique = count_from(q.options.unique_tokens, "--unique-tokens");
    std::vector<PublishedLaw> laws = laws_from({}, "muennighoff-c4,muennighoff-lower-basin");
    for (PublishedLaw const& law : q.laws)
        if (law.law.law == "data-constrained" &&
            std::none_of(laws.begin(), laws.end(), [&](auto const& known) { return known.name == law.name; }))
            laws.push_back(law);
    for (PublishedLaw const& law : laws) {
        auto const best = [&](FittedLaw const& one) {
            return repeated_optimum(repeated_data_of(one, "--law"), budget.flops, unique);
        };
        RepeatedAnswer answer{.law = law.name, .unique_tokens = unique, .point = best(law.law)};
        std::vector<double> epochs;
        std::vector<double> sizes;
        for (std::size_t i = 0; i < law.law.resamples.size(); ++i) {
            RepeatedPoint const point = best(law.law.resample(i));
            epochs.push_back(point.epochs);
            sizes.push_back(point.point.parameters);
        }
        answer.epochs_interval = interval_of(std::move(epochs));
        answer.parameters_interval = interval_of(std::move(sizes));
        budget.repeated.push_back(std::move(answer));
    }
}

void add_experts(BudgetAnswer& budget, double experts) {
    if (experts == 0) return;
    ScalingAnswer const& first = budget.first();
    for (PublishedLaw const& law : published_laws()) {
        ExpertAnswer out{.law = law.name};
        if (law.law.law == "moe-routed") {
            out.effective_dense = effective_dense_parameters(law.law, first.parameters, experts);
            if (first.chinchilla) {
                out.loss = loss_of(*first.chinchilla, *out.effective_dense, first.tokens);
                out.dense_loss = first.loss;
            }
        } else if (law.law.law == "moe-joint") {
            out.optimum = compute_optimum(at_experts(law.law, experts), budget.flops);
            out.loss = out.optimum->loss;
            out.dense_loss = compute_optimum(at_experts(law.law, 1), budget.flops).loss;
        } else {
            continue;
        }
        budget.experts.push_back(std::move(out));
    }
}

void add_bits(BudgetAnswer& budget, double bits) {
    if (bits == 0) return;
    FittedLaw const law = find_scaling_law("kumar-precision", "--bits");
    double const kept = parameter_retention(law, {.weights = bits, .activations = bits, .kv_cache = bits});
    budget.bits = BitsAnswer{.bits = bits,
                             .retention = kept,
                             .optimal_bits = optimal_bits(law),
                             .equal_parameters = budget.first().parameters / kept};
}

/// A shape whose layers and width grow alike, with the cube root of N: attention's share of 6 N falls with it.
struct ProportionedShape {
    double parameters, layers, width;
    double share;  ///< of attention, at this size
    [[nodiscard]] double growth(double n) const { return std::cbrt(n / parameters); }
    [[nodiscard]] double share_of(double n) const { return share / growth(n); }
};

ProportionedShape usual_shape(double context) {
    double const layers = 1;
    double const width = usual_width_per_layer * layers;
    double const parameters = 12 * layers * width * width;
    return {.parameters = parameters,
            .layers = layers,
            .width = width,
            .share = attention_share(layers, width, context, parameters)};
}

/// Heads, their width, windows and experts as the model has them.
ProportionedShape shape_of(ModelSpec const& model, double context) {
    return {.parameters = static_cast<double>(count_parameters(model).active),
            .layers = static_cast<double>(model.layer_count()),
            .width = static_cast<double>(model.hidden),
            .share = attention_share(model, static_cast<std::int64_t>(context))};
}

/// N and D that are best with (6 N + attention) D = C.
ScalingPoint optimum_with_attention(ChinchillaLaw const& law, ProportionedShape const& shape, double flops,
                                    double without) {
    auto const point_of = [&](double log_n) {
        double const n = std::exp(log_n);
        double const d = flops / (training_flops_per_parameter_token * n * (1 + shape.share_of(n)));
        return ScalingPoint{.parameters = n, .tokens = d, .loss = loss_of(law, n, d)};
    };
    auto const loss_at = [&](double log_n) { return point_of(log_n).loss; };
    constexpr double reach = 5;
    double const middle = std::log(without);
    double low = middle - reach;
    while (loss_at(low) <= loss_at(low + 0.01 * reach))  // long sequences make it smaller still
        low -= reach;
    return point_of(minimum_between(loss_at, low, middle + reach));
}

void add_context(BudgetAnswer& budget, Options const& o, OptimumReport& report) {
    if (o.context.empty()) {
        if (!o.model.empty()) throw InputError("--model: needs --context (how long are the sequences?)");
        return;
    }
    ScalingAnswer const& first = budget.first();
    if (!first.chinchilla) throw InputError("--context: the first law, {}, gives no loss", first.name);
    ContextAnswer out{.context = count_from(o.context, "--context")};
    if (out.context > 1e9) throw InputError("--context: {} (1 to 1e9 tokens)", o.context);
    ProportionedShape shape = usual_shape(out.context);
    if (!o.model.empty()) {
        ModelSpec const model = find_model(o.model);
        shape = shape_of(model, out.context);
        out.model = model.name;
        out.model_share = shape.share;
        report.assumptions.push_back(
            fmt::format("layers and width of {} grow alike, with the cube root of its parameters", model.name));
    } else {
        report.assumptions.push_back("width 128 times the layers, 12 layers width^2 parameters (assumed: --model)");
    }
    out.width_per_layer = shape.width / shape.layers;
    out.optimum = optimum_with_attention(*first.chinchilla, shape, budget.flops, first.parameters);
    double const growth = shape.growth(out.optimum.parameters);
    out.share = shape.share_of(out.optimum.parameters);
    out.layers = growth * shape.layers;
    out.width = growth * shape.width;
    budget.context = out;
}

void add_batch(BudgetAnswer& budget, Options const& o) {
    ScalingAnswer const& first = budget.first();
    budget.rates = rate_band({.parameters = first.parameters,
                              .tokens = first.tokens,
                              .flops = budget.flops,
                              .loss = first.loss.value_or(0)});
    if (o.batch.empty()) return;
    BatchAnswer out{.batch = count_from(o.batch, "--batch"), .trades = {}};
    for (RateBand::Entry const& entry : budget.rates.entries)
        if (entry.critical_batch && entry.noise_scale) {
            BatchTrade const trade = batch_trade(out.batch, *entry.noise_scale);
            out.trades.push_back({.law = entry.law->name,
                                  .critical_batch = *entry.critical_batch,
                                  .noise_scale = *entry.noise_scale,
                                  .steps_factor = trade.steps_factor,
                                  .samples_factor = trade.samples_factor});
        }
    budget.batch = std::move(out);
}

BudgetAnswer answer_budget(double amount, Question const& q, OptimumReport& report) {
    Options const& o = q.options;
    BudgetAnswer budget{.amount = amount, .rule_ratio = o.ratio};
    if (report.kind != BudgetKind::loss) budget.flops = flops_from(report.kind, amount, report.machine);
    add_rows(budget, q, report);
    if (report.machine) budget.cost = run_cost(report.machine->machines, budget.flops * units::flop);
    if (auto const& law = budget.first().chinchilla) {
        budget.flat = flat_region(*law, budget.flops);
        budget.rule = allocation_at_ratio(*law, budget.flops, o.ratio);
        for (double const factor : smaller_sizes)
            budget.smaller.push_back({.size_factor = factor, .trade = size_trade(*law, factor)});
        if (o.counting == "non-embedding") {
            budget.counting = non_embedding_optimum_of(*law, budget.flops);
            budget.kaplan_exponent = apparent_exponent(*law, kaplan_smallest, kaplan_largest);
        }
    }
    if (o.counting != "total" && !budget.counting)
        throw InputError("--counting: the first law, {}, gives no loss", budget.first().name);
    add_inference(budget, o, report);
    add_repeated(budget, q);
    add_experts(budget, o.experts);
    add_bits(budget, o.bits);
    add_context(budget, o, report);
    add_batch(budget, o);
    return budget;
}

void check(Options const& o) {
    if (o.experts != 0 && !(o.experts >= 1 && o.experts <= 1e6))
        throw InputError("--experts: {} (1 to 1e6)", o.experts);
    if (o.bits != 0 && !(o.bits >= 1 && o.bits <= 64)) throw InputError("--bits: {} (1 to 64)", o.bits);
    if (!(o.ratio > 0 && o.ratio <= 1e9)) throw InputError("--tokens-per-parameter: {} (above 0, up to 1e9)", o.ratio);
    if (o.counting != "total" && o.counting != "non-embedding")
        throw InputError("--counting: '{}' (total or non-embedding)", o.counting);
}

/// Without repetitions, the first of each kept.
void keep_first(std::vector<std::string>& remarks) {
    std::vector<std::string> kept;
    for (std::string& remark : remarks)
        if (std::find(kept.begin(), kept.end(), remark) == kept.end()) kept.push_back(std::move(remark));
    remarks = std::move(kept);
}

}  // namespace

OptimumReport answer_optimum(OptimumOptions const& o) {
    check(o);
    OptimumReport report{.kind = kind_of(o), .machine = machine_from(o.machine), .experts = o.experts};
    Question question{.options = o, .laws = laws_from(o.laws, usual_laws), .named = !o.laws.empty(), .setting = {}};
    if (o.experts > 0) question.setting.experts = o.experts;
    if (o.bits > 0) question.setting.bits = {.weights = o.bits, .activations = o.bits, .kv_cache = o.bits};
    if (report.machine) report.assumptions = report.machine->assumptions;
    for (double const amount : counts_from(amounts_of(o, report.kind), fmt::format("--{}", name_of(report.kind))))
        report.budgets.push_back(answer_budget(amount, question, report));
    keep_first(report.assumptions);  // the same for every budget
    keep_first(report.left_out);
    return report;
}

std::string_view name_of(BudgetKind kind) {
    switch (kind) {
        case BudgetKind::flops: return "flops";
        case BudgetKind::dollars: return "dollars";
        case BudgetKind::days: return "days";
        default: return "loss";
    }
}

}  // namespace sextant::cli
