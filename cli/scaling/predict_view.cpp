#include "cli/options/number_text.hpp"

#include "cli/scaling/predict.hpp"
#include "cli/scaling/remarks.hpp"
#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sextant::cli {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string loss_text(double loss) { return fmt::format("{:.4g}", loss); }
std::string share_text(double share) { return fmt::format("{:.3g} %", 100 * share); }

std::string tokens_text(std::optional<double> tokens) {
    if (!tokens) return {};
    return *tokens < 1e40 ? human_count(*tokens) : "never";
}

Table rows_table(PredictReport const& report) {
    std::vector<Column> columns{{"law"},
                                {"loss", Align::right},
                                {"80 %", Align::right},
                                {"95 %", Align::right},
                                {"above optimum", Align::right},
                                {"compute needed", Align::right}};
    if (report.target) columns.push_back({fmt::format("D for {}", loss_text(*report.target)), Align::right});
    columns.push_back({"beyond data", Align::right});
    columns.push_back({"basis"});
    Table table(columns);
    for (PredictRow const& row : report.rows) {
        ScalingAnswer const& a = row.answer;
        auto const& i = a.loss_interval;
        std::vector<std::string> cells{a.name,
                                       loss_text(*a.loss),
                                       i ? fmt::format("{:.3f}-{:.3f}", i->low80, i->high80) : "",
                                       i ? fmt::format("{:.3f}-{:.3f}", i->low95, i->high95) : "",
                                       row.penalty ? digits_text(row.penalty->loss) : "",
                                       row.penalty ? share_text(row.penalty->compute_needed) : ""};
        if (report.target) cells.push_back(tokens_text(row.tokens_for_target));
        cells.push_back(outside_text(a));
        cells.push_back(a.basis);
        table.add_row(cells);
    }
    return table;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> predict_details(PredictReport const& report) {
    PredictRow const& first = report.rows.front();
    Pairs pairs;
    if (first.penalty) {
        ScalingPoint const& best = first.penalty->optimum;
        pairs.emplace_back("best of this compute", fmt::format("{} x {}: loss {}", human_count(best.parameters),
                                                               human_count(best.tokens), loss_text(best.loss)));
    }
    if (report.same_loss) {
        ScalingPoint const& same = *report.same_loss;
        pairs.emplace_back(
            "cheapest of this loss",
            fmt::format("{} x {}: this run has {:.3g} x its N, {:.3g} x its D, +{} compute",
                        human_count(same.parameters), human_count(same.tokens), report.parameters / same.parameters,
                        report.tokens / same.tokens, share_text(*report.flops_over_same_loss - 1)));
    }
    RateBand const& r = report.rates;
    pairs.emplace_back("learning rate",
                       fmt::format("{} to {}", power_text(r.learning_rate_low), power_text(r.learning_rate_high)));
    pairs.emplace_back("batch, tokens", fmt::format("{} to {}", human_count(r.batch_low), human_count(r.batch_high)));
    std::string critical;
    for (RateBand::Entry const& e : r.entries)
        if (e.critical_batch)
            critical +=
                fmt::format("{}{} {}", critical.empty() ? "" : ", ", e.law->name, human_count(*e.critical_batch));
    pairs.emplace_back("critical batch", critical);
    pairs.emplace_back("AdamW time scale", fmt::format("B / (lr x weight decay x D) = {} (power-lines)",
                                                       digits_text(adamw_timescale(report.parameters, report.tokens))));
    if (report.rounding)
        pairs.emplace_back("rounded afterwards", fmt::format("loss +{} at {:g} bits (kumar-precision, SHAPE ONLY)",
                                                             digits_text(*report.rounding), report.post_training_bits));
    if (report.cost) {
        std::string cost = fmt::format("{} accelerator-hours", human_count(report.cost->accelerator_hours));
        if (report.cost->time.base() > 0) cost += fmt::format(", {:.3g} days", report.cost->time.in(units::day));
        if (report.cost->money.base() > 0) cost += ", " + human(report.cost->money);
        pairs.emplace_back("takes", cost);
        pairs.emplace_back("on", report.machine->text);
    }
    return pairs;
}

std::string predict_text(PredictReport const& report) {
    std::string text = fmt::format("{} parameters, {} tokens: {} FLOP, {} tokens per parameter",
                                   human_count(report.parameters), human_count(report.tokens),
                                   power_text(report.flops()), digits_text(report.tokens / report.parameters));
    if (report.setting.unique_tokens > 0)
        text += fmt::format(", {} epochs", digits_text(std::max(report.tokens / report.setting.unique_tokens, 1.0)));
    text += fmt::format("\n\n{}\nby {}\n{}", rows_table(report).text(), report.rows.front().answer.name,
                        aligned_pairs(predict_details(report), "  "));
    std::string remarks;
    std::vector<ScalingAnswer const*> answers;
    for (PredictRow const& row : report.rows)
        answers.push_back(&row.answer);
    remarks += remarks_text(answers);
    for (std::string const& assumption : report.assumptions)
        remarks += wrapped("assumed: " + assumption, "    ");
    return remarks.empty() ? text : text + "\n" + remarks;
}

Table predict_table(PredictReport const& report) {
    Table table({{"law"},
                 {"basis"},
                 {"parameters"},
                 {"tokens"},
                 {"flops"},
                 {"loss"},
                 {"loss_low_95"},
                 {"loss_low_80"},
                 {"loss_high_80"},
                 {"loss_high_95"},
                 {"optimum_parameters"},
                 {"optimum_tokens"},
                 {"optimum_loss"},
                 {"loss_penalty"},
                 {"compute_needed_share"},
                 {"tokens_for_target"}});
    auto const number = [](double value) { return fmt::format("{}", value); };
    for (PredictRow const& row : report.rows) {
        ScalingAnswer const& a = row.answer;
        auto const end = [&](double LawInterval::*member) {
            return a.loss_interval ? number((*a.loss_interval).*member) : std::string{};
        };
        auto const& p = row.penalty;
        table.add_row({a.name, a.basis, number(a.parameters), number(a.tokens), number(report.flops()), number(*a.loss),
                       end(&LawInterval::low95), end(&LawInterval::low80), end(&LawInterval::high80),
                       end(&LawInterval::high95), p ? number(p->optimum.parameters) : "",
                       p ? number(p->optimum.tokens) : "", p ? number(p->optimum.loss) : "", p ? number(p->loss) : "",
                       p ? number(p->compute_needed) : "",
                       row.tokens_for_target && *row.tokens_for_target < 1e40 ? number(*row.tokens_for_target) : ""});
    }
    return table;
}

}  // namespace sextant::cli
