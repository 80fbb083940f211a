#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/options/written_file.hpp"
#include "cli/progress.hpp"
#include "cli/sweep/evaluate.hpp"
#include "cli/sweep/output.hpp"
#include "cli/sweep/progress.hpp"
#include "cli/sweep/report_cells.hpp"
#include "cli/sweep/run.hpp"
#include "cli/unavailable.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/parallel_for.hpp"
#include "core/quantity_text.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <ostream>

namespace sextant::cli {
namespace {

struct Options {
    SweepRequest request;
    std::string shard;
    std::int64_t threads = 0;
    std::string point_limit = "1 h";
    std::string file;
    std::string format;
    bool resume = false;
    bool overwrite = false;
    bool list_columns = false;
    bool dry_run = false;
    bool mpi = false;
    bool progress = false;
};

/// "3/64".
void set_shard(SweepRecord& record, std::string const& text) {
    if (text.empty()) return;
    char const* const end = text.data() + text.size();
    auto const [slash, first] = std::from_chars(text.data(), end, record.shard);
    std::from_chars_result last{slash, std::errc::invalid_argument};
    if (slash != end && *slash == '/') last = std::from_chars(slash + 1, end, record.shards);
    if (first != std::errc{} || last.ec != std::errc{} || last.ptr != end || record.shards < 1 || record.shard < 1 ||
        record.shard > record.shards || record.shards > most_shards)
        throw InputError("--shard: '{}' (which of how many, from 1/64 to 64/64)", text);
    if (record.shards > record.points)
        throw InputError("--shard: {} shards of {} points (a shard would have none)", record.shards, record.points);
}

Existing existing_of(Options const& o, SweepFormat format) {
    if (o.resume && o.overwrite) throw InputError("--resume: cannot go together with --overwrite (choose one)");
    if (o.overwrite && o.file.empty()) throw InputError("--overwrite: needs --output (which file begins anew?)");
    if (o.resume && (o.file.empty() || !is_streamed(format)))
        throw InputError("--resume: needs --output with a file of csv or jsonl (others are written at the end)");
    if (o.resume) return Existing::resume;
    return o.overwrite ? Existing::overwrite : Existing::refuse;
}

unsigned worker_count(Options const& o, std::int64_t rows) {
    if (o.threads < 0 || o.threads > 1024)
        throw InputError("--threads: {} is out of range (0 for all, up to 1024)", o.threads);
    unsigned const wanted = thread_count(static_cast<unsigned>(o.threads));
    return static_cast<unsigned>(std::clamp<std::int64_t>(rows, 1, wanted));
}

/// The command line of every point of the shard; nothing is evaluated.
int dry_run(SweepQuestion const& question, SweepRecord const& record, CommandContext& context) {
    for (std::int64_t row = 0; row < record.row_count() && context.out; ++row)
        context.out << "sextant " << shell_text(question.arguments_at(record.point_of(row))) << "\n";
    return exit_code::done;
}

/// What the first point's report has.
int list_columns(SweepQuestion const& question, CommandContext& context) {
    PointReport const first = run_point(question, 0, context.stop);
    auto const paths = report_paths(first.report);
    if (paths.empty()) throw InputError("--list-columns: the first point has no report: {}", one_line(first.errors));
    for (auto const& [path, cell] : paths)
        context.out << path << " = " << cell.text << "\n";
    return exit_code::done;
}

SweepProgress::Where progress_place(Options const& o, CommandContext& context) {
    if (context.progress) return SweepProgress::Where::host;
    if (ProgressLine(context, Progress::on_terminals).shown()) return SweepProgress::Where::terminal;
    return o.progress ? SweepProgress::Where::log : SweepProgress::Where::nowhere;
}

/// A column that was asked for by name and is not in the first report is a typing error more often than not.
void warn_of_empty(SweepRow const& row, SweepRecord const& record, SweepRequest const& request,
                   CommandContext& context) {
    for (std::size_t i = 0; i < row.cells.size(); ++i)
        if (row.cells[i].kind == SweepCell::Kind::empty &&
            (!request.columns.empty() || record.columns[i] == request.sensitivity))
            context.err << "sextant sweep: point " << row.point << " has no '" << record.columns[i]
                        << "' (--list-columns shows what there is)\n";
}

/// Paths of a report that one may have meant by a column: those with the word in them, or else the nearest.
std::string paths_like(std::string const& column, std::vector<std::string> const& paths) {
    constexpr std::size_t most = 3;
    std::vector<std::string> found;
    for (std::string const& path : paths)
        if (path.find(column) != std::string::npos && found.size() < most) found.push_back(path);
    return found.empty() ? nearest_name(column, paths) : join(found);
}

/// Not one of the columns that were asked for is in the first report: the rest would be an empty table.
void refuse_unknown_columns(SweepRow const& row, SweepRequest const& request, SweepQuestion const& question,
                            CommandContext& context) {
    bool const any = std::any_of(row.cells.begin(), row.cells.end(),
                                 [](SweepCell const& cell) { return cell.kind != SweepCell::Kind::empty; });
    if (request.columns.empty() || any) return;
    std::vector<std::string> paths;
    for (auto const& [path, cell] : report_paths(run_point(question, row.point, context.stop).report))
        paths.push_back(path);
    std::string meant;
    for (std::string const& column : question.columns)
        if (std::string const like = paths_like(column, paths); !like.empty())
            meant += fmt::format("; like '{}' there is {}", column, like);
    throw InputError("--columns: the report has no '{}'{} (--list-columns shows what there is)",
                     join(question.columns, "', '"), meant);
}

/// What rank 0, or the only one, does.
int coordinate(Options const& o, SweepQuestion const& question, SweepRecord const& record, WorkerPool& pool,
               Ranks* ranks, CommandContext& context) {
    SweepFormat const format = sweep_format(o.format, o.file);
    SweepOutput output(
        record,
        {.format = format, .file = o.file, .existing = existing_of(o, format), .sensitivity = o.request.sensitivity},
        context);
    std::int64_t const before = output.rows_before();
    PointSequence const sequence{
        .first = record.point_of(before), .stride = record.shards, .count = record.row_count() - before};
    if (before > 0)
        context.err << "sextant sweep: " << o.file << " has " << grouped(before) << " of "
                    << grouped(record.row_count()) << " rows\n";
    SweepProgress progress(context, progress_place(o, context), record.row_count(), before);
    bool warned = false;
    std::optional<SweepRow> misfit;  // the first whose answer is no: it is looked at where no point has another
    InterruptGuard const interrupt(context);
    bool const complete = run_points(
        sequence, pool, ranks, interrupt.flag(),
        [&](SweepRow&& row) {
            if (!warned && row.status == PointStatus::done) {
                refuse_unknown_columns(row, o.request, question, context);
                warn_of_empty(row, record, o.request, context);
                warned = true;
            }
            if (!misfit && row.status == PointStatus::answer_is_no) misfit = row;
            progress.advance(row.status == PointStatus::failed);
            output.add(std::move(row));
        },
        [&] {
            output.flush();
            progress.show();
        });
    progress.finish();
    if (!warned && misfit) warn_of_empty(*misfit, record, o.request, context);
    output.finish(complete ? SweepOutput::End::complete : SweepOutput::End::interrupted);
    auto const& counts = output.counts();
    std::int64_t const rows = counts.done + counts.answer_is_no + counts.failed;
    if (counts.failed > 0)
        context.err << "sextant sweep: " << grouped(counts.failed) << " of " << grouped(rows)
                    << " points failed (their rows say why)\n";
    if (!complete) {
        context.err << "sextant sweep: interrupted after " << grouped(rows) << " of " << grouped(record.row_count())
                    << " points" << (is_streamed(format) && !o.file.empty() ? " (--resume goes on)" : "") << "\n";
        return interrupted_exit;
    }
    return counts.done + counts.answer_is_no > 0 ? exit_code::done : exit_code::answer_is_no;
}

Seconds point_limit(Options const& o) {
    auto const limit = parse_quantity<Seconds>(o.point_limit, "--point-limit");
    if (!(limit > Seconds{})) throw InputError("--point-limit: '{}' (it must be above 0)", o.point_limit);
    return limit;
}

std::unique_ptr<Ranks> ranks_of(Options const& o) {
    auto const launched = launched_rank();
    if (!o.mpi && (!launched || launched->size == 1)) return nullptr;
    if (mpi_version().empty())
        throw UnavailableError(
            "sweep: this build has no MPI, so the processes of mpirun cannot share a sweep (build with libopenmpi-dev, "
            "or give each process a --shard and merge)");
    return join_ranks();
}

int sweep(Options const& o, CommandContext& context) {
    SweepQuestion const question = make_question(o.request);
    SweepRecord record = record_of(question);
    set_shard(record, o.shard);
    SweepFormat const format = sweep_format(o.format, o.file);
    static_cast<void>(existing_of(o, format));
    auto const launched = launched_rank();
    bool const first = !launched || launched->rank == 0;
    if (o.dry_run) return first ? dry_run(question, record, context) : exit_code::done;
    if (o.list_columns) return first ? list_columns(question, context) : exit_code::done;
    // Workers first: they are copies of a process that knows nothing of MPI yet.
    WorkerPool pool([&question](std::int64_t point) { return evaluate_point(question, point); },
                    worker_count(o, record.row_count()), point_limit(o));
    std::unique_ptr<Ranks> const ranks = ranks_of(o);
    if (ranks && ranks->rank() > 0) {
        InterruptGuard const interrupt(context);
        serve_points(pool, *ranks, interrupt.flag());
        return exit_code::done;
    }
    try {
        int const code = coordinate(o, question, record, pool, ranks.get(), context);
        if (ranks) release_ranks(*ranks);
        return code;
    } catch (...) {
        if (ranks) release_ranks(*ranks);
        throw;
    }
}

void add_axis_options(CLI::App& app, Options& o) {
    auto const repeated = [&](char const* flag, std::vector<std::string>& target, char const* text) {
        return app.add_option(flag, target, text)->allow_extra_args(false);
    };
    repeated("--axis", o.request.axes,
             "what varies: an option of the command, or a value of the cluster, framework, engine or model; repeated")
        ->option_text("NAME=VALUES");
    repeated("--zip", o.request.zips, "axes that advance together instead of all with all; repeated")
        ->option_text("NAME,NAME");
    app.add_option("--columns", o.request.columns, "values of the report to keep, as dotted paths (default: a few)")
        ->option_text("PATH,...");
    app.add_flag("--list-columns", o.list_columns, "show every value of the first point's report, and end");
    app.add_flag("--dry-run", o.dry_run, "show the command line of every point, and end");
    app.add_option("--sensitivity", o.request.sensitivity, "say which axis moves this value most")->option_text("PATH");
}

Action describe(CLI::App& app, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    app.name("sextant sweep COMMAND");
    app.allow_extras();
    add_axis_options(app, *o);
    app.add_option("--threads", o->threads, "points at the same time (0: all cores)")->option_text("N");
    app.add_option("--point-limit", o->point_limit, "for one point, of wall-clock time; beyond it the point has failed")
        ->option_text("TIME");
    app.add_option("--shard", o->shard, "only every N-th point, from the K-th on ('sextant merge' joins the files)")
        ->option_text("K/N");
    app.add_flag("--mpi", o->mpi, "share the points with the other processes of mpirun, where it is not noticed");
    written(app.add_option("--output", o->file, "write to this file; csv and jsonl grow as points finish"))
        ->type_name("FILE");
    app.add_option("--format", o->format,
                   "text, csv, jsonl, json, markdown or html (default: by the file's ending, text without a file)")
        ->type_name("NAME");
    app.add_flag("--resume", o->resume, "go on with the file of an interrupted sweep");
    app.add_flag("--overwrite", o->overwrite, "begin the file anew");
    app.add_flag("--progress", o->progress, "progress on standard error where it is no terminal, every ten seconds");
    app.footer(
        "VALUES are lists (1,2,4), ranges (1..8, 1..8+2, 64..4096x2), factors on a profile's value (x0.5,x1,x2) and\n"
        "values with units (25 GB/s); semicolons separate values that hold commas. Options of the command are given "
        "as\n"
        "usual; a point that fails is a row with its reason. docs/sweep.md explains axes, files, shards and MPI.\n"
        "Exit code 1 when no point has an answer, 130 when interrupted.\n\nExamples:\n"
        "  sextant sweep estimate --model llama-3.1-70b --cluster h100-sxm --axis gpus=64..4096x2 --axis tp=1,2,4,8\n"
        "  sextant sweep estimate --model llama-3.1-70b --gpus 512 --tp 8 --pp 4 \\\n"
        "      --axis 'cluster=h100-sxm,b200-sxm' --axis 'inter_node_bandwidth=x0.5,x1,x2' --sensitivity mfu\n"
        "  sextant sweep plan --model llama-3.1-8b --cluster h100-sxm --axis gpus=8..1024x2 --axis seq=4096,8192 \\\n"
        "      --output plans.csv --resume\n"
        "  sextant sweep scaling optimum --axis flops=1e21..1e26x10 --columns parameters,tokens,loss --format csv\n"
        "  mpirun sextant sweep estimate --model gpt3-175b --cluster a100-sxm-80gb --axis tp=1..8 --axis pp=1..96 \\\n"
        "      --axis micro-batch=1,2,4 --output grid.csv\n");
    return [o, &app, &context] {
        o->request.words = app.remaining();
        if (auto const* const config = app.get_option_no_throw("--config"); config != nullptr && config->count() > 0)
            o->request.config = config->as<std::string>();
        if (o->list_columns) o->request.look = Look::at_first_report;
        return sweep(*o, context);
    };
}

}  // namespace

extern constinit CommandEntry const sweep_command;
constinit CommandEntry const sweep_command{
    .name = "sweep",
    .summary = "any command over any axes, on all cores and many machines, as rows; and which axis matters most",
    .describe = describe,
};

}  // namespace sextant::cli
