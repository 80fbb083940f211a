// What Hugging Face's Trainer and programs on it write and print.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

#include <functional>
#include <string>
#include <utility>

using namespace sextant;

namespace {

CellRow const said{{"model", "llama-3.1-8b"}, {"num_gpus", "8"}, {"seq_len", "2048"}};

ImportedTables read_as(std::string const& importer, std::string const& text, CellRow cells = said) {
    Importer const& found = importer_for(text, "x");
    CHECK(std::string(found.name) == importer);
    return found.read(text, {.name = "runs/x", .device = "h100-sxm", .cells = std::move(cells)});
}

CellRow trainer_step(std::string const& importer, std::string const& text, CellRow cells = said) {
    auto const tables = read_as(importer, text, std::move(cells));
    INFO((tables.skipped.empty() ? "" : tables.skipped.begin()->first));
    REQUIRE(tables.steps.size() == 1);
    return tables.steps[0];
}

std::string why_none(ImportedTables const& tables) {
    REQUIRE(tables.rows() == 0);
    REQUIRE(tables.skipped.size() == 1);
    return tables.skipped.begin()->first;
}

CellRow with(CellRow cells, std::string const& column, std::string const& value) {
    cells[column] = value;
    return cells;
}

/// 500 steps of 64 sequences in 1,030 s, of which 30 were an evaluation.
std::string state(std::string const& entries = "", std::string const& end =
                                                       ", {\"epoch\": 1.0, \"step\": 500, \"total_flos\": 1e18, "
                                                       "\"train_loss\": 1.3, \"train_runtime\": 1030.0, "
                                                       "\"train_samples_per_second\": 31.068, "
                                                       "\"train_steps_per_second\": 0.485}") {
    return "{\"best_metric\": null, \"epoch\": 1.0, \"global_step\": 500, \"is_world_process_zero\": true, "
           "\"log_history\": [{\"epoch\": 0.02, \"grad_norm\": NaN, \"learning_rate\": 2e-05, \"loss\": 1.9, "
           "\"step\": 10}" +
           entries + ", {\"epoch\": 1.0, \"eval_loss\": 1.2, \"eval_runtime\": 30.0, \"step\": 500}" + end +
           "], \"max_steps\": 500, \"train_batch_size\": 4}";
}

}  // namespace

TEST_CASE("trainer-state: the time of a step without evaluations, the batch that the samples make") {
    CellRow const row = trainer_step("trainer-state", state());
    CHECK(row.at("iter_time_s") == "2");
    CHECK(row.at("global_batch_seqs") == "64");  // 8 ranks of 4 make steps of 32
    CHECK(row.at("micro_batch") == "4");
    CHECK(row.at("seq_len") == "2048");
    CHECK(row.at("framework") == "Hugging Face's Trainer");
    CHECK(row.at("gpu") == "h100-sxm");
    CHECK(row.at("source_ref") == "log of Hugging Face's Trainer, runs/x");
    // Without the number of devices 64 is not the only number: an epoch of 500 steps may end with a smaller one.
    CellRow const unsaid{{"model", "llama-3.1-8b"}, {"seq_len", "2048"}};
    CHECK_THAT(why_none(read_as("trainer-state", state(), with(unsaid, "global_batch_seqs", "64"))),
               contains("--set num_gpus=VALUE"));
    // An evaluation behind the run is not in its time.
    std::string const later = state("",
                                    ", {\"epoch\": 1.0, \"step\": 500, \"train_runtime\": 1030.0, "
                                    "\"train_samples_per_second\": 31.068, \"train_steps_per_second\": 0.485}, "
                                    "{\"eval_loss\": 1.2, \"eval_runtime\": 400.0, \"step\": 500}");
    CHECK(trainer_step("trainer-state", later).at("iter_time_s") == "2");
}

TEST_CASE("trainer-state: tokens that were seen make the length of a step's sequences, or contradict it") {
    std::string const tokens = ", {\"epoch\": 0.5, \"loss\": 1.5, \"num_input_tokens_seen\": 16384000, \"step\": 250}";
    CellRow const unsaid{{"model", "llama-3.1-8b"}, {"num_gpus", "8"}};
    CellRow const row = trainer_step("trainer-state", state(tokens), unsaid);
    CHECK(row.at("seq_len") == "1024");  // 65,536 tokens a step
    CHECK_THAT(why_none(read_as("trainer-state", state(tokens))), contains("65536 tokens a step were seen"));
    CHECK(trainer_step("trainer-state", state(tokens), with(unsaid, "seq_len", "1024")).at("global_batch_seqs") ==
          "64");
}

TEST_CASE("trainer-state: runs that did not end, are short or train on preferences are left out with the reason") {
    CHECK_THAT(why_none(read_as("trainer-state", state("", ""))), contains("no train_runtime"));
    CHECK_THAT(why_none(read_as("trainer-state", state(", {\"rewards/chosen\": 0.1, \"loss\": 0.6, \"step\": 20}"))),
               contains("DPO, GRPO, PPO"));
    std::string few = state();
    few.replace(few.find("\"global_step\": 500"), 18, "\"global_step\": 50");
    CHECK_THAT(why_none(read_as("trainer-state", few)), contains("train for longer"));
    std::string long_evaluation = state();
    long_evaluation.replace(long_evaluation.find("\"eval_runtime\": 30.0"), 20, "\"eval_runtime\": 900.0");
    CHECK_THAT(why_none(read_as("trainer-state", long_evaluation)), contains("more than half"));
    std::string const whole = state();
    CHECK_THROWS_WITH(read_as("trainer-state", whole.substr(0, whole.size() - 20)),
                      contains("is no JSON, or was cut off"));
}

TEST_CASE("trainer-state: the results alone say the rate of steps, where it has digits enough") {
    auto const results = [](std::string const& rate) {
        return "{\"epoch\": 3.0, \"total_flos\": 1e18, \"train_loss\": 1.3, \"train_runtime\": 1000.0, "
               "\"train_samples_per_second\": 32.0, \"train_steps_per_second\": " +
               rate + "}";
    };
    CellRow const cells = with(said, "global_batch_seqs", "64");
    CHECK(trainer_step("trainer-state", results("0.5"), cells).at("iter_time_s") == "2");
    CHECK_THAT(why_none(read_as("trainer-state", results("0.05"), cells)), contains("too few digits"));
    CHECK_THAT(why_none(read_as("trainer-state", results("0.5"))), contains("--set global_batch_seqs=VALUE"));
}

TEST_CASE("trainer-state: LLaMA-Factory's log, in whole seconds, without evaluations and checkpoints") {
    auto const clock = [](int seconds) {
        auto const two = [](int number) { return (number < 10 ? "0" : "") + std::to_string(number); };
        std::string const time =
            std::to_string(seconds % 86400 / 3600) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
        return seconds >= 86400 ? "1 day, " + time : time;
    };
    auto const line = [&](int step, int seconds, std::string const& more = "") {
        return "{\"current_steps\": " + std::to_string(step) +
               ", \"total_steps\": 100, \"loss\": 1.2, \"lr\": 1e-05, "
               "\"epoch\": 0.1, \"percentage\": 10.0, \"elapsed_time\": \"" +
               clock(seconds) + "\", \"remaining_time\": \"0:10:00\", \"throughput\": 1.0, \"total_tokens\": " +
               std::to_string(131072 * step) + more + "}\n";
    };
    // A step takes 12.4 s, the first ten are slow, a checkpoint behind step 50 takes 100 s, an evaluation 60 s.
    auto const log = [&](int start) {
        std::string text;
        int seconds = start + 200;
        for (int step = 10; step <= 100; step += 10) {
            text += line(step, seconds, ", \"vram_reserved\": 70.5");
            if (step == 70) {
                seconds += 60;
                text += line(step, seconds);
            }
            seconds += 124 + (step == 50 ? 100 : 0);
        }
        return text;
    };
    CellRow const cells{{"model", "llama-3.1-8b"}, {"num_gpus", "8"}, {"global_batch_seqs", "64"}};
    CellRow const row = trainer_step("trainer-state", log(0), cells);
    CHECK(row.at("iter_time_s") == "12.4");
    CHECK(row.at("seq_len") == "2048");
    CHECK(row.at("framework") == "LLaMA-Factory");
    CHECK(row.at("peak_mem_gb_per_gpu") == "75.6988");
    CHECK(trainer_step("trainer-state", log(86400), cells).at("iter_time_s") == "12.4");
    CHECK(read_as("trainer-state", log(0) + log(0), cells).steps.size() == 2);  // a second run into the same file
    CHECK_THAT(why_none(read_as("trainer-state", line(10, 40) + line(20, 60), cells)), contains("less than 50 s"));
    CHECK_THAT(why_none(read_as("trainer-state", line(10, 40), cells)), contains("train for longer"));
}

TEST_CASE("trainer-state: ms-swift's log") {
    std::string text;
    for (int step = 5; step <= 60; step += 5)
        text += "{\"loss\": 1.2, \"epoch\": 0.1, \"global_step/max_steps\": \"" + std::to_string(step) +
                "/60\", \"percentage\": \"8.33%\", \"elapsed_time\": \"" + std::to_string(2 * step / 60) + "m " +
                std::to_string(2 * step % 60) + "s\", \"memory(GiB)\": 40.0}\n";
    CellRow const row = trainer_step("trainer-state", text, with(said, "global_batch_seqs", "64"));
    CHECK(row.at("iter_time_s") == "2");
    CHECK(row.at("framework") == "ms-swift");
    CHECK(row.at("peak_mem_gb_per_gpu") == "42.9497");
}

TEST_CASE("trainer-print: the heading's batch, the dictionaries, and a run that went on from another") {
    std::string const heading =
        "***** Running training *****\n  Num examples = 32,000\n  Num Epochs = 1\n"
        "  Instantaneous batch size per device = 4\n"
        "  Total train batch size (w. parallel, distributed & accumulation) = 64\n"
        "  Gradient Accumulation steps = 2\n  Total optimization steps = 500\n";
    std::string const steps =
        "  2%|2         | 10/500 [00:20<16:20,  2.00s/it]\r{'loss': 1.9, 'grad_norm': 0.9, 'learning_rate': 2e-05, "
        "'memory/max_allocated (GiB)': 61.0, 'epoch': 0.02}\n"
        "100%|##########| 8/8 [00:30<00:00,  3.75s/it]\n"
        "{'eval_loss': 1.2, 'eval_runtime': 30.0, 'eval_samples_per_second': 10.0, 'epoch': 1.0}\n"
        "100%|##########| 500/500 [17:10<00:00,  2.00s/it]\n";
    std::string const end =
        "{'train_runtime': 1030.0, 'train_samples_per_second': 31.068, 'train_steps_per_second': 0.485, "
        "'train_loss': 1.3, 'epoch': 1.0}\n{'eval_loss': 1.2, 'eval_runtime': 400.0, 'epoch': 1.0}\n";
    CellRow const row = trainer_step("trainer-print", heading + steps + end);
    CHECK(row.at("iter_time_s") == "2");
    CHECK(row.at("global_batch_seqs") == "64");
    CHECK(row.at("micro_batch") == "4");
    CHECK(row.at("peak_mem_gb_per_gpu") == "65.4983");
    CHECK(row.at("notes") == "peak is max allocated");
    // Without the heading the bar of as many steps as the rate makes says them; the batch follows from the samples.
    CHECK(trainer_step("trainer-print", steps + end, with(said, "global_batch_seqs", "64")).at("iter_time_s") == "2");
    CHECK(read_as("trainer-print", heading + steps + end + heading + steps + end).steps.size() == 2);
    std::string const rest = heading + "  Continuing training from global step 250\n" + steps + end;
    CHECK(trainer_step("trainer-print", rest).at("iter_time_s") == "4");
    CHECK_THAT(why_none(read_as("trainer-print", "  Continuing training from global step 500\n" + steps + end)),
               contains("how many steps were left"));
    CHECK_THAT(why_none(read_as("trainer-print", heading + steps)), contains("no train_runtime"));
    std::string const quoted =
        "{'train_runtime': '1030.0', 'train_samples_per_second': '31.07', 'train_steps_per_second': '0.485', "
        "'epoch': '1.0'}\n";
    CHECK(trainer_step("trainer-print", heading + steps + quoted).at("iter_time_s") == "2");
    CHECK_THAT(why_none(read_as("trainer-print",
                                "{'loss': 0.1, 'rewards/margins': 0.3, 'learning_rate': 1e-06, "
                                "'epoch': 0.1}\n" +
                                    end)),
               contains("DPO, GRPO, PPO"));
}
