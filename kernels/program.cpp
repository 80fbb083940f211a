#include "kernels/program.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "kernels/backend.hpp"
#include "kernels/harness/begun_problems.hpp"
#include "kernels/harness/errors.hpp"
#include "kernels/harness/options.hpp"
#include "kernels/harness/row_file.hpp"
#include "kernels/harness/world.hpp"
#include "kernels/host/catalog.hpp"
#include "kernels/host/timer.hpp"

namespace sextant::bench {
namespace {

Backend choose_backend(Options const& options) {
    if (options.backend == BackendChoice::host) return host_backend();
    try {
        return cuda_backend(options.device);
    } catch (Unavailable const& reason) {
        if (options.backend == BackendChoice::cuda) throw;
        std::fprintf(stderr, "the host is measured, not a GPU: %s\n", reason.what());
        return host_backend();
    }
}

std::vector<Bench const*> chosen_benches(Options const& options, Backend const& backend) {
    if (options.benches.empty()) return backend.catalog;
    std::vector<Bench const*> chosen;
    for (std::string const& name : options.benches) {
        auto const found = std::find_if(backend.catalog.begin(), backend.catalog.end(),
                                        [&](Bench const* bench) { return name == bench->name; });
        if (found == backend.catalog.end()) {
            std::string known;
            for (Bench const* bench : backend.catalog)
                known += (known.empty() ? "" : ", ") + std::string(bench->name);
            throw BadInput("--bench: the " + backend.machine.backend + " backend has no \"" + name + "\" (" + known +
                           ")");
        }
        chosen.push_back(*found);
    }
    return chosen;
}

void print_list(Backend const& backend) {
    std::printf("backend %s: %s (%s)\n", backend.machine.backend.c_str(), backend.machine.device.c_str(),
                backend.machine.driver.c_str());
    for (Bench const* bench : backend.catalog)
        std::printf("  %-14s %s\n", bench->name, bench->summary);
}

void print_plan(Plan const& plan, Machine const& machine, StopRule const& rule) {
    double seconds = 0;
    for (Task const& task : plan.tasks) {
        double const each = estimated_seconds(task, rule) / static_cast<double>(task.todo.size());
        for (Variant const variant : task.todo) {
            Row row = blank_row(machine, *task.bench, task.problem, variant);
            std::string const text = sizes_text(row.shape);
            std::printf("%s %s %s%s %s %s  %.2f s\n", row.bench.c_str(), row.kernel.c_str(), row.dtype.c_str(),
                        text.c_str(), row.cache.c_str(), row.launch.c_str(), each);
        }
        seconds += each * static_cast<double>(task.todo.size());
    }
    std::printf("%zu rows, about %s\n", plan.rows(), duration_text(seconds).c_str());
}

/// Resume keys of the rows that are to be measured again, and of the others.
struct Known {
    std::set<std::string> failures, have;
    explicit Known(std::vector<Row> const& rows) {
        for (Row const& row : rows)
            (failed(row) ? failures : have).insert(resume_key(row));
    }
};

/// @throws BadInput where rows of this backend in the file were measured in another way.
void require_same_method(std::vector<Row> const& rows, Machine const& machine, std::string const& path) {
    for (Row const& row : rows)
        if (row.backend == machine.backend && method_in(row.driver) != method_in(machine.driver))
            throw BadInput("--out " + path + ": rows of " + row.date + " were measured by another version (" +
                           (method_in(row.driver).empty() ? "no method" : std::string(method_in(row.driver))) +
                           " in the column driver, this one has " + std::string(method_in(machine.driver)) +
                           "); their times do not belong together (give another name)");
}

/// One line that is written over on a terminal, lines otherwise; failures and what is not supported always stay.
class Progress {
public:
    void show(std::string const& text) {
        if (world().rank() != 0) return;
        bool const stays = text.starts_with(failed_mark) || text.starts_with(unsupported_mark);
        if (terminal_)
            std::fprintf(stderr, "\r\033[K%s%s", text.c_str(), stays ? "\n" : "");
        else
            std::fprintf(stderr, "%s\n", text.c_str());
        std::fflush(stderr);
    }
    void end() {
        if (terminal_ && world().rank() == 0) std::fprintf(stderr, "\r\033[K");
    }

private:
    bool terminal_ = isatty(2) != 0;
};

int measure(Options const& options, Backend const& backend, Plan const& plan, Scope const& scope, StopRule const& rule,
            BegunProblems& begun) {
    std::unique_ptr<RowWriter> writer;
    if (world().rank() == 0) writer = std::make_unique<RowWriter>(options.out, options.format, options.existing);
    Progress progress;
    SessionSettings settings;
    settings.machine = backend.machine;
    settings.scope = scope;
    settings.rule = rule;
    settings.max_seconds = options.max_seconds;
    settings.write = [&](Row const& row) {
        if (writer) writer->write(row);
    };
    if (writer) {
        if (options.existing == Existing::refuse) begun.clear();  // of rows that are gone
        settings.begin = [&](std::set<std::string> const& keys) { begun.begin(keys); };
        settings.end = [&](std::set<std::string> const& keys) { begun.end(keys); };
    }
    settings.progress = [&](std::string const& text) { progress.show(text); };
    settings.now = steady_seconds;
    settings.recover = backend.recover;
    Outcome const outcome = run_plan(plan, settings);
    progress.end();
    if (world().rank() == 0)
        std::fprintf(stderr, "%zu rows written, %zu failed, %zu unsupported, %zu left\n", outcome.rows,
                     outcome.failures, outcome.unsupported, outcome.left);
    return outcome.failures > 0 ? 1 : 0;
}

int run(Options const& options) {
    if (options.action == Action::help) {
        std::fputs(help_text(), stdout);
        return 0;
    }
    join_world();
    Backend const backend = choose_backend(options);
    std::vector<Bench const*> const benches = chosen_benches(options, backend);
    bool const speaks = world().rank() == 0;
    if (options.action == Action::list) {
        if (speaks) print_list(backend);
        return 0;
    }
    if (world().size() > 1)
        for (Bench const* bench : benches)
            if (std::string(bench->name) != "nccl")
                throw BadInput("--bench: several processes run together only for \"nccl\" (give --bench nccl)");
    Scope scope;
    scope.effort = options.effort;
    scope.seed = options.seed;
    scope.device = options.device;
    scope.stall_s = options.stall_seconds;
    scope.memory_limit = backend.memory_limit;
    world().share(&scope.memory_limit, sizeof scope.memory_limit);  // which problems there are depends on it
    scope.processes = processor_count();
    StopRule rule = options.effort == Effort::quick ? quick_rule() : full_rule();
    if (options.row_seconds > 0) rule.max_seconds = options.row_seconds;
    bool const resumes = options.existing == Existing::append && world().rank() == 0;
    std::vector<Row> const rows = resumes ? read_row_file(options.out, options.format) : std::vector<Row>{};
    require_same_method(rows, backend.machine, options.out);
    Known known(rows);
    BegunProblems begun(options.out);
    if (resumes) known.failures.insert(begun.keys().begin(), begun.keys().end());
    Plan plan = plan_of(benches, scope, backend.machine, known.have);
    if (options.max_seconds > 0) mix(plan);
    failures_last(plan, backend.machine, known.failures);
    for (std::string const& reason : plan.unavailable) {
        if (speaks) std::fprintf(stderr, "unsupported: %s\n", reason.c_str());
        if (!options.benches.empty()) return 3;
    }
    if (options.action == Action::dry_run) {
        if (speaks) print_plan(plan, backend.machine, rule);
        return 0;
    }
    if (!backend.warning.empty()) std::fprintf(stderr, "warning: %s\n", backend.warning.c_str());
    return measure(options, backend, plan, scope, rule, begun);
}

}  // namespace

Backend host_backend() {
    std::int64_t const memory = std::int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    return {.machine = host_machine(),
            .catalog = host_catalog(),
            .memory_limit = std::min(std::int64_t{2} << 30, memory / 4),
            .recover = {},
            .warning = {}};
}

namespace {

int exit_code_of(std::vector<std::string> const& arguments) {
    try {
        return run(parse_options(arguments));
    } catch (BadInput const& fault) {
        std::fprintf(stderr, "sextant-bench: %s\n", fault.what());
        return 2;
    } catch (Unavailable const& fault) {
        std::fprintf(stderr, "sextant-bench: unsupported: %s\n", fault.what());
        return 3;
    } catch (LeavesOthers const& fault) {
        std::fprintf(stderr, "sextant-bench: process %d of %d: %s (the others wait for it, so all end)\n",
                     world().rank(), world().size(), fault.what());
        world().abort(1);
        return 1;
    } catch (std::exception const& fault) {  // of CUDA, before the first measurement or between two
        std::fprintf(stderr, "sextant-bench: %s (rows so far are whole; go on with --resume)\n", fault.what());
        return 3;
    }
}

}  // namespace

int run_program(std::vector<std::string> const& arguments) {
    int const code = exit_code_of(arguments);
    if (code >= 2) world().abort(code);
    return code;
}

}  // namespace sextant::bench
