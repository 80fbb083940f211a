#include "cli/options/number_text.hpp"
#include "cli/output.hpp"
#include "cli/serve/options.hpp"
#include "cli/serve/quality_report.hpp"
#include "cli/serve/subcommand.hpp"
#include "cli/view/rows_csv.hpp"
#include "core/error.hpp"
#include "core/measurements/bench_row.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "cost_models/kernel_estimate.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>
#include <memory>
#include <ostream>

namespace sextant::cli {
namespace {

struct Options {
    ServeOptions serve;
    std::vector<std::string> weights;
    std::vector<std::string> caches{"bf16", "fp8", "int4"};
    double prompt = 1024;
    double output_tokens = 256;
    std::string concurrency;
    std::string rate;
    std::string errors;
    OutputOptions output;
};

constexpr double usual_concurrency = 64;

/// The formats to compare: those that were named, or the device's two-byte one and every narrower one.
std::vector<std::string> weights_of(Options const& o, std::string const& two_byte) {
    if (!o.weights.empty()) return o.weights;
    std::vector<std::string> out{two_byte};
    for (GemmFormat const& format : gemm_formats())
        if (format.right < 2) out.emplace_back(format.name);
    return out;
}

std::vector<CacheFormat> caches_of(Options const& o) {
    std::vector<CacheFormat> out;
    for (std::string const& name : o.caches)
        out.push_back(cache_format_from(name, "--kv-cache"));
    return out;
}

std::vector<FormatError> errors_of(Options const& o) {
    return o.errors.empty() ? shipped_format_errors() : format_errors(read_bench_rows(o.errors));
}

std::vector<std::string> assumptions_of(QualityReport const& report) {
    std::vector<std::string> out = serving_assumptions(report.what);
    out.emplace_back(
        "errors are of generated values (normal weights and with heavy tails, activations and keys with outlier "
        "channels), rounded to the nearest and without calibration (GPTQ, AWQ, SmoothQuant lower them); what they "
        "do to a model's answers has to be measured with that model");
    out.push_back(fmt::format("an output error above {} is called high", error_text(high_format_error)));
    out.emplace_back("the usual scaling of a format is what engines write unless told otherwise");
    bool const narrow = std::any_of(report.choices.begin(), report.choices.end(),
                                    [](FormatChoice const& c) { return c.cache != CacheFormat::bf16; });
    if (narrow && !report.what.cluster.accelerator.peak.contains(Precision::fp8))
        out.emplace_back("the device has no fp8: a narrower cache is widened as attention reads it, at no cost here");
    return out;
}

QualityReport report_of(Options const& o) {
    QualityReport report;
    ServeOptions serve = o.serve;
    serve.cache = "bf16";
    serve.weights = name_of(two_byte_precision(find_cluster(serve.cluster, "--cluster").accelerator));
    report.what = serving_case_from(serve);
    report.request = checked_request({.prompt = o.prompt, .output = o.output_tokens}, report.what.model);
    if (!o.concurrency.empty() && !o.rate.empty())
        throw InputError("--concurrency: give one of --concurrency and --rate");
    report.by_rate = !o.rate.empty();
    report.load = report.by_rate          ? count_from(o.rate, "--rate")
                  : o.concurrency.empty() ? usual_concurrency
                                          : count_from(o.concurrency, "--concurrency");
    report.price = serving_price(serve, report.what);
    std::vector<FormatError> const errors = errors_of(o);
    report.source = o.errors.empty() ? "hardware_profiles/measurements/number_formats.csv" : o.errors;
    auto const load = [&](IterationModel const& model, RequestShape const& request) {
        return report.by_rate ? open_loop(model, request, report.load) : closed_loop(model, request, report.load);
    };
    std::string const two_byte = report.what.plan.weights;
    std::vector<CacheFormat> const wide{CacheFormat::bf16};
    CheckpointFormat const checkpoint = find_stored_model(serve.model).checkpoint;
    auto const compare = [&](std::vector<std::string> const& weights, std::vector<CacheFormat> const& caches) {
        return compare_formats(report.what, checkpoint, report.request, load, weights, caches, errors);
    };
    report.baseline = compare({two_byte}, wide).front();
    report.choices = compare(weights_of(o, two_byte), caches_of(o));
    report.assumptions = assumptions_of(report);
    put_price_first(report.assumptions, serve, report.what);
    return report;
}

int run(Options const& o, CommandContext& context) {
    Format const format = o.output.format();
    QualityReport const report = report_of(o);
    switch (format) {
        case Format::json: deliver(o.output, context, quality_json(report)); break;
        case Format::text: deliver(o.output, context, quality_text(report)); break;
        case Format::csv: deliver(o.output, context, rows_csv(quality_json(report), "choices")); break;
        default:
            deliver(o.output, context, quality_table(report).markdown() + assumed_markdown(report.assumptions));
            break;
    }
    bool const any = std::any_of(report.choices.begin(), report.choices.end(),
                                 [](FormatChoice const& c) { return c.timed() && !c.estimate.saturated; });
    return any ? exit_code::done : exit_code::answer_is_no;
}

}  // namespace

std::optional<double> QualityReport::speed_up(FormatChoice const& choice) const {
    if (!choice.timed() || !baseline.timed()) return std::nullopt;
    return choice.estimate.output_tokens_per_s / baseline.estimate.output_tokens_per_s;
}

double QualityReport::tokens_per_s_per_gpu(FormatChoice const& choice) const {
    return choice.estimate.output_tokens_per_s / static_cast<double>(what.plan.accelerators());
}

std::optional<double> QualityReport::usd_per_million(FormatChoice const& choice) const {
    if (!price || !choice.timed()) return std::nullopt;
    return *price / (tokens_per_s_per_gpu(choice) * 3600) * 1e6;
}

Subcommand describe_serve_quality(CLI::App& serve, CommandContext& context) {
    auto const o = std::make_shared<Options>();
    CLI::App& app = *serve.add_subcommand("quality", "number formats: what each saves, beside the error it makes");
    add_serve_options(app, o->serve);
    for (char const* const single : {"--weights", "--kv-cache"})
        app.remove_option(app.get_option(single));
    app.add_option("--weights", o->weights, "formats of the weights to compare (default: all of two bytes or less)")
        ->delimiter(',')
        ->option_text("FORMAT[,...]");
    app.add_option("--kv-cache", o->caches, "formats of the key-value cache to compare (default: bf16,fp8,int4)")
        ->delimiter(',')
        ->option_text("FORMAT[,...]");
    app.add_option("--prompt", o->prompt, "tokens of a prompt (default: 1024)")->option_text("TOKENS");
    app.add_option("--output-tokens", o->output_tokens, "tokens of an answer (default: 256)")->option_text("TOKENS");
    app.add_option("--concurrency", o->concurrency, "requests in flight at all times (default: 64)")->option_text("N");
    app.add_option("--rate", o->rate, "requests a second that arrive at random, instead")->option_text("R");
    app.add_option("--errors", o->errors,
                   "rows of 'sextant-bench --bench accuracy' (default: those the program carries)")
        ->option_text("FILE");
    add_output_options(app, o->output);
    app.footer(
        "One row per pair of formats of weights and cache. Exit code 1: no pair fits or keeps up with the rate. The\n"
        "numbers behind the errors and what they leave out: docs/serving.md.\n\n"
        "Examples:\n"
        "  sextant serve quality --model llama-3.1-70b --cluster h100-sxm --tp 4\n"
        "  sextant serve quality --model llama-3.1-8b --cluster l40s --weights fp8,int4-weights --kv-cache bf16,fp8\n");
    return {.app = &app, .run = [o, &context] { return run(*o, context); }};
}

}  // namespace sextant::cli
