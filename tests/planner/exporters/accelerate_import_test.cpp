#include "core/error.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/importers/foreign_plan.hpp"
#include "planner/importers/yaml_values.hpp"
#include "tests/catch.hpp"

#include <algorithm>

using namespace sextant;

namespace {

bool said_in(std::vector<std::string> const& list, std::string const& part) {
    return std::any_of(list.begin(), list.end(),
                       [&](std::string const& text) { return text.find(part) != std::string::npos; });
}

ForeignPlan accelerate(std::string const& yaml, std::string const& json = "") {
    static ModelSpec const model = find_model("llama-3.1-8b");
    return import_accelerate(yaml, json, "a.yaml", model);
}

std::string fsdp(std::string const& config, std::string const& rest = "") {
    return "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 16\nnum_machines: 2\n" + rest +
           "fsdp_config:\n" + config;
}

}  // namespace

TEST_CASE("scalars of YAML are read by their dotted names", "[import]") {
    YamlValues in(
        "# a comment\n---\na: 1\nb:\n  c: 'it''s # one'  # not this\n  d: \"x\\\"y\"\n  e:\n    f: yes\n  g: no # h\n"
        "list:\n- p: 1\n  q: 2\n- r\nflow: [1, 2]\nempty: {}\ntext: |\n  k: 7\n  l\nurl: http://x:80/y\n"
        "\"quoted key\": 3\nnothing: null\nlast: ~\r\n",
        "y");
    CHECK(in.integer("a", 0) == 1);
    CHECK(in.text("b.c") == "it's # one");
    CHECK(in.text("b.d") == "x\"y");
    CHECK(in.flag("b.e.f") == true);
    CHECK(in.flag("b.g") == false);
    CHECK_FALSE(in.text("text"));
    CHECK(in.text("url") == "http://x:80/y");
    CHECK(in.degree("quoted key") == 3);
    CHECK_FALSE(in.text("nothing"));
    CHECK_FALSE(in.text("last"));
    CHECK_FALSE(in.text("k"));
    CHECK_FALSE(in.text("q"));
    CHECK(in.not_asked() == std::vector<std::string>{"empty", "flow"});
    CHECK_THROWS_WITH(in.integer("b.c", 0), contains("y: b.c: 'it's # one' is not a whole number"));
    CHECK_THROWS_WITH(in.integer("a", 2), contains("1 is out of range"));
    CHECK_THROWS_WITH(in.flag("url"), contains("neither true nor false"));
    auto const refused = [](char const* text) { return [text] { YamlValues(text, "y"); }; };
    CHECK_THROWS_WITH(refused("a: 1\nb\n")(), contains("y:2: no 'key: value'"));
    CHECK_THROWS_WITH(refused("{\"a\": 1}")(), contains("y:1: a mapping or a list in brackets"));
    CHECK_THROWS_WITH(refused("a: {b: 1}")(), contains("a mapping in braces"));
    CHECK_THROWS_WITH(refused("a:\n\tb: 1")(), contains("a tab before a key"));
    CHECK_THROWS_WITH(refused("a:\n    b: 1\n  c: 2")(), contains("an indent that no mapping has"));
    CHECK_THROWS_WITH(refused("a: 1\n  b: 2")(), contains("an indent that no mapping has"));
    CHECK_THROWS_WITH(refused("a: 'b")(), contains("a quote that does not end"));
    CHECK_THROWS_WITH(refused("a: &b 1")(), contains("anchors"));
}

TEST_CASE("Accelerate's FSDP 1 shards as its strategy says, within a machine where that is a hybrid", "[import]") {
    ForeignPlan const usual = accelerate(fsdp("  fsdp_activation_checkpointing: true\n  fsdp_offload_params: false\n"));
    CHECK(usual.framework == "transformers");
    CHECK(usual.accelerators == 16);
    CHECK(usual.plan.dp == 16);
    CHECK(usual.plan.zero == 3);
    CHECK(usual.plan.shard_group == 0);
    CHECK(usual.plan.recompute == Recompute::full);
    CHECK(usual.plan.offload == Offload::none);
    CHECK(usual.plan.precision == Precision::bf16);
    CHECK(said_in(usual.warnings, "--micro-batch"));
    auto const plan = [](std::string const& strategy) {
        return accelerate(fsdp("  fsdp_sharding_strategy: " + strategy + "\n")).plan;
    };
    CHECK(plan("SHARD_GRAD_OP").zero == 2);
    CHECK(plan("2").zero == 2);
    CHECK(plan("NO_SHARD").zero == 0);
    CHECK(plan("HYBRID_SHARD").zero == 3);
    CHECK(plan("HYBRID_SHARD").shard_group == 8);
    CHECK(plan("HYBRID_SHARD_ZERO2").zero == 2);
    CHECK(plan("'FULL_SHARD'").zero == 3);
    CHECK(accelerate(fsdp("  fsdp_reshard_after_forward: SHARD_GRAD_OP\n")).plan.zero == 2);
    CHECK_THROWS_WITH(plan("SHARDED"), contains("'SHARDED' (FULL_SHARD, SHARD_GRAD_OP,"));
}

TEST_CASE("Accelerate's FSDP 2 shards over its mesh", "[import]") {
    std::string const two = "  fsdp_version: 2\n";
    CHECK(accelerate(fsdp(two)).plan.zero == 3);
    CHECK(accelerate(fsdp(two + "  fsdp_reshard_after_forward: false\n")).plan.zero == 2);
    ForeignPlan const away = accelerate(fsdp(two + "  fsdp_offload_params: true\n"));
    CHECK(away.plan.offload == Offload::parameters);
    CHECK_FALSE(said_in(away.warnings, "fsdp_offload_params"));
    ForeignPlan const kept =
        accelerate(fsdp(two + "  fsdp_reshard_after_forward: false\n  fsdp_offload_params: true\n"));
    CHECK(kept.plan.offload == Offload::optimizer);
    CHECK(said_in(kept.warnings, "fsdp_offload_params: weights and gradients are counted on the accelerator"));
    std::string const axis = "  parallelism_config_";
    ForeignPlan const mesh = accelerate(fsdp(two, "parallelism_config:\n" + axis + "dp_replicate_size: 2\n" + axis +
                                                      "dp_shard_size: 2\n" + axis + "tp_size: 2\n" + axis +
                                                      "cp_size: 2\n" + axis + "cp_comm_strategy: alltoall\n"));
    CHECK(mesh.plan.dp == 4);
    CHECK(mesh.plan.tp == 2);
    CHECK(mesh.plan.cp == 2);
    CHECK(mesh.plan.cp_mode == ContextParallel::ring);
    CHECK(mesh.plan.shard_group == 4);
    CHECK_THROWS_WITH(accelerate(fsdp(two, "parallelism_config:\n" + axis + "dp_shard_size: 4\n")),
                      contains("1 x 4 x 1 x 1 ranks, but num_processes is 16"));
}

TEST_CASE("Accelerate gives DeepSpeed a stage, or the JSON that it names", "[import]") {
    std::string const head =
        "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\ndeepspeed_config:\n";
    ForeignPlan const stage = accelerate(head +
                                         "  zero_stage: 3\n  offload_optimizer_device: cpu\n"
                                         "  offload_param_device: none\n  zero3_init_flag: true\n");
    CHECK(stage.framework == "deepspeed:reduce_bucket_layers=2.292");  // 5e8 elements, DeepSpeed's own
    CHECK(stage.plan.zero == 3);
    CHECK(stage.plan.offload == Offload::optimizer);
    CHECK(stage.plan.precision == Precision::bf16);
    CHECK(stage.accelerators == 8);
    CHECK(stage.plan.dp == 8);
    CHECK(stage.ignored == std::vector<std::string>{"deepspeed_config.zero3_init_flag"});
    CHECK(accelerate(head + "  gradient_clipping: 1.0\n").plan.zero == 2);
    std::string const away = "  offload_param_device: cpu\n";
    std::string const state = "  offload_optimizer_device: cpu\n";
    CHECK(accelerate(head + "  zero_stage: 3\n" + away + state).plan.offload == Offload::parameters);
    CHECK_THROWS_WITH(accelerate(head + "  zero_stage: 3\n" + away), contains("add offload_optimizer with device cpu"));
    ForeignPlan const second = accelerate(head + "  zero_stage: 2\n" + away + state);
    CHECK(second.plan.offload == Offload::optimizer);
    CHECK(said_in(second.warnings, "offload_param: without effect but with stage 3"));
    CHECK_THROWS_WITH(accelerate(head + "  offload_param_device: gpu\n"), contains("'gpu' (none, cpu or nvme)"));
    ForeignPlan const accumulates = accelerate(head + "  gradient_accumulation_steps: 8\n");
    CHECK(accumulates.accumulation == 8);
    CHECK_FALSE(said_in(accumulates.ignored, "accumulation"));
    CHECK_FALSE(said_in(accumulates.warnings, "accumulation, "));
    CHECK(said_in(accumulates.warnings, "micro-batch, sequence"));
    CHECK_FALSE(accelerate(head + "  gradient_accumulation_steps: auto\n").accumulation);
    CHECK_THROWS_WITH(accelerate(head + "  gradient_accumulation_steps: 0\n"), contains("out of range"));
    std::string const named = head + "  deepspeed_config_file: ds.json\n";
    CHECK(accelerate_deepspeed_file(named, "a") == "ds.json");
    CHECK_FALSE(accelerate_deepspeed_file(head, "a"));
    ForeignPlan const file = accelerate(named, R"({"zero_optimization": {"stage": 1}, "bf16": {"enabled": "auto"},
                                                   "train_micro_batch_size_per_gpu": 4,
                                                   "gradient_accumulation_steps": 2})");
    CHECK(file.plan.zero == 1);
    CHECK(file.plan.precision == Precision::bf16);
    CHECK(file.plan.micro_batch == 4);
    CHECK(file.rank_batch == 8);
    CHECK(accelerate(named, R"({"fp16": {"enabled": true}})").plan.precision == Precision::fp16);
    CHECK_THROWS_WITH(accelerate(named, R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4,
                                            "gradient_accumulation_steps": 1})"),
                      contains("are 16 accelerators, but the launch has 8"));
}

TEST_CASE("Accelerate without FSDP and DeepSpeed has plain replicas", "[import]") {
    ForeignPlan const f = accelerate("distributed_type: MULTI_GPU\nmixed_precision: 'no'\nnum_processes: 4\nmain: x\n");
    CHECK(f.plan.zero == 0);
    CHECK(f.plan.dp == 4);
    CHECK(f.plan.precision == Precision::fp32);
    CHECK(said_in(f.warnings, "main: not known here"));
    CHECK(accelerate("distributed_type: 'NO'\nmixed_precision: fp16\n").accelerators == 1);
    CHECK_FALSE(accelerate("distributed_type: MULTI_GPU\n").accelerators);
    CHECK(said_in(accelerate("num_processes: 8\ndistributed_type: MULTI_GPU\ndynamo_backend: INDUCTOR\n").warnings,
                  "dynamo_backend: compiled layers are counted as run op by op"));
    CHECK_THROWS_WITH(accelerate("distributed_type: MEGATRON_LM\n"), contains("'MEGATRON_LM' is not read"));
    CHECK_THROWS_WITH(accelerate("num_processes: 8\nuse_cpu: true\n"), contains("use_cpu"));
    CHECK_NOTHROW(accelerate("num_processes: 8\nuse_cpu: false\n"));
    CHECK_THROWS_WITH(accelerate("a: 1\n"), contains("neither distributed_type nor num_processes"));
    CHECK_THROWS_WITH(accelerate("num_processes: 8\nmixed_precision: int8\n"), contains("no, fp16, bf16 or fp8"));
}

TEST_CASE("Accelerate's FSDP 1 without prefetch in the backward is warned of, since gathers are counted ahead",
          "[import]") {
    std::string const key = "fsdp_backward_prefetch: ";
    auto const warned = [&](std::string const& config) {
        ForeignPlan const plan = accelerate(fsdp(config));
        CHECK_FALSE(said_in(plan.ignored, "fsdp_backward_prefetch"));
        return said_in(plan.warnings, "fsdp_backward_prefetch: with NO_PREFETCH");
    };
    CHECK(warned("  " + key + "NO_PREFETCH\n"));
    CHECK(warned("  fsdp_version: 1\n"));
    CHECK_FALSE(warned("  " + key + "BACKWARD_PRE\n"));
    CHECK_FALSE(warned("  " + key + "BACKWARD_POST\n"));
    CHECK_FALSE(warned("  fsdp_version: 2\n"));
    CHECK(said_in(accelerate(fsdp("  fsdp_version: 2\n  " + key + "NO_PREFETCH\n")).ignored, "backward_prefetch"));
}
