#include "core/error.hpp"
#include "planner/remat_policies.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

using namespace sextant;
using Group = ActivationGroup;

namespace {

TrainingRow maxtext_row() {
    TrainingRow row = complete_row();
    row.gpu = "TPU v5p";
    row.framework = "MaxText (JAX/XLA)";
    row.zero_stage = 3;
    row.gpus_per_node.reset();
    row.recompute = "remat_policy=full";
    return row;
}

ParallelPlan plan_of(std::string const& policy) {
    TrainingRow row = maxtext_row();
    row.recompute = "remat_policy=" + policy;
    return built(row).plan;
}

}  // namespace

TEST_CASE("a remat policy of MaxText keeps, on the device or on the host, what it names", "[validation]") {
    ParallelPlan const qkv = plan_of("qkv_proj_offloaded");
    CHECK(qkv.recompute == Recompute::full);
    CHECK(qkv.kept_activations == ActivationGroups{Group::qkv});
    CHECK(qkv.offload == Offload::activations);
    CHECK(qkv.offloaded_activations == ActivationGroups{Group::qkv});

    ParallelPlan const saved = plan_of("save_dot_with_context_except_mlp");
    CHECK(saved.kept_activations == ActivationGroups{Group::qkv, Group::context, Group::attention_out});
    CHECK(saved.offload == Offload::none);
    CHECK(plan_of("save_out_proj").kept_activations == ActivationGroups{Group::attention_out});
    CHECK(plan_of("save_dot_except_mlpwi").kept_activations == ActivationGroups{Group::qkv, Group::attention_out});
    CHECK(plan_of("save_dot_except_mlp").kept_activations == ActivationGroups{Group::qkv, Group::attention_out});

    TrainingRow unfused = maxtext_row();
    unfused.recompute = "remat_policy=minimal_with_context";
    unfused.flash_attention = 0;
    CHECK(built(unfused).plan.kept_activations == remat_policy("minimal").kept);

    ParallelPlan const input = plan_of("custom (decoder_layer_input=offload, mlpwo=offload)");
    CHECK(input.kept_activations.empty());
    CHECK(input.offloaded_activations == ActivationGroups{Group::layer_input});
    ParallelPlan const some = plan_of(
        "custom (decoder_layer_input=device, query_proj=offload, key_proj=offload, value_proj=offload, "
        "out_proj=device, mlpwi_0=remat)");
    CHECK(some.kept_activations == ActivationGroups{Group::qkv, Group::attention_out});
    CHECK(some.offloaded_activations == ActivationGroups{Group::qkv});

    ParallelPlan const products = plan_of("minimal_offloaded");
    CHECK(products.offload == Offload::activations);
    CHECK(products.offloaded_activations == ActivationGroups{Group::qkv, Group::attention_out, Group::mlp_up});
    CHECK(products.kept_activations == products.offloaded_activations);
}

TEST_CASE("a remat policy that cannot be expressed says why", "[validation]") {
    auto const why = [](std::string const& policy) {
        return skip_reason([&](TrainingRow& row) {
            row = maxtext_row();
            row.recompute = "remat_policy=" + policy;
        });
    };
    CHECK_THAT(why("custom (engram=offload)"), contains("'engram' is not modelled"));
    CHECK_THAT(why("custom (out_proj=disk)"), contains("out_proj is 'disk' (remat, device or offload)"));
    CHECK_THAT(why("custom (query_proj=offload, key_proj=remat)"), contains("in another place"));
    CHECK_THAT(why("custom"), contains("which tensors it keeps is not stated"));
}

TEST_CASE("MaxText's rows count sequences by chip, shard within a slice and split what lies between layers",
          "[validation]") {
    TrainingRow row = maxtext_row();
    row.num_gpus = 64;
    row.dp.reset();
    row.tp = 4;
    row.micro_batch = 6;
    row.global_batch = 384;
    ParallelPlan const alone = built(row).plan;
    CHECK(alone.micro_batch == 24);
    CHECK(alone.sequence_parallel == Switch::on);
    CHECK(alone.shard_group == 0);
    row.notes = "hardware 2x v5p-64; 2 slices, data parallel over data-centre network; ici_tensor_parallelism=4";
    CHECK(built(row).plan.shard_group == 8);
    // Sequences of a replica, as the rows of kernels/train_step/compile_maxtext.py count them.
    row.micro_batch = 24;
    CHECK(built(row).plan.micro_batch == 24);
    row.micro_batch = 6;
    row.framework = "Megatron-LM";
    row.gpu = "H100-80GB";
    CHECK(built(row).plan.micro_batch == 6);
    CHECK(built(row).plan.shard_group == 0);
}
