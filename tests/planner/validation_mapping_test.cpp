#include "planner/validation/pipeline_layout.hpp"
#include "planner/validation/row_pipeline.hpp"
#include "planner/validation/train_validation.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

#include <functional>
#include <limits>

using namespace sextant;

namespace {

TrainingCase build(TrainingRow const& row) { return CaseBuilder().build(row); }

std::string reason(std::function<void(TrainingRow&)> const& change) {
    TrainingRow row = complete_row();
    change(row);
    try {
        build(row);
    } catch (RowSkip const& skip) {
        return skip.what();
    }
    return "";
}

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

}  // namespace

TEST_CASE("a complete row is taken as it stands") {
    TrainingCase const c = build(complete_row());
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

TEST_CASE("a step faster than its format allows is predicted and not scored") {
    TrainingRow row = complete_row();
    row.iter_time_s = 6;  // 0.76 of peak
    CHECK(build(row).time_reason.empty());
    row.iter_time_s = 5;  // 0.91 of peak
    CHECK(build(row).time_reason == "faster than 80 % of the peak of the format it states");
    row.gpu = "H100";
    row.precision = "FP8";
    CHECK(build(row).time_reason.empty());
}

TEST_CASE("notes tell the H100 with 96 GB from the usual one") {
    TrainingRow row = complete_row();
    row.gpu = "H100";
    CHECK(build(row).cluster->accelerator.name == "h100-sxm");
    row.notes = "memory percentage in the log implies a 95 GiB device";
    CHECK(build(row).cluster->accelerator.name == "h100-sxm-96gb");
    row.gpu = "A100-80GB";
    CHECK(build(row).cluster->accelerator.name == "a100-sxm-80gb");
}

TEST_CASE("a row that cannot be expressed says why") {
    CHECK(reason([](TrainingRow& r) { r.gpu = "Abacus 3000"; }) == "no profile for device 'Abacus 3000'");
    CHECK(reason([](TrainingRow& r) { r.gpu = ""; }) == "device is not stated");
    CHECK(reason([](TrainingRow& r) { r.vocab.reset(); }) == "vocab is not stated");
    CHECK(reason([](TrainingRow& r) { r.tp.reset(); }) == "tp is not stated");
    CHECK(reason([](TrainingRow& r) { r.micro_batch.reset(); }) == "micro_batch is not stated");
    CHECK(reason([](TrainingRow& r) { r.num_gpus = 12, r.tp = 8; }) ==
          "tp x pp x cp does not divide the number of accelerators");
    CHECK(reason([](TrainingRow& r) { r.dp = 4; }) == "stated dp is not GPUs / (tp x pp x cp)");
    CHECK(reason([](TrainingRow& r) { r.arch = "hybrid-mamba"; }).find("hybrid") == 0);
    CHECK(reason([](TrainingRow& r) { r.model = "BERT-24L"; }).find("encoder model") == 0);
    CHECK(reason([](TrainingRow& r) { r.model = "T5-11B"; }).find("encoder-decoder") == 0);
    CHECK(reason([](TrainingRow& r) { r.arch = "encoder-decoder"; }).find("encoder-decoder") == 0);
    CHECK(reason([](TrainingRow& r) { r.model = "Llama distillation"; }).find("distillation") == 0);
    CHECK(reason([](TrainingRow& r) { r.model = "Flextron-8B"; }).find("elastic model") == 0);
    CHECK(reason([](TrainingRow& r) { r.model = "7B (truncated)", r.layers.reset(); }) == "layers is not stated");
    CHECK(reason([](TrainingRow& r) { r.pp = 64, r.num_gpus = 64, r.dp = 1; }) == "more pipeline stages than layers");
    CHECK(reason([](TrainingRow& r) { r.head_dim.reset(), r.heads = 48, r.kv_heads = 48; }) ==
          "head_dim is not stated and heads do not divide hidden");
    CHECK(reason([](TrainingRow& r) { r.gated_mlp.reset(); }) == "gated_mlp is not stated");
    CHECK(reason([](TrainingRow& r) { r.layers = 20000; }) == "layers is more than 10,000");
    CHECK(reason([](TrainingRow& r) { r.ffn_hidden.reset(); }) == "ffn_hidden is not stated");
    CHECK(reason([](TrainingRow& r) { r.notes = "multi-latent attention"; }) ==
          "ranks of latent attention are not stated");
    CHECK(reason([](TrainingRow& r) { r.arch = "moe"; }) ==
          "mixture of experts with dimensions not stated and no preset of that name");
    CHECK(reason([](TrainingRow& r) { r.layers.reset(), r.hidden.reset(); }) ==
          "model dimensions are not stated and no preset has that name");
    CHECK(reason([](TrainingRow& r) { r.recompute = "full with offload of some"; }).find("recompute policy with") == 0);
    CHECK(reason([](TrainingRow& r) { r.notes = "SUSPECT: x"; }) == "marked SUSPECT by the collection");
    CHECK(reason([](TrainingRow& r) { r.precision = "int3"; }) == "precision 'int3' is not known here");
    CHECK(reason([](TrainingRow& r) { r.precision = "", r.gpu = "H100-80GB"; }) == "precision is not stated");
    CHECK(reason([](TrainingRow& r) { r.global_batch = 60; }).find("plan rejected: global batch 60") == 0);
    CHECK(reason([](TrainingRow& r) { r.recompute = "selective: moe, mlp"; }) ==
          "recompute of chosen modules is not modelled");
    CHECK(reason([](TrainingRow& r) { r.pp = 2, r.dp = 4, r.pp_schedule = "zb-h1 + vocab-1"; }) ==
          "schedule 'zb-h1 + vocab-1' is not modelled");
    CHECK(reason([](TrainingRow& r) { r.pp = 2, r.dp = 4, r.pp_schedule = "Hanayo"; }) ==
          "schedule 'Hanayo' is not modelled");
    CHECK(reason([](TrainingRow& r) {
              r.pp = 2, r.dp = 4, r.pp_schedule = "zb-v", r.vpp = 3;
          }).find("plan rejected: vpp 3 with schedule zb-v") == 0);
}

TEST_CASE("a schedule that a row names is the plan's") {
    auto const plan = [](std::string const& schedule) {
        TrainingRow row = complete_row();
        row.pp = 2, row.dp = 4;
        row.pp_schedule = schedule;
        return build(row).plan;
    };
    CHECK(plan("ZB-H1").schedule == Schedule::zb_h1);
    CHECK(plan("zb-v").schedule == Schedule::zb_v);
    CHECK(plan("zb-v").vpp == 2);
    CHECK(plan("ZBH1").schedule == Schedule::zb_h1);
    CHECK(plan("DualPipe-V (DeepSeek)").schedule == Schedule::dualpipe_v);
    CHECK(plan("dualpipe").schedule == Schedule::dualpipe);
    CHECK(plan("gpipe").schedule == Schedule::gpipe);
    CHECK(plan("1f1b").schedule == Schedule::one_f_one_b);
}

TEST_CASE("cells that are no usable number make a row unusable, not the table") {
    CHECK(from_cell("layers", "nan").unreadable == "layers is not finite");
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

TEST_CASE("spellings of precision, recompute and framework are understood") {
    auto const precision = [](std::string const& text) {
        TrainingRow row = complete_row();
        row.gpu = "H100-80GB";
        row.precision = text;
        return build(row).plan.precision;
    };
    CHECK(precision("amp_bf16") == Precision::bf16);
    CHECK(precision("FP8-tensorwise") == Precision::fp8);
    CHECK(precision("MXFP8") == Precision::fp8);
    CHECK(precision("Float8") == Precision::fp8);
    CHECK(precision("FP8 + torch.compile") == Precision::fp8);
    CHECK(precision("FP16 mixed") == Precision::fp16);

    auto const plan = [](std::string const& text) {
        TrainingRow row = complete_row();
        row.recompute = text;
        return build(row).plan;
    };
    CHECK(plan("full:uniform:1").recompute == Recompute::full);
    CHECK(plan("full:uniform:1").recompute_layers == 0);
    CHECK(plan("full:5 layers").recompute_layers == 5);
    CHECK(plan("selective").recompute == Recompute::selective);
    CHECK(plan("selective: every 2nd layer").recompute_layers == 16);
    CHECK(plan("selective:[moe_act]").recompute == Recompute::none);
    CHECK(plan("True").recompute == Recompute::full);
    CHECK(plan("off").recompute == Recompute::none);

    auto const family = [](std::string const& text) {
        TrainingRow row = complete_row();
        row.framework = text;
        return build(row).framework->name;
    };
    CHECK(family("nanotron (Dec 2024-Jan 2025)") == "nanotron");
    CHECK(family("llm-foundry/Composer (PyTorch FSDP)") == "fsdp");
    CHECK(family("PyTorch FSDP (fms-fsdp) + torch.compile") == "torchtitan");
    CHECK(family("Megatron-DeepSpeed (Sailor)") == "deepspeed");
    CHECK(family("NVIDIA NeMo Framework Release 25.09") == "megatron");
    CHECK(family("Levanter (JAX)") == "maxtext");
    CHECK(family("an unheard-of stack") == "generic");
}

TEST_CASE("torchtune with torch.compile has the constants of compiled steps, without those of eager ones") {
    TrainingRow row = complete_row();
    row.framework = "torchtune";
    auto const family = [&](std::string const& notes) {
        row.notes = notes;
        return build(row).framework->name;
    };
    CHECK(family("") == "fsdp");
    CHECK(family("batch 2, packed 2048, torch.compile") == "torchtitan");
    CHECK(family("cumulative optimisation table step: +packed dataset; peak") == "fsdp");
    CHECK(family("cumulative optimisation table step: +activation checkpointing") == "torchtitan");
    CHECK(build(row).time_reason.empty());
    CHECK(family("cumulative optimisation table step: baseline (unpacked)") == "fsdp");
    CHECK(build(row).time_reason.starts_with("sequences not packed"));
}

TEST_CASE("memory of a row's version and machine: nanotron before its pipeline fix, a GH200's system") {
    TrainingRow row = complete_row();
    row.framework = "nanotron";
    FrameworkMemory const later = build(row).framework->memory;
    row.notes = "after_pp_fix=False";
    FrameworkMemory const earlier = build(row).framework->memory;
    CHECK(later.held_gather_bytes.value == 4);
    CHECK(earlier.held_gather_bytes.value == 0);
    bool const keeps = *row.pp == 1 && *row.tp > 1;
    CHECK(earlier.step_buffer_bytes.value == later.step_buffer_bytes.value + (keeps ? 4.0 * 32 : 0));
    row.pp = 1;
    row.tp = 8;
    row.dp.reset();
    row.num_gpus = 64;
    CHECK(build(row).framework->memory.step_buffer_bytes.value == later.step_buffer_bytes.value + 4.0 * 32);
    CHECK(build(row).framework->name == "nanotron");
    row.framework = "Megatron-DeepSpeed";
    row.notes = "";
    Bytes const elsewhere = build(row).framework->memory.context.value;
    row.gpu = "GH200-96GB";
    CHECK((build(row).framework->memory.context.value - elsewhere).in(units::GB) == Approx(3.6));
}

TEST_CASE("Megatron's GPT of 2021 has unfused attention, dropout, biases and learned positions") {
    TrainingRow row = complete_row();
    row.model = "GPT-7B";
    row.gated_mlp = 0;
    row.precision = "FP16";
    row.flash_attention.reset();
    TrainingCase const c = build(row);
    CHECK(c.plan.attention == AttentionKernel::unfused);
    CHECK(c.plan.dropout == Switch::on);
    CHECK(c.model.norm == NormKind::layer);
    CHECK(c.model.attention.qkv_bias);
    CHECK(c.model.position == PositionKind::learned);
}

TEST_CASE("nanotron's stages follow cost") {
    ModelSpec model = build(complete_row()).model;
    model.hidden = 2048;
    model.attention.heads = model.attention.kv_heads = 32;
    model.attention.head_dim = model.attention.value_head_dim = 64;
    model.mlp.intermediate = 8192;
    model.vocab = 131072;
    model.layers.assign(16, {});
    // Stage 0 of the 1.34B runs held 10, 5, 3 and 2 layers at pp 2, 4, 8 and 16; 11 and 6 at pp 2 and 4 before the rule
    // changed.
    for (auto const& [pp, first] : {std::pair{2, 10}, {4, 5}, {8, 3}, {16, 2}}) {
        auto const stages = cost_balanced_layers(model, pp, Tie::next_stage);
        CHECK(stages.front() == first);
        std::int64_t sum = 0;
        for (auto const n : stages)
            sum += n;
        CHECK(sum == 16);
    }
    CHECK(cost_balanced_layers(model, 2, Tie::same_stage).front() == 11);
    CHECK(cost_balanced_layers(model, 4, Tie::same_stage).front() == 6);
}

TEST_CASE("stages stated in the notes are used, and refused when they are another model's") {
    TrainingRow row = complete_row();
    row.pp = 2;
    row.dp = 4;
    row.notes = "x; stages hold [15, 19] units counting embedding and head as one each; y";
    CHECK(build(row).plan.stage_layers == std::vector<std::int64_t>{14, 18});
    row.notes = "stages hold [13, 13] units counting embedding and head as one each";
    CHECK_THROWS_WITH(build(row), contains("another number of layers"));
}

TEST_CASE("interleaved chunks that cannot be equal are full, with short ends") {
    auto const stages = [](std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
        TrainingRow row = complete_row();
        row.layers = layers;
        row.dp = 1;
        row.pp = pp;
        row.vpp = vpp;
        row.num_gpus = pp;
        return build(row).plan.stage_layers;
    };
    // Source: the pipeline layouts of Megatron-Bridge's DeepSeek-V3 recipes.
    CHECK(stages(61, 8, 2) == std::vector<std::int64_t>{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 1});
    auto const ends = stages(61, 8, 4);
    REQUIRE(ends.size() == 32);
    CHECK(ends.front() == 1);
    CHECK(ends[1] == 2);
    CHECK(ends[30] == 2);
    CHECK(ends.back() == 0);
    CHECK(stages(64, 8, 4).empty());  // equal chunks need no word
    CHECK(reason([](TrainingRow& row) {
              row.layers = 33;
              row.dp = 1;
              row.pp = 8;
              row.num_gpus = 8;
              row.vpp = 3;
          }).find("cannot be split") != std::string::npos);
}

TEST_CASE("Megatron's pipeline layouts read as they are written") {
    auto const layers = [](std::string_view text) {
        std::vector<std::int64_t> out;
        for (LayoutStage const& stage : pipeline_layout(text))
            out.push_back(stage.layers);
        return out;
    };
    CHECK(layers("Et*3|(tt|)*2mL") == std::vector<std::int64_t>{3, 2, 2, 0});
    CHECK(layers("Ett|tt|L") == std::vector<std::int64_t>{2, 2, 0});
    CHECK(layers("E|(t|(t,t|)*2)*2,L") == std::vector<std::int64_t>{0, 1, 2, 2, 1, 2, 2, 0});
    // Source: Megatron-Core's page of custom layouts: DeepSeek-V3 on 16 x 2 chunks.
    auto const deepseek = pipeline_layout("Et*3|(tt|)*29,m|L");
    REQUIRE(deepseek.size() == 32);
    CHECK(deepseek.front() == LayoutStage{.embeddings = 1, .layers = 3});
    CHECK(deepseek[30] == LayoutStage{.predictions = 1});
    CHECK(deepseek[31] == LayoutStage{.losses = 1});
    auto const* const wrong = GENERATE("Ex", "(tt|", "tt)", "t*", "((t)*99999)*99999", "t*-1");
    INFO(wrong);
    CHECK_THROWS_AS(pipeline_layout(wrong), RowSkip);
}

TEST_CASE("a layout in the notes, and layers said for the ends, are the plan's") {
    TrainingRow row = complete_row();
    row.layers = 13;
    row.pp = 2;
    row.dp = 4;
    row.notes = "x; pipeline-model-parallel-layout=Et|(tt|)*6L; y";
    auto const plan = build(row).plan;
    CHECK(plan.vpp == 4);
    CHECK(plan.stage_layers == std::vector<std::int64_t>{1, 2, 2, 2, 2, 2, 2, 0});
    row.notes = "pipeline-model-parallel-layout=Et|(tt|)*5L";
    CHECK_THROWS_AS(build(row), RowSkip);
    row.layers = 12;
    row.pp = 4;
    row.dp = 2;
    row.notes = "decoder-first-pipeline-num-layers=2";
    CHECK(build(row).plan.stage_layers == std::vector<std::int64_t>{2, 4, 4, 2});
    row.notes = "decoder-first-pipeline-num-layers=3; decoder-last-pipeline-num-layers=1";
    CHECK(build(row).plan.stage_layers == std::vector<std::int64_t>{3, 4, 4, 1});
}

TEST_CASE("notes that say where layers and states lie are refused where they cannot be expressed") {
    auto const why = [](std::string const& notes) {
        return reason([&](TrainingRow& row) {
            row.pp = 4, row.dp = 2;
            row.notes = notes;
        });
    };
    CHECK(why("").empty());
    CHECK(why("stages hold [8, x] units") == "the list of layers per stage in the notes cannot be read");
    CHECK(why("method redis") == "layers moved between stages by method redis: the split is not stated");
    CHECK(why("decoder-first-pipeline-num-layers=33") == "an end of the pipeline holds more layers than the model has");
    CHECK(why("decoder-first-pipeline-num-layers=3; decoder-last-pipeline-num-layers=2") ==
          "layers of the first stage leave a rest that cannot be spread evenly");
    CHECK(why("pipeline-model-parallel-layout=E|(t|)*31tL") ==
          "pipeline layout of a number of chunks that pp does not divide");
    CHECK(why("Full Offload") == "offload of weights and optimizer through DeepSpeed");
    CHECK(why("activation CPU offload") == "offload of some activations, the share is not stated");
}

TEST_CASE("a bandwidth measured with the run replaces the usual one") {
    TrainingRow row = complete_row();
    row.num_gpus = 16;
    row.dp = 16;
    double const usual = build(row).cluster->scale_out->ring_efficiency.value;
    row.notes = "measured bus bandwidth GB/s at job start world AR/AG/RS 100/80/80, intra-node 200/150/150; z";
    TrainingCase const c = build(row);
    double const nics = 8 * c.cluster->scale_out->bandwidth.value.base();
    CHECK(c.cluster->scale_out->ring_efficiency.value == Approx(80e9 / nics));
    CHECK(c.cluster->scale_out->ring_efficiency.value != usual);
    CHECK(c.cluster->scale_up.ring_efficiency.value == Approx(150e9 / c.cluster->scale_up.bandwidth.value.base()));
}

TEST_CASE("what a row does not state and is taken as usual is listed") {
    TrainingRow row = complete_row();
    CHECK(build(row).assumptions == std::vector<std::string>{"norms, biases and positions as in Llama"});
    row.zero_stage.reset();
    row.flash_attention.reset();
    row.recompute.clear();
    CHECK(build(row).assumptions.size() == 4);
}

TEST_CASE("rows of adapters: rank and targets from the notes, otherwise the framework's, which is assumed") {
    TrainingRow row = complete_row();
    CHECK_FALSE(build(row).plan.adapters.on());
    row.model = "test 8B LoRA";
    TrainingCase const plain = build(row);
    CHECK(plain.plan.adapters.rank == 16);
    CHECK(targets_text(plain.plan.adapters.targets) == "qkv");
    CHECK(plain.assumptions.back().find("adapters of rank 16 on qkv as in NeMo") == 0);
    row.notes = "LoRA rank-32 attention adapters, packed";
    TrainingCase const stated = build(row);
    CHECK(stated.plan.adapters.rank == 32);
    CHECK(targets_text(stated.plan.adapters.targets) == "qkv,o");
    CHECK(stated.plan.adapters.base == BaseWeights::bf16);
    row.model = "test 8B QLoRA";
    CHECK(build(row).plan.adapters.base == BaseWeights::nf4);
    row.framework = "torchtune";
    row.notes = "QLoRA";
    CHECK(targets_text(build(row).plan.adapters.targets) == "q,v,o,gate,up,down");
    row.recompute = "";
    CHECK(build(row).plan.recompute == Recompute::full);
    row.global_batch = row.iter_time_s = std::nullopt;
    row.tokens_per_s = 1000;
    TrainingCase const throughput = build(row);
    CHECK(throughput.time_reason.find("torchtune's rows differ in recompute") == 0);
    CHECK(throughput.workload.global_batch == throughput.plan.dp * throughput.plan.micro_batch);
    CHECK(measured_time(row, throughput)->base() == Approx(static_cast<double>(throughput.workload.tokens()) / 1000));
}

TEST_CASE("rows of adapters: a rank that does not fit is a skip, FLOP rates are no time, steps give the micro-batch") {
    CHECK(reason([](TrainingRow& r) {
              r.model = "x LoRA";
              r.notes = "LoRA rank-99999 attention adapters";
          }).find("plan rejected: rank 99999 is larger") == 0);
    TrainingRow row = complete_row();
    row.model = "x LoRA";
    row.iter_time_s = row.tokens_per_s = row.tokens_per_s_per_gpu = std::nullopt;
    row.mfu_pct = 40;
    row.model_tflops_per_gpu = 400;
    CHECK_FALSE(measured_time(row, build(row)).has_value());
    row.micro_batch = std::nullopt;
    row.notes = "gradient_accumulation_steps=4; ";
    CHECK(build(row).plan.micro_batch == 2);  // 64 sequences over dp 8 and 4 steps
}

TEST_CASE("rows of MLPerf's adapters: NeMo in fp8 where neither is stated, with fp8 weights") {
    TrainingRow row = complete_row();
    row.source_id = "mlperf-lora70b";
    row.model = "Llama-2-70B LoRA";
    row.gpu = "H100-80GB";
    row.framework = "PyTorch NVIDIA Release 24.04";
    row.precision = "";
    row.notes = "LoRA rank-16 attention adapters, packed 8k sequences (MLPerf reference)";
    TrainingCase const c = build(row);
    CHECK(c.framework->name == "megatron");
    CHECK(c.plan.precision == Precision::fp8);
    CHECK(c.plan.adapters.base == BaseWeights::fp8);
    CHECK(c.plan.recompute == Recompute::none);
    row.gpu = "MI300X";
    row.recompute = "";
    CHECK(build(row).plan.recompute_layers == 21);
    CHECK(c.assumptions.size() >= 2);
}
