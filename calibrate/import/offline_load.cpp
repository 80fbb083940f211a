#include "calibrate/import/offline_load.hpp"

#include "core/measurements/row_cells.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string>

namespace sextant {
namespace {

std::string offline_cell(double value) { return fmt::format("{:.7g}", value); }

void need_time(double seconds) {
    if (!std::isfinite(seconds) || !(seconds > 0)) throw RowSkip("its time is not finite and above zero");
}

/// What the run says, else `--set`. @throws RowSkip naming the option.
double said_or_set(double said, ImportRequest const& request, std::string_view column) {
    return said > 0 ? said : needed_cell(request.cells, column);
}

/// Tokens of a prompt, of a run whose requests have `each` tokens together.
double prompt_length(double each, ImportRequest const& request) {
    auto const prompt = number_cell(request.cells, "input_len"), answer = number_cell(request.cells, "output_len");
    if (!prompt && !answer) return needed_cell(request.cells, "input_len");
    constexpr double near = 0.01;
    double const said = prompt ? *prompt : each - answer.value_or(0);
    if (!(said > 0 && said < each) || (prompt && answer && std::abs(*prompt + *answer - each) > near * each))
        throw RowSkip(
            fmt::format("a request has {:.6g} tokens, which --set input_len and output_len do not make", each));
    return said;
}

}  // namespace

CellRow row_of_all_at_once(AllAtOnce const& run, ImportRequest const& request) {
    need_time(run.seconds);
    double const each = run.all_tokens / run.requests;
    double const prompt = run.prompt_tokens > 0 ? run.prompt_tokens / run.requests : prompt_length(each, request);
    CellRow row;
    put_source(row, request, run.wrote);
    put(row, "engine", std::string(run.engine));
    put(row, "request_rate", "inf");
    put(row, "input_len", offline_cell(prompt));
    put(row, "output_len", offline_cell(each - prompt));
    put(row, "output_tokens_per_s", offline_cell((each - prompt) * run.requests / run.seconds));
    put(row, "total_tokens_per_s", offline_cell(run.all_tokens / run.seconds));
    put(row, "requests_per_s", offline_cell(run.requests / run.seconds));
    put(row, "notes", fmt::format("num_prompts={:.0f}", run.requests));
    return row;
}

CellRow row_of_one_batch(OneBatch const& run, ImportRequest const& request) {
    need_time(run.seconds);
    double const batch = said_or_set(run.batch, request, "concurrency_or_batch");
    double const prompt = said_or_set(run.prompt, request, "input_len");
    double const answer = said_or_set(run.answer, request, "output_len");
    CellRow row;
    put_source(row, request, run.wrote);
    put(row, "engine", std::string(run.engine));
    put(row, "concurrency_or_batch", offline_cell(batch));
    put(row, "input_len", offline_cell(prompt));
    put(row, "output_len", offline_cell(answer));
    put(row, "output_tokens_per_s", offline_cell(batch * answer / run.seconds));
    put(row, "e2e_latency_ms", offline_cell(1e3 * run.seconds));
    if (run.first_token > 0) put(row, "ttft_ms", offline_cell(1e3 * run.first_token));
    if (run.next_token > 0) put(row, "tpot_ms", offline_cell(1e3 * run.next_token));
    put(row, "notes", run.is_served ? fmt::format("num_prompts={:.0f}", batch) : "static batch");
    return row;
}

}  // namespace sextant
