// The mesh, the plan and the starts of torchtitan's logs.
#include "calibrate/import/cell_row.hpp"
#include "calibrate/import/importer.hpp"
#include "calibrate/import/torchtitan_mesh.hpp"
#include "tests/catch.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace sextant;

namespace {

std::string const before = "[rank0]:[titan] 2026-03-02 10:00:09,411 - root - INFO - ";

CellRow mesh(std::string const& line) {
    CellRow cells;
    put_torchtitan_mesh(before + line, cells);
    return cells;
}

std::string start(std::string const& mesh_line, std::vector<std::string> const& more = {}) {
    std::string text = before + "Starting job: Llama 3 8B training\n" + before + mesh_line + "\n";
    for (std::string const& line : more)
        text += before + line + "\n";
    return text + before + "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.11GiB memory\n" + before +
           "Model llama3 8B size: 8,030,261,248 total parameters\n" + before +
           "Trainer is initialized with local batch size 8, global batch size 64, gradient accumulation steps 1, "
           "sequence length 8192, total steps 1000 (warmup 200)\n";
}

std::string steps(int last, std::string const& rate, std::string const& prefix = before,
                  std::string const& unit = "tps") {
    std::string text;
    for (int step = 1; step <= last; ++step)
        text += prefix + "step: " + std::to_string(step) + "  loss: 9.1  grad_norm:  1.2  memory: 47.28GiB(59.77%)  " +
                unit + ": " + rate + "  mfu: 43.5%\n";
    return text;
}

std::vector<CellRow> rows_of(std::string const& text) {
    return importer_for(text, "my.log").read(text, {.name = "my.log"}).steps;
}

std::string const fsdp = "Building 1-D device mesh with ['dp_shard'], [8]";

}  // namespace

TEST_CASE("torchtitan's log: the line of all degrees is a mesh, and expert parallelism multiplies nothing") {
    CHECK(mesh("Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=1, etp=1") ==
          CellRow{
              {"num_gpus", "8"}, {"dp", "4"}, {"tp", "2"}, {"pp", "1"}, {"cp", "1"}, {"ep", "1"}, {"zero_stage", "3"}});
    CellRow const experts =
        mesh("Building device mesh with parallelism: pp=2, dp_replicate=2, dp_shard=4, cp=2, tp=2, ep=8\r");
    CHECK(experts.at("num_gpus") == "64");
    CHECK(experts.at("dp") == "8");
    CHECK(experts.at("ep") == "8");
    CHECK(experts.at("notes") == "shard group 8");  // over the ranks of a sequence as well
    CHECK(mesh("Building device mesh with parallelism: pp=1, dp_replicate=1, dp_shard=4, cp=1, tp=2, ep=4, etp=2")
              .at("notes") == "expert-tensor-parallel-size=2");
    for (char const* broken : {"pp=1, dp_shard=x", "", "pp=0", "pp=1000000, tp=1000000", "pp=99999999999999999999"})
        CHECK(mesh(std::string("Building device mesh with parallelism: ") + broken).empty());
}

TEST_CASE("torchtitan's log: named axes say how weights are sharded, replicated and spread by experts") {
    CellRow const hybrid = mesh("Building 2-D device mesh with ['dp_replicate', 'dp_shard'], [8, 8]");
    CHECK(hybrid.at("num_gpus") == "64");
    CHECK(hybrid.at("zero_stage") == "HSDP");
    CHECK(hybrid.at("notes") == "shard group 8");
    CellRow const copies = mesh("Building 1-D device mesh with ['dp_replicate'], [8]");
    CHECK(copies.at("zero_stage") == "0");
    CHECK(copies.at("dp") == "8");
    CHECK_FALSE(copies.contains("notes"));
    CellRow const experts = mesh("Building 2-D device mesh with ['dp_shard_mod_ep', 'dp_shard_in_ep'], [2, 4]");
    CHECK(experts.at("dp") == "8");
    CHECK(experts.at("zero_stage") == "3");
    CHECK(experts.at("ep") == "4");
    CellRow const cut = mesh("Building 3-D device mesh with ['dp_shard_mod_ep', 'dp_shard_in_ep', 'tp'], [2, 4, 2]");
    CHECK(cut.at("ep") == "8");
    CHECK(cut.at("notes") == "expert-tensor-parallel-size=1 (assumed)");
    // A group of experts as large as that of tensor parallelism cannot be of cut experts.
    CHECK_FALSE(mesh("Building 2-D device mesh with ['dp_shard_mod_ep', 'tp'], [4, 2]").contains("notes"));
    CHECK(mesh("Building 2-D device mesh with ['dp_shard_mod_ep', 'tp'], [4, 2]").at("ep") == "2");
    CHECK(mesh("Building 2-D device mesh with ['cp', 'tp'], [4, 2]").at("zero_stage") == "3");
    CHECK_FALSE(mesh("Building 1-D device mesh with ['dp'], [8]").contains("zero_stage"));
    for (char const* broken : {"['dp_shard', 'tp'], [8]", "['dp_shard'], []", "['dp_shard']", "[], []"})
        CHECK(mesh(std::string("Building 1-D device mesh with ") + broken).empty());
}

TEST_CASE("torchtitan's log: layers that are swapped say the precision, a pipeline its microbatches") {
    CHECK(rows_of(start(fsdp, {"Swapped to MXLinear layers"}) + steps(10, "9")).at(0).at("precision") == "mxfp8");
    CHECK(rows_of(start(fsdp, {"Swapped to Float8Linear layers with enable_fsdp_float8_all_gather=False"}) +
                  steps(10, "9"))
              .at(0)
              .at("precision") == "fp8");
    CHECK(rows_of(start(fsdp, {"Applied FullAC activation checkpointing to the model"}) + steps(10, "9"))
              .at(0)
              .at("recompute") == "full");
    CellRow const piped =
        rows_of(start("Building device mesh with parallelism: pp=4, dp_replicate=1, dp_shard=8, cp=1, tp=1, ep=1",
                      {"Using pipeline schedule Interleaved1F1B with 8 microbatches and 8 stages."}) +
                steps(10, "9"))
            .at(0);
    CHECK(piped.at("micro_batch") == "1");
    CHECK(piped.at("pp_schedule") == "Interleaved1F1B");
    CHECK(piped.at("vpp") == "2");
    CHECK(rows_of(start(fsdp) + steps(10, "9")).at(0).at("micro_batch") == "8");
}

TEST_CASE("torchtitan's log: each start is a row of its own plan and speed, ranks side by side are one") {
    std::string const first = start(fsdp) + steps(12, "7,500");
    auto const two =
        rows_of(first + start("Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]") + steps(12, "5,000"));
    REQUIRE(two.size() == 2);
    CHECK(two[0].at("tp") == "1");
    CHECK(two[0].at("tokens_per_s_per_gpu") == "7500");
    CHECK(two[1].at("tp") == "2");
    CHECK(two[1].at("tokens_per_s_per_gpu") == "5000");
    // A log without the second start's first lines.
    auto const fallen = rows_of(first + steps(12, "5,000"));
    REQUIRE(fallen.size() == 2);
    CHECK(fallen[1].at("num_gpus") == "8");
    CHECK(fallen[1].at("tokens_per_s_per_gpu") == "5000");
    std::string ranks = start(fsdp);
    for (char const* step : {"1", "7", "8"})
        for (char const* rank : {"0", "1", "2"})
            ranks += "[rank" + std::string(rank) + "]:[titan] step: " + step + "  loss: 9  memory: 1GiB(1%)  tps: 7\n";
    CHECK(rows_of(ranks).size() == 1);
    // A launcher that prints one rank's lines after another's.
    CHECK(rows_of(start(fsdp) + steps(9, "7", "[rank0]:") + steps(9, "7", "[rank1]:")).size() == 1);
    ImportedTables const stopped = importer_for(first, "x").read(first + start(fsdp), {.name = "x"});
    CHECK(stopped.steps.size() == 1);
    CHECK(stopped.skipped.contains("a start of the program without a step"));
}

TEST_CASE("torchtitan's log: the rate of 2024 has another name") {
    std::string const text = start(fsdp) + steps(10, "7,500", before, "wps");
    CHECK(std::string(importer_for(text, "x").name) == "torchtitan-log");
    CHECK(rows_of(text).at(0).at("tokens_per_s_per_gpu") == "7500");
}
