#include "cli/trials/schedule.hpp"
#include "cli/options/number_text.hpp"
#include "cli/output.hpp"
#include "cli/trials/subcommand.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace sextant::cli {
namespace {

struct Options {
    std::string tokens, batch = "4M", ramp, warmup_tokens, decay_tokens;
    double rate = 0;
    std::string shape = "cosine", decay;
    std::optional<std::int64_t> warmup_steps, decay_steps;
    std::optional<double> decay_share, final_share;
    std::int64_t samples = 20;
    OutputOptions output;
};

/// "4M,8M@252M,16M@2.87T": the first from zero.
std::vector<BatchPhase> phases_from(std::string const& text) {
    std::vector<BatchPhase> phases;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find(',', begin), text.size());
        std::string const entry = text.substr(begin, end - begin);
        std::size_t const at = entry.find('@');
        if ((at == std::string::npos) != phases.empty())
            throw InputError("--batch: '{}' (a batch, then BATCH@TOKENS for each later one: 4M,8M@252M)", text);
        double const from = at == std::string::npos ? 0 : count_from(entry.substr(at + 1), "--batch");
        phases.push_back({from, count_from(entry.substr(0, at), "--batch")});
        begin = end + 1;
    }
    return phases;
}

/// "32K:3.2M:12B": from, to, over so many tokens.
std::vector<BatchPhase> ramp_from(std::string const& text, double tokens) {
    std::size_t const first = text.find(':');
    std::size_t const second = first == std::string::npos ? first : text.find(':', first + 1);
    if (second == std::string::npos)
        throw InputError("--batch-ramp: '{}' (FIRST:LAST:TOKENS, such as 32K:3.2M:12B)", text);
    double const from = count_from(text.substr(0, first), "--batch-ramp");
    double const to = count_from(text.substr(first + 1, second - first - 1), "--batch-ramp");
    double const over = count_from(text.substr(second + 1), "--batch-ramp");
    if (to < from)
        throw InputError("--batch-ramp: '{}' ends with a smaller batch than it begins with (FIRST:LAST:TOKENS)", text);
    if (over >= tokens)
        throw InputError("--batch-ramp: '{}' takes {:g} tokens, the run has {:g} (fewer than those)", text, over,
                         tokens);
    try {
        return linear_batch_ramp(from, to, over);
    } catch (InputError const& error) {
        throw InputError("--batch-ramp: '{}': {}", text, error.what());
    }
}

/// The shape, and what only some shapes have.
void read_shape(Options const& o, CalendarSpec& spec) {
    spec.shape = rate_shape_from(o.shape, "--shape");
    for (bool const decays : {!o.decay.empty(), o.decay_share.has_value()})
        if (spec.shape != RateShape::wsd && decays)
            throw InputError("{}: only wsd has a decay of its own (--shape wsd)",
                             o.decay.empty() ? "--decay-share" : "--decay");
    if (spec.shape == RateShape::constant && o.final_share)
        throw InputError("--final-share: a constant rate ends as it is (--shape cosine, linear or wsd)");
    if (spec.shape == RateShape::constant && (o.decay_steps || !o.decay_tokens.empty()))
        throw InputError("{}: a constant rate does not decay (--shape cosine, linear or wsd)",
                         o.decay_steps ? "--decay-steps" : "--decay-tokens");
    if (!o.decay.empty()) spec.decay = decay_shape_from(o.decay, "--decay");
    auto const read = [](std::optional<double> given, double& share, char const* flag) {
        if (!given) return;
        if (!(*given >= 0 && *given <= 1)) throw InputError("{}: {} is out of range (0 to 1)", flag, *given);
        share = *given;
    };
    read(o.decay_share, spec.decay_share, "--decay-share");
    read(o.final_share, spec.final_share, "--final-share");
}

/// Where the decay ends, which may be before or after the end of the run.
void set_decay_end(Options const& o, CalendarSpec& spec) {
    constexpr std::int64_t most_decay_steps = 1'000'000'000'000;
    if (o.decay_steps && !o.decay_tokens.empty())
        throw InputError("--decay-steps: the end of the decay is given twice (steps and tokens)");
    if (!o.decay_tokens.empty()) spec.decay_tokens = count_from(o.decay_tokens, "--decay-tokens");
    if (!o.decay_steps) return;
    if (*o.decay_steps < 1 || *o.decay_steps > most_decay_steps)
        throw InputError("--decay-steps: {} is out of range (1 to {})", *o.decay_steps, most_decay_steps);
    spec.decay_tokens = TrainingCalendar(spec).tokens_after(*o.decay_steps);
}

CalendarSpec spec_of(Options const& o) {
    CalendarSpec spec;
    spec.tokens = count_from(o.tokens, "--tokens");
    if (!(o.rate > 0 && o.rate <= 1e3)) throw InputError("--lr: {} is no learning rate (above 0, up to 1000)", o.rate);
    spec.peak_rate = o.rate;
    read_shape(o, spec);
    spec.batches = o.ramp.empty() ? phases_from(o.batch) : ramp_from(o.ramp, spec.tokens);
    if (spec.batches.front().batch_tokens > spec.tokens)
        throw InputError("--batch: {:g} tokens per step are more than the {:g} of the run",
                         spec.batches.front().batch_tokens, spec.tokens);
    set_decay_end(o, spec);
    if (o.warmup_steps && !o.warmup_tokens.empty())
        throw InputError("--warmup-steps: the warm-up is given twice (steps and tokens)");
    if (!o.warmup_tokens.empty()) spec.warmup_tokens = count_from(o.warmup_tokens, "--warmup-tokens");
    if (spec.warmup_tokens > spec.tokens)
        throw InputError("--warmup-tokens: {} are more than the {} of the run", o.warmup_tokens, o.tokens);
    if (o.warmup_steps) {
        TrainingCalendar const steps(spec);
        if (*o.warmup_steps < 0 || *o.warmup_steps > steps.steps())
            throw InputError("--warmup-steps: {} is out of range (0 to the {} steps of the run)", *o.warmup_steps,
                             steps.steps());
        if (*o.warmup_steps > 0) spec.warmup_tokens = std::min(spec.tokens, steps.row(*o.warmup_steps).tokens);
    }
    if (spec.warmup_tokens > spec.decay_end())
        throw InputError("{}: the decay ends at {:g} tokens, within the warm-up of {:g} (more of --decay-tokens)",
                         o.decay_steps ? "--decay-steps" : "--decay-tokens", spec.decay_end(), spec.warmup_tokens);
    return spec;
}

int schedule(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    if (o.samples < 1 || o.samples > 10000000) throw InputError("--samples: {} is out of range (1 to 1e7)", o.samples);
    CalendarSpec const spec = spec_of(o);
    TrainingCalendar const calendar(spec);
    ScheduleReport const report{spec, calendar, calendar.rows(o.samples)};
    switch (format) {
        case Format::json: deliver(o.output, context, schedule_json(report)); break;
        case Format::text: deliver(o.output, context, schedule_text(report)); break;
        default: deliver(o.output, context, render(schedule_table(report), format)); break;
    }
    return exit_code::done;
}

}  // namespace

std::string schedule_text(ScheduleReport const& report) {
    CalendarSpec const& spec = report.spec;
    TrainingCalendar const& calendar = report.calendar;
    std::string shape(name_of(spec.shape));
    if (spec.shape == RateShape::wsd)
        shape += fmt::format(", {} decay over the last {:g} %", name_of(spec.decay), 100 * spec.decay_share);
    if (spec.decay_tokens) shape += fmt::format(", laid out for {} tokens", human_count(*spec.decay_tokens));
    std::string text = aligned_pairs(
        {{"steps", fmt::format("{}", calendar.steps())},
         {"tokens", fmt::format("{} ({:.0f})", human_count(calendar.tokens()), calendar.tokens())},
         {"learning rate", fmt::format("{:.3g}: {}", spec.peak_rate, shape)},
         {"sum of learning rates",
          fmt::format("{:.4g} ({:.1f} % of the peak, on average)", calendar.rate_area(),
                      100 * calendar.rate_area() / spec.peak_rate / static_cast<double>(calendar.steps()))}});
    Table table({{"step", Align::right},
                 {"tokens", Align::right},
                 {"batch", Align::right},
                 {"learning rate", Align::right},
                 {"event"}});
    for (CalendarRow const& row : report.rows)
        table.add_row({fmt::format("{}", row.step), human_count(row.tokens), human_count(row.batch_tokens),
                       fmt::format("{:.4g}", row.rate), row.event});
    return text + "\n" + table.text();
}

Table schedule_table(ScheduleReport const& report) {
    Table table({{"step", Align::right},
                 {"tokens", Align::right},
                 {"batch_tokens", Align::right},
                 {"learning_rate", Align::right},
                 {"event"}});
    for (CalendarRow const& row : report.rows)
        table.add_row({fmt::format("{}", row.step), fmt::format("{}", row.tokens), fmt::format("{}", row.batch_tokens),
                       fmt::format("{}", row.rate), row.event});
    return table;
}

Subcommand describe_trials_schedule(CLI::App& trials, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App* app = trials.add_subcommand("schedule", "learning rate and batch, step by step and token by token");
    app->add_option("--tokens", o->tokens, "of the run")->required()->option_text("N");
    app->add_option("--lr", o->rate, "highest learning rate")->required()->option_text("X");
    app->add_option("--shape", o->shape, "cosine (default), wsd, linear or constant")->option_text("NAME");
    app->add_option("--decay", o->decay, "of wsd: linear (default), cosine or sqrt")->option_text("NAME");
    app->add_option("--decay-share", o->decay_share, "of the tokens, of wsd (default: 0.1)")->option_text("SHARE");
    app->add_option("--final-share", o->final_share, "of the highest rate, at the end (default: 0.1)")
        ->option_text("SHARE");
    app->add_option("--decay-tokens", o->decay_tokens,
                    "where the decay ends, from the start of the run: earlier (then the final rate) or later "
                    "(default: at the end)")
        ->option_text("N");
    app->add_option("--decay-steps", o->decay_steps, "the same in steps")->option_text("N");
    app->add_option("--warmup-steps", o->warmup_steps, "linear warm-up (default: none)")->option_text("N");
    app->add_option("--warmup-tokens", o->warmup_tokens, "the same in tokens")->option_text("N");
    app->add_option("--batch", o->batch, "tokens per step, and from when it is larger (default: 4M)")
        ->option_text("4M,8M@252M");
    app->add_option("--batch-ramp", o->ramp, "from, to, evenly over so many tokens, instead")
        ->option_text("32K:3.2M:12B");
    app->add_option("--samples", o->samples, "rows beside the events (default: 20)")->option_text("N");
    add_output_options(*app, o->output);
    app->footer(
        "Steps count from 1; tokens and learning rate are those at the end of a step. CSV is the "
        "calendar.\n\nExamples:\n"
        "  sextant trials schedule --tokens 1T --lr 3e-4 --shape wsd --warmup-steps 2000\n"
        "  sextant trials schedule --tokens 15.6T --lr 8e-5 --final-share 0.01 --warmup-steps 8000 "
        "--decay-steps 1200000 --batch 4M,8M@252M,16M@2.87T\n"
        "  sextant trials schedule --tokens 300B --lr 6e-5 --batch-ramp 32K:3.2M:12B --warmup-tokens 375M "
        "--decay-tokens 260B\n");
    return {app, [o, &context] { return schedule(*o, context); }};
}

}  // namespace sextant::cli
