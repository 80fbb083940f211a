#include "calibrate/import/kineto_attention.hpp"

#include <algorithm>
#include <array>

namespace sextant {
namespace {

constexpr std::array operators{
    AttentionOperator{"aten::_flash_attention_forward", "sdpa_flash", 1, 7, 11},
    AttentionOperator{"aten::_flash_attention_backward", "sdpa_flash", 1, 10, 15},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention", "sdpa_flash", 2, 3, 0},
    AttentionOperator{"aten::_scaled_dot_product_flash_attention_backward", "sdpa_flash", 2, 10, 0},
    AttentionOperator{"aten::_cudnn_attention_forward", "sdpa_cudnn", 2, 9, 0},
    AttentionOperator{"aten::_cudnn_attention_backward", "sdpa_cudnn", 2, 13, 0},
    AttentionOperator{"aten::_scaled_dot_product_cudnn_attention", "sdpa_cudnn", 2, 5, 0},
    AttentionOperator{"aten::_scaled_dot_product_cudnn_attention_backward", "sdpa_cudnn", 2, 13, 0}};

}  // namespace

AttentionOperator const* attention_operator(std::string_view name) {
    auto const* const found =
        std::find_if(operators.begin(), operators.end(), [&](AttentionOperator const& of) { return of.name == name; });
    return found == operators.end() ? nullptr : &*found;
}

}  // namespace sextant
