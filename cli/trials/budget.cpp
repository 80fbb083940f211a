#include "cli/trials/budget.hpp"

#include "cli/interrupt.hpp"
#include "cli/options/number_text.hpp"
#include "cli/options/seed_option.hpp"
#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "cli/trials/subcommand.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/hourly_price.hpp"
#include "planner/price_words.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

namespace sextant::cli {
namespace {

struct Options {
    std::string methods = "all";
    std::optional<std::int64_t> trials;
    std::string grid;
    double least = 1, full = 81;
    std::int64_t eta = 3;
    bool from_start = false;
    std::string parameters, tokens, flops;
    std::string cluster;
    std::optional<std::int64_t> gpus, workers;
    std::int64_t gpus_per_trial = 1;
    std::optional<double> mfu, price;
    std::string trial_time;
    std::string start_time;
    SearchMachine machine{.workers = 8,
                          .unit_s = 1,
                          .start_s = 0,
                          .jitter = 0.05,
                          .straggler_chance = 0.02,
                          .straggler_factor = 2,
                          .rank_noise = 0.2};
    std::int64_t runs = 200, threads = 0;
    std::uint64_t seed = 1;
    bool progress = false;
    OutputOptions output;
};

constexpr std::int64_t most = 1 << 20;

/// "5x3x4": the product.
std::int64_t grid_size(std::string const& text) {
    std::int64_t product = 1;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find('x', begin), text.size());
        std::int64_t value = 0;
        auto const [stop, error] = std::from_chars(text.data() + begin, text.data() + end, value);
        if (error != std::errc{} || stop != text.data() + end || value < 1 || value > 100000 || product > most)
            throw InputError("--grid: '{}' is no grid (values per axis, such as 5x3x4)", text);
        product *= value;
        begin = end + 1;
    }
    return product;
}

std::vector<SearchMethod> methods_of(std::string const& text) {
    std::vector<SearchMethod> methods;
    if (text == "all")
        return {SearchMethod::random, SearchMethod::successive_halving, SearchMethod::hyperband, SearchMethod::asha,
                SearchMethod::pbt};
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const end = std::min(text.find(',', begin), text.size());
        SearchMethod const method = search_method_from(text.substr(begin, end - begin), "--method");
        if (std::find(methods.begin(), methods.end(), method) != methods.end())
            throw InputError("--method: '{}' names {} twice (each method once)", text, name_of(method));
        methods.push_back(method);
        begin = end + 1;
    }
    return methods;
}

/// A population keeps all its members to the end: fewer of them for about the same work.
constexpr std::int64_t usual_population = 20;

SearchPlan plan_of(Options const& o, SearchMethod method) {
    SearchPlan plan{.method = method, .trials = o.trials.value_or(81), .least = o.least, .full = o.full, .eta = o.eta};
    if (o.from_start) plan.resume = SearchPlan::Resume::from_start;
    if (method == SearchMethod::grid) {
        if (o.grid.empty()) throw InputError("--grid: how many values each axis has is not said (such as 5x3x4)");
        plan.trials = grid_size(o.grid);
    }
    if (method == SearchMethod::pbt) {
        plan.trials = o.trials ? *o.trials : usual_population;
        plan.least = std::max(o.least, o.full / 20);  // about twenty exchanges
    }
    return plan;
}

/// Says so where weights and optimizer of a trial are more than its accelerators hold.
void warn_of_memory(Options const& o, ClusterSpec const& cluster, BudgetReport& report) {
    constexpr double state_bytes = 16;  // a parameter: Adam in mixed precision. Source: arXiv:1910.02054, section 3.1
    if (o.parameters.empty()) return;
    Bytes const state = count_from(o.parameters, "--parameters") * state_bytes * units::B;
    Bytes const memory = static_cast<double>(o.gpus_per_trial) * cluster.accelerator.memory_capacity.value;
    if (state > memory)
        report.assumptions.push_back(
            fmt::format("a trial does not fit: weights and optimizer take {} (16 bytes a parameter), {} of {} have {} "
                        "(--gpus-per-trial {})",
                        human(state), o.gpus_per_trial, cluster.name, human(memory),
                        std::ceil(state / cluster.accelerator.memory_capacity.value)));
}

/// Time and price of a trial on its accelerators.
void set_time(Options const& o, BudgetReport& report) {
    TrialCost& trial = report.trial;
    std::optional<double> seconds;
    if (!o.trial_time.empty()) seconds = parse_quantity<Seconds>(o.trial_time, "--trial-time").base();
    if (seconds && o.mfu) throw InputError("--mfu: --trial-time says already how long a trial takes (one of the two)");
    if (seconds && *seconds <= 0) throw InputError("--trial-time: '{}' is no time (more than zero)", o.trial_time);
    if (!o.cluster.empty()) {
        ClusterSpec const cluster = find_cluster(o.cluster, "--cluster");
        if (o.gpus && cluster.max_accelerators > 0 && *o.gpus > cluster.max_accelerators)
            throw InputError("--gpus: {} is more than {} has ({})", *o.gpus, cluster.name, cluster.max_accelerators);
        warn_of_memory(o, cluster, report);
        if (auto const price = hourly_price(cluster); price && !o.price) {
            trial.usd_per_gpu_hour = price->value;
            report.assumptions.push_back(price_assumption(*price));
        }
        if (!seconds) {
            if (!trial.flops)
                throw InputError(
                    "--cluster: what a trial computes is not said (--parameters and --tokens, or --flops)");
            double const mfu = share_from(o.mfu.value_or(0.4), "--mfu");
            if (!o.mfu)
                report.assumptions.emplace_back("40 % MFU (assumed; 'sextant estimate' has a figure for a plan)");
            double const peak = cluster.accelerator.peak_of(Precision::bf16).value.base();
            seconds = *trial.flops / (static_cast<double>(o.gpus_per_trial) * peak * mfu);
            trial.words += fmt::format(", {} of {} each at {:.0f} % MFU", o.gpus_per_trial, cluster.name, 100 * mfu);
        }
    } else if (o.mfu)
        throw InputError("--mfu: needs --cluster (a share of which peak?)");
    if (o.price) {
        if (!seconds) throw InputError("--price: how long a trial takes is not said (--trial-time, or --cluster)");
        Sourced<double> const price = given_price(*o.price);
        trial.usd_per_gpu_hour = price.value;
        report.assumptions.push_back(price_assumption(price));
    }
    if (seconds) {
        trial.gpu_seconds = *seconds * static_cast<double>(o.gpus_per_trial);
        trial.words += fmt::format("{}{} alone", trial.words.empty() ? "" : ", ", human(*seconds * units::s));
        report.machine.unit_s = *seconds / o.full;
        report.timed = true;
    }
}

/// What a trial computes, and how long that takes.
void set_cost(Options const& o, BudgetReport& report) {
    TrialCost& trial = report.trial;
    trial.gpus_per_trial = o.gpus_per_trial;
    if (o.gpus_per_trial < 1 || o.gpus_per_trial > most)
        throw InputError("--gpus-per-trial: {} is out of range (1 to {})", o.gpus_per_trial, most);
    if (!o.flops.empty() && !(o.parameters.empty() && o.tokens.empty()))
        throw InputError("--flops: a trial is given twice (--flops, or --parameters and --tokens)");
    if (o.parameters.empty() != o.tokens.empty())
        throw InputError("--{}: a trial takes both --parameters and --tokens",
                         o.tokens.empty() ? "tokens" : "parameters");
    if (!o.flops.empty()) {
        trial.flops = count_from(o.flops, "--flops");
        trial.words = fmt::format("{:.3g} FLOPs", *trial.flops);
    } else if (!o.parameters.empty()) {
        double const n = count_from(o.parameters, "--parameters");
        double const d = count_from(o.tokens, "--tokens");
        trial.flops = 6 * n * d;
        trial.words = fmt::format("{} parameters on {} tokens, {:.3g} FLOPs (6 N D)", human_count(n), human_count(d),
                                  *trial.flops);
    }
    set_time(o, report);
}

void set_machine(Options const& o, BudgetReport& report) {
    SearchMachine& machine = report.machine;
    if (o.gpus && o.workers) throw InputError("--workers: given twice (--gpus over --gpus-per-trial are the workers)");
    if (o.gpus) {
        if (*o.gpus < o.gpus_per_trial || *o.gpus > most)
            throw InputError("--gpus: {} is out of range ({} for one trial, up to {})", *o.gpus, o.gpus_per_trial,
                             most);
        machine.workers = *o.gpus / o.gpus_per_trial;
    } else if (o.workers)
        machine.workers = *o.workers;
    if (machine.workers < 1 || machine.workers > most)
        throw InputError("--workers: {} is out of range (1 to {})", machine.workers, most);
    if (!o.start_time.empty()) {
        if (!report.timed)
            throw InputError("--start-time: how long a trial takes is not said (--trial-time, or --cluster)");
        machine.start_s = parse_quantity<Seconds>(o.start_time, "--start-time").base();
    }
    if (report.trial.gpu_seconds)
        report.assumptions.push_back(fmt::format("GPU hours{} are of accelerators that {}; idle workers are not billed",
                                                 report.trial.usd_per_gpu_hour ? " and cost" : "",
                                                 machine.start_s > 0 ? "train or start a piece" : "train"));
    report.assumptions.push_back(fmt::format(
        "a piece's time varies by {:.0f} %, one in {:.0f} is {:g} times slower (assumed)", 100 * machine.jitter,
        machine.straggler_chance > 0 ? 1 / machine.straggler_chance : 0.0, machine.straggler_factor));
    if (machine.straggler_chance <= 0)
        report.assumptions.back() =
            fmt::format("a piece's time varies by {:.0f} %, no stragglers", 100 * machine.jitter);
    report.assumptions.push_back(
        fmt::format("rank of the chosen: a rung shows the order of whole trials but for noise {:g} x "
                    "(sqrt(whole / rung) - 1) (assumed; --rank-noise)",
                    machine.rank_noise));
}

int budget(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    if (o.trials && (*o.trials < 1 || *o.trials > most))
        throw InputError("--trials: {} is out of range (1 to {})", *o.trials, most);
    if (o.runs < 0 || o.runs > 100000) throw InputError("--runs: {} is out of range (0 to 100000)", o.runs);
    if (o.threads < 0 || o.threads > 1024)
        throw InputError("--threads: {} is out of range (0 for all, up to 1024)", o.threads);
    BudgetReport report{.answers = {}, .machine = o.machine, .trial = {}, .seed = o.seed, .assumptions = {}};
    (void)successive_halving(1, o.least, o.eta, o.full);  // refuses lengths before they are divided by
    set_cost(o, report);
    set_machine(o, report);
    std::vector<SearchMethod> methods = methods_of(o.methods);
    if (o.methods == "all" && !o.grid.empty()) methods.insert(methods.begin() + 1, SearchMethod::grid);
    InterruptGuard const interrupt(context);
    ProgressLine line(context, o.progress ? Progress::always : Progress::on_terminals);
    bool interrupted = false;
    for (SearchMethod const method : methods) {
        SearchPlan const plan = plan_of(o, method);
        SearchAnswer answer{.plan = plan, .cost = search_cost(plan), .study = {}};
        std::function<void(std::int64_t)> progress;
        if (line.shown())
            progress = [&](std::int64_t done) {
                line.show(fmt::format("{}: {} of {} searches", name_of(method), done, o.runs));
            };
        if (o.runs > 0)
            answer.study = study_search(plan, report.machine, o.runs, report.seed, static_cast<unsigned>(o.threads),
                                        &interrupt.flag(), progress);
        interrupted = interrupted || answer.study.interrupted;
        report.answers.push_back(std::move(answer));
    }
    line.clear();
    switch (format) {
        case Format::json: deliver(o.output, context, budget_json(report)); break;
        case Format::text: deliver(o.output, context, budget_text(report)); break;
        default: deliver(o.output, context, render(budget_table(report), format)); break;
    }
    return interrupted ? interrupted_exit : exit_code::done;
}

void add_options(CLI::App& app, Options& o) {
    app.add_option("--method", o.methods, "random, grid, sha, hyperband, asha, pbt, a list, or all (default)")
        ->option_text("NAME,...");
    app.add_option("--trials", o.trials, "started trials (default: 81; members of pbt: 20)")->option_text("N");
    app.add_option("--grid", o.grid, "values per axis of a grid")->option_text("5x3x4");
    app.add_option("--least", o.least, "units of the first rung (default: 1)")->option_text("UNITS");
    app.add_option("--full", o.full, "units of a whole trial (default: 81)")->option_text("UNITS");
    app.add_option("--eta", o.eta, "one in so many goes on (default: 3)")->option_text("N");
    app.add_flag("--from-start", o.from_start, "a trial that goes on is trained again from the start");
    auto const add = [&](char const* flag, auto& target, char const* text, char const* value) {
        app.add_option(flag, target, text)->option_text(value)->group("Trial and machine");
    };
    add("--parameters", o.parameters, "of the model of a trial", "N");
    add("--tokens", o.tokens, "of a whole trial", "N");
    add("--flops", o.flops, "of a whole trial, instead", "N");
    add("--cluster", o.cluster, "accelerators: peak and price", "NAME|FILE.json");
    add("--gpus", o.gpus, "accelerators in all", "N");
    add("--gpus-per-trial", o.gpus_per_trial, "accelerators of one trial (default: 1)", "N");
    add("--mfu", o.mfu, "share of the bf16 peak that a trial reaches (default: 0.4)", "SHARE");
    add("--price", o.price, "US dollars per accelerator and hour", "USD");
    add("--workers", o.workers, "trials at the same time, instead of --gpus (default: 8)", "N");
    add("--trial-time", o.trial_time, "of a whole trial alone, instead of --cluster", "TIME");
    add("--start-time", o.start_time, "before each piece of a trial: scheduling, loading (default: 0)", "TIME");
    add("--jitter", o.machine.jitter, "standard deviation of the logarithm of a piece's time (default: 0.05)", "X");
    add("--straggler-chance", o.machine.straggler_chance, "of a piece (default: 0.02)", "SHARE");
    add("--straggler-factor", o.machine.straggler_factor, "how many times slower it is (default: 2)", "X");
    add("--rank-noise", o.machine.rank_noise, "how far the order at a rung is from the last (default: 0.2)", "X");
    app.add_option("--runs", o.runs, "simulated searches of each method (default: 200; 0: tables alone)")
        ->option_text("N");
    add_seed_option(app, o.seed, "of chance (default: 1)");
    app.add_option("--threads", o.threads, "0: all cores (default)")->option_text("N");
    app.add_flag("--progress", o.progress, "progress on stderr, even if it is no terminal");
    add_output_options(app, o.output);
}

}  // namespace

Subcommand describe_trials_budget(CLI::App& trials, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App* app = trials.add_subcommand("budget", "what a search costs, rung by rung, and how long it takes");
    add_options(*app, *o);
    app->footer(
        "A unit is whatever --least and --full count: epochs, thousands of steps, billions of tokens.\n\nExamples:\n"
        "  sextant trials budget --trials 81 --full 81\n"
        "  sextant trials budget --method asha,random --trials 200 --full 64 --eta 4 --workers 16 --trial-time 6h\n"
        "  sextant trials budget --parameters 1B --tokens 20B --cluster h100-sxm --gpus 64 --gpus-per-trial 8\n");
    return {app, [o, &context] { return budget(*o, context); }};
}

}  // namespace sextant::cli
