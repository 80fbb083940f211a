#pragma once

#include "core/spec/model_spec.hpp"
#include "core/spec/parallel_plan.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// A plan as the files of another program describe it.
struct ForeignPlan {
    std::string framework;  ///< whose constants it runs with: "megatron", "deepspeed", "torchtitan"
    ParallelPlan plan;      ///< dp is what `accelerators` leaves; without them it is known from batches, or 1
    std::optional<std::int64_t> accelerators;  ///< absent: the file does not say on how many it runs
    std::string no_accelerators;               ///< why not, where the file says a number that cannot be
    std::optional<std::int64_t> sequence;
    std::optional<std::int64_t> global_batch;
    /// Sequences of one data-parallel rank in a step, where the file fixes these and not the global batch.
    std::optional<std::int64_t> rank_batch{};
    /// Microbatches of a step where the file fixes no micro-batch: what they leave of a global batch, else the plan's.
    std::optional<std::int64_t> accumulation{};
    /// Sequences of one data-parallel rank after which its pipeline runs empty and fills again, as often as a step
    /// needs.
    std::optional<std::int64_t> pipeline_batch{};
    /// Modules of multi-token prediction that it trains; absent: those of the model.
    std::optional<std::int64_t> mtp_modules{};
    std::vector<std::string> ignored;   ///< arguments without effect on speed or memory
    std::vector<std::string> warnings;  ///< what may have one and is not counted, a sentence each
};

/// Megatron-LM's arguments: a list of them, or a shell script that holds them (its simple assignments are followed,
/// nothing is run). `--nnodes` and `--nproc-per-node` of torchrun give the number of accelerators.
/// @throws InputError with `where` and the argument: a value that is none, a model of another size than `model`.
ForeignPlan import_megatron(std::string_view text, std::string_view where, ModelSpec const& model);

/// DeepSpeed's JSON. `launch` holds the arguments of Megatron-DeepSpeed, if there are any: what the JSON cannot say.
/// @throws InputError likewise.
ForeignPlan import_deepspeed(std::string_view json, std::string_view launch, std::string_view where,
                             ModelSpec const& model);

/// torchtitan's TOML. @throws InputError likewise.
ForeignPlan import_torchtitan(std::string_view toml, std::string_view where, ModelSpec const& model);

/// Accelerate's YAML, of `accelerate config`, and DeepSpeed's JSON where it names one (`accelerate_deepspeed_file`).
/// @throws InputError likewise.
ForeignPlan import_accelerate(std::string_view yaml, std::string_view deepspeed, std::string_view where,
                              ModelSpec const& model);
/// The file of DeepSpeed's JSON that it names; nothing: none.
std::optional<std::string> accelerate_deepspeed_file(std::string_view yaml, std::string_view where);

/// Settles what such a file leaves to the number of data-parallel ranks, once `plan` and the global batch are known:
/// the micro-batch (into `foreign.plan`), and a warning of a pipeline that runs empty within a step.
/// @throws InputError with `where`: the framework refuses to divide the batch so.
void settle_batches(ForeignPlan& foreign, ParallelPlan const& plan, std::int64_t global_batch, std::string_view where);

}  // namespace sextant
