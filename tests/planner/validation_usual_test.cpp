#include "planner/validation/train_validation.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

using namespace sextant;

namespace {

/// A model of 70 B parameters, which its state and activations fill.
TrainingRow large_row(char const* framework, std::int64_t gpus) {
    TrainingRow row = complete_row();
    row.model = "Llama-2-70B";
    row.layers = 80, row.hidden = 8192, row.ffn_hidden = 28672, row.heads = 64, row.kv_heads = 8;
    row.framework = framework;
    row.gpu = "H100";
    row.num_gpus = gpus;
    row.dp = row.tp = row.pp = row.zero_stage = std::nullopt;
    row.global_batch = gpus;
    row.peak_mem_gb.reset();
    row.recompute = "";
    return row;
}

bool says(RowPrediction const& prediction, std::string const& assumption) {
    auto const& all = prediction.assumptions;
    return std::find(all.begin(), all.end(), assumption) != all.end();
}

}  // namespace

TEST_CASE("a run that ran and states no recompute has it where it would not fit without") {
    TrainingRow row = large_row("FSDP", 64);
    row.micro_batch = 4;
    row.global_batch = 256;
    RowPrediction const open = TrainPredictor().predict(row);
    CHECK(says(open, "full recompute, without which it does not fit"));
    CHECK(open.fits == true);
    CHECK_FALSE(open.ran);  // that it fits was put in
    row.recompute = "full";
    CHECK(*open.time == *TrainPredictor().predict(row).time);
    row.recompute = "none";
    CHECK(TrainPredictor().predict(row).fits == false);
    row.recompute = "";
    row.notes = "STATUS=OOM";
    CHECK(TrainPredictor().predict(row).fits == false);
    // Megatron recomputes some modules or layers: all of it says less than none.
    TrainingRow megatron = large_row("Megatron-LM", 64);
    megatron.tp = 4, megatron.pp = 1, megatron.zero_stage = 1, megatron.micro_batch = 4, megatron.global_batch = 256;
    CHECK(TrainPredictor().predict(megatron).fits == false);
}

TEST_CASE("a mixture that states no expert parallelism has the least that fits") {
    TrainingRow row = large_row("Megatron-LM", 64);
    row.model = "Mixtral 8x7B";
    row.arch = "moe";
    row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
    row.gated_mlp = row.tied_embed = std::nullopt;
    row.tp = 4, row.pp = 1, row.recompute = "full", row.micro_batch = 1, row.global_batch = 256;
    RowPrediction const open = TrainPredictor().predict(row);
    REQUIRE(open.skip_reason.empty());
    CHECK(open.fits == true);
    auto const with = [&](std::int64_t ep) {
        row.ep = ep;
        return TrainPredictor().predict(row);
    };
    CHECK(with(1).fits == false);
    for (std::int64_t ep = 2; ep <= 8; ep *= 2)
        if (with(ep).fits == true) {
            CHECK(says(open, "expert parallelism " + std::to_string(ep) + ", the least that fits"));
            CHECK(*with(ep).time == *open.time);
            break;
        }
}

TEST_CASE("frameworks without pipelines have replicas alone where a row states no degrees") {
    for (char const* const framework : {"HF Trainer", "Unsloth", "axolotl", "PyTorch DDP"}) {
        INFO(framework);
        TrainingRow row = complete_row();
        row.framework = framework;
        row.dp = row.tp = row.pp = row.zero_stage = std::nullopt;
        CHECK(built(row).plan.dp == 8);
    }
    TrainingRow row = complete_row();
    row.dp = row.tp = row.pp = std::nullopt;
    CHECK_THROWS_AS(built(row), RowSkip);  // Megatron has others
}

TEST_CASE("tokens are sent to a node once by whatever names DeepEP, and by DeepSeek's own stack") {
    auto const dispatcher = [](char const* framework, char const* notes) {
        TrainingRow row = complete_row();
        row.model = "DeepSeek-V3";
        row.arch = "moe";
        row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
        row.gated_mlp = row.tied_embed = std::nullopt;
        row.gpu = "H800", row.num_gpus = 128, row.dp = 8, row.pp = 16, row.ep = 8;
        row.framework = framework, row.notes = notes;
        return built(row).plan.dispatcher;
    };
    CHECK(dispatcher("Megatron-Core", "") == Dispatcher::all_to_all);
    CHECK(dispatcher("Megatron-Core", "dispatcher DeepEP") == Dispatcher::deduplicated);
    CHECK(dispatcher("Megatron-Core + deepep", "") == Dispatcher::deduplicated);
    CHECK(dispatcher("HAI-LLM", "") == Dispatcher::deduplicated);
}

TEST_CASE("steps that send a token once over EFA are not scored: no profile has how long hosts take to") {
    TrainingRow row = complete_row();
    row.model = "Qwen3-30B-A3B";
    row.arch = "moe";
    row.layers = row.hidden = row.ffn_hidden = row.heads = row.kv_heads = row.head_dim = row.vocab = std::nullopt;
    row.gated_mlp = row.tied_embed = std::nullopt;
    row.gpu = "H100", row.num_gpus = 64, row.tp = 1, row.pp = 2, row.dp = 32, row.ep = 32;
    row.framework = "Megatron-Bridge 0.4.2", row.notes = "dispatcher=DeepEP+UCCL";
    row.inter_node_link = "EFA";
    CHECK(built(row).time_reason.find("devices do not send") != std::string::npos);
    row.notes = "dispatcher=NCCL alltoall";
    CHECK(built(row).time_reason.empty());
    row.notes = "";  // what recipes have, where it runs
    CHECK(built(row).plan.dispatcher == Dispatcher::all_to_all);
    row.notes = "dispatcher=DeepEP", row.inter_node_link = "InfiniBand";
    CHECK(built(row).time_reason.empty());
    row.notes = "";
    CHECK(built(row).plan.dispatcher == Dispatcher::deduplicated);
}

TEST_CASE("attention of models before fused kernels is unfused on the devices of then") {
    auto const attention = [](char const* framework, char const* gpu, char const* precision, bool layer_norm) {
        TrainingRow row = complete_row();
        row.model = layer_norm ? "GPT-NeoX-20B" : "Llama-like-7B";
        if (layer_norm) row.gated_mlp = 0;
        row.framework = framework, row.gpu = gpu, row.precision = precision;
        row.flash_attention.reset();
        return built(row).plan.attention;
    };
    CHECK(attention("Megatron-LM", "A100-80GB", "fp16", true) == AttentionKernel::unfused);
    CHECK(attention("Megatron-LM", "H100", "fp16", true) == AttentionKernel::flash);
    CHECK(attention("Megatron-LM", "MI300X", "fp16", true) == AttentionKernel::flash);
    CHECK(attention("GPT-NeoX", "A100-40GB", "fp16", true) == AttentionKernel::unfused);
    CHECK(attention("GPT-NeoX", "A100-40GB", "bf16", false) == AttentionKernel::flash);
}

TEST_CASE("context parallelism of DeepSpeed is by heads, where they divide") {
    TrainingRow row = complete_row();
    row.framework = "DeepSpeed";
    row.cp = 8, row.dp = 1;
    CHECK(built(row).plan.cp_mode == ContextParallel::ulysses);
    row.framework = "Megatron-LM";
    CHECK(built(row).plan.cp_mode == ContextParallel::ring);
    row.notes = "DeepSpeed-Ulysses attention";
    CHECK(built(row).plan.cp_mode == ContextParallel::ulysses);
    row.heads = row.kv_heads = 36, row.hidden = 36 * 128;
    CHECK(built(row).plan.cp_mode == ContextParallel::ring);
}

TEST_CASE("sequence parallelism is not assumed where the sequence does not divide") {
    TrainingRow row = complete_row();
    row.tp = 4, row.dp = 2;
    CHECK(built(row).plan.sequence_parallel == Switch::on);
    row.seq_len = 4098;
    CHECK(built(row).plan.sequence_parallel == Switch::off);
}

TEST_CASE("a rate of the hardware is the model's where nothing runs again") {
    TrainingRow row = complete_row();
    row.iter_time_s.reset();
    row.hw_tflops_per_gpu = 190;
    TrainingRow model = complete_row();
    model.iter_time_s.reset();
    model.model_tflops_per_gpu = 190;
    CHECK(*TrainPredictor().predict(row).measured_time == *TrainPredictor().predict(model).measured_time);
    row.recompute = "16 layers";
    CHECK_FALSE(TrainPredictor().predict(row).measured_time);
}

TEST_CASE("a batch in tokens is as many whole sequences as they make") {
    auto const batch = [](char const* cell, char const* sequence) {
        return training_rows(parse_csv("model,gpu,num_gpus,seq_len,global_batch_seqs\nm,A100,8," +
                                           std::string(sequence) + "," + cell + "\n",
                                       "t.csv"))
            .at(0)
            .global_batch;
    };
    CHECK(batch("4M tokens", "4096") == 1024);
    CHECK(batch("4M tokens", "2000") == 2000);
    CHECK(batch("512k tokens", "2048") == 256);
    CHECK(batch("1536", "2048") == 1536);
    CHECK_FALSE(batch("4M tokens", ""));
}

TEST_CASE("a framework with a constant changed is that framework still") {
    TrainingRow row = complete_row();
    row.tp = 4, row.dp = 2;
    row.sequence_parallel.reset();
    row.zero_stage.reset();
    for (char const* const profile : {"megatron", "megatron:dp_overlap=1"}) {
        TrainingCase const c = CaseBuilder(profile).build(row);
        CHECK(c.plan.sequence_parallel == Switch::on);
        CHECK(c.plan.zero == 1);
    }
}

TEST_CASE("tying and positions that the columns do not say are the preset's") {
    TrainingRow row = complete_row();
    row.model = "Gemma-2B";
    row.layers = 18, row.hidden = 2048, row.ffn_hidden = 16384, row.heads = 8, row.kv_heads = 1, row.head_dim = 256;
    row.vocab = 256000;
    row.tied_embed.reset();
    CHECK(built(row).model.tied_embeddings);
    row.tied_embed = 0;
    CHECK_FALSE(built(row).model.tied_embeddings);
    TrainingRow gpt = complete_row();
    gpt.model = "GPT3-175B";
    gpt.layers = gpt.hidden = gpt.ffn_hidden = gpt.heads = gpt.kv_heads = gpt.head_dim = gpt.vocab = std::nullopt;
    gpt.gated_mlp = gpt.tied_embed = std::nullopt;
    CHECK(built(gpt).model.max_positions == 4096);
}
