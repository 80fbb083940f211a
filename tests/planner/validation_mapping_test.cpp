#include "core/error.hpp"
#include "core/graph/model_flops.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/release.hpp"
#include "planner/validation/row_release.hpp"
#include "planner/validation/train_validation.hpp"
#include "simulator/closed_form.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

using namespace sextant;

namespace {

/// The row as one table, with the cell of `column` replaced.
TrainingRow from_cell(std::string_view column, std::string const& cell) {
    std::vector<std::string> header;
    std::vector<std::string> cells;
    for (auto const name : training_columns()) {
        header.emplace_back(name);
        cells.push_back(name == column ? cell : "");
    }
    return training_rows(parse_csv(csv_line(header) + csv_line(cells), "t.csv")).at(0);
}

/// A row of Megatron's GPT that does not state its attention.
TrainingRow gpt_row(char const* precision) {
    TrainingRow row = complete_row();
    row.model = "GPT-7B";
    row.gated_mlp = 0;
    row.precision = precision;
    row.flash_attention.reset();
    return row;
}

}  // namespace

TEST_CASE("a complete row is taken as it stands") {
    TrainingCase const c = built(complete_row());
    CHECK(c.model.layer_count() == 32);
    CHECK(c.model.norm == NormKind::rms);
    CHECK(c.model.position == PositionKind::rotary);
    CHECK(c.plan.dp == 8);
    CHECK(c.plan.zero == 1);
    CHECK(c.plan.attention == AttentionKernel::flash);
    CHECK(c.plan.dropout == Switch::off);
    CHECK(c.workload.global_batch == 64);
    CHECK(c.framework->name == "megatron");
    CHECK(c.cluster->accelerator.name == "a100-sxm-80gb");
    CHECK(c.time_reason.empty());
}

TEST_CASE("a configuration whose name ends in fp4 ran in fp4, whatever the row calls the rest of it") {
    TrainingRow row = complete_row();
    row.gpu = "GB200";
    row.precision = "BF16";
    CHECK(built(row).plan.precision == Precision::bf16);
    row.notes = "layout from submission config config_GB300_2x4x2xtp1pp1cp1_8b_fp4.sh, matched by node count";
    CHECK(built(row).plan.precision == Precision::fp4);
}

TEST_CASE("a step faster than its format allows is predicted and not scored") {
    TrainingRow row = complete_row();
    row.iter_time_s = 6;  // 0.76 of peak
    CHECK(built(row).time_reason.empty());
    row.iter_time_s = 5;  // 0.91 of peak
    CHECK(built(row).time_reason == "faster than 80 % of the peak of the format it states");
    row.precision = "";
    row.iter_time_s = 6;
    CHECK(built(row).time_reason.empty());  // it has no narrower format
    row.gpu = "H100";
    row.framework = "nanotron";
    row.iter_time_s = 1.9;  // 0.76 of peak
    CHECK(built(row).time_reason == "faster than any measured step in the format that is assumed for it");
    row.precision = "FP8";
    CHECK(built(row).time_reason.empty());
}

TEST_CASE("notes tell the H100 with 96 GB from the usual one") {
    TrainingRow row = complete_row();
    row.gpu = "H100";
    CHECK(built(row).cluster->accelerator.name == "h100-sxm");
    row.notes = "memory percentage in the log implies a 95 GiB device";
    CHECK(built(row).cluster->accelerator.name == "h100-sxm-96gb");
    row.gpu = "A100-80GB";
    CHECK(built(row).cluster->accelerator.name == "a100-sxm-80gb");
    // One team's tables beside its logs; nobody else's.
    row.gpu = "H100";
    row.notes = "H100 variant not stated";
    CHECK(built(row).cluster->accelerator.name == "h100-sxm");
    row.source_id = "torchao";
    CHECK(built(row).cluster->accelerator.name == "h100-sxm-96gb");
}

TEST_CASE("a row that cannot be expressed says why") {
    CHECK(skip_reason([](TrainingRow& r) { r.gpu = "Abacus 3000"; }) == "no profile for device 'Abacus 3000'");
    CHECK(skip_reason([](TrainingRow& r) { r.gpu = ""; }) == "device is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.vocab.reset(); }) == "vocab is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.tp.reset(), r.pp.reset(), r.dp.reset(); }) == "tp is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.micro_batch.reset(); }) == "micro_batch is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.num_gpus = 12, r.tp = 8; }) ==
          "tp x pp x cp does not divide the number of accelerators");
    CHECK(skip_reason([](TrainingRow& r) { r.dp = 4; }) == "stated dp is not GPUs / (tp x pp x cp)");
    CHECK(skip_reason([](TrainingRow& r) { r.arch = "hybrid-mamba"; }).find("hybrid") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.model = "BERT-24L"; }).find("encoder model") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.model = "T5-11B"; }).find("encoder-decoder") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.arch = "encoder-decoder"; }).find("encoder-decoder") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.model = "Llama distillation"; }).find("distillation") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.model = "Flextron-8B"; }).find("elastic model") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.model = "7B (truncated)", r.layers.reset(); }) == "layers is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.pp = 64, r.num_gpus = 64, r.dp = 1; }) ==
          "more pipeline stages than layers");
    CHECK(skip_reason([](TrainingRow& r) { r.head_dim.reset(), r.heads = 48, r.kv_heads = 48; }) ==
          "head_dim is not stated and heads do not divide hidden");
    CHECK(skip_reason([](TrainingRow& r) { r.gated_mlp.reset(); }) == "gated_mlp is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.layers = 20000; }) == "layers is more than 10,000");
    CHECK(skip_reason([](TrainingRow& r) { r.ffn_hidden.reset(); }) == "ffn_hidden is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.notes = "multi-latent attention"; }) ==
          "ranks of latent attention are not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.arch = "moe"; }) ==
          "mixture of experts with dimensions not stated and no preset of that name");
    CHECK(skip_reason([](TrainingRow& r) { r.layers.reset(), r.hidden.reset(); }) ==
          "model dimensions are not stated and no preset has that name");
    CHECK(skip_reason([](TrainingRow& r) {
              r.recompute = "full with offload of some";
          }).find("recompute policy with") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.notes = "SUSPECT: x"; }) == "marked SUSPECT by the collection");
    CHECK(skip_reason([](TrainingRow& r) { r.precision = "int3"; }) == "precision 'int3' is not known here");
    CHECK(skip_reason([](TrainingRow& r) { r.precision = "", r.gpu = "H100-80GB"; }) == "precision is not stated");
    CHECK(skip_reason([](TrainingRow& r) { r.global_batch = 60; }).find("plan rejected: global batch 60") == 0);
    CHECK(skip_reason([](TrainingRow& r) { r.recompute = "selective: moe, mlx"; }) ==
          "recompute of 'mlx' is not modelled");
    CHECK(skip_reason([](TrainingRow& r) { r.recompute = "some"; }) == "recompute of 'some' is not modelled");
    CHECK(skip_reason([](TrainingRow& r) { r.pp = 2, r.dp = 4, r.pp_schedule = "zb-h1 + vocab-1"; }) ==
          "schedule 'zb-h1 + vocab-1' is not modelled");
    CHECK(skip_reason([](TrainingRow& r) { r.pp = 2, r.dp = 4, r.pp_schedule = "Hanayo"; }) ==
          "schedule 'Hanayo' is not modelled");
    CHECK(skip_reason([](TrainingRow& r) {
              r.pp = 2, r.dp = 4, r.pp_schedule = "zb-v", r.vpp = 3;
          }).find("plan rejected: vpp 3 with schedule zb-v") == 0);
}

TEST_CASE("a schedule that a row names is the plan's") {
    auto const plan = [](std::string const& schedule) {
        TrainingRow row = complete_row();
        row.pp = 2, row.dp = 4;
        row.pp_schedule = schedule;
        return built(row).plan;
    };
    CHECK(plan("ZB-H1").schedule == Schedule::zb_h1);
    CHECK(plan("zb-v").schedule == Schedule::zb_v);
    CHECK(plan("zb-v").vpp == 2);
    CHECK(plan("ZBH1").schedule == Schedule::zb_h1);
    CHECK(plan("DualPipe-V (DeepSeek)").schedule == Schedule::dualpipe_v);
    CHECK(plan("dualpipe").schedule == Schedule::dualpipe);
    CHECK(plan("gpipe").schedule == Schedule::gpipe);
    CHECK(plan("1f1b").schedule == Schedule::one_f_one_b);
    CHECK(plan("Zero bubble").schedule == Schedule::zb_h1);
    CHECK(plan("Zero Bubble (ZB-V)").schedule == Schedule::zb_v);
    CHECK(plan("ScheduleZBVZeroBubble").schedule == Schedule::zb_v);
    CHECK(plan("ZB-2p").schedule == Schedule::zb_h2);
    CHECK(plan("Looped BFS").schedule == Schedule::breadth_first);
    CHECK(plan("fill-drain").schedule == Schedule::gpipe);
    CHECK(plan("circular").schedule == Schedule::interleaved);
}

TEST_CASE("cells that are no usable number make a row unusable, not the table") {
    CHECK(from_cell("layers", "-inf").unreadable == "layers is not finite");
    CHECK(from_cell("iter_time_s", "inf").unreadable == "iter_time_s is not finite");
    CHECK(from_cell("hidden", "-4096").unreadable == "hidden is negative");
    CHECK(from_cell("heads", "12.5").unreadable == "heads is not a whole number");
    CHECK(from_cell("vocab", "many").unreadable == "vocab is not a number");
    CHECK(from_cell("vocab", "8.0").unreadable.empty());
    CHECK(from_cell("vocab", "8.0").vocab == 8);
    TrainingRow row = complete_row();
    row.unreadable = "layers is not finite";
    CHECK(TrainPredictor().predict(row).skip_reason == "unusable cell: layers is not finite");
}

TEST_CASE("cells may hold thousands, the unit of their column, and words for nothing, yes and no") {
    CHECK(from_cell("seq_len", "8,192").seq_len == 8192);
    CHECK(from_cell("seq_len", "8k").seq_len == 8192);
    CHECK(from_cell("num_gpus", "64 GPUs").num_gpus == 64);
    CHECK(from_cell("tokens_per_s", "57,600").tokens_per_s == 57600);
    CHECK(from_cell("tokens_per_s", "1,234,567.5").tokens_per_s == 1234567.5);
    CHECK(from_cell("tokens_per_s", "57.6k").tokens_per_s == Approx(57600));
    CHECK(from_cell("iter_time_s", "850 ms").iter_time_s == Approx(0.85));
    CHECK(from_cell("mfu_pct", "38 %").mfu_pct == 38);
    CHECK(from_cell("peak_mem_gb_per_gpu", "70 GiB").peak_mem_gb == Approx(75.16).epsilon(1e-3));
    CHECK(from_cell("gated_mlp", "SwiGLU").gated_mlp == 1);
    CHECK(from_cell("flash_attention", "FlashAttention-2").flash_attention == 1);
    CHECK(from_cell("sequence_parallel", "False").sequence_parallel == 0);
    CHECK(from_cell("zero_stage", "ZeRO-1").zero_stage == 1);
    CHECK(from_cell("zero_stage", "1 (distributed optimizer)").zero_stage == 1);
    CHECK(from_cell("zero_stage", "distributed optimizer").zero_stage == 1);
    CHECK(from_cell("zero_stage", "ZeRO-3 (FSDP)").zero_stage == 3);
    CHECK(from_cell("zero_stage", "FSDP full shard").zero_stage == 3);
    CHECK(from_cell("zero_stage", "HSDP (8)").shards_in_node);
    CHECK(from_cell("zero_stage", "2, gradients in bf16").zero_stage == 2);
    CHECK_FALSE(from_cell("zero_stage", "-1").zero_stage);
    for (char const* const text : {"FSDP", "FULL_SHARD", "ShardingStrategy.FULL_SHARD", "ZeRO stage 3", "HYBRID_SHARD"})
        CHECK(from_cell("zero_stage", text).zero_stage == 3);
    CHECK(from_cell("zero_stage", "SHARD_GRAD_OP").zero_stage == 2);
    for (char const* const text : {"NO_SHARD", "DDP", "none", "0"})
        CHECK(from_cell("zero_stage", text).zero_stage == 0);
    CHECK(from_cell("zero_stage", "HSDP").shards_in_node);
    CHECK(from_cell("zero_stage", "ZeRO-2 offload").zero_stage == 2);
    CHECK_FALSE(from_cell("zero_stage", "FSDP").shards_in_node);
    CHECK(from_cell("zero_stage", "Infinity").unreadable ==
          "zero_stage 'Infinity' is not known (0 to 3, FULL_SHARD, HYBRID_SHARD, SHARD_GRAD_OP, NO_SHARD)");
    CHECK(from_cell("flash_attention", "SDPA").flash_attention == 1);
    CHECK(from_cell("flash_attention", "cuDNN").flash_attention == 1);
    // Bits from bytes by the capital B; as the column's unit where all letters are small.
    for (char const* const text : {"50 GB/s", "50GBps", "50 GB/sec"})
        CHECK(from_cell("inter_node_bw_gbps_per_gpu", text).inter_node_gbps == 400);
    CHECK(from_cell("inter_node_bw_gbps_per_gpu", "50 GiB/s").inter_node_gbps == Approx(429.5).epsilon(1e-4));
    for (char const* const text : {"50", "50 Gb/s", "50 Gbps", "50 Gbit/s", "50 gb/s", "50G", "50 GBPS"})
        CHECK(from_cell("inter_node_bw_gbps_per_gpu", text).inter_node_gbps == 50);
    for (char const* const text : {"380 TFLOPs/s/GPU", "0.38 PFLOP/s", "380 TFLOP/s", "380 TFLOPS/device"})
        CHECK(from_cell("model_tflops_per_gpu", text).model_tflops_per_gpu == 380);
    for (char const* const text : {"1.2 s/it", "1200 ms", "1200 ms/step", "1.2 sec/iter"})
        CHECK(from_cell("iter_time_s", text).iter_time_s == 1.2);
    CHECK(from_cell("tokens_per_s_per_gpu", "3500 tok/s/GPU").tokens_per_s_per_gpu == 3500);
    CHECK(from_cell("tokens_per_s", "3500 tok/s/GPU").unreadable == "tokens_per_s is not a number");
    for (char const* const blank : {"-", "N/A", "unknown", "\xe2\x80\x94", "nan", "NaN", "NAN", "<NA>"}) {
        CHECK(from_cell("vpp", blank).unreadable.empty());
        CHECK_FALSE(from_cell("vpp", blank).vpp);
        CHECK(from_cell("recompute", blank).recompute.empty());
        CHECK(from_cell("framework", blank).framework.empty());
        CHECK(from_cell("gated_mlp", blank).unreadable.empty());
        CHECK(from_cell("mfu_pct", blank).unreadable.empty());
    }
    for (char const* const column : {"vpp", "gated_mlp", "sequence_parallel", "iter_time_s"})
        CHECK(from_cell(column, "None").unreadable.empty());
    CHECK_FALSE(from_cell("gated_mlp", "None").gated_mlp);
    CHECK(from_cell("framework", "None").framework.empty());
    CHECK(from_cell("recompute", "None").recompute == "None");
    CHECK(from_cell("flash_attention", "None").flash_attention == 0);
    // What can be read in two ways is not read.
    CHECK(from_cell("iter_time_s", "1,234").unreadable ==
          "iter_time_s has a comma that may be of thousands or of decimals");
    CHECK(from_cell("iter_time_s", "12,34").unreadable == "iter_time_s has a decimal comma (write a point)");
    CHECK(from_cell("mfu_pct", "0.45").mfu_pct == Approx(45));  // a fraction: no step is that slow
    CHECK(from_cell("seq_len", "8 GB").unreadable == "seq_len is not a number");
}

TEST_CASE("a count of accelerators may name those of the row, and no others") {
    auto const gpus = [](std::string const& cell) {
        return training_rows(parse_csv("model,gpu,num_gpus\nLlama-2-7B,H100-80GB," + cell + "\n", "t.csv")).at(0);
    };
    for (char const* const cell : {"64", "64 H100", "64 x H100", "64xH100 SXM5 80GB", "64 GPUs"})
        CHECK(gpus(cell).num_gpus == 64);
    CHECK(gpus("64 A100").unreadable == "num_gpus is not a number");
}

TEST_CASE("the notes say how the ranks of a sequence exchange keys, and how many share the weights") {
    TrainingRow row = complete_row();
    row.num_gpus = row.dp = 32;
    row.zero_stage = 3;
    row.notes = "shard group 16";
    CHECK(built(row).plan.shard_group == 16);
    row.cp = 2, row.dp = 16;
    row.notes = "";
    CHECK(built(row).plan.cp_mode == ContextParallel::ring);
    row.notes = "ulysses (cp-comm-type=a2a)";
    CHECK(built(row).plan.cp_mode == ContextParallel::ulysses);
    row.notes = "cp-comm-type=all_gather";
    CHECK(built(row).plan.cp_mode == ContextParallel::all_gather);
}

TEST_CASE("HYBRID_SHARD shards over one node, FULL_SHARD over all") {
    TrainingRow row = complete_row();
    row.framework = "torchtitan";
    row.num_gpus = row.dp = 32;
    row.zero_stage = 3;
    CHECK(built(row).plan.shard_group == 0);
    row.shards_in_node = true;
    CHECK(built(row).plan.shard_group == 8);
    row.notes = "shard group 16";  // says it more exactly
    CHECK(built(row).plan.shard_group == 16);
    row.notes = "";
    row.tp = 2, row.dp = 16;
    CHECK(built(row).plan.shard_group == 4);
}

TEST_CASE("the ZeRO stage is what framework or notes say where its cell is blank") {
    auto const stage = [](char const* framework, char const* notes) {
        TrainingRow row = complete_row();
        row.zero_stage.reset();
        row.framework = framework;
        row.notes = notes;
        return built(row).plan.zero;
    };
    for (char const* const framework : {"DeepSpeed ZeRO-3", "LLaMA-Factory (DeepSpeed stage 3)", "LLaMA-Factory ds_z3",
                                        "Accelerate FSDP", "HF Trainer, FULL_SHARD", "DeepSpeed ZeRO stage 3"})
        CHECK(stage(framework, "") == 3);
    CHECK(stage("DeepSpeed", "zero_stage=2; batch 8") == 2);
    CHECK(stage("DeepSpeed", "ZeRO-1") == 1);
    CHECK(stage("Hugging Face Trainer", "full shard") == 3);
    CHECK(stage("Hugging Face Trainer", "sharding_strategy=SHARD_GRAD_OP") == 2);
    CHECK(stage("Megatron-LM", "Megatron-FSDP") == 3);
    CHECK(stage("DeepSpeed ZeRO-2", "ZeRO-3 was slower") == 2);
    // What says nothing of this run.
    for (char const* const notes :
         {"", "no ZeRO-3", "ZeRO 3D parallelism", "ZeRO-2/3", "DDP or FSDP", "without FSDP", "ici_fsdp_parallelism=1",
          "zero bubble 2", "ZeRO off", "pipeline stage 3", "faster than FSDP"}) {
        INFO(notes);
        CHECK(stage("DeepSpeed", notes) == 0);
    }
    TrainingRow row = complete_row();
    row.zero_stage = 1;
    row.framework = "DeepSpeed ZeRO-3";
    CHECK(built(row).plan.zero == 1);  // its own cell goes first
}

TEST_CASE("sharding that a pipeline does not go with is ZeRO-1") {
    auto const zero = [](char const* framework, std::optional<std::int64_t> stage) {
        TrainingRow row = complete_row();
        row.framework = framework;
        row.pp = 4, row.dp = 2;
        row.zero_stage = stage;
        return built(row);
    };
    for (char const* const framework : {"torchtitan", "Meta internal FSDP", "PyTorch FSDP"}) {
        INFO(framework);
        CHECK(zero(framework, {}).plan.zero == 1);
        CHECK(zero(framework, 3).plan.zero == 1);
    }
    auto const assumed = zero("torchtitan", {}).assumptions;
    CHECK(std::count(assumed.begin(), assumed.end(), "ZeRO-1 as usual for torchtitan with a pipeline") == 1);
}

TEST_CASE("optimizers and offload that framework or notes name are counted or refused, and not passed over") {
    auto const plan = [](char const* framework, char const* notes, std::int64_t zero = 1) {
        TrainingRow row = complete_row();
        row.framework = framework;
        row.notes = notes;
        row.zero_stage = zero;
        return built(row).plan;
    };
    auto const optimizer = [&](char const* notes) { return plan("Hugging Face Trainer", notes).optimizer; };
    for (char const* const notes :
         {"paged_adamw_8bit", "optim=adamw_bnb_8bit", "8-bit AdamW", "AdamW8bit", "8-bit optimizer"}) {
        INFO(notes);
        CHECK(optimizer(notes) == Optimizer::adamw_8bit);
    }
    for (char const* const notes : {"optimizer: Muon", "muon optimizer", "optimizer=muon"})
        CHECK(optimizer(notes) == Optimizer::muon);
    CHECK(optimizer("optimizer=sgd") == Optimizer::sgd);
    CHECK(optimizer("Adafactor") == Optimizer::adafactor);
    CHECK(optimizer("optimizer: Lion") == Optimizer::lion);
    CHECK(optimizer("8-bit Lion") == Optimizer::lion_8bit);
    for (char const* const notes :
         {"optimizer=adam", "AdamW; 8-bit weights", "not Muon", "optimizer sharded", "bnb optimizer"})
        CHECK(optimizer(notes) == Optimizer::adamw);

    for (char const* const notes : {"optimizer offload to CPU", "offload_optimizer", "optimizer state CPU offload"}) {
        INFO(notes);
        CHECK(plan("DeepSpeed", notes).offload == Offload::optimizer);
    }
    CHECK(plan("DeepSpeed ZeRO-2 Offload", "", 2).offload == Offload::optimizer);
    CHECK(plan("torchtune", "+activation offloading").offload == Offload::activations);
    for (char const* const notes : {"no CPU offload", "without optimizer offload", "offload=False"})
        CHECK(plan("DeepSpeed", notes).offload == Offload::none);

    auto const why = [](char const* framework, char const* notes, std::int64_t zero = 1) {
        return skip_reason([&](TrainingRow& row) {
            row.framework = framework;
            row.notes = notes;
            row.zero_stage = zero;
        });
    };
    CHECK(why("Hugging Face Trainer", "optimizer: LAMB") == "optimizer lamb is not modelled");
    CHECK(why("DeepSpeed ZeRO-3 Offload", "", 3) == "offload to host memory, of what is not stated");
    CHECK(why("torchtune", "CPU offload + fused optimizer") == "offload of weights that ZeRO 3 does not gather");
    CHECK(why("DeepSpeed", "param + optimizer offload") == "offload of weights that ZeRO 3 does not gather");
    CHECK(plan("DeepSpeed", "param + optimizer offload", 3).offload == Offload::parameters);
    CHECK(plan("torchtune", "CPU offload + fused optimizer", 3).offload == Offload::parameters);
    CHECK(plan("torchtune", "CPU offload; activation offloading", 3).offload == Offload::parameters_and_activations);
    CHECK(why("Megatron-LM", "optimizer-offload-fraction=0.5") == "offload of a part of the optimizer");
}

TEST_CASE("an MFU is of fp16 on devices without bf16") {
    TrainingRow row = complete_row();
    row.gpu = "V100-32GB";
    row.precision = "fp16";
    row.iter_time_s.reset();
    row.mfu_pct = 40;
    TrainingCase const c = built(row);
    REQUIRE(measured_time(row, c));
    Seconds const at_fp16 = *measured_time(row, c);
    row.gpu = "A100-80GB";
    CHECK(at_fp16 / *measured_time(row, built(row)) == Approx(312.0 / 125).epsilon(0.01));
}

TEST_CASE("a step far below the peak is predicted and not scored") {
    TrainingRow row = complete_row();
    row.iter_time_s = 1000;
    CHECK(built(row).time_reason.empty());
    row.iter_time_s = 10000;  // milliseconds
    CHECK(built(row).time_reason == "slower than 0.2 % of the peak: is the time in another unit?");
}

TEST_CASE("a step whose time contradicts what else the row states of its pace is predicted and not scored") {
    auto const reason = [](std::function<void(TrainingRow&)> const& change) {
        TrainingRow row = complete_row();
        change(row);
        return built(row).time_reason;
    };
    double const tokens = 64 * 4096 / 10.0;
    CHECK(reason([&](auto& r) { r.tokens_per_s = 1.09 * tokens; }).empty());
    CHECK(reason([&](auto& r) { r.tokens_per_s_per_gpu = tokens / 8 / 1.09; }).empty());
    CHECK(reason([&](auto& r) { r.tokens_per_s = 2 * tokens; }) ==
          "iter_time_s and tokens_per_s make 5.243e+05 tokens a step, sequences and batch 2.621e+05");
    CHECK_THAT(reason([&](auto& r) { r.tokens_per_s_per_gpu = tokens; }), contains("and tokens_per_s_per_gpu make"));
    CHECK_THAT(reason([&](auto& r) {
                   r.iter_time_s.reset();
                   r.tokens_per_s = tokens;
                   r.tokens_per_s_per_gpu = tokens / 4;
               }),
               contains("that of 8 accelerators"));
    // 6 N D is 44 % of the peak, the full square of attention 51 %; sources count between them, and differently.
    TrainingRow const row = complete_row();
    TrainingCase const c = built(row);
    double const reached = model_flops_per_step(c.model, c.workload).base() / (10 * 8 * 1e12);
    for (double const factor : {0.6, 1.0, 1.4}) {
        CHECK(reason([&](auto& r) { r.model_tflops_per_gpu = factor * reached; }).empty());
        CHECK(reason([&](auto& r) { r.mfu_pct = 100 * factor * reached / 312; }).empty());
    }
    for (double const factor : {0.4, 1.6}) {
        CHECK_THAT(reason([&](auto& r) { r.model_tflops_per_gpu = factor * reached; }),
                   contains("model_tflops_per_gpu is"));
        CHECK_THAT(reason([&](auto& r) { r.mfu_pct = 100 * factor * reached / 312; }), contains("mfu_pct is"));
    }
}

TEST_CASE("a table may lack columns, and is refused where it seems to misname one") {
    auto const rows = training_rows(parse_csv("gpu,model,num_gpus,extra\nH100,Llama-2-7B,8,x\n", "t.csv"));
    CHECK(rows.at(0).gpu == "H100");
    CHECK_FALSE(rows.at(0).seq_len);
    auto const refused = [](std::string const& column) {
        try {
            training_rows(parse_csv("model,gpu,num_gpus," + column + "\n", "t.csv"));
        } catch (InputError const& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    for (char const* const column :
         {"Seq Len", "global_batch", "micro_batch_size", "tp_size", "iter_time_ms", "mfu", "micro_bach", "reocmpute"})
        CHECK(refused(column).find(std::string("column '") + column + "' is not known here") != std::string::npos);
    CHECK(refused("pred_low").empty());
    CHECK(refused("my_extra").empty());
    CHECK_THROWS_AS(training_rows(parse_csv("model,gpu,seq_len\n", "t.csv")), InputError);
}

TEST_CASE("degrees that a row leaves out follow from the others, or are one where the source states the other") {
    TrainingRow row = complete_row();
    row.num_gpus = 64;
    row.dp = 8;
    row.tp.reset();
    row.pp = 2;
    CHECK(built(row).plan.tp == 4);
    row.dp.reset();
    TrainingCase const c = built(row);
    CHECK(c.plan.tp == 1);
    CHECK(c.plan.dp == 32);
    CHECK(std::find(c.assumptions.begin(), c.assumptions.end(), "tp 1 where only pp is stated") != c.assumptions.end());
    row.pp.reset();
    CHECK_THROWS_AS(built(row), RowSkip);
    row.dp = 64;
    CHECK(built(row).plan.pp == 1);
    row.dp.reset();
    row.num_gpus = 1;
    CHECK(built(row).plan.tp == 1);
}

TEST_CASE("an assumed degree that a run contradicts is no prediction") {
    TrainingRow row = complete_row();
    row.model = "Llama-2-70B";
    row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
    row.dp.reset();
    row.pp = 1;
    row.tp.reset();
    CHECK(TrainPredictor().predict(row).skip_reason == "tp is not stated, and the model does not fit with 1");
    row.notes = "STATUS=OOM";
    CHECK(TrainPredictor().predict(row).fits == false);
}

TEST_CASE("the batch and the length of sequences follow from time and tokens a second") {
    TrainingRow row = complete_row();
    row.iter_time_s = 10.0;
    row.tokens_per_s = 26100;  // of 26,214: within what is printed
    row.global_batch.reset();
    CHECK(built(row).workload.global_batch == 64);
    row.global_batch = 64;
    row.seq_len.reset();
    CHECK(built(row).workload.sequence == 4096);
    row.tokens_per_s.reset();
    CHECK_THROWS_AS(built(row), RowSkip);
}

TEST_CASE("a blank micro-batch is filled where no usual one that fits makes a difference, and lies in the interval") {
    TrainingRow row = complete_row();
    row.micro_batch.reset();
    RowPrediction const open = TrainPredictor().predict(row);
    REQUIRE(open.skip_reason.empty());
    CHECK_FALSE(open.ran);
    CHECK(open.memory_reason == "micro_batch is not stated");
    for (std::int64_t const micro_batch : {1, 2, 4, 8}) {
        row.micro_batch = micro_batch;
        RowPrediction const stated = TrainPredictor().predict(row);
        if (stated.fits != true) continue;
        CHECK(*stated.time >= open.interval->low * *open.time);
        CHECK(*stated.time <= open.interval->high * *open.time);
    }
    row.micro_batch.reset();
    row.pp = 8, row.dp = 1;
    row.global_batch = 16;  // few microbatches: the bubble is what the micro-batch decides
    RowPrediction const piped = TrainPredictor().predict(row);
    CHECK(piped.assumptions.back() == "micro_batch not stated: the usual one");
    row.micro_batch = 1;
    CHECK(*piped.time == *TrainPredictor().predict(row).time);
    CHECK(piped.interval->high > TrainPredictor().predict(row).interval->high);
}

TEST_CASE("a bridge joins the accelerators of its profile, whatever the node has") {
    CaseBuilder builder;
    TrainingRow row = complete_row();
    row.gpu = "H200-NVL";
    row.intra_node_link = "NVLink";
    CHECK(builder.build(row).cluster->domain_size == 8);
    row.intra_node_link = "4-way NVIDIA NVLINK bridge";
    CHECK(builder.build(row).cluster->domain_size == 4);
}

TEST_CASE("degrees that are not stated are those that batch and accumulation leave room for") {
    TrainingRow row = complete_row();
    row.dp = row.tp = row.pp = row.cp = row.micro_batch = std::nullopt;
    row.seq_len = 2048;  // two of them fit
    auto const predicted = [&](std::int64_t batch, std::int64_t steps) {
        row.global_batch = batch;
        row.notes = "gradient_accumulation_steps=" + std::to_string(steps);
        return TrainPredictor().predict(row);
    };
    auto const stated = [&](std::int64_t tp, std::int64_t cp, std::int64_t micro_batch, std::int64_t batch) {
        TrainingRow whole = complete_row();
        whole.seq_len = 2048;
        whole.tp = tp, whole.cp = cp, whole.dp = 8 / (tp * cp);
        whole.micro_batch = micro_batch, whole.global_batch = batch;
        return TrainPredictor().predict(whole);
    };
    // 16 sequences in two steps: one on each of eight ranks at a time, or two of each in one.
    CHECK(*predicted(16, 2).time == *stated(1, 1, 1, 16).time);
    CHECK(*predicted(16, 1).time == *stated(1, 1, 2, 16).time);
    // Four ranks at a time: two accelerators share a sequence, by tp or by cp.
    RowPrediction const shared = predicted(16, 4);
    REQUIRE(shared.skip_reason.empty());
    CHECK_FALSE(shared.ran);
    CHECK(shared.memory_reason == "tp is not stated");
    for (RowPrediction const& one : {stated(2, 1, 1, 16), stated(1, 2, 1, 16)}) {
        CHECK(*one.time >= shared.interval->low * *shared.time);
        CHECK(*one.time <= shared.interval->high * *shared.time);
    }
    row.notes = "";
    CHECK(TrainPredictor().predict(row).skip_reason == "tp is not stated");
}

TEST_CASE("the layers of a truncated model are stated, or make no difference to its rate") {
    TrainingRow row = complete_row();
    row.model = "Llama-3-70B (truncated)";
    row.hidden = 8192, row.ffn_hidden = 28672, row.heads = 64, row.kv_heads = 8, row.vocab = 128256;
    row.gpu = "H200";
    row.layers = 4;
    CHECK(built(row).model.layer_count() == 4);
    row.layers.reset();
    row.iter_time_s.reset();
    row.model_tflops_per_gpu = 400;
    row.global_batch = 1024;
    RowPrediction const open = TrainPredictor().predict(row);
    REQUIRE(open.skip_reason.empty());
    CHECK(open.memory_reason == "layers is not stated");
    row.dp = 2, row.pp = 4, row.global_batch = 16;  // one layer on a stage with the output matrix, or four
    CHECK(TrainPredictor().predict(row).skip_reason ==
          "layers is not stated, and usual ones that fit differ by more than 20 %");
}

TEST_CASE("a truncated mixture of experts is its preset cut to the layers of the row") {
    TrainingRow row = complete_row();
    row.model = "DeepSeek-V2 (truncated)";
    row.arch = "moe";
    row.hidden = 5120, row.ffn_hidden = 12288, row.heads = 128, row.vocab = 102400;
    row.kv_heads = row.head_dim = std::nullopt;
    row.moe_experts = 160, row.moe_topk = 6, row.moe_ffn_hidden = 1536, row.moe_shared = 2;
    row.layers = 4, row.ep = 8;
    ModelSpec const model = built(row).model;
    CHECK(model.layer_count() == 4);
    CHECK(model.attention.latent);
    CHECK_FALSE(model.layers.front().moe);
    CHECK(model.layers.back().moe);
    row.layers = 61;  // it has 60
    CHECK_THROWS_AS(built(row), RowSkip);
}

TEST_CASE("a format that is not stated is bf16, fp8 within the interval, and is not guessed on Blackwell") {
    TrainingRow row = complete_row();
    row.precision = "";
    CHECK(TrainPredictor().predict(row).skip_reason.empty());  // A100 has none
    for (char const* const framework : {"Megatron-LM", "MaxText", "torchtitan", "my own"}) {
        INFO(framework);
        row.framework = framework;
        row.recompute = "full";
        row.gpu = "H100-80GB", row.precision = "";
        RowPrediction const open = TrainPredictor().predict(row);
        REQUIRE(open.skip_reason.empty());
        row.precision = "bf16";
        CHECK(*open.time == *TrainPredictor().predict(row).time);
        row.precision = "fp8";
        CHECK(*TrainPredictor().predict(row).time >= open.interval->low * *open.time);
        row.gpu = "B200", row.precision = "";
        CHECK(TrainPredictor().predict(row).skip_reason.starts_with("precision is not stated, and "));
    }
    row.gpu = "H100-80GB";
    row.framework = "nanotron";  // which has no such recipe
    CHECK(TrainPredictor().predict(row).skip_reason.empty());
}

TEST_CASE("a rate without a batch is predicted where there is no pipeline to fill, and memory alone where there is") {
    TrainingRow row = complete_row();
    row.iter_time_s.reset();
    row.global_batch.reset();
    row.tokens_per_s_per_gpu = 3000;
    RowPrediction const flat = TrainPredictor().predict(row);
    CHECK(flat.time);
    CHECK(flat.measured_time);
    row.pp = 4, row.dp = 2;
    RowPrediction const piped = TrainPredictor().predict(row);
    CHECK_FALSE(piped.time);
    CHECK(piped.memory_gb);
}

TEST_CASE("an interval is wider for a network that nobody measured or stated, and for a framework like another") {
    TrainingRow row = complete_row();
    row.gpu = "RTX 4090";
    row.model = "TinyLlama 1.1B";
    row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
    row.seq_len = 2048;
    row.num_gpus = row.dp = 64;
    auto const width = [&] {
        auto const p = TrainPredictor().predict(row);
        REQUIRE(p.skip_reason.empty());
        return p.interval->high / p.interval->low;
    };
    double const assumed = width();
    row.inter_node_link = "25GbE";
    double const stated = width();
    CHECK(assumed > stated);
    row.framework = "Primus";
    CHECK(width() > stated);
}

TEST_CASE("spellings of precision, recompute and framework are understood") {
    auto const precision = [](std::string const& text, char const* gpu = "H100-80GB") {
        TrainingRow row = complete_row();
        row.gpu = gpu;
        row.precision = text;
        return built(row).plan.precision;
    };
    CHECK(precision("amp_bf16") == Precision::bf16);
    CHECK(precision("FP8-tensorwise") == Precision::fp8);
    CHECK(precision("MXFP8") == Precision::fp8);  // not on Hopper
    CHECK(precision("MXFP8", "B200") == Precision::mxfp8);
    CHECK(precision("FP8-MX", "GB200") == Precision::mxfp8);
    CHECK(precision("FP8 (MX or blockwise)", "B200") == Precision::mxfp8);
    CHECK(precision("FP8 (MX or blockwise)") == Precision::fp8_block);
    CHECK(precision("FP8-blockwise") == Precision::fp8_block);
    CHECK(precision("FP8", "B200") == Precision::fp8);
    CHECK(precision("Float8") == Precision::fp8);
    CHECK(precision("FP8 + torch.compile") == Precision::fp8);
    CHECK(precision("FP16 mixed") == Precision::fp16);
    CHECK(precision("16-mixed") == Precision::fp16);
    CHECK(precision("bf16-mixed") == Precision::bf16);
    CHECK(precision("E4M3") == Precision::fp8);
    CHECK(precision("bfloat16, float32 master") == Precision::bf16);
    CHECK(precision("bfloat16,fp32") == Precision::bf16);
    CHECK(precision("float16, float32 master") == Precision::fp16);
    CHECK(precision("torch.float16") == Precision::fp16);
    CHECK(precision("mixed precision") == Precision::bf16);
    CHECK(precision("AMP", "V100-32GB") == Precision::fp16);
    CHECK(precision("32-true") == Precision::fp32);
    TrainingRow adapted = complete_row();
    adapted.model = "Llama-7B QLoRA";
    for (char const* const base : {"nf4", "4-bit", "int4", "fp4"}) {
        adapted.precision = base;
        CHECK(built(adapted).plan.precision == Precision::bf16);
        CHECK(built(adapted).plan.adapters.base == BaseWeights::nf4);
    }
    adapted.model = "Llama-7B";
    adapted.precision = "QLoRA";
    CHECK(built(adapted).plan.adapters.on());

    auto const plan = [](std::string const& text) {
        TrainingRow row = complete_row();
        row.recompute = text;
        return built(row).plan;
    };
    CHECK(plan("full:uniform:1").recompute == Recompute::full);
    CHECK(plan("full:uniform:1").recompute_layers == 0);
    CHECK(plan("full:5 layers").recompute_layers == 5);
    CHECK(plan("selective").recompute == Recompute::selective);
    CHECK(plan("selective: every 2nd layer").recompute_layers == 16);
    auto const modules = [&](std::string const& text) {
        CHECK(plan(text).recompute == Recompute::selective);
        return modules_text(plan(text).recompute_modules);
    };
    CHECK(modules("selective") == "core_attn");
    CHECK(modules("Selective (core attention)") == "core_attn");
    CHECK(modules("selective:[layernorm mlp]") == "layernorm,mlp");
    CHECK(modules("selective:core_attn+layernorm") == "core_attn,layernorm");
    CHECK(modules("selective: norm, act") == "layernorm");  // what the model has of them
    CHECK(modules("selective:op") == "op");
    auto const kept = [&](std::string const& text) {
        CHECK(plan(text).recompute == Recompute::full);
        return activations_text(plan(text).kept_activations);
    };
    CHECK(kept("remat_policy=minimal") == "qkv,attention_out,mlp_up");
    CHECK(kept("remat minimal_flash") == "qkv,context,attention_out,mlp_up");
    CHECK(kept("remat_policy=minimal_with_context") == "qkv,context,attention_out,mlp_up");
    CHECK(kept("remat_policy=save_dot_except_mlp") == "qkv,attention_out");
    CHECK(kept("save_dot_only_with_context") == "qkv,context,attention_out,mlp_up");
    for (char const* const text :
         {"True", "full (uniform 1)", "activation checkpointing", "gradient checkpointing", "full AC", "all layers",
          "all", "AC on", "checkpoint every layer", "remat_policy=nothing_saveable", "block", "per-layer", "remat",
          "each layer", "transformer block", "recompute_num_layers=12"}) {
        INFO(text);
        CHECK(plan(text).recompute == Recompute::full);
        CHECK(plan(text).recompute_layers == 0);
    }
    CHECK(modules("mlp") == "mlp");
    for (char const* const text :
         {"off", "no activation checkpointing", "w/o recompute", "disabled", "without AC", "not used"})
        CHECK(plan(text).recompute == Recompute::none);
    for (char const* const text : {"10 layers", "block 10", "full (block, 10)", "full, block, 10 layers"})
        CHECK(plan(text).recompute_layers == 10);
    // A number is one of layers beside that word alone, and of all layers in Megatron's chunks.
    for (char const* const text :
         {"full AC, FSDP2", "Full activation checkpointing w/ ZeRO-3", "full (fp8 activations kept)",
          "activation checkpointing (FSDP2)", "full, num_layers=1", "full (recompute-num-layers 1)", "every layer"}) {
        INFO(text);
        CHECK(plan(text).recompute == Recompute::full);
        CHECK(plan(text).recompute_layers == 0);
    }
    for (char const* const text : {"checkpointing every 2 layers", "every other layer", "selective every 2 layers",
                                   "every-2-layers", "50 % of the layers", "half of the layers", "half", "every 2",
                                   "full recompute 16/32 layers", "partial (layers 1-16)"}) {
        INFO(text);
        CHECK(plan(text).recompute_layers == 16);
    }
    CHECK(plan("full, every 4 layers").recompute_layers == 8);
    CHECK(plan("full, block, num_layers=10").recompute_layers == 10);
    CHECK(plan("full-5-layers").recompute_layers == 5);
    CHECK(plan("99999999999999999999 layers").recompute_layers == 0);  // all
    CHECK(skip_reason([](TrainingRow& r) { r.recompute = "full 8"; }) ==
          "recompute policy 'full 8': a number of what? ('8 layers', or 'full')");
    for (char const* const text : {"selective (attention)", "selective activation recomputation", "core_attn", "SAC"})
        CHECK(modules(text) == "core_attn");

    auto const family = [](std::string const& text) {
        TrainingRow row = complete_row();
        row.framework = text;
        return built(row).framework->name;
    };
    CHECK(family("nanotron (Dec 2024-Jan 2025)") == "nanotron");
    CHECK(family("llm-foundry/Composer (PyTorch FSDP)") == "fsdp");
    CHECK(family("PyTorch FSDP (fms-fsdp) + torch.compile") == "torchtitan");
    CHECK(family("Megatron-DeepSpeed (Sailor)") == "deepspeed");
    CHECK(family("NVIDIA NeMo Framework Release 25.09") == "megatron");
    CHECK(family("Levanter (JAX)") == "maxtext");
    CHECK(family("EasyLM") == "maxtext");
    CHECK(family("PaxML") == "generic");
    CHECK(family("MindSpeed-LLM") == "megatron");
    CHECK(family("LLaMA-Factory") == "transformers");
    CHECK(family("LLaMA-Factory (DeepSpeed ZeRO-3)") == "deepspeed");
    CHECK(family("Axolotl + FSDP") == "fsdp");
    CHECK(family("OLMo-core") == "torchtitan");
    CHECK(family("OLMo") == "fsdp");
    CHECK(family("MCore v0.13") == "megatron");
    CHECK(family("Primus") == "megatron");
    CHECK(family("Primus (TorchTitan)") == "torchtitan");
    CHECK(family("LLM Foundry") == "fsdp");
    CHECK(family("PyTorch FSDP2") == "torchtitan");
    CHECK(family("PyTorch 2.11.0 FSDP2 compiled, one device") == "torchtitan");
    CHECK(family("PyTorch 2.11.0 FSDP2 eager, one device") == "fsdp");
    CHECK(family("torchtitan eager 0.2.2 (PyTorch 2.15.0)") == "fsdp");
    CHECK(family("torchtitan compiled, loss eager, 0.2.2 (PyTorch 2.15.0)") == "torchtitan");
    CHECK(family("GPT-NeoX") == "deepspeed");
    CHECK(family("PyTorch 2.11.0 eager, one device") == "pytorch");
    CHECK(family("PyTorch DDP") == "pytorch");
    CHECK(family("PyTorch 2.11.0 transformers eager, one device") == "transformers");
    CHECK(family("Hugging Face Trainer") == "transformers");
    CHECK(family("DeepSpeed (HF)") == "deepspeed");
    CHECK(family("JAX 0.11.2 (XLA), one device") == "maxtext");
    CHECK(family("an unheard-of stack") == "generic");
    // As --framework knows them, and what trains by Hugging Face's Trainer.
    for (char const* const text : {"trl", "TRL 0.12", "Unsloth", "ms-swift", "xtuner", "open-instruct", "PEFT", "hf"})
        CHECK(family(text) == "transformers");
    CHECK(family("PyTorch") == "pytorch");
    CHECK(family("NeMo PEFT") == "megatron");
    CHECK(family("MegaScale") == "megatron");
    CHECK(family("PyTorch Fully Sharded Data Parallel") == "fsdp");
    CHECK(family("torch_xla FSDP") == "maxtext");
    CHECK(family("PyTorch HSDP") == "fsdp");
}

TEST_CASE("torchtitan that runs op by op has the memory of eager code, in its own units") {
    TrainingRow row = complete_row();
    auto const memory = [&](std::string const& text) {
        row.framework = text;
        return built(row).framework->memory;
    };
    FrameworkMemory const eager = memory("PyTorch 2.11.0 FSDP2 eager");
    CHECK(eager.end_units.value == 0);
    CHECK(memory("PyTorch 2.11.0 FSDP2 eager, groups as torchtitan").end_units.value == 1);
    CHECK(memory("PyTorch 2.11.0 FSDP2 eager, groups as torchtitan").norm_copy_bytes.value ==
          eager.norm_copy_bytes.value);
    CHECK(memory("torchtitan eager 0.2.2").end_units.value == 1);
    CHECK(memory("torchtitan eager 0.2.2").norm_copy_bytes.value == 0);
    CHECK(memory("torchtitan eager 0.2.2").logits_bytes.value == eager.logits_bytes.value);
    CHECK(memory("torchtitan compiled, loss eager, 0.2.2").logits_bytes.value == eager.logits_bytes.value);
    CHECK(memory("torchtitan compiled 0.2.2").logits_bytes.value < eager.logits_bytes.value);
    row.notes = "torchao 0.10, torchtitan 0.0.2";
    CHECK(memory("torchtitan FSDP2 + torch.compile").logits_bytes.value > eager.logits_bytes.value);
    row.notes = "torchtitan 0.1.0";
    CHECK(memory("torchtitan FSDP2 + torch.compile").logits_bytes.value < eager.logits_bytes.value);
    CHECK(memory("torchtitan compiled 0.2.2").whole_embedding_gradient.value == 1);
    CHECK(memory("torchtitan compiled 0.3.0").whole_embedding_gradient.value == 0);
    CHECK(memory("torchtitan compiled 0.3.0").frees_gradients.value == 1);
    CHECK(built(row).plan.loss_chunks == 1);
    row.notes = "loss_chunks=8; gradients stay from step to step";
    CHECK(memory("torchtitan compiled 0.3.0, loss in 8 chunks, CUDA graphs").frees_gradients.value == 0);
    CHECK(memory("torchtitan compiled 0.3.0, loss in 8 chunks, CUDA graphs").whole_embedding_gradient.value == 0);
    CHECK(built(row).plan.loss_chunks == 8);
    row.notes = "1 x v5p-16; num_vocab_tiling=32; peak is the plan of the compiler";
    CHECK(built(row).plan.loss_chunks == 32);
}

TEST_CASE("torchtune with torch.compile has the constants of compiled steps, without those of eager ones") {
    TrainingRow row = complete_row();
    row.framework = "torchtune";
    auto const family = [&](std::string const& notes) {
        row.notes = notes;
        return built(row).framework->name;
    };
    CHECK(family("") == "fsdp");
    CHECK(family("batch 2, packed 2048, torch.compile") == "torchtitan");
    CHECK(family("cumulative optimisation table step: +packed dataset; peak") == "fsdp");
    CHECK(family("cumulative optimisation table step: +activation checkpointing") == "torchtitan");
    CHECK(built(row).time_reason.empty());
    CHECK(family("cumulative optimisation table step: baseline (unpacked)") == "fsdp");
    CHECK(built(row).time_reason.starts_with("sequences not packed"));
}

TEST_CASE("memory of a row's version and machine: nanotron before its pipeline fix, a GH200's system") {
    TrainingRow row = complete_row();
    row.framework = "nanotron";
    FrameworkMemory const later = built(row).framework->memory;
    row.notes = "after_pp_fix=False";
    FrameworkMemory const earlier = built(row).framework->memory;
    CHECK(later.held_gather_bytes.value == 4);
    CHECK(earlier.held_gather_bytes.value == 0);
    bool const keeps = *row.pp == 1 && *row.tp > 1;
    CHECK(earlier.step_buffer_bytes.value == later.step_buffer_bytes.value + (keeps ? 4.0 * 32 : 0));
    row.pp = 1;
    row.tp = 8;
    row.dp.reset();
    row.num_gpus = 64;
    CHECK(built(row).framework->memory.step_buffer_bytes.value == later.step_buffer_bytes.value + 4.0 * 32);
    CHECK(built(row).framework->name == "nanotron");
    row.framework = "Megatron-DeepSpeed";
    row.notes = "";
    Bytes const elsewhere = built(row).framework->memory.context.value;
    row.gpu = "GH200-96GB";
    CHECK((built(row).framework->memory.context.value - elsewhere).in(units::GB) == Approx(2.3));
}

TEST_CASE("the release of a row is that of its round, its container or its recipe") {
    auto const release = [](char const* framework, char const* notes, char const* source) {
        TrainingRow row = complete_row();
        row.framework = framework;
        row.notes = notes;
        row.source_ref = source;
        auto const found = release_of(row);
        return found ? name_of(*found) : "";
    };
    CHECK(release("Megatron-LM", "", "") == "");
    CHECK(release("NeMo (Megatron-Core)", "DGX-H100; container NeMo 24.05-era (README table)", "") == "24.05");
    CHECK(release("NeMo", "NeMo container 26.02.01; routing force-balanced", "") == "26.02");
    CHECK(release("NeMo", "recipe release v25.04.01; also in v25.03", "") == "25.04");
    CHECK(release("Megatron-Bridge", "", "docs/performance-summary-archive.md [25.09]") == "25.09");
    CHECK(release("PyTorch NVIDIA Release 24.04", "", "") == "24.04");
    CHECK(release("PyTorch NVIDIA Release 23.09", "", "mlcommons/training_results_v5.1:x") == "25.10");
    CHECK(release("NeMo", "", "mlcommons/training_results_v4.0:x") == "24.05");
    CHECK(release("NeMo 2.1.0, CUDA 12.3", "took release 22.19 s of 120.07", "mlcommons/training_results_v") == "");
}

TEST_CASE("Megatron of 2021-22 sent a rank's part of what lies whole on all, which was gathered in the domain") {
    TrainingRow row = gpt_row("FP16");
    row.num_gpus = 64;
    row.dp = 1;
    row.tp = 8;
    row.pp = 8;
    row.sequence_parallel = 0;
    TrainingCase const early = built(row);
    REQUIRE(early.plan.sequence_parallel == Switch::off);
    CHECK(early.framework->usual.sends == StageSends::parts);
    FrameworkProfile whole = *early.framework;
    whole.usual.sends = StageSends::whole;
    ClosedForm form(early.model, early.workload, *early.cluster, whole, early.plan.precision);
    Seconds const all = form.evaluate(early.plan, PipelineMethod::rounds).time;
    Seconds const predicted = TrainPredictor().predict(row).time.value();
    CHECK(predicted < all);
    CHECK(predicted > 0.9 * all);
    row.precision = "BF16";  // Megatron-Core
    CHECK(built(row).framework->usual.sends == StageSends::whole);
}

TEST_CASE("products of a row in fp8 are those of its release; one that states none lies between") {
    auto const scale = [](char const* notes, char const* precision) {
        TrainingRow row = complete_row();
        row.gpu = "H100";
        row.notes = notes;
        row.precision = precision;
        TrainingCase const c = built(row);
        return timing_for(*c.framework, "hopper", std::string(name_of(c.plan.precision))).gemm_scale.value;
    };
    double const early = scale("container NeMo 24.05", "FP8");
    double const late = scale("container NeMo 26.02", "FP8");
    double const unstated = scale("", "FP8");
    TrainingRow row = complete_row();
    row.gpu = "H100";
    auto const releases = *find_framework("megatron", "test").releases;
    auto const assumes = [&](std::vector<std::string> const& assumed, char const* what, Release release) {
        return std::find(assumed.begin(), assumed.end(), fmt::format("{} ({})", what, name_of(release))) !=
               assumed.end();
    };
    auto const assumes_release = [&] {
        return assumes(built(row).assumptions, "a release midway between those fitted",
                       midway(releases.first, releases.last));
    };
    // Own rows are of what the profile is of, before and after a fit.
    CHECK(assumes(CaseBuilder("megatron").build(row).assumptions, "the release that the profile is of", releases.at));
    CHECK(assumes_release());  // attention in any format
    row.gpu = "A100-SXM4-80GB";
    CHECK_FALSE(assumes_release());
    row.gpu = "H100";
    row.precision = "FP8";
    CHECK(assumes_release());
    row.notes = "container NeMo 24.05";
    CHECK_FALSE(assumes_release());
    CHECK(early < unstated);
    CHECK(unstated < late);
    CHECK(scale("container NeMo 29.01", "FP8") == late);  // no further than was measured
    CHECK(scale("container NeMo 24.05", "BF16") == scale("container NeMo 26.02", "BF16"));
}

TEST_CASE("Megatron's GPT of 2021 has unfused attention, dropout, biases and learned positions") {
    TrainingCase const c = built(gpt_row("FP16"));
    CHECK(c.plan.attention == AttentionKernel::unfused);
    CHECK(c.plan.dropout == Switch::on);
    CHECK(c.model.norm == NormKind::layer);
    CHECK(c.model.attention.qkv_bias);
    CHECK(c.model.position == PositionKind::learned);
}

TEST_CASE("Sailor's runs have attention op by op in fp32, and no dropout") {
    TrainingRow row = gpt_row("BF16");
    row.source_id = "sailor-gh200";
    row.framework = "Megatron-DeepSpeed (Sailor)";
    TrainingCase const c = built(row);
    CHECK(c.plan.attention == AttentionKernel::eager);
    CHECK(c.plan.dropout == Switch::off);
    CHECK(std::find(c.assumptions.begin(), c.assumptions.end(), "eager attention") != c.assumptions.end());
}

TEST_CASE("layers moved off the output matrix's stage leave the longest stage as short as it gets") {
    TrainingRow row = complete_row();
    row.pp = 4, row.dp = 2;
    row.notes = "pipeline of 4 stages; method redis";
    using Layers = std::vector<std::int64_t>;
    CHECK(built(row).plan.stage_layers == Layers{8, 8, 8, 8});
    row.vocab = 262144;  // as much work as 4.5 layers
    CHECK(built(row).plan.stage_layers == Layers{9, 9, 9, 5});
    row.vocab = 524288;
    CHECK(built(row).plan.stage_layers == Layers{10, 10, 11, 1});
}

TEST_CASE("notes that say where layers and states lie are refused where they cannot be expressed") {
    auto const why = [](std::string const& notes) {
        return skip_reason([&](TrainingRow& row) {
            row.pp = 4, row.dp = 2;
            row.notes = notes;
        });
    };
    CHECK(why("").empty());
    CHECK(why("stages hold [8, x] units") == "the list of layers per stage in the notes cannot be read");
    CHECK(why("decoder-first-pipeline-num-layers=33") == "an end of the pipeline holds more layers than the model has");
    CHECK(why("decoder-first-pipeline-num-layers=3; decoder-last-pipeline-num-layers=2") ==
          "layers of the first stage leave a rest that cannot be spread evenly");
    CHECK(why("pipeline-model-parallel-layout=E|(t|)*31tL") ==
          "pipeline layout of a number of chunks that pp does not divide");
    CHECK(why("Full Offload") == "offload of weights and optimizer through DeepSpeed");
    CHECK(why("activation CPU offload") == "offload of some activations, the share is not stated");
    CHECK(why("activation CPU offload of 2 layers").empty());
    CHECK_THAT(why("activation CPU offload of 2000 layers"), contains("offload of 2000 layers"));
}

TEST_CASE("a bandwidth measured with the run replaces the usual one") {
    TrainingRow row = complete_row();
    row.num_gpus = 16;
    row.dp = 16;
    double const usual = built(row).cluster->scale_out->ring_efficiency.value;
    row.notes = "measured bus bandwidth GB/s at job start world AR/AG/RS 100/80/80, intra-node 200/150/150; z";
    TrainingCase const c = built(row);
    double const nics = 8 * c.cluster->scale_out->bandwidth.value.base();
    CHECK(c.cluster->scale_out->ring_efficiency.value == Approx(80e9 / nics));
    CHECK(c.cluster->scale_out->ring_efficiency.value != usual);
    CHECK(c.cluster->scale_up.ring_efficiency.value == Approx(150e9 / c.cluster->scale_up.bandwidth.value.base()));
}

TEST_CASE("what a row does not state and is taken as usual is listed") {
    TrainingRow row = complete_row();
    CHECK(built(row).assumptions == std::vector<std::string>{"norms, biases and positions as in Llama"});
    row.zero_stage.reset();
    row.flash_attention.reset();
    row.recompute.clear();
    CHECK(built(row).assumptions.size() == 4);
}

TEST_CASE("the network between nodes is assumed of rows that use it, and of no others") {
    auto const assumes = [](char const* gpu, std::int64_t gpus, std::optional<std::int64_t> per_node) {
        TrainingRow row = complete_row();
        row.gpu = gpu;
        row.num_gpus = row.dp = row.global_batch = gpus;
        row.gpus_per_node = per_node;
        auto const assumed = built(row).assumptions;
        return std::find(assumed.begin(), assumed.end(), "network between nodes as usual for the device") !=
               assumed.end();
    };
    CHECK_FALSE(assumes("A100-80GB", 8, std::nullopt));
    CHECK_FALSE(assumes("A100-80GB", 1, std::nullopt));
    CHECK(assumes("A100-80GB", 16, std::nullopt));
    CHECK(assumes("A100-80GB", 8, 4));
    CHECK_FALSE(assumes("GB200", 64, 4));
    CHECK(assumes("GB200", 144, 4));
}

TEST_CASE("a machine of one's own is that of the rows which name its accelerator, and of no other") {
    ClusterSpec own = find_cluster("a100-sxm-80gb", "test");
    own.name = "mine";
    own.accelerator.name = "x100";
    own.accelerator.aliases = {};
    TrainingRow row = complete_row();
    row.gpu = "NVIDIA X100";
    CHECK(TrainPredictor().predict(row).skip_reason == "no profile for device 'NVIDIA X100'");
    TrainPredictor predictor;
    predictor.take_machine(own);
    CHECK(predictor.predict(row).time == TrainPredictor().predict(complete_row()).time);
    row.gpu = "H100";
    CHECK(predictor.predict(row).time == TrainPredictor().predict(row).time);
}
