// Logs of training programs and results of serving clients as rows of our tables.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/iteration_times.hpp"
#include "calibrate/import/megatron_arguments.hpp"
#include "core/error.hpp"
#include "core/json/text_file.hpp"
#include "tests/catch.hpp"

#include <string>
#include <vector>

using namespace sextant;

namespace {

std::string const megatron = read_text_file(SEXTANT_SOURCE_DIR "/docs/examples/megatron.log");
std::string const torchtitan = read_text_file(SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/torchtitan.log");
std::string const serving = read_text_file(SEXTANT_SOURCE_DIR "/tests/fuzz/corpus/import/bench_serving.jsonl");

ImportedTables imported(std::string const& text, std::vector<std::string> const& cells = {},
                        std::string const& device = "h100-sxm") {
    return importer_for(text, "runs/my.log")
        .read(text, {.name = "runs/my.log", .device = device, .cells = cells_set(cells)});
}

std::string changed(std::string text, std::string const& from, std::string const& to) {
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
}

/// The line of the megatron log's argument with another value.
std::string with_argument(std::string const& name, std::string const& value) {
    std::string text = megatron;
    std::size_t const begin = text.find("\n  " + name + " ");
    std::string const line = "\n  " + name + " ..... " + value;
    if (begin != std::string::npos) return text.replace(begin, text.find('\n', begin + 1) - begin, line);
    return text.insert(text.find("\n-------------------- end of arguments"), line);
}

CellRow step_with(std::string const& name, std::string const& value) {
    ImportedTables const t = imported(with_argument(name, value));
    REQUIRE(t.steps.size() == 1);
    return t.steps.front();
}

}  // namespace

TEST_CASE("Megatron's log: the arguments are the plan, the times behind the warm-up the step") {
    CHECK(std::string(importer_for(megatron, "x").name) == "megatron-log");
    ImportedTables const t = imported(megatron);
    CHECK(t.skipped.empty());
    REQUIRE(t.steps.size() == 1);
    CHECK(t.steps.front() ==
          CellRow{{"source_id", "log my.log"},
                  {"source_ref", "Megatron-LM's log runs/my.log"},
                  {"model", "Megatron-LM model rope disable_bias_linear"},
                  {"arch", "dense"},
                  {"layers", "32"},
                  {"hidden", "4096"},
                  {"ffn_hidden", "14336"},
                  {"heads", "32"},
                  {"kv_heads", "8"},
                  {"head_dim", "128"},
                  {"vocab", "128256"},
                  {"gated_mlp", "1"},
                  {"tied_embed", "0"},
                  {"seq_len", "8192"},
                  {"gpu", "h100-sxm"},
                  {"num_gpus", "8"},
                  {"framework", "Megatron-LM"},
                  {"precision", "bf16"},
                  {"dp", "4"},
                  {"tp", "2"},
                  {"pp", "1"},
                  {"cp", "1"},
                  {"zero_stage", "1"},
                  {"sequence_parallel", "1"},
                  {"recompute", "selective:core_attn"},
                  {"micro_batch", "1"},
                  {"global_batch_seqs", "128"},
                  {"iter_time_s", "14.6453"},          // of 14651.7 and 14638.9: the first six iterations warm up
                  {"peak_mem_gb_per_gpu", "64.4076"},  // of rank 1, MiB
                  {"notes", "peak is max allocated"}});
}

TEST_CASE("Megatron's log: arguments of other plans come out in the words of the table") {
    CHECK(step_with("recompute_granularity", "None").at("recompute") == "none");
    CHECK(step_with("recompute_modules", "['core_attn', 'mlp']").at("recompute") == "selective:core_attn+mlp");
    std::string const full = with_argument("recompute_granularity", "full");
    CHECK(imported(changed(changed(full, "recompute_method ................................ None",
                                   "recompute_method ................................ block"),
                           "recompute_num_layers ............................ None", "recompute_num_layers ... 5"))
              .steps.at(0)
              .at("recompute") == "full, 5 layers of each stage");
    CHECK(imported(full).steps.at(0).at("recompute") == "full");
    CHECK(step_with("fp8", "hybrid").at("precision") == "fp8");
    CHECK(imported(changed(with_argument("fp8", "e4m3"), "delayed", "mxfp8")).steps.at(0).at("precision") == "mxfp8");
    CHECK(step_with("use_distributed_optimizer", "False").at("zero_stage") == "0");
    CHECK(step_with("use_torch_fsdp2", "True").at("zero_stage") == "3");
    CHECK(step_with("group_query_attention", "False").at("kv_heads") == "32");
    CHECK_THAT(step_with("optimizer", "muon").at("notes"), contains("optimizer=muon"));
    CHECK_THAT(step_with("optimizer_cpu_offload", "True").at("notes"), contains("optimizer offload;"));
    CHECK(step_with("optimizer", "adam").at("notes") == "peak is max allocated");
    CHECK(step_with("attention_backend", "AttnBackend.flash").at("flash_attention") == "1");
    std::string const piped = changed(with_argument("num_layers_per_virtual_pipeline_stage", "4"),
                                      "pipeline_model_parallel_size .................... 1",
                                      "pipeline_model_parallel_size .................... 4");
    CHECK(imported(piped).steps.at(0).at("vpp") == "2");
    CellRow const experts =
        imported(changed(changed(with_argument("num_experts", "8"), "\n  multi_latent",
                                 "\n  moe_router_topk .. 2\n  moe_ffn_hidden_size .. 1024\n"
                                 "  moe_shared_expert_intermediate_size .. 2048\n  multi_latent"),
                         "moe_layer_freq .................................. 1", "moe_layer_freq .. [0, 1, 1]"))
            .steps.at(0);
    CHECK(experts.at("arch") == "moe");
    CHECK(experts.at("moe_experts") == "8");
    CHECK(experts.at("moe_topk") == "2");
    CHECK(experts.at("ep") == "1");
    CHECK_THAT(experts.at("notes"), contains("shared expert width 2048") && contains("moe-layer-freq=([0]*1+[1]*1+"));
    CHECK(imported(with_argument("hybrid_override_pattern", "M-M*")).steps.empty());
}

TEST_CASE("Megatron's log: what it does not say is asked for by the option that says it") {
    CHECK(imported(megatron, {}, "").skipped.contains("does not say its device (--device NAME)"));
    std::string const unstated = changed(megatron, "padded_vocab_size ", "another_size ");
    CHECK(imported(unstated).skipped.contains("the log does not say vocab (give it: --set vocab=VALUE)"));
    CHECK(imported(unstated, {"vocab=128256"}).steps.at(0).at("vocab") == "128256");
    CHECK(imported(changed(unstated, "training ...",
                           " > padded vocab (size: 128000) with 256 dummy tokens (new size: 128256)"))
              .steps.at(0)
              .at("vocab") == "128256");
    // A tail without the arguments is whole with what a user says of it.
    std::string const tail = megatron.substr(megatron.find("training ..."));
    CHECK(imported(tail).skipped.contains(
        "the log does not say model, num_gpus, seq_len (give them: --set model=VALUE --set num_gpus=VALUE --set "
        "seq_len=VALUE)"));
    std::vector<std::string> const cells{"model=llama-3.1-8b", "num_gpus=8", "seq_len=8192", "tp=2"};
    CHECK(imported(tail, cells).steps.at(0).at("tp") == "2");
    CHECK(imported(megatron, {"gpus_per_node=4"}).steps.at(0).at("gpus_per_node") == "4");
    CHECK_THROWS_WITH(cells_set({"seqlen=8192"}), contains("no column 'seqlen'") && contains("did you mean 'seq_len'"));
    CHECK_THROWS_WITH(cells_set({"seq_len"}), contains("gives no value (COLUMN=VALUE"));
    CHECK_THROWS_WITH(cells_set({"gpu=H100"}), contains("--device NAME"));
}

TEST_CASE("Megatron's log: each start is a run, one without a step is counted, one out of memory is a row") {
    CHECK(imported(megatron + megatron).steps.size() == 2);
    std::string const none = megatron.substr(0, megatron.find("training ..."));
    CHECK(imported(none).skipped.contains("a start of the program without a time of iterations"));
    ImportedTables const failed = imported(none + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n");
    CHECK(failed.steps.at(0).at("notes") == "STATUS=OOM");
    CHECK_FALSE(failed.steps.at(0).contains("iter_time_s"));
    std::string prefixed;
    for (std::size_t begin = 0; begin < megatron.size();) {
        std::size_t const end = megatron.find('\n', begin);
        prefixed += "[default7]: " + megatron.substr(begin, end - begin) + "\r\n";
        begin = end + 1;
    }
    CHECK(imported(prefixed).steps == imported(megatron).steps);
    CHECK_THROWS_WITH(find_importer("megatron-log").read("hello\n", {.name = "x"}),
                      contains("x: has no arguments and no iterations of Megatron-LM"));
}

TEST_CASE("Iteration times: the first iterations, and batches that still grow, do not count") {
    CHECK(steady_figure({{.last = 5, .count = 5, .figure = 9},
                         {.last = 6, .figure = 1},
                         {.last = 7, .figure = 2},
                         {.last = 8, .figure = 6}}) == 2);
    CHECK(steady_figure({{.last = 10, .count = 10, .figure = 9, .batch = 8},
                         {.last = 20, .count = 10, .figure = 1, .batch = 8},
                         {.last = 30, .count = 10, .figure = 3, .batch = 16}}) == 3);
    CHECK(steady_figure({{.last = 100, .count = 100, .figure = 4}}) == 4);
    CHECK_THROWS_AS(steady_figure({{.last = 10, .count = 10, .figure = 4}}), RowSkip);
    CHECK_THROWS_AS(steady_figure({{.last = 1, .figure = 4}, {.last = 2, .figure = 4}}), RowSkip);
    CHECK_THROWS_AS(steady_figure({}), RowSkip);
}

TEST_CASE("torchtitan's log: mesh, model, batch and device come from its start, the rate from its steps") {
    CHECK(std::string(importer_for(torchtitan, "x").name) == "torchtitan-log");
    ImportedTables const t = imported(torchtitan, {}, "");
    REQUIRE(t.steps.size() == 1);
    CHECK(t.steps.front() == CellRow{{"source_id", "log my.log"},
                                     {"source_ref", "torchtitan's log runs/my.log"},
                                     {"model", "llama3 8B"},
                                     {"seq_len", "8192"},
                                     {"gpu", "NVIDIA H100 80GB HBM3"},
                                     {"num_gpus", "8"},
                                     {"framework", "torchtitan"},
                                     {"precision", "bf16"},
                                     {"dp", "4"},
                                     {"tp", "2"},
                                     {"pp", "1"},
                                     {"cp", "1"},
                                     {"zero_stage", "3"},
                                     {"recompute", "selective"},
                                     {"micro_batch", "1"},
                                     {"global_batch_seqs", "4"},
                                     {"tokens_per_s_per_gpu", "5796"},
                                     {"peak_mem_gb_per_gpu", "51.6577"}});
    std::string const tail = torchtitan.substr(torchtitan.find("[titan] 2026-03-02 10:00:20"));
    CHECK(imported(tail).skipped.contains(
        "the log does not say model, num_gpus, seq_len, global_batch_seqs (give them: --set model=VALUE --set "
        "num_gpus=VALUE --set seq_len=VALUE --set global_batch_seqs=VALUE)"));
    CHECK(imported(tail, {"model=llama-3.1-8b", "num_gpus=8", "seq_len=8192", "global_batch_seqs=4"}).steps.size() ==
          1);
}

TEST_CASE("Megatron-Bridge's log: its lines are Megatron's, its memory is in GB, the plan is said") {
    std::string text =
        "p4/0 [Rank 0] (after 2 iterations) memory (GB) | mem-allocated-gigabytes: 41.2 | mem-reserved-gigabytes: 60 | "
        "mem-max-allocated-gigabytes: 55.125 | mem-max-reserved-gigabytes: 61.0 | mem-alloc-retires: 0\n";
    for (int i = 1; i <= 12; ++i)
        text += " [2026-01-05 10:00:00.1] iteration       " + std::to_string(i) +
                "/      12 | consumed samples:           32 | elapsed time per iteration (ms): " +
                (i == 1 ? "91234.5" : "2500.5") +
                " | learning rate: 1.0E-05 | global batch size:    32 | lm loss: 1.2E+01 |\n"
                "Step Time : 2.50s GPU utilization: 401.2MODEL_TFLOP/s/GPU\n";
    CellRow const row = imported(text, {"model=llama-3.1-8b", "num_gpus=8", "seq_len=8192", "tp=2"}).steps.at(0);
    CHECK(row.at("iter_time_s") == "2.5005");
    CHECK(row.at("global_batch_seqs") == "32");
    CHECK(row.at("peak_mem_gb_per_gpu") == "55.125");
    CHECK(row.at("notes") == "peak is max allocated");
}

TEST_CASE("bench_serving: each run is a row, with lengths and times as means") {
    CHECK(std::string(importer_for(serving, "x").name) == "bench-serving");
    ImportedTables const t = imported(serving, {"tp=1", "engine_version=0.5.1"});
    REQUIRE(t.loads.size() == 2);
    CHECK(t.loads.front() == CellRow{{"source_id", "log my.log"},
                                     {"source_ref", "bench_serving runs/my.log"},
                                     {"model", "meta-llama/Llama-3.1-8B-Instruct"},
                                     {"gpu", "h100-sxm"},
                                     {"tp", "1"},
                                     {"engine", "SGLang"},
                                     {"engine_version", "0.5.1"},
                                     {"input_len", "1024"},
                                     {"output_len", "256"},
                                     {"concurrency_or_batch", "64"},
                                     {"request_rate", "inf"},
                                     {"output_tokens_per_s", "1310.72"},
                                     {"total_tokens_per_s", "6553.6"},
                                     {"ttft_ms", "210.25"},
                                     {"tpot_ms", "44.5"},
                                     {"itl_ms", "44.1"},
                                     {"e2e_latency_ms", "12000.5"},
                                     {"requests_per_s", "5.12"},
                                     {"notes", "num_prompts=512; random"}});
    CHECK(imported(serving).skipped.at("the log does not say num_gpus (give it: --set num_gpus=VALUE)") == 2);
    std::string const one = serving.substr(0, serving.find('\n'));
    std::string const open = changed(one, "\"sglang\"", "\"openai-chat\"");
    CHECK(imported(open, {"tp=1"}).skipped.contains("the log does not say engine (give it: --set engine=VALUE)"));
    CHECK(imported(open, {"tp=1", "engine=vLLM"}).loads.size() == 1);
    std::string const failed = changed(one, "\"completed\"", "\"num_prompts\": 1000, \"completed\"");
    CHECK(imported(failed, {"tp=1"}).skipped.contains("a run of whose requests more than a tenth failed"));
    CHECK_THROWS_AS(imported(one.substr(0, one.size() - 20)), InputError);
}
