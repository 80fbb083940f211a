#include "planner/validation/pipeline_layout.hpp"
#include "planner/validation/row_pipeline.hpp"
#include "planner/validation/train_validation.hpp"
#include "tests/catch.hpp"
#include "tests/planner/validation_rows.hpp"

using namespace sextant;

TEST_CASE("stages stated in the notes are used, and refused when they are another model's") {
    TrainingRow row = complete_row();
    row.pp = 2;
    row.dp = 4;
    row.notes = "x; stages hold [15, 19] units counting embedding and head as one each; y";
    CHECK(built(row).plan.stage_layers == std::vector<std::int64_t>{14, 18});
    row.notes = "stages hold [13, 13] units counting embedding and head as one each";
    CHECK_THROWS_WITH(built(row), contains("another number of layers"));
}

TEST_CASE("a row that overlaps the exchanges of its experts runs its passes in pairs") {
    TrainingRow row = complete_row();
    row.notes = "grad accumulation 4; MoE all-to-all overlap on";
    CHECK(built(row).plan.schedule == Schedule::one_f_one_b);  // no experts
    row.moe_experts = 8;
    row.moe_topk = 2;
    row.moe_ffn_hidden = 512;
    row.ep = 2;
    CHECK(built(row).plan.schedule == Schedule::overlapped);
    row.notes = "dispatcher DeepEP; cross-node EP, 1F1B all-to-all overlap; x";
    CHECK(built(row).plan.schedule == Schedule::overlapped);
    row.notes = "dispatcher DeepEP";
    CHECK(built(row).plan.schedule == Schedule::one_f_one_b);
}

TEST_CASE("runs whose source overlaps the sends of pipelines are interleaved, in a degree that is not stated") {
    TrainingRow row = complete_row();
    row.pp = 2;
    row.dp = 4;
    row.notes = "tp-comm-overlap on; micro-batch and virtual pipeline size not stated";
    CHECK(built(row).plan.schedule == Schedule::one_f_one_b);
    row.source_id = "megatron-lm-readme";
    TrainingCase const c = built(row);
    CHECK(c.plan.schedule == Schedule::interleaved);
    CHECK(c.plan.vpp == 2);
    row.notes = "virtual pipeline size 1";
    CHECK(built(row).plan.schedule == Schedule::one_f_one_b);
}

TEST_CASE("a row that names no schedule ran that of its framework") {
    TrainingRow row = complete_row();
    row.pp = 2;
    row.dp = 4;
    row.pp_schedule.clear();
    CHECK(built(row).plan.schedule == Schedule::one_f_one_b);
    row.framework = "MaxText";
    CHECK(built(row).plan.schedule == Schedule::gpipe);
    row.vpp = 2;
    CHECK(built(row).plan.schedule == Schedule::breadth_first);
    row.pp_schedule = "1f1b";
    row.vpp.reset();
    CHECK(built(row).plan.schedule == Schedule::one_f_one_b);
}

TEST_CASE("interleaved chunks that cannot be equal are full, with short ends") {
    auto const stages = [](std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
        TrainingRow row = complete_row();
        row.layers = layers;
        row.dp = 1;
        row.pp = pp;
        row.vpp = vpp;
        row.num_gpus = pp;
        return built(row).plan.stage_layers;
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
    CHECK(skip_reason([](TrainingRow& row) {
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
    auto const plan = built(row).plan;
    CHECK(plan.vpp == 4);
    CHECK(plan.stage_layers == std::vector<std::int64_t>{1, 2, 2, 2, 2, 2, 2, 0});
    row.notes = "pipeline-model-parallel-layout=Et|(tt|)*5L";
    CHECK_THROWS_AS(built(row), RowSkip);
    row.layers = 12;
    row.pp = 4;
    row.dp = 2;
    row.notes = "decoder-first-pipeline-num-layers=2";
    CHECK(built(row).plan.stage_layers == std::vector<std::int64_t>{2, 4, 4, 2});
    row.notes = "decoder-first-pipeline-num-layers=3; decoder-last-pipeline-num-layers=1";
    CHECK(built(row).plan.stage_layers == std::vector<std::int64_t>{3, 4, 4, 1});
}
