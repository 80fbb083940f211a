#include "core/graph/shapes.hpp"
#include "core/is_one_of.hpp"
#include "core/spec/working_format.hpp"

#include <array>
#include <utility>
#include <variant>

namespace sextant {
namespace {

/// Ops and tensors that are in fp32, or a byte, whatever the format: scores and losses, masks.
constexpr std::array ops_of_one_format{index_choice, std::string_view("top-k"), std::string_view("cross entropy"),
                                       std::string_view("sum of chunks"), std::string_view("loss")};
constexpr std::array tensors_of_one_format{softmax_statistics, std::string_view("softmax output in fp32"),
                                           std::string_view("attention dropout mask"), std::string_view("dropout mask"),
                                           std::string_view("router scores")};

void widen(Op& op, Precision precision) {
    double const width = working_width(precision);
    if (auto* const streaming = std::get_if<Streaming>(&op.what)) {
        streaming->forward *= width;
        streaming->backward *= width;
    } else if (auto* const collective = std::get_if<Collective>(&op.what)) {
        collective->bytes *= width;
    } else if (auto* const attention = std::get_if<Attention>(&op.what)) {
        attention->precision = precision;
    }
}

}  // namespace

Block with_wide_values(Block block, Precision precision) {
    double const width = working_width(precision);
    if (width == 1) return block;
    block.input *= width;
    block.workspace *= width;
    for (Op& op : block.ops)
        if (!is_one_of(ops_of_one_format, op.name)) widen(op, precision);
    for (SavedTensor& tensor : block.saved) {
        // A norm casts nothing that is in fp32 already.
        if (tensor.copy == KeptCopy::norm || is_one_of(tensors_of_one_format, tensor.name)) continue;
        tensor.bytes *= width;
    }
    return block;
}

}  // namespace sextant
