#include "core/measurements/stated_format.hpp"

#include "core/is_one_of.hpp"
#include "core/measurements/row_cells.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace sextant {
namespace {

struct Spelling {
    std::string_view dtype;   ///< lower case, without the name of a library
    std::string_view format;  ///< of `gemm_formats`
};

constexpr std::array spellings{Spelling{"__nv_bfloat16", "bf16"},
                               Spelling{"nv_bfloat16", "bf16"},
                               Spelling{"bfloat16_t", "bf16"},
                               Spelling{"half", "fp16"},
                               Spelling{"half_t", "fp16"},
                               Spelling{"f16", "fp16"},
                               Spelling{"__half", "fp16"},
                               Spelling{"float", "fp32"},
                               Spelling{"f32", "fp32"},
                               Spelling{"tfloat32", "tf32"},
                               Spelling{"tfloat32_t", "tf32"},
                               Spelling{"float_e4m3_t", "fp8"},
                               Spelling{"i8", "int8"},
                               Spelling{"int8_t", "int8"},
                               Spelling{"e4m3", "fp8"},
                               Spelling{"fp8_e4m3", "fp8"},
                               Spelling{"fp8e4m3", "fp8"},
                               Spelling{"f8e4m3", "fp8"},
                               Spelling{"f8e4m3fn", "fp8"},
                               Spelling{"fp8_e4m3fn", "fp8"},
                               Spelling{"float8_e4m3", "fp8"},
                               Spelling{"float8_e4m3fn", "fp8"},
                               Spelling{"float8_e4m3fnuz", "fp8"},
                               Spelling{"__nv_fp8_e4m3", "fp8"},
                               Spelling{"fp8_w8a8", "fp8"},
                               Spelling{"w8a8_fp8", "fp8"},
                               Spelling{"w8a8", "int8"},
                               Spelling{"int8_w8a8", "int8"},
                               Spelling{"w8a8_int8", "int8"},
                               Spelling{"w8a16", "int8-weights"},
                               Spelling{"int8_w8a16", "int8-weights"},
                               Spelling{"w4a16", "int4-weights"},
                               Spelling{"int4_w4a16", "int4-weights"}};

/// With a scale for every 32 values; nothing here was measured in them.
constexpr std::array without_model{"mxfp8", "mxfp6", "mxfp4"};

}  // namespace

GemmFormat const* stated_format(std::string_view dtype) {
    std::string const lower = lower_case(trimmed(dtype));
    std::string_view name = lower;
    if (auto const space = name.find_last_of(".:"); space != std::string_view::npos) name.remove_prefix(space + 1);
    for (Spelling const& spelling : spellings)
        if (spelling.dtype == name) return find_gemm_format(spelling.format);
    return find_gemm_format(name);
}

GemmFormat const& needed_format(std::string_view dtype) {
    if (GemmFormat const* const format = stated_format(dtype)) return *format;
    std::string const name = lower_case(dtype.substr(0, 40));
    if (is_one_of(without_model, name)) throw RowSkip(fmt::format("no model of kernels in {}", name));
    throw RowSkip(fmt::format("unknown number format '{}'", name));
}

}  // namespace sextant
