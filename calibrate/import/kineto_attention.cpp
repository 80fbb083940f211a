#include "calibrate/import/kineto_attention.hpp"

#include "calibrate/import/log_line.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::array operators{
    AttentionOperator{"aten::_flash_attention_forward", "sdpa_flash", 1, 7, 8, 11},
    AttentionOperator{"aten::_flash_attention_backward", "sdpa_flash", 1, 10, 11, 15},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention", "sdpa_flash", 2, 3, 4, 0},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention_backward", "sdpa_flash", 2, 10, 11, 0},
    AttentionOperator{"aten::_cudnn_attention_forward", "sdpa_cudnn", 2, 9, 10, 0},
    AttentionOperator{"aten::_cudnn_attention_backward", "sdpa_cudnn", 2, 13, 14, 0},
    AttentionOperator{"aten::_scaled_dot_product_cudnn_attention", "sdpa_cudnn", 2, 5, 6, 0},
    AttentionOperator{"aten::_scaled_dot_product_cudnn_attention_backward", "sdpa_cudnn", 2, 13, 14, 0},
    // The package itself, whose kernels PyTorch has a copy of.
    AttentionOperator{"flash_attn::_flash_attn_forward", "sdpa_flash", 1, 3, 5, 6, 8},
    AttentionOperator{"flash_attn::_flash_attn_backward", "sdpa_flash", 1, 9, 11, 12, 14}};

void check_dense(KinetoAttention const& arguments, std::int64_t keys) {
    double amount = 0;
    std::int64_t window = -1;
    if (is_number(arguments.dropout, amount) && amount > 0) throw RowSkip("attention with dropout");
    if (is_number(arguments.window, window) && window >= 0 && window < keys - 1)
        throw RowSkip("attention with a sliding window");
    if (is_number(arguments.soft_cap, amount) && amount > 0) throw RowSkip("attention with a cap on its scores");
}

}  // namespace

AttentionOperator const* attention_operator(std::string_view name) {
    auto const* const found =
        std::find_if(operators.begin(), operators.end(), [&](AttentionOperator const& of) { return of.name == name; });
    return found == operators.end() ? nullptr : &*found;
}

ImportedAttention kineto_attention(AttentionOperator const& of, KinetoAttention const& arguments) {
    std::size_t const first = of.backward() ? 1 : 0;
    auto const& sizes = arguments.sizes;
    if (sizes.size() < first + 2 || sizes[first].size() != 4 || sizes[first + 1].size() != 4)
        throw RowSkip("attention without shapes, or over sequences of different lengths");
    auto const& q = sizes[first];
    auto const& k = sizes[first + 1];
    std::size_t const sequence = of.sequence, heads = 3 - of.sequence;
    if (sizes.size() > first + 2 && sizes[first + 2].size() == 4 && sizes[first + 2][3] != k[3])
        throw RowSkip("attention with values of another size than its keys");
    if (arguments.causal == "False") throw RowSkip("attention without a causal mask");
    if (arguments.causal != "True") throw RowSkip("attention that is not known to be causal (record_shapes=True)");
    check_dense(arguments, k[sequence]);
    if (q[sequence] != k[sequence]) throw RowSkip("attention after tokens that are in a cache");
    return {.source = "",
            .device = "",
            .kind = "context",
            .dtype = table_dtype(arguments.dtype),
            .cache_dtype = table_dtype(arguments.cache_dtype),
            .batch = q[0],
            .length = q[sequence],
            .past = 0,
            .heads = q[heads],
            .kv_heads = k[heads],
            .head_dim = q[3],
            .microseconds = 0,
            .library = std::string(of.library),
            .backward = of.backward()};
}

}  // namespace sextant
