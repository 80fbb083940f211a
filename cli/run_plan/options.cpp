#include "cli/run_plan/options.hpp"

#include "cli/options/number_text.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/scaling/published_laws.hpp"
#include "planner/explain.hpp"
#include "planner/run_plan/scaling_curve.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <charconv>

namespace sextant::cli {
namespace {

std::optional<Budget> budget_from(RunPlanOptions const& o) {
    std::optional<Budget> budget;
    char const* first = nullptr;
    for (auto const& [flag, text, kind] :
         {std::tuple{"--flops", &o.flops, Budget::Kind::flops},
          std::tuple{"--dollars", &o.dollars, Budget::Kind::dollars},
          std::tuple{"--gpu-hours", &o.accelerator_hours, Budget::Kind::accelerator_hours},
          std::tuple{"--days", &o.days, Budget::Kind::days}}) {
        if (text->empty()) continue;
        if (budget) throw InputError("{}: {} is a budget already (one of the two)", flag, first);
        budget = Budget{.kind = kind, .amount = count_from(*text, flag)};
        first = flag;
    }
    return budget;
}

double power_share(std::optional<double> const& given, char const* flag, double least, double most) {
    if (!(*given >= least && *given <= most))
        throw InputError("{}: {} is out of range ({:g} to {:g})", flag, *given, least, most);
    return *given;
}

void set_power(PowerModel& power, RunPlanOptions const& o) {
    auto const set = [](Sourced<double>& value, std::optional<double> const& given, char const* flag, double least,
                        double most) {
        if (given) value = {power_share(given, flag, least, most), Basis::measured, flag};
    };
    set(power.idle_share, o.idle_share, "--idle-share", 0, 1);
    set(power.host_share, o.host_share, "--host-share", 0, 10);
    set(power.pue, o.pue, "--pue", 1, 10);
}

void add_budgets(CLI::App& app, RunPlanOptions& o) {
    app.add_option("--flops", o.flops, "budget: 6 N D, such as 1e24")->option_text("FLOPS")->group("Budget");
    app.add_option("--dollars", o.dollars, "budget: US dollars of accelerator time, such as 2e6")
        ->option_text("USD")
        ->group("Budget");
    app.add_option("--gpu-hours", o.accelerator_hours, "budget: accelerators times hours")
        ->option_text("HOURS")
        ->group("Budget");
    app.add_option("--days", o.days, "budget: wall clock, on --gpus accelerators")
        ->option_text("DAYS")
        ->group("Budget");
    app.add_option("--tokens", o.tokens,
                   "tokens to train on, such as 2e12 or 2T (default: what the law or the budget gives)")
        ->option_text("N")
        ->group("Budget");
    app.add_option("--params", o.parameters, "a size without a shape, such as 70B: the shape is chosen")
        ->option_text("N")
        ->group("Budget");
    app.add_option("--deadline", o.deadline,
                   "30d, '6 weeks' or '700 h' (a bare number is days): the fewest accelerators that end in time, and "
                   "with --gpus whether so many do "
                   "(default without --gpus: 30d)")
        ->option_text("TIME")
        ->group("Budget");
    app.add_option(
           "--law", o.law,
           "scaling law by name ('sextant scaling laws') or a file of 'scaling fit' (default: chinchilla-huber)")
        ->option_text("NAME|FILE.json")
        ->group("Budget");
    app.add_option("--vocab", o.vocabulary, "vocabulary of a shape that is chosen (default: 128256; 32000 below 1 B)")
        ->option_text("N")
        ->group("Budget");
}

void add_report(CLI::App& app, RunPlanOptions& o) {
    app.add_option("--mfu", o.mfu, "also 6 N D at this utilisation (0.5 or 50%), and the difference term by term")
        ->option_text("SHARE");
    app.add_option("--curve", o.curve,
                   "scaling curve over these numbers of accelerators (default with --deadline: 1 to 16384; "
                   "--format csv is then the curve)")
        ->option_text("N,N,...");
    app.add_flag("--no-curve", o.no_curve, "no scaling curve");
    app.add_option("--pays-above", o.pays_above,
                   "share of the first GPUs' work below which added ones do not pay (default: 50%)")
        ->option_text("SHARE");
    app.add_option("--failures", o.failures, "none, or a record of failure rates ('sextant goodput' lists them)")
        ->option_text("NAME");
    app.add_option("--idle-share", o.idle_share, "power of a waiting accelerator, of its rated power (default: 0.12)")
        ->option_text("SHARE");
    app.add_option("--host-share", o.host_share,
                   "power of hosts and network per accelerator, of its rated power (default: 0.4)")
        ->option_text("SHARE");
    app.add_option("--pue", o.pue, "power usage effectiveness of the site (default: 1.1)")->option_text("FACTOR");
    app.add_option("--threads", o.threads, "worker threads (default: 0, all cores); the answer does not depend on it");
}

}  // namespace

void add_run_plan_options(CLI::App& app, RunPlanOptions& o) {
    add_plan_options(app, o.plan, Axes::search);
    add_adapter_options(app, o.plan);
    app.get_option("--model")->required(false)->description(
        "preset or Hugging Face config.json (default: size by the law, shape by size)");
    app.get_option("--gpus")
        ->description("accelerators (default: as few as the deadline allows; of money and GPU-hours the best use)")
        ->option_text("N");
    app.get_option("--global-batch")
        ->description("sequences per step (default: a power of two within the critical batch)");
    add_budgets(app, o);
    add_report(app, o);
}

double share_or_percent(std::string const& text, char const* flag) {
    bool const percent = text.ends_with('%');
    double const value = count_from(percent ? text.substr(0, text.size() - 1) : text, flag) / (percent ? 100 : 1);
    if (value > 1) throw InputError("{}: {} is out of range (above 0, up to 1 or 100%)", flag, text);
    return value;
}

Seconds deadline_from(std::string const& text, char const* flag) {
    double days = 0;
    auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), days);
    bool const bare = error == std::errc{} && stop == text.data() + text.size();
    if (error == std::errc{} && *stop == '-')
        throw InputError("{}: '{}' is no length of time (such as 30d, '6 weeks' or '700 h'; dates are not read)", flag,
                         text.substr(0, 60));
    auto const time = parse_quantity<Seconds>(bare ? text + " day" : text, flag);
    if (!(time > Seconds{}) || time > 1e6 * units::day)
        throw InputError("{}: '{}' is out of range (above 0, up to 1e6 days)", flag, text);
    return time;
}

RunSetting run_setting(RunPlanOptions const& o) {
    MachineSubject machine = find_machine(o.plan);
    RunSetting setting;
    setting.constraints = search_constraints(o.plan, machine.cluster, machine.framework);
    setting.cluster = std::move(machine.cluster);
    setting.framework = std::move(machine.framework);
    setting.limit = machine.limit;
    setting.sequence = o.plan.sequence;
    setting.document = o.plan.document;
    setting.global_batch = o.plan.global_batch;
    if (o.failures != "none") setting.failures = &find_failure_record(o.failures, "--failures");
    set_power(setting.power, o);
    if (o.threads < 0 || o.threads > 1024)
        throw InputError("--threads: {} is out of range (0 for all, up to 1024)", o.threads);
    setting.threads = static_cast<unsigned>(o.threads);
    return setting;
}

RunQuestion run_question(RunPlanOptions const& o, RunSetting const& setting) {
    RunQuestion question;
    question.budget = budget_from(o);
    question.law = find_scaling_law(o.law.empty() ? default_scaling_law : o.law, "--law");
    if (!o.plan.model.empty()) question.model = find_model(o.plan.model);
    if (!o.parameters.empty()) question.parameters = count_from(o.parameters, "--params");
    if (!o.tokens.empty()) question.tokens = count_from(o.tokens, "--tokens");
    if (!o.deadline.empty()) question.deadline = deadline_from(o.deadline, "--deadline");
    std::vector<std::int64_t> counts;  // of a machine called "8xH100" there may be more
    if (!o.plan.accelerators.empty()) counts = accelerator_counts(o.plan, setting.cluster);
    if (counts.size() > 1)
        throw InputError("--gpus: '{}' is a list (one number here; --curve takes a list)", o.plan.accelerators);
    if (!counts.empty()) question.accelerators = counts.front();
    if (o.vocabulary && question.model)
        throw InputError("--vocab: {} has its own (only for a shape that is chosen)", question.model->name);
    if (o.vocabulary && (*o.vocabulary < 2 || *o.vocabulary > 10'000'000))
        throw InputError("--vocab: {} is out of range (2 to 1e7)", *o.vocabulary);
    question.shape.vocabulary = o.vocabulary;
    if (o.plan.sequence) question.shape.sequence = std::max<std::int64_t>(1, *o.plan.sequence);
    return question;
}

std::vector<std::int64_t> curve_counts(RunPlanOptions const& o, RunSetting const& setting,
                                       RunQuestion const& question) {
    if (o.no_curve) return {};
    if (o.curve.empty())
        return question.accelerators ? std::vector<std::int64_t>{} : usual_curve_counts(setting.cluster);
    constexpr std::int64_t most = 1 << 20;
    std::vector<std::int64_t> counts;
    for (std::size_t begin = 0; begin <= o.curve.size();) {
        std::size_t const end = std::min(o.curve.find(',', begin), o.curve.size());
        std::string const text = o.curve.substr(begin, end - begin);
        std::int64_t n = 0;
        auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (error != std::errc{} || stop != text.data() + text.size() || n < 1 || n > most)
            throw InputError("--curve: '{}' is no number of accelerators (1 to {}, such as 8,64,512)", text,
                             grouped_digits(most));
        counts.push_back(n);
        if (counts.size() > 200) throw InputError("--curve: more than 200 numbers");
        begin = end + 1;
    }
    std::sort(counts.begin(), counts.end());
    counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
    return counts;
}

}  // namespace sextant::cli
