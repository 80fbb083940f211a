#include "core/measurements/format_error.hpp"

#include "core/error.hpp"
#include "core/measurements/bench_row.hpp"
#include "tests/catch.hpp"

#include <string>

using namespace sextant;

namespace {

std::string const gemm_note =
    "rms_error=0.03; weights_rms_error=0.01; activations_rms_error=0.02; weights=60; activations=40; "
    "weights_underflow=4; activations_underflow=1; weights_overflow=0; activations_overflow=2";
std::string const attention_note =
    "rms_error=0.05; keys_rms_error=0.01; values_rms_error=0.02; elements=200; underflow=10; overflow=0";

/// A row of the accuracy benchmark with the cells that are read, in the columns that it writes.
std::string row(std::string const& kernel, std::string const& note, std::string const& bench = "accuracy") {
    std::string line;
    for (std::string_view const column : bench_columns()) {
        if (!line.empty()) line += ',';
        if (column == "bench") line += bench;
        if (column == "kernel") line += kernel;
        if (column == "dtype") line += "e4m3";
        if (column == "note") line += note;
    }
    return line + '\n';
}

std::string const good_gemm = row("gemm/normal/per_tensor", gemm_note);
std::string const good_attention = row("attention/normal/per_head", attention_note);

std::vector<FormatError> read(std::string const& rows) {
    std::string header;
    for (std::string_view const column : bench_columns())
        header += (header.empty() ? "" : ",") + std::string(column);
    return format_errors(parse_bench_rows(header + '\n' + rows, "accuracy.csv"));
}

/// With `from` in the note of a matrix product replaced by `to`.
std::string gemm_with(std::string const& from, std::string const& to) {
    std::string note = gemm_note;
    auto const at = note.find(from);
    REQUIRE(at != std::string::npos);
    return good_attention + row("gemm/normal/per_tensor", note.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("format_errors: the figures of a note become errors, and shares of all elements of both sides") {
    auto const errors = read(good_gemm + good_attention + row("quantise/normal/none", "rms_error=1"));
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].test == FormatError::Test::gemm);
    CHECK(errors[0].inputs == "normal");
    CHECK(errors[0].scaling == "per_tensor");
    CHECK(errors[0].formats == "e4m3");
    CHECK(errors[0].output == 0.03);
    CHECK(errors[0].first == 0.01);
    CHECK(errors[0].second == 0.02);
    CHECK(errors[0].flushed == Approx(0.05));
    CHECK(errors[0].clipped == Approx(0.02));
    CHECK(errors[1].test == FormatError::Test::attention);
    CHECK(errors[1].flushed == Approx(0.05));
}

TEST_CASE("format_errors: inputs may hold a slash, for the scaling is what stands last") {
    CHECK(read(good_attention + row("gemm/normal/outliers/block128", gemm_note)).back().inputs == "normal/outliers");
}

TEST_CASE("format_errors: a note without its figures is refused with the line") {
    CHECK_THROWS_WITH(read(gemm_with("weights_rms_error=0.01; ", "")),
                      contains("accuracy.csv: line 3: the note has no weights_rms_error"));
    CHECK_THROWS_WITH(read(good_gemm + row("attention/normal/per_head", "")),
                      contains("line 3: the note has no rms_error"));
    for (char const* bad : {"x", "", "-1", "nan", "inf", "1e999", "0.01 %"})
        CHECK_THROWS_WITH(read(gemm_with("weights_rms_error=0.01", std::string("weights_rms_error=") + bad)),
                          contains("line 3: weights_rms_error of the note is no number of zero or more"));
}

TEST_CASE("format_errors: more elements lost than there are, or none at all, are refused") {
    CHECK_THROWS_WITH(read(gemm_with("weights_underflow=4", "weights_underflow=400")),
                      contains("line 3: the note counts 401 of 100 elements"));
    CHECK_THROWS_WITH(read(good_gemm + row("attention/normal/per_head",
                                           "rms_error=0.05; keys_rms_error=0.01; values_rms_error=0.02; "
                                           "elements=0; underflow=0; overflow=0")),
                      contains("line 3: the note counts 0 of 0 elements"));
}

TEST_CASE("format_errors: a kernel without its inputs, and a table without one of the tests, are refused") {
    CHECK_THROWS_WITH(read(good_attention + row("gemm/normal", gemm_note)),
                      contains("line 3: kernel 'gemm/normal' (TEST/INPUTS/SCALING is expected)"));
    CHECK_THROWS_WITH(read(good_gemm), contains("accuracy.csv: has no attention rows"));
    CHECK_THROWS_WITH(read(good_attention), contains("accuracy.csv: has no gemm rows"));
    CHECK_THROWS_WITH(read(row("gemm/normal/none", gemm_note, "gemm")), contains("has no gemm rows"));
}
