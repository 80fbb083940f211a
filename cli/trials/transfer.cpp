#include "cli/trials/transfer.hpp"
#include "cli/options/number_text.hpp"
#include "cli/output.hpp"
#include "cli/trials/subcommand.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"

#include <CLI/App.hpp>

#include <fmt/format.h>

#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    std::string parameters, tokens;
    OutputOptions output;
};

int transfer(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    TransferReport report;
    if (o.parameters.empty() != o.tokens.empty())
        throw InputError("--{}: a target takes both --parameters and --tokens",
                         o.tokens.empty() ? "tokens" : "parameters");
    if (!o.parameters.empty())
        report.ladder = proxy_ladder(count_from(o.parameters, "--parameters"), count_from(o.tokens, "--tokens"));
    switch (format) {
        case Format::json: deliver(o.output, context, transfer_json(report)); break;
        case Format::text: deliver(o.output, context, transfer_text(report)); break;
        default: deliver(o.output, context, render(transfer_table(report), format)); break;
    }
    return exit_code::done;
}

}  // namespace

std::string transfer_text(TransferReport const& report) {
    std::string text;
    if (!report.ladder.empty()) {
        Table ladder({{"run", Align::right},
                      {"parameters", Align::right},
                      {"tokens", Align::right},
                      {"FLOPs", Align::right},
                      {"of the target", Align::right}});
        int run = 1;
        for (Proxy const& proxy : report.ladder)
            ladder.add_row({fmt::format("{}", run++), human_count(proxy.parameters), human_count(proxy.tokens),
                            fmt::format("{:.3g}", proxy.flops), fmt::format("{:.2g} %", 100 * proxy.share_of_target)});
        text += ladder.text() +
                wrapped(
                    "sizes, and half and twice the tokens, are a rule of thumb (assumed); the middle is "
                    "the target's tokens per parameter, at most 20. 'sextant scaling fit' takes the "
                    "losses: other D at the same N is what tells how a budget divides") +
                "\n";
    }
    for (TransferRule const& rule : transfer_rules())
        text += fmt::format("{}: {}\n", rule.what, rule.tune_at) +
                wrapped(fmt::format("  {} ({}: {})", rule.carry_over, rule.basis, rule.source), "  ", 80);
    text += "\nproxy: a small model; ladder: several sizes, extrapolated; target: the model itself; not: do not tune\n";
    return text;
}

Table transfer_table(TransferReport const&) {
    Table table({{"hyperparameter"}, {"tune_at"}, {"carry_over"}, {"basis"}, {"source"}});
    for (TransferRule const& rule : transfer_rules())
        table.add_row({rule.what, rule.tune_at, rule.carry_over, rule.basis, rule.source});
    return table;
}

Subcommand describe_trials_transfer(CLI::App& trials, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App* app =
        trials.add_subcommand("transfer", "what to tune at which scale, and how it is carried to the target");
    app->add_option("--parameters", o->parameters, "of the target, for a ladder of smaller models")->option_text("N");
    app->add_option("--tokens", o->tokens, "of the target")->option_text("N");
    add_output_options(*app, o->output);
    app->footer("Examples:\n  sextant trials transfer\n  sextant trials transfer --parameters 70B --tokens 15T\n");
    return {app, [o, &context] { return transfer(*o, context); }};
}

}  // namespace sextant::cli
