#pragma once

#include "core/graph/block.hpp"
#include "core/spec/parameters.hpp"

#include <cstdint>
#include <vector>

namespace sextant {

/// Sizes that the block builders share, and short ways to append ops and tensors.
class BlockBuilder {
public:
    BlockBuilder(std::string name, ModelSpec const& model, ParallelPlan const& plan, std::int64_t sequence);

    ModelSpec const& model;
    ParallelPlan const& plan;
    std::int64_t sequence;
    std::int64_t tokens;  ///< T: tokens of one microbatch on one rank, micro_batch * sequence / cp
    double norm_tokens;   ///< tokens in the regions that sequence parallelism splits: T / tp with it, T without
    double hidden;

    void gemm(std::string_view name, std::int64_t n, std::int64_t k);
    void gemm_on(std::int64_t rows, std::string_view name, std::int64_t n, std::int64_t k, Precision precision);
    /// A memory-bound kernel that touches `forward` bytes; its backward touches `backward_ratio` times as many.
    void streaming(std::string_view name, double forward_bytes, double backward_ratio, std::int64_t kernels = 1);
    void collective(std::string_view name, CollectiveKind kind, GroupKind group, double bytes, Passes passes,
                    Hiding hiding = Hiding::exposed);
    /// Entry of a tensor-parallel region: all-gather of the sequence (with sequence parallelism); backward mirrors it.
    void enter_tensor_region(std::string_view name);
    /// Exit: reduce-scatter or all-reduce of the partial sums.
    void leave_tensor_region(std::string_view name);
    void norm(std::string_view name);
    /// Dropout (if any) and residual addition on the norm region, with the dropout mask it keeps.
    void residual(std::string_view name);
    void keep(std::string_view name, std::string_view formula, double bytes, Rerun dropped_by = Rerun::full);
    void hold(std::vector<Parameter> const& parameters);

    Block block;
};

/// Sums what one rank holds of a list of weights under the plan's tp, ep and expert_tp.
LocalParameters local_parameters(std::vector<Parameter> const& parameters, ModelSpec const& model,
                                 ParallelPlan const& plan);

/// Attention half of a layer (without its norm), and the feed-forward halves.
void append_attention(BlockBuilder& builder, LayerKind kind);
void append_mlp(BlockBuilder& builder, std::int64_t intermediate);
void append_moe(BlockBuilder& builder, MoeSpec const& moe);

/// ceil(a / b) for positive integers.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace sextant
