// Arguments of Megatron-LM that change a step, in the words of the table of training steps.
#include "calibrate/import/megatron_arguments.hpp"

#include "core/measurements/row_cells.hpp"
#include "tests/catch.hpp"

using namespace sextant;

namespace {

MegatronArguments const plain{{"num_layers", "80"},
                              {"pipeline_model_parallel_size", "4"},
                              {"context_parallel_size", "2"},
                              {"cp_comm_type", "['p2p']"},
                              {"window_size", "None"},
                              {"overlap_moe_expert_parallel_comm", "False"},
                              {"pipeline_model_parallel_layout", "None"}};

CellRow cells_with(MegatronArguments const& more) {
    MegatronArguments all = plain;
    for (auto const& [name, value] : more)
        all.insert_or_assign(name, value);
    return cells_of(all);
}

std::string recomputed(std::string const& layers, std::string const& chunks, std::string const& of_chunk = "None") {
    return cells_with({{"recompute_granularity", "full"},
                       {"recompute_method", "block"},
                       {"recompute_num_layers", layers},
                       {"virtual_pipeline_model_parallel_size", chunks},
                       {"num_layers_per_virtual_pipeline_stage", of_chunk}})
        .at("recompute");
}

}  // namespace

TEST_CASE("Megatron's log: the block method recomputes so many layers of each chunk, as far as it has them") {
    CHECK(recomputed("2", "None") == "full, 2 layers of each stage");
    CHECK(recomputed("2", "5") == "full, 10 layers of each stage");
    CHECK(recomputed("2", "10") == "full, 20 layers of each stage");
    CHECK(recomputed("3", "10") == "full, 20 layers of each stage");  // a chunk has two
    CHECK(recomputed("2", "None", "4") == "full, 10 layers of each stage");
    CHECK(recomputed("30", "None") == "full, 20 layers of each stage");
    CHECK(recomputed("99999999999", "99999999999").starts_with("full, "));
}

TEST_CASE("Megatron's log: arguments that the columns have no place for are said in the notes, or cost the row") {
    CHECK_FALSE(cells_with({}).contains("notes"));
    CHECK(cells_with({{"overlap_moe_expert_parallel_comm", "True"}}).at("notes") == "EP comm overlap=on");
    CHECK(cells_with({{"pipeline_model_parallel_layout", "Et*3|(tt|)*29,m|L"}}).at("notes") ==
          "pipeline-model-parallel-layout=Et*3|(tt|)*29,m|L");
    CHECK_THAT(cells_with({{"cp_comm_type", "['a2a']"}}).at("notes"), contains("ulysses"));
    CHECK_THAT(cells_with({{"cp_comm_type", "a2a"}}).at("notes"), contains("ulysses"));
    CHECK(cells_with({{"cp_comm_type", "['allgather']"}}).at("notes") == "cp-comm-type=all_gather");
    CHECK_THROWS_WITH(cells_with({{"cp_comm_type", "['p2p', 'a2a']"}}), contains("of several kinds ('p2p+a2a')"));
    CHECK_THROWS_WITH(cells_with({{"cp_comm_type", "a2a+p2p"}}), contains("of several kinds"));
    CHECK_FALSE(cells_with({{"cp_comm_type", "['a2a']"}, {"context_parallel_size", "1"}}).contains("notes"));
    CHECK_THROWS_AS(cells_with({{"window_size", "(127, 0)"}}), RowSkip);
}
