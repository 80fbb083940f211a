#include "planner/validation/train_validation.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

#include <algorithm>

using namespace sextant;

TEST_CASE("rows of adapters: rank and targets from the notes, otherwise the framework's, which is assumed") {
    TrainingRow row = complete_row();
    CHECK_FALSE(built(row).plan.adapters.on());
    row.model = "test 8B LoRA";
    TrainingCase const plain = built(row);
    CHECK(plain.plan.adapters.rank == 16);
    CHECK(targets_text(plain.plan.adapters.targets) == "qkv");
    CHECK(plain.assumptions.back().find("adapters of rank 16 on qkv as in NeMo") == 0);
    row.notes = "LoRA rank-32 attention adapters, packed";
    TrainingCase const stated = built(row);
    CHECK(stated.plan.adapters.rank == 32);
    CHECK(targets_text(stated.plan.adapters.targets) == "qkv,o");
    CHECK(stated.plan.adapters.base == BaseWeights::bf16);
    row.model = "test 8B QLoRA";
    CHECK(built(row).plan.adapters.base == BaseWeights::nf4);
    row.framework = "torchtune";
    row.notes = "QLoRA";
    CHECK(targets_text(built(row).plan.adapters.targets) == "q,v,o,gate,up,down");
    row.recompute = "";
    CHECK(built(row).plan.recompute == Recompute::full);
    row.global_batch = row.iter_time_s = std::nullopt;
    row.tokens_per_s = 1000;
    TrainingCase const throughput = built(row);
    CHECK(throughput.time_reason.find("torchtune's rows differ in recompute") == 0);
    CHECK(throughput.workload.global_batch == throughput.plan.dp * throughput.plan.micro_batch);
    CHECK(measured_time(row, throughput)->base() == Approx(static_cast<double>(throughput.workload.tokens()) / 1000));
}

TEST_CASE("rows of adapters: that they are, and their rank, may be said by the framework or the notes") {
    auto const adapters = [](char const* framework, char const* notes) {
        TrainingRow row = complete_row();
        row.framework = framework;
        row.notes = notes;
        return built(row).plan.adapters;
    };
    CHECK(adapters("PEFT LoRA", "").rank == 16);
    CHECK(adapters("PEFT LoRA", "rank 64").rank == 64);
    CHECK(adapters("Axolotl", "QLoRA rank 32, nf4").rank == 32);
    CHECK(adapters("Axolotl", "QLoRA rank 32, nf4").base == BaseWeights::nf4);
    CHECK(adapters("Axolotl QLoRA", "r=64").rank == 64);
    CHECK(adapters("Axolotl QLoRA", "r=64").base == BaseWeights::nf4);
    CHECK(adapters("Unsloth", "lora_r: 8; load_in_4bit").base == BaseWeights::nf4);
    CHECK(adapters("Unsloth", "LoRA, memory of rank 0").rank == 16);
    CHECK(targets_text(adapters("PEFT", "LoRA r=8, all linear layers").targets) == "all");
    // Ranks of latent attention, what a run is compared with, other words.
    for (char const* const notes : {"latent (q_lora 1536, kv_lora 512)", "q-lora-rank 1536", "kv-lora-rank=512",
                                    "no LoRA", "full finetune, slower than LoRA", "exploration", "rank 8"}) {
        INFO(notes);
        CHECK_FALSE(adapters("Megatron-LM", notes).on());
    }
}

TEST_CASE("rows of NVIDIA's fine-tuning have the documents of packed SQuAD, others have none") {
    TrainingRow row = complete_row();
    row.source_id = "nvidia-nemo-perf-docs";
    row.framework = "NeMo (Megatron-Core)";
    CHECK(built(row).workload.document == 0);
    for (char const* const notes : {"SFT fine-tune on packed SQuAD sequences", "LoRA fine-tuning"}) {
        row.notes = notes;
        TrainingCase const c = built(row);
        CHECK(c.workload.document == 200);
        CHECK(std::count(c.assumptions.begin(), c.assumptions.end(),
                         "documents of 200 tokens, as SQuAD's packed examples are") == 1);
    }
    row.source_id = "mlperf-lora70b";
    CHECK(built(row).workload.document == 0);
}

TEST_CASE("rows of adapters: a rank that does not fit is a skip, FLOP rates are no time, steps give the micro-batch") {
    CHECK(skip_reason([](TrainingRow& r) {
              r.model = "x LoRA";
              r.notes = "LoRA rank-99999 attention adapters";
          }).find("plan rejected: rank 99999 is larger") == 0);
    TrainingRow row = complete_row();
    row.model = "x LoRA";
    row.iter_time_s = row.tokens_per_s = row.tokens_per_s_per_gpu = std::nullopt;
    row.mfu_pct = 40;
    row.model_tflops_per_gpu = 400;
    CHECK_FALSE(measured_time(row, built(row)).has_value());
    row.micro_batch = std::nullopt;
    row.notes = "gradient_accumulation_steps=4; ";
    CHECK(built(row).plan.micro_batch == 2);  // 64 sequences over dp 8 and 4 steps
}

TEST_CASE("rows of MLPerf's adapters: NeMo in fp8 where neither is stated, with fp8 weights") {
    TrainingRow row = complete_row();
    row.source_id = "mlperf-lora70b";
    row.model = "Llama-2-70B LoRA";
    row.gpu = "H100-80GB";
    row.framework = "PyTorch NVIDIA Release 24.04";
    row.precision = "";
    row.notes = "LoRA rank-16 attention adapters, packed 8k sequences (MLPerf reference)";
    TrainingCase const c = built(row);
    CHECK(c.framework->name == "megatron");
    CHECK(c.plan.precision == Precision::fp8);
    CHECK(c.plan.adapters.base == BaseWeights::fp8);
    CHECK(c.plan.recompute == Recompute::none);
    row.gpu = "MI300X";
    row.recompute = "";
    CHECK(built(row).plan.recompute_layers == 21);
    CHECK(c.assumptions.size() >= 2);
}

TEST_CASE("rows of MLPerf's adapters keep inputs of activations in fp8 where they would not fit") {
    TrainingRow row = complete_row();
    row.source_id = "mlperf-lora70b";
    row.model = "Llama-2-70B LoRA";
    row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
    row.framework = "NVIDIA NeMo";
    row.precision = "FP8";
    row.notes = "LoRA rank-16 attention adapters, packed 8k sequences (MLPerf reference)";
    row.seq_len = 8192;
    row.global_batch = 8;
    auto const narrow = [&](char const* gpu) {
        row.gpu = gpu;
        TrainingCase const c = built(row);
        bool const said = std::count(c.assumptions.begin(), c.assumptions.end(),
                                     "inputs of activations in fp8, without which it does not fit") == 1;
        CHECK(said == (c.plan.fp8_activation_input == Switch::on));
        return said;
    };
    CHECK(narrow("B200"));
    CHECK_FALSE(narrow("B300"));
    CHECK_FALSE(narrow("MI325X"));
    CHECK_FALSE(narrow("A100-80GB"));  // nor with it
    row.source_id = "other";
    CHECK_FALSE(narrow("B200"));
}

TEST_CASE("a row whose notes say that its peak is what was allocated is held against that") {
    TrainingRow row = complete_row();
    CHECK(built(row).memory_quantity == MemoryQuantity::reserved_fullest);
    row.notes = "states=bf16; peak is max allocated, max reserved 17.9453 GB";
    CHECK(built(row).memory_quantity == MemoryQuantity::allocated_fullest);
}

TEST_CASE("rows whose notes have all of the state in bf16 are trained so, and no others") {
    auto const optimizer = [](char const* notes) {
        TrainingRow row = complete_row();
        row.notes = notes;
        return built(row).plan.optimizer;
    };
    CHECK(optimizer("states=bf16; median of 10 steps, p10 0.1 s") == Optimizer::adamw_pure_bf16);
    CHECK(optimizer("peak memory ACTIVE 25.5 GiB; bf16 full finetune single device") == Optimizer::adamw_pure_bf16);
    CHECK(optimizer("bf16 full finetune single device, +8-bit AdamW") == Optimizer::adamw_8bit);
    CHECK(optimizer("states=fp32 with bf16 autocast; median of 10 steps") == Optimizer::adamw);
    CHECK(optimizer("") == Optimizer::adamw);
}

TEST_CASE("rows of Megatron-FSDP reduce gradients in bf16, other rows of Megatron as the framework does") {
    TrainingRow row = complete_row();
    row.framework = "Megatron-Core";
    row.zero_stage = 3;
    row.dp = 8;
    row.notes = "Megatron-FSDP";
    CHECK(built(row).plan.gradients == GradientFormat::bf16);
    row.zero_stage = 1;
    CHECK(built(row).plan.gradients == GradientFormat::usual);
    row.zero_stage = 3;
    row.notes = "";
    CHECK(built(row).plan.gradients == GradientFormat::usual);
}

TEST_CASE("rows of llm-foundry and of Lightning's FSDP reduce gradients in bf16, other rows of FSDP in fp32") {
    TrainingRow row = complete_row();
    row.zero_stage = 3;
    auto const gradients = [&](char const* framework) {
        row.framework = framework;
        return built(row).plan.gradients;
    };
    CHECK(gradients("PyTorch FSDP") == GradientFormat::usual);
    CHECK(gradients("lit-gpt FSDP") == GradientFormat::bf16);
    row.source_id = "llm-foundry";
    CHECK(gradients("llm-foundry/Composer (PyTorch FSDP)") == GradientFormat::bf16);
    row.precision = "FP16";
    CHECK(gradients("llm-foundry/Composer (PyTorch FSDP)") == GradientFormat::usual);
}

TEST_CASE(
    "rows of MLPerf's pretraining: NeMo, with gradients in bf16, in fp8 unless the device may have been submitted in "
    "fp4") {
    TrainingRow row = complete_row();
    row.source_id = "mlperf-pretrain";
    row.gpu = "B200";
    row.framework = "PyTorch NVIDIA Release 25.09";
    row.precision = "";
    CHECK(skip_reason([&](TrainingRow& r) { r = row; }).find("precision") != std::string::npos);
    row.notes = "layout from submission config config_DGXB200_8x8x1xtp1pp1cp2_8b.sh, matched by node count";
    TrainingCase const c = built(row);
    CHECK(c.framework->name == "megatron");
    CHECK(c.plan.precision == Precision::fp8);
    CHECK(c.plan.gradients == GradientFormat::bf16);
    // Of devices with nothing narrower that is submitted, whatever it calls its software.
    row.notes = "";
    row.framework = "PyTorch, ROCm 7.0.1";
    for (char const* const gpu : {"H200", "MI355X"}) {
        row.gpu = gpu;
        CHECK(built(row).framework->name == "megatron");
        CHECK(built(row).plan.precision == Precision::fp8);
    }
}
