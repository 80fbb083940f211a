#include "cli/options/number_text.hpp"
#include "cli/scaling/optimum.hpp"
#include "cli/scaling/remarks.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sextant::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string range_text(double low, double high, std::string (*text)(double)) {
    return fmt::format("{} to {}", text(low), text(high));
}

std::string interval_text(std::optional<LawInterval> const& interval, std::string (*text)(double)) {
    if (!interval) return {};
    auto const bounded = [&](double value) { return value > 1e100 ? std::string("unbounded") : text(value); };
    return fmt::format(" (80 %: {} to {}, 95 %: {} to {})", bounded(interval->low80), bounded(interval->high80),
                       bounded(interval->low95), bounded(interval->high95));
}

std::string loss_text(double loss) { return fmt::format("{:.4g}", loss); }
std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

Table rows_table(OptimumReport const& report) {
    bool const several = report.budgets.size() > 1;
    bool const for_loss = report.kind == BudgetKind::loss;
    std::vector<Column> columns;
    if (several) columns.push_back({for_loss ? "loss" : "FLOP", Align::right});
    for (Column const& column : std::vector<Column>{{"law"},
                                                    {"N*", Align::right},
                                                    {"D*", Align::right},
                                                    {"D/N", Align::right},
                                                    {"80 %", Align::right},
                                                    {"95 %", Align::right},
                                                    {for_loss ? "FLOP" : "loss", Align::right},
                                                    {"beyond data", Align::right},
                                                    {"basis"}})
        columns.push_back(column);
    Table table(columns);
    for (BudgetAnswer const& budget : report.budgets)
        for (OptimumRow const& row : budget.rows) {
            ScalingAnswer const& a = row.answer;
            std::vector<std::string> cells;
            if (several && &row == &budget.rows.front())
                cells.push_back(for_loss ? digits_text(budget.amount) : power_text(budget.flops));
            else if (several)
                cells.emplace_back();
            auto const& r = a.ratio_interval;
            for (std::string const& cell :
                 {a.name, human_count(a.parameters), human_count(a.tokens), digits_text(a.ratio()),
                  r ? fmt::format("{}-{}", digits_text(r->low80), digits_text(r->high80)) : "",
                  r ? fmt::format("{}-{}", digits_text(r->low95), digits_text(r->high95)) : "",
                  for_loss ? power_text(row.flops) : (a.loss ? loss_text(*a.loss) : "-"), outside_text(a), a.basis})
                cells.push_back(cell);
            table.add_row(cells);
        }
    return table;
}

void add_rates(Pairs& pairs, RateBand const& band) {
    std::string rates;
    std::string batches;
    std::string critical;
    auto const add = [](std::string& list, std::string const& item) { list += (list.empty() ? "" : ", ") + item; };
    for (RateBand::Entry const& e : band.entries) {
        if (e.learning_rate) add(rates, fmt::format("{} {}", e.law->name, power_text(*e.learning_rate)));
        if (e.batch) add(batches, fmt::format("{} {}", e.law->name, human_count(*e.batch)));
        if (e.critical_batch) add(critical, fmt::format("{} {}", e.law->name, human_count(*e.critical_batch)));
    }
    pairs.emplace_back("learning rate", range_text(band.learning_rate_low, band.learning_rate_high, power_text));
    pairs.emplace_back("", rates);
    pairs.emplace_back("batch, tokens", range_text(band.batch_low, band.batch_high, human_count));
    pairs.emplace_back("", batches);
    pairs.emplace_back("critical batch", critical);
}

std::string rule_text(AllocationPenalty const& rule) {
    return fmt::format("{} x {}: loss +{} ({} of the compute would do)", human_count(rule.point.parameters),
                       human_count(rule.point.tokens), digits_text(rule.loss), share_text(rule.compute_needed));
}

std::string smaller_text(std::vector<SmallerModel> const& list) {
    std::string text;
    for (SmallerModel const& m : list) {
        if (!text.empty()) text += "; ";
        text += fmt::format("{:g} N*: ", m.size_factor);
        text += std::isfinite(m.trade.overhead)
                    ? fmt::format("{:.3g} D*, +{}", m.trade.token_factor, share_text(m.trade.overhead))
                    : std::string("never");
    }
    return text;
}

std::string inference_section(InferenceAnswer const& answer, std::string const& law) {
    auto const cost = [&](double value) {
        return answer.in_dollars ? human(value * units::USD) : power_text(value) + " FLOP";
    };
    InferenceOptimum const& best = answer.optimum;
    InferenceOptimum const& plain = answer.training_only;
    Table table({{""},
                 {"N", Align::right},
                 {"D", Align::right},
                 {"D/N", Align::right},
                 {"training FLOP", Align::right},
                 {"use FLOP", Align::right},
                 {"total", Align::right}});
    auto const add = [&](char const* name, InferenceOptimum const& o) {
        table.add_row({name, human_count(o.point.parameters), human_count(o.point.tokens),
                       digits_text(o.point.tokens / o.point.parameters), power_text(o.training_flops),
                       power_text(o.inference_flops), cost(o.cost)});
    };
    add("cheapest to train", plain);
    add("cheapest over its life", best);
    return fmt::format("with {} tokens of use, same loss, by {}: {} saved ({})\n{}",
                       human_count(answer.demand.prefill_tokens + answer.demand.decode_tokens), law,
                       cost(plain.cost - best.cost), share_text(1 - best.cost / plain.cost), table.text());
}

std::string repeated_section(std::vector<RepeatedAnswer> const& answers) {
    Table table({{"law"},
                 {"N", Align::right},
                 {"D", Align::right},
                 {"epochs", Align::right},
                 {"80 %", Align::right},
                 {"worth", Align::right},
                 {"loss", Align::right},
                 {"with enough data", Align::right}});
    for (RepeatedAnswer const& a : answers)
        table.add_row(
            {a.law, human_count(a.point.point.parameters), human_count(a.point.point.tokens),
             digits_text(a.point.epochs),
             a.epochs_interval
                 ? fmt::format("{}-{}", digits_text(a.epochs_interval->low80), digits_text(a.epochs_interval->high80))
                 : "",
             human_count(a.point.effective_tokens), loss_text(a.point.point.loss),
             fmt::format("{} x {}, {}", human_count(a.point.with_enough_data.parameters),
                         human_count(a.point.with_enough_data.tokens), loss_text(a.point.with_enough_data.loss))});
    return fmt::format("{} unique tokens (the runs hardly tell the two decays apart: take both as a range)\n{}",
                       human_count(answers.front().unique_tokens), table.text());
}

std::string experts_section(std::vector<ExpertAnswer> const& answers, double experts, std::string const& law) {
    Table table({{"law"},
                 {"N* acts as", Align::right},
                 {"active N x D", Align::right},
                 {"loss", Align::right},
                 {"dense", Align::right}});
    for (ExpertAnswer const& a : answers)
        table.add_row({a.law, a.effective_dense ? human_count(*a.effective_dense) : "",
                       a.optimum
                           ? fmt::format("{} x {}", human_count(a.optimum->parameters), human_count(a.optimum->tokens))
                           : "",
                       a.loss ? loss_text(*a.loss) : "-", a.dense_loss ? loss_text(*a.dense_loss) : "-"});
    return fmt::format(
        "{:g} experts per layer (routed laws, seen up to 1.3 B: the loss by {} of a dense model that large)\n{}",
        experts, law, table.text());
}

std::string bits_section(BitsAnswer const& b) {
    return wrapped(
        fmt::format("{:g} bits: {} of the parameters count; {} would do what N* does at many bits; least waste at "
                    "{:.3g} bits (kumar-precision, SHAPE ONLY: runs of 30 to 220 M parameters; its authors "
                    "advise against its constants)",
                    b.bits, share_text(b.retention), human_count(b.equal_parameters), b.optimal_bits));
}

std::string context_section(ContextAnswer const& c) {
    std::string text = fmt::format(
        "context {:g}: attention adds {} to 6 N; paid from the budget, {} x {} (about {:.0f} layers of {:.0f}), loss "
        "{}",
        c.context, share_text(c.share), human_count(c.optimum.parameters), human_count(c.optimum.tokens), c.layers,
        c.width, loss_text(c.optimum.loss));
    if (c.model_share) text += fmt::format("; {} itself: {}", c.model, share_text(*c.model_share));
    return wrapped(text + " (full square; a causal kernel does half)");
}

std::string batch_section(BatchAnswer const& batch) {
    Table table({{"critical batch by"},
                 {"tokens", Align::right},
                 {"E_min / S_min", Align::right},
                 {"steps", Align::right},
                 {"data", Align::right}});
    for (BatchAnswer::Trade const& t : batch.trades)
        table.add_row({t.law, human_count(t.critical_batch), human_count(t.noise_scale),
                       fmt::format("{:.3g} x", t.steps_factor), fmt::format("{:.3g} x", t.samples_factor)});
    return fmt::format("a batch of {} tokens, against the fewest steps and the least data\n{}",
                       human_count(batch.batch), table.text());
}

std::string counting_section(CountedOptimum const& c, double kaplan_exponent) {
    return wrapped(
        fmt::format("C counted without embeddings: {} without, {} with, {} tokens; N goes with C^{:.3f} here, and over "
                    "the sizes of Kaplan's runs would seem to go with C^{:.3f}",
                    human_count(c.point.parameters), human_count(c.total_parameters), human_count(c.point.tokens),
                    c.local_exponent, kaplan_exponent));
}

std::string remarks(OptimumReport const& report) {
    std::string text;
    std::vector<ScalingAnswer const*> answers;
    for (OptimumRow const& row : report.budgets.back().rows)  // with several budgets, the one farthest out
        answers.push_back(&row.answer);
    text += remarks_text(answers);
    for (std::string const& remark : report.left_out)
        text += wrapped(remark, "    ");
    for (std::string const& assumption : report.assumptions)
        text += wrapped("assumed: " + assumption, "    ");
    return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string run_cost_text(RunCost const& cost) {
    std::string text = fmt::format("{} accelerator-hours", human_count(cost.accelerator_hours));
    if (cost.time.base() > 0) text += fmt::format(", {:.3g} days", cost.time.in(units::day));
    if (cost.money.base() > 0) text += fmt::format(", {}", human(cost.money));
    return text;
}

std::string optimum_heading(OptimumReport const& report, BudgetAnswer const& budget) {
    switch (report.kind) {
        case BudgetKind::dollars:
            return fmt::format("{} = {} FLOP", human(budget.amount * units::USD), power_text(budget.flops));
        case BudgetKind::days: return fmt::format("{:g} days = {} FLOP", budget.amount, power_text(budget.flops));
        case BudgetKind::loss:
            return fmt::format("loss {:g}: {} FLOP by {}", budget.amount, power_text(budget.flops),
                               budget.first().name);
        default: return fmt::format("{} FLOP", power_text(budget.flops));
    }
}

std::vector<std::pair<std::string, std::string>> optimum_details(BudgetAnswer const& budget) {
    ScalingAnswer const& a = budget.first();
    Pairs pairs{{"N*", human_count(a.parameters) + interval_text(a.parameters_interval, human_count)},
                {"D*", human_count(a.tokens) + interval_text(a.tokens_interval, human_count)}};
    if (a.loss) pairs.emplace_back("loss", loss_text(*a.loss) + interval_text(a.loss_interval, loss_text));
    if (budget.flops_interval)
        pairs.emplace_back("compute", power_text(budget.flops) + interval_text(budget.flops_interval, power_text));
    if (budget.flat)
        pairs.emplace_back(
            "loss within 0.25 %",
            fmt::format("N {}, D {}",
                        range_text(budget.flat->parameters_low, budget.flat->parameters_high, human_count),
                        range_text(budget.flat->tokens_low, budget.flat->tokens_high, human_count)));
    if (budget.rule) pairs.emplace_back(fmt::format("{:g} tokens per N", budget.rule_ratio), rule_text(*budget.rule));
    if (!budget.smaller.empty()) pairs.emplace_back("smaller, same loss", smaller_text(budget.smaller));
    add_rates(pairs, budget.rates);
    pairs.emplace_back("AdamW time scale", fmt::format("B / (lr x weight decay x D) = {} (power-lines)",
                                                       digits_text(adamw_timescale(a.parameters, a.tokens))));
    return pairs;
}

std::string optimum_sections(OptimumReport const& report, BudgetAnswer const& budget) {
    std::string text;
    auto const add = [&](std::string const& section) { text += "\n" + section; };
    std::string const& law = budget.first().name;
    if (budget.inference) add(inference_section(*budget.inference, law));
    if (!budget.repeated.empty()) add(repeated_section(budget.repeated));
    if (!budget.experts.empty()) add(experts_section(budget.experts, report.experts, law));
    if (budget.context) add(context_section(*budget.context));
    if (budget.bits) add(bits_section(*budget.bits));
    if (budget.counting) add(counting_section(*budget.counting, budget.kaplan_exponent));
    if (budget.batch) add(batch_section(*budget.batch));
    return text;
}

std::string optimum_text(OptimumReport const& report) {
    std::string text;
    bool const several = report.budgets.size() > 1;
    if (!several) text += optimum_heading(report, report.budgets.front()) + "\n";
    if (report.machine) {
        text += report.machine->text;
        if (!several) text += "; " + run_cost_text(*report.budgets.front().cost);
        text += "\n";
    }
    text += (text.empty() ? "" : "\n") + rows_table(report).text();
    if (!several)
        text += fmt::format("\nby {}\n{}", report.budgets.front().first().name,
                            aligned_pairs(optimum_details(report.budgets.front()), "  "));
    for (BudgetAnswer const& budget : report.budgets)
        if (auto const more = optimum_sections(report, budget); !more.empty())
            text += (several ? "\n" + optimum_heading(report, budget) + "\n" : "") + more;
    return text + remarks(report);
}

Table optimum_table(OptimumReport const& report) {
    Table table({{"given"},
                 {"amount"},
                 {"flops"},
                 {"law"},
                 {"basis"},
                 {"parameters"},
                 {"tokens"},
                 {"tokens_per_parameter"},
                 {"loss"},
                 {"tokens_per_parameter_low_80"},
                 {"tokens_per_parameter_high_80"},
                 {"tokens_per_parameter_low_95"},
                 {"tokens_per_parameter_high_95"},
                 {"parameters_low_95"},
                 {"parameters_high_95"},
                 {"loss_low_95"},
                 {"loss_high_95"}});
    auto const number = [](double value) { return fmt::format("{}", value); };
    for (BudgetAnswer const& budget : report.budgets)
        for (OptimumRow const& row : budget.rows) {
            ScalingAnswer const& a = row.answer;
            auto const end = [&](std::optional<LawInterval> const& interval, double LawInterval::*member) {
                return interval ? number((*interval).*member) : std::string{};
            };
            table.add_row({std::string(name_of(report.kind)), number(budget.amount), number(row.flops), a.name, a.basis,
                           number(a.parameters), number(a.tokens), number(a.ratio()), a.loss ? number(*a.loss) : "",
                           end(a.ratio_interval, &LawInterval::low80), end(a.ratio_interval, &LawInterval::high80),
                           end(a.ratio_interval, &LawInterval::low95), end(a.ratio_interval, &LawInterval::high95),
                           end(a.parameters_interval, &LawInterval::low95),
                           end(a.parameters_interval, &LawInterval::high95), end(a.loss_interval, &LawInterval::low95),
                           end(a.loss_interval, &LawInterval::high95)});
        }
    return table;
}

}  // namespace sextant::cli
