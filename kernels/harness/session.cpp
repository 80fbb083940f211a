#include "kernels/harness/session.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <exception>
#include <numeric>

#include "kernels/harness/errors.hpp"
#include "kernels/harness/generated_values.hpp"
#include "kernels/harness/watchdog.hpp"
#include "kernels/harness/world.hpp"

namespace sextant::bench {
namespace {

/// Assumed: setting up and checking a problem costs this much beside the measurements.
constexpr double setup_s = 0.05;

void append_note(Row& row, std::string const& text) {
    if (text.empty()) return;
    row.note += (row.note.empty() ? "" : "; ") + text;
}

/// Six digits: more than any clock here resolves, and a file that people can read.
double six_digits(double value) {
    if (value == 0 || !std::isfinite(value)) return value;
    double const unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 5);
    return unit < 1 ? std::round(value / unit) / std::round(1 / unit) : std::round(value / unit) * unit;
}

void fill(Row& row, Problem const& problem, Timing const& timing) {
    append_note(row, timing.note);
    row.sm_clock_mhz = timing.sm_clock_mhz;
    row.mem_clock_mhz = timing.mem_clock_mhz;
    row.throttle = timing.throttle;
    if (timing.seconds.repeats == 0) return;
    row.median_us = six_digits(1e6 * timing.seconds.median);
    row.p10_us = six_digits(1e6 * timing.seconds.p10);
    row.p90_us = six_digits(1e6 * timing.seconds.p90);
    row.repeats = timing.seconds.repeats;
    if (timing.seconds.median <= 0) return;
    if (problem.flops > 0) row.tflops = six_digits(1e-12 * problem.flops / timing.seconds.median);
    if (problem.bytes > 0) row.gbps = six_digits(1e-9 * problem.bytes / timing.seconds.median);
}

std::string title(Task const& task) {
    return std::string(task.bench->name) + " " + task.problem.kernel + " " + task.problem.dtype +
           sizes_text(task.problem.shape);
}

/// Writes a row without times for each variant of the task that has no row yet; returns how many.
std::size_t write_without_times(Task const& task, SessionSettings const& settings, char const* mark,
                                std::string const& reason, double error, Outcome& outcome) {
    std::size_t const missing = task.todo.size() - outcome.rows;
    for (std::size_t i = outcome.rows; i < task.todo.size(); ++i) {
        Row row = blank_row(settings.machine, *task.bench, task.problem, task.todo[i]);
        row.max_rel_error = error;
        row.note = std::string(mark) + ": " + reason;
        settings.write(row);
    }
    outcome.rows = task.todo.size();
    settings.progress(std::string(mark) + ": " + title(task) + ": " + reason);
    return missing;
}

/// The rows of a task that threw `fault`: not supported, or failed. Where the backend does not recover, it failed
/// whatever was thrown, and the run ends with its rows written. What one process cannot set up or measure, the others
/// may be in the middle of, in a collective or in an exchange with it: then the run cannot go on either.
void give_up(Task const& task, SessionSettings const& settings, char const* mark, std::exception const& fault,
             Outcome& outcome) {
    std::exception_ptr lost;
    try {
        if (settings.recover) settings.recover();
    } catch (std::exception const&) {
        lost = std::current_exception();
        mark = failed_mark;
    }
    std::size_t& counted = mark == failed_mark ? outcome.failures : outcome.unsupported;
    counted += write_without_times(task, settings, mark, fault.what(), Row::unset, outcome);
    if (lost) std::rethrow_exception(lost);
    if (world().size() > 1) throw LeavesOthers(title(task) + ": " + fault.what());
}

/// Runs one task; the rows written and the failures among them.
Outcome run_task(Task const& task, SessionSettings const& settings) {
    Outcome outcome;
    LastWords const row_of_a_stall(
        [&](std::string const& why) { write_without_times(task, settings, failed_mark, why, Row::unset, outcome); });
    try {
        Prepared const prepared = task.bench->prepare(task.problem, settings.scope);
        if (prepared.tolerance > 0 && !(prepared.max_rel_error <= prepared.tolerance)) {
            std::string const reason = "wrong result, error " + std::to_string(prepared.max_rel_error) + " (allowed " +
                                       std::to_string(prepared.tolerance) + ")";
            outcome.failures +=
                write_without_times(task, settings, failed_mark, reason, prepared.max_rel_error, outcome);
            return outcome;
        }
        for (Variant const variant : task.todo) {
            Row row = blank_row(settings.machine, *task.bench, task.problem, variant);
            row.max_rel_error = six_digits(prepared.max_rel_error);
            row.note = prepared.note;
            fill(row, task.problem, prepared.measure(variant, settings.rule));
            settings.write(row);
            ++outcome.rows;
        }
    } catch (CannotWrite const&) {
        throw;
    } catch (Unavailable const& reason) {
        give_up(task, settings, unsupported_mark, reason, outcome);
    } catch (std::exception const& fault) {
        give_up(task, settings, failed_mark, fault, outcome);
    }
    return outcome;
}

}  // namespace

Row blank_row(Machine const& machine, Bench const& bench, Problem const& problem, Variant variant) {
    Row row;
    row.bench = bench.name;
    row.backend = machine.backend;
    row.device = machine.device;
    row.driver = machine.driver;
    row.date = utc_date();
    row.kernel = problem.kernel;
    row.dtype = problem.dtype;
    row.shape = problem.shape;
    row.cache = name_of(variant.cache);
    row.launch = name_of(variant.launch);
    return row;
}

std::set<std::string> keys_of(Task const& task, Machine const& machine) {
    std::set<std::string> keys;
    for (Variant const variant : task.todo)
        keys.insert(resume_key(blank_row(machine, *task.bench, task.problem, variant)));
    return keys;
}

std::size_t Plan::rows() const {
    return std::accumulate(tasks.begin(), tasks.end(), std::size_t{0},
                           [](std::size_t sum, Task const& task) { return sum + task.todo.size(); });
}

Plan plan_of(std::vector<Bench const*> const& benches, Scope const& scope, Machine const& machine,
             std::set<std::string> const& have) {
    Plan plan;
    for (Bench const* bench : benches) {
        std::vector<Problem> problems;
        try {
            problems = bench->problems(scope);
        } catch (Unavailable const& reason) {
            plan.unavailable.push_back(std::string(bench->name) + ": " + reason.what());
            continue;
        }
        for (Problem& problem : problems) {
            Task task{bench, std::move(problem), {}};
            for (Variant const variant : task.problem.variants)
                if (world().agree(!have.contains(resume_key(blank_row(machine, *bench, task.problem, variant)))))
                    task.todo.push_back(variant);
            if (!task.todo.empty()) plan.tasks.push_back(std::move(task));
        }
    }
    return plan;
}

void failures_last(Plan& plan, Machine const& machine, std::set<std::string> const& failures) {
    auto const failed_before = [&](Task const& task) {
        std::set<std::string> const keys = keys_of(task, machine);
        return std::any_of(keys.begin(), keys.end(), [&](std::string const& key) { return failures.contains(key); });
    };
    std::stable_partition(plan.tasks.begin(), plan.tasks.end(),
                          [&](Task const& task) { return !world().agree(failed_before(task)); });
}

void mix(Plan& plan) {
    auto const place = [](Task const& task) {
        std::uint64_t hash = 0;
        for (char const c : title(task))
            hash = mixed(hash, static_cast<unsigned char>(c));
        return hash;
    };
    std::stable_sort(plan.tasks.begin(), plan.tasks.end(),
                     [&](Task const& a, Task const& b) { return place(a) < place(b); });
}

double estimated_seconds(Task const& task, StopRule const& rule) {
    double const least = static_cast<double>(rule.min_samples) * task.problem.expected_s;
    // Assumed: a measurement whose noise converges takes a quarter of its time limit.
    double const each = std::max(least, 0.25 * rule.max_seconds);
    return setup_s + static_cast<double>(task.todo.size()) * each;
}

Outcome run_plan(Plan const& plan, SessionSettings const& settings) {
    Outcome outcome;
    double const start = settings.now();
    double all = 0;
    for (Task const& task : plan.tasks)
        all += estimated_seconds(task, settings.rule);
    double done = 0;
    std::size_t number = 0;
    for (Task const& task : plan.tasks) {
        double const elapsed = settings.now() - start;
        bool const late = settings.max_seconds > 0 && elapsed >= settings.max_seconds;
        if (world().agree(late)) {
            outcome.left = plan.rows() - outcome.rows;
            settings.progress("time is up: " + std::to_string(outcome.left) + " rows left (go on with --resume)");
            break;
        }
        // The estimate is corrected by how long the part already done took.
        double const pace = done > 0 ? elapsed / done : 1.0;
        settings.progress("[" + std::to_string(++number) + "/" + std::to_string(plan.tasks.size()) + ", " +
                          duration_text(pace * (all - done)) + " left] " + title(task));
        std::set<std::string> const keys = keys_of(task, settings.machine);
        if (settings.begin) settings.begin(keys);
        Outcome const one = run_task(task, settings);
        if (settings.end) settings.end(keys);
        outcome.rows += one.rows;
        outcome.failures += one.failures;
        outcome.unsupported += one.unsupported;
        done += estimated_seconds(task, settings.rule);
    }
    return outcome;
}

std::string duration_text(double seconds) {
    auto const total = static_cast<long long>(std::llround(std::max(0.0, seconds)));
    auto const two = [](long long value) { return (value < 10 ? "0" : "") + std::to_string(value); };
    if (total >= 3600) return std::to_string(total / 3600) + "h" + two(total % 3600 / 60) + "m";
    if (total >= 60) return std::to_string(total / 60) + "m" + two(total % 60) + "s";
    return std::to_string(total) + "s";
}

std::string utc_date() {
    std::time_t const now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

}  // namespace sextant::bench
