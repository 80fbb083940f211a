#include "calibrate/import/kineto_product.hpp"

#include "core/measurements/kernel_row.hpp"
#include "core/text.hpp"

#include <cstddef>
#include <optional>

namespace sextant {
namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// As the tables write it, but for how many values stand in an element.
std::string format_of(KinetoProduct const& of) {
    for (std::string const* const scales : {&of.a_scale_type, &of.b_scale_type})
        if (has(lower_case(*scales), "e8m0")) throw RowSkip("no model of kernels in mxfp8");  // of every 32 values
    if (of.type == "signed char") return "int8";                                              // PyTorch's name of it
    std::string dtype = table_dtype(of.type);
    if (dtype.empty()) throw RowSkip("a product without its number format");
    if (dtype == "float32" && of.in_tf32) return "tf32";
    // Gradients. Matrix units multiply both formats of 8-bit floats, in any pair, at one rate; one of two is e4m3.
    if (has(dtype, "float8_e5m2")) dtype = "fp8";
    bool const has_blocks =
        (of.a_scales.size() == 2 && of.a_scales[1] > 1) || (of.b_scales.size() == 2 && of.b_scales[0] > 1);
    return dtype == "fp8" && has_blocks ? "fp8_block" : dtype;
}

}  // namespace

bool is_tf32_kernel(std::string_view name) { return has(name, "tf32") || has(name, "tensorop_s1688gemm"); }

ImportedProduct kineto_product(KinetoProduct const& of) {
    if (of.a.size() < 2 || of.b.size() != 2) throw RowSkip("a product without shapes (record_shapes=True)");
    bool const transposed = of.op == "aten::linear";
    std::int64_t m = 1;
    bool overflow = false;
    for (std::size_t i = 0; i + 1 < of.a.size(); ++i)
        overflow = __builtin_mul_overflow(m, of.a[i], &m) || overflow;
    std::int64_t const k = of.a.back();
    if (overflow || m < 1 || k < 1 || of.b[0] < 1 || of.b[1] < 1 || (transposed ? of.b[1] : of.b[0]) != k)
        throw RowSkip("a product whose shapes do not fit");
    std::string dtype = format_of(of);
    bool const is_integer = dtype == "int8";  // torch._int_mm writes its sums
    bool const in_pairs = has(dtype, "float4_e2m1");
    if (in_pairs) dtype = "nvfp4";
    constexpr std::int64_t most = std::int64_t{1} << 62;
    if (in_pairs && k >= most) throw RowSkip("a product whose shapes do not fit");
    return {.source = "",
            .device = "",
            .kernel = of.op,
            .dtype = dtype,
            .m = m,
            .n = transposed ? of.b[0] : of.b[1],
            .k = in_pairs ? 2 * k : k,
            .cache = CacheState::cold,
            .quantised_before = quantises(dtype),
            .result_bytes = is_integer ? std::optional(int32_bytes) : std::nullopt};
}

}  // namespace sextant
