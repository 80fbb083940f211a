// Logs that say the steps and little else, and what serving clients print or export.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

#include <functional>
#include <string>

using namespace sextant;

namespace {

CellRow const said{{"model", "llama-3.1-8b"}, {"num_gpus", "64"}, {"seq_len", "8192"}};

ImportedTables import_text(std::string const& text, CellRow cells = said) {
    Importer const& importer = importer_for(text, "my.log");
    return importer.read(text, {.name = "my.log", .device = "h100-sxm", .cells = std::move(cells)});
}

std::string repeated(int last, std::function<std::string(int)> const& line) {
    std::string text;
    for (int step = 1; step <= last; ++step)
        text += line(step);
    return text;
}

}  // namespace

TEST_CASE("step-log: NeMo's printed steps and its progress bar") {
    auto const printed = repeated(20, [](int step) {
        return "[NeMo I 2026-01-05 10:00:00 x:1] Training epoch 0, iteration " + std::to_string(step) +
               "/99 | lr: 6e-06 | global_batch_size: 512 | global_step: " + std::to_string(step) +
               " | reduced_train_loss: 11.03 | train_step_timing in s: " + (step <= 5 ? "60.1" : "7.89") +
               " | consumed_samples: 5632\n";
    });
    auto const tables = import_text(printed);
    REQUIRE(tables.steps.size() == 1);
    CellRow const& row = tables.steps[0];
    CHECK(row.at("iter_time_s") == "7.89");  // the slow first five are left out
    CHECK(row.at("global_batch_seqs") == "512");
    CHECK(row.at("framework") == "NeMo");
    CHECK(row.at("gpu") == "h100-sxm");

    auto const bar = repeated(20, [](int step) {
        return "\rEpoch 0: : 9%|#| " + std::to_string(step) +
               "/100 [10:48<00:00, reduced_train_loss=0.0172, global_step=" + std::to_string(step) +
               ".00, consumed_samples=25600.0, train_step_timing in s=3.130]";
    });
    CHECK_THAT(import_text(bar).skipped.begin()->first, contains("--set global_batch_seqs=VALUE"));
    CellRow more = said;
    more["global_batch_seqs"] = "256";
    CHECK(import_text(bar, more).steps.at(0).at("iter_time_s") == "3.13");
}

TEST_CASE("step-log: nanotron's shortened figures; a shortened batch is not taken") {
    auto const log = [](std::string const& batch) {
        return repeated(20, [&](int step) {
            return "[default0]:01/05/2026 10:00:00 [INFO|DP=0|PP=0|TP=0|node1]: iteration: " + std::to_string(step) +
                   " / 100 | consumed_tokens: 2.1M | elapsed_time_per_iteration_ms: 1.25K | tokens_per_sec: 838K | "
                   "tokens_per_sec_per_gpu: 13.1K | global_batch_size: " +
                   batch + " | lm_loss: 8.1\n";
        });
    };
    auto const row = import_text(log("128")).steps.at(0);
    CHECK(row.at("iter_time_s") == "1.25");
    CHECK(row.at("global_batch_seqs") == "128");
    CHECK(row.at("framework") == "nanotron");
    CHECK_THAT(import_text(log("1.02K")).skipped.begin()->first, contains("global_batch_seqs"));
}

TEST_CASE("step-log: MaxText's rate, its devices; a restart is a run of its own") {
    auto const start = [](std::string const& rate) {
        return "Num_devices: 256, shape (1, 256)\n" + repeated(12, [&](int step) {
                   return "completed step: " + std::to_string(step) +
                          ", seconds: 20.585, TFLOP/s/device: 97.566, Tokens/s/device: " + rate +
                          ", total_weights: 31457280, loss: 12.409\n";
               });
    };
    CellRow const cells{{"model", "llama-2-7b"}, {"seq_len", "4096"}, {"global_batch_seqs", "1024"}};
    auto const tables = import_text(start("1,989.820") + start("1500.5"), cells);
    REQUIRE(tables.steps.size() == 2);
    CHECK(tables.steps[0].at("tokens_per_s_per_gpu") == "1989.82");
    CHECK(tables.steps[0].at("num_gpus") == "256");
    CHECK(tables.steps[1].at("tokens_per_s_per_gpu") == "1500.5");
    CHECK(tables.steps[0].at("framework") == "MaxText");
}

TEST_CASE("step-log: Composer's lines stand below their batch; DeepSpeed's rate is of all devices") {
    CellRow cells = said;
    cells["global_batch_seqs"] = "512";
    auto const composer = repeated(10, [](int step) {
        return "[batch=" + std::to_string(10 * step) + "/4800]:\n\t Train time/batch: 19\n" +
               "\t Train throughput/tokens_per_sec: 104857.6\n\t Train throughput/device/tokens_per_sec: 13107.2000\n" +
               "\t Train memory/peak_reserved_mem: 61.5\n";
    });
    auto const row = import_text(composer, cells).steps.at(0);
    CHECK(row.at("tokens_per_s_per_gpu") == "13107.2");
    CHECK(row.at("peak_mem_gb_per_gpu") == "61.5");
    CHECK(row.at("framework") == "llm-foundry");

    auto const deepspeed = repeated(10, [](int step) {
        return "[2026-01-01 10:00:00,000] [INFO] [timer.py:260:stop] epoch=0/micro_step=" + std::to_string(20 * step) +
               "/global_step=" + std::to_string(10 * step) +
               ", RunningAvgSamplesPerSec=31.5, CurrSamplesPerSec=32.0, MemAllocated=22.1GB, MaxMemAllocated=61.0GB\n";
    });
    auto const ds = import_text(deepspeed, cells).steps.at(0);
    CHECK(ds.at("iter_time_s") == "16");  // 512 sequences at 32 a second
    CHECK(ds.at("peak_mem_gb_per_gpu") == "65.4983");
    CHECK(ds.at("framework") == "DeepSpeed");
    CHECK_THAT(import_text(deepspeed).skipped.begin()->first, contains("--set global_batch_seqs=VALUE"));
}

TEST_CASE("step-log: torchtune's rate of a device, AutoModel's of all") {
    auto const torchtune = repeated(12, [](int step) {
        return "Step " + std::to_string(step) +
               " | loss:1.53 lr:2e-05 tokens_per_second_per_gpu:" + (step <= 5 ? "900.1" : "1612.5") +
               " peak_memory_active:30.1 peak_memory_alloc:30.0 peak_memory_reserved:40.0 \n";
    });
    CellRow cells = said;
    cells["global_batch_seqs"] = "64";
    auto const tune = import_text(torchtune, cells).steps.at(0);
    CHECK(tune.at("tokens_per_s_per_gpu") == "1612.5");
    CHECK(tune.at("peak_mem_gb_per_gpu") == "42.9497");
    CHECK(tune.at("framework") == "torchtune");

    auto const automodel = repeated(12, [](int step) {
        return "2026-01-05 10:00:00 | INFO | root | step " + std::to_string(step) +
               " | epoch 0 | loss 1.5000 | grad_norm 0.9000 | lr 1.00e-05 | mem 40.00 GiB | tps 64000.50(1000.01/gpu) "
               "| "
               "num_label_tokens 1000\n" +
               (step % 4 == 0 ? "[val] step 4 | epoch 0 | loss 1.4000 | lr 1.00e-05 | num_label_tokens 900\n" : "");
    });
    auto const tables = import_text(automodel, cells);
    REQUIRE(tables.steps.size() == 1);
    CHECK(tables.steps[0].at("tokens_per_s_per_gpu") == "1000.01");
    CHECK(tables.steps[0].at("notes") == "peak is max allocated");
    CHECK_THAT(import_text(automodel, {{"model", "llama-3.1-8b"}}).skipped.begin()->first,
               contains("--set num_gpus=VALUE"));
}

TEST_CASE("bench-print: the block that serving clients print") {
    std::string const text =
        "INFO starting\n============ Serving Benchmark Result ============\nBackend:               sglang\n"
        "Traffic request rate:                    inf\nMax request concurrency:                 64\n"
        "Successful requests:                     1000\nFailed requests:  0\nBenchmark duration (s):  110.20\n"
        "Total input tokens:                      1024000\nTotal generated tokens:                  128000\n"
        "Total generated tokens (retokenized):    127000\nRequest throughput (req/s):              9.07\n"
        "Output token throughput (tok/s):         1161.52\nPeak output token throughput (tok/s):    2000.00\n"
        "Total Token throughput (tok/s):          10453.7\nMean TTFT (ms):                          85.10\n"
        "Median TTFT (ms):                        80.00\nMean TPOT (ms):                          12.00\n"
        "==================================================\n";
    CellRow const cells{{"model", "llama-3.1-8b"}, {"tp", "1"}};
    auto const tables = import_text(text + text, cells);
    REQUIRE(tables.loads.size() == 2);
    CellRow const& row = tables.loads[0];
    CHECK(row.at("engine") == "SGLang");
    CHECK(row.at("concurrency_or_batch") == "64");
    CHECK(row.at("request_rate") == "inf");
    CHECK(row.at("input_len") == "1024");
    CHECK(row.at("output_len") == "128");
    CHECK(row.at("output_tokens_per_s") == "1161.52");
    CHECK(row.at("ttft_ms") == "85.10");
    CHECK(row.at("tpot_ms") == "12.00");
    CHECK(row.at("notes") == "num_prompts=1000");
    CHECK_THAT(import_text(text, {{"tp", "1"}}).skipped.begin()->first, contains("--set model=VALUE"));
}

TEST_CASE("genai-perf: means, units, and what was asked wherever a release keeps it") {
    std::string const metrics =
        "\"request_throughput\":{\"unit\":\"requests/"
        "sec\",\"avg\":2.1},\"request_latency\":{\"unit\":\"s\",\"avg\":3.0},"
        "\"time_to_first_token\":{\"unit\":\"ms\",\"avg\":120,\"p50\":110},"
        "\"inter_token_latency\":{\"unit\":\"ms\",\"avg\":12.1},"
        "\"output_token_throughput\":{\"unit\":\"tokens/sec\",\"avg\":2100.0},"
        "\"output_sequence_length\":{\"unit\":\"tokens\",\"avg\":256},"
        "\"input_sequence_length\":{\"unit\":\"tokens\",\"avg\":1024},\"request_count\":{\"avg\":200}";
    CellRow const cells{{"engine", "vllm"}, {"tp", "1"}};
    for (std::string const asked :
         {"{\"model\":[\"llama-3.1-8b\"],\"perf_analyzer\":{\"stimulus\":{\"concurrency\":8}}}",
          "{\"endpoint\":{\"model_names\":[\"llama-3.1-8b\"]},\"loadgen\":{\"concurrency\":8,\"request_rate\":null}}",
          "{\"models\":{\"items\":[{\"name\":\"llama-3.1-8b\"}]},\"loadgen\":{\"concurrency\":8}}"}) {
        INFO(asked);
        auto const tables = import_text("{" + metrics + ",\"input_config\":" + asked + "}", cells);
        REQUIRE(tables.loads.size() == 1);
        CellRow const& row = tables.loads[0];
        CHECK(row.at("model") == "llama-3.1-8b");
        CHECK(row.at("concurrency_or_batch") == "8");
        CHECK(row.at("ttft_ms") == "120");
        CHECK(row.at("tpot_ms") == "12.1");
        CHECK(row.at("e2e_latency_ms") == "3000");
        CHECK(row.at("notes") == "num_prompts=200");
    }
    auto const unnamed = import_text("{" + metrics + "}", cells);
    CHECK_THAT(unnamed.skipped.begin()->first, contains("--set model=VALUE"));
    CHECK_THROWS_AS(import_text("{" + metrics + ",", cells), InputError);
}
