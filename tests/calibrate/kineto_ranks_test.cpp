// Traces of several ranks, in one file or one each, and operators of other packages.
#include "calibrate/import/importer.hpp"
#include "core/error.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

using namespace sextant;

namespace {

ImportedTables imported(std::string const& text, std::string const& name = "trace.json") {
    return importer_for(text, name).read(text, {.name = name});
}

/// @param head of the object, before its events
std::string trace(std::vector<std::string> const& events, std::string const& head = "") {
    std::string text =
        "{\"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA H100 80GB HBM3\"}], " + head + "\"traceEvents\": [";
    for (std::string const& event : events)
        text += (&event == &events.front() ? "" : ",\n") + event;
    return text + "]}";
}

std::string product(std::string const& process, int id, std::string const& name = "aten::mm") {
    return fmt::format(R"({{"cat": "cpu_op", "name": "{}", "pid": {}, "args": {{"External id": {},
        "Input Dims": [[128, 256], [256, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}}}})",
                       name, process, id);
}

std::string kernel(std::string const& process, int id, double time, int device = 0) {
    return fmt::format(R"({{"cat": "kernel", "name": "gemm", "pid": {}, "dur": {},
        "args": {{"External id": {}, "device": {}}}}})",
                       process, time, id, device);
}

std::string collective(double time, std::string const& ranks = "[0, 1, 2, 3, 4, 5, 6, 7]",
                       std::string const& name = "allreduce", std::int64_t elements = 1 << 20) {
    return fmt::format(R"({{"cat": "kernel", "name": "nccl", "pid": 0, "dur": {}, "args": {{
        "Collective name": "{}", "dtype": "BFloat16", "Group size": 8, "Process Group Ranks": "{}",
        "In msg nelems": {}, "Out msg nelems": {}, "device": 0}}}})",
                       time, name, ranks, elements, elements);
}

/// The arguments of flash-attention's own operators, with what stands in place `changed`.
std::string flash(bool backward, std::size_t changed = 100, std::string const& value = "") {
    std::vector<std::string> said =
        backward ? std::vector<std::string>{"",   "",      "",     "",   "",   "",   "", "",     "",
                                            "0.", "0.125", "True", "-1", "-1", "0.", "", "False"}
                 : std::vector<std::string>{"", "", "", "0.", "0.125", "True", "-1", "-1", "0."};
    if (changed < said.size()) said[changed] = value;
    std::string concrete, sizes, types;
    for (std::size_t i = 0; i < said.size(); ++i) {
        std::size_t const queries = backward ? 1 : 0;
        bool const is_tensor = said[i].empty() && i != 15;
        bool const is_narrow = i == queries + 1 || i == queries + 2;
        concrete += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", said[i]);
        sizes += fmt::format("{}{}", i == 0 ? "" : ", ",
                             !is_tensor  ? "[]"
                             : is_narrow ? "[2, 4096, 8, 128]"
                                         : "[2, 4096, 32, 128]");
        types += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", is_tensor ? "c10::BFloat16" : "Scalar");
    }
    return fmt::format(R"({{"cat": "cpu_op", "name": "flash_attn::_flash_attn_{}", "pid": 1, "args": {{
        "External id": 1, "Input Dims": [{}], "Input type": [{}], "Concrete Inputs": [{}]}}}})",
                       backward ? "backward" : "forward", sizes, types, concrete);
}

}  // namespace

TEST_CASE("Kineto: a merged trace is read by rank where it names them, and refused where kernels would add up") {
    // SGLang's merger writes the rank before the process; ids of all ranks are the same.
    ImportedTables const named = imported(trace({product("\"[TP00] 7\"", 5), product("\"[TP01] 7\"", 5),
                                                 kernel("\"[TP00] 0\"", 5, 10), kernel("\"[TP01] 1\"", 5, 14, 1)}));
    REQUIRE(named.products.size() == 1);
    CHECK(named.products[0].microseconds == Approx(12));
    auto const refused = [](std::vector<std::string> const& events) {
        CHECK_THROWS_WITH(imported(trace(events)),
                          contains("trace.json: a merged trace") && contains("import each rank's file"));
    };
    refused({product("7", 5), product("8", 5), kernel("0", 5, 10)});
    refused({product("7", 5), kernel("0", 5, 10), kernel("1", 5, 14, 1)});
    // An operator of which there is no model may have launched on several devices.
    ImportedTables const other = imported(trace(
        {product("7", 5, "aten::cat"), kernel("0", 5, 10), kernel("1", 5, 9, 1), product("7", 6), kernel("0", 6, 3)}));
    CHECK(other.products.size() == 1);
}

TEST_CASE("Kineto: of traces of one call the shortest of each group, size and device counts, once") {
    ImportedTables all = imported(trace({collective(90), collective(40, "[8, 9, 10, 11, 12, 13, 14, 15]")}), "r0.json");
    ImportedTables const second =
        imported(trace({collective(60), collective(70, "[0, 1, 2, 3, 4, 5, 6, 7]", "allreduce", 1 << 22)}), "r1.json");
    all.collectives.insert(all.collectives.end(), second.collectives.begin(), second.collectives.end());
    all.keep_shortest();
    REQUIRE(all.collectives.size() == 3);
    CHECK(all.collectives[0].microseconds == 60);
    CHECK(all.collectives[1].microseconds == 40);
    CHECK(all.collectives[2].run == all.collectives[0].run);  // sizes of one group are one run, whoever traced them
    CHECK(all.collectives[1].run != all.collectives[0].run);
    // Without the names of the ranks nobody knows whether a group is the same.
    ImportedTables unnamed = imported(trace({collective(90, "")}), "r0.json");
    ImportedTables const other = imported(trace({collective(60, "")}), "r1.json");
    unnamed.collectives.push_back(other.collectives.at(0));
    unnamed.keep_shortest();
    CHECK(unnamed.collectives.size() == 2);
}

TEST_CASE("Kineto: NCCL's version is the trace's, and a coalesced all-reduce is one of all its elements") {
    ImportedTables const t = imported(trace({collective(90, "[0, 1, 2, 3, 4, 5, 6, 7]", "allreduce_coalesced")},
                                            R"("distributedInfo": {"backend": "nccl", "rank": 3,
                                               "pg_config": [{"pg_name": "0", "ranks": [0, 1]}],
                                               "nccl_version": "2.26.2"}, )"));
    REQUIRE(t.collectives.size() == 1);
    CHECK(t.collectives[0].library_version == "2.26.2");
    CHECK(t.collectives[0].collective == "all_reduce");
    CHECK(t.collectives[0].bytes == 2 << 20);
}

TEST_CASE("Kineto: flash-attention's own operators are attention of a step") {
    ImportedTables const forward = imported(trace({flash(false), kernel("0", 1, 900)}));
    REQUIRE(forward.attention.size() == 1);
    CHECK(forward.attention[0].length == 4096);
    CHECK(forward.attention[0].heads == 32);
    CHECK(forward.attention[0].kv_heads == 8);
    CHECK(forward.attention[0].library == "sdpa_flash");
    CHECK_FALSE(forward.attention[0].backward);
    ImportedTables const backward = imported(trace({flash(true), kernel("0", 1, 2500)}));
    REQUIRE(backward.attention.size() == 1);
    CHECK(backward.attention[0].backward);
    CHECK(backward.attention[0].kv_heads == 8);
    auto const reason = [](std::string const& op) { return imported(trace({op, kernel("0", 1, 9)})).skipped; };
    CHECK(reason(flash(false, 5, "False")).contains("attention without a causal mask"));
    CHECK(reason(flash(true, 12, "1023")).contains("attention with a sliding window"));
    CHECK(reason(flash(false, 8, "30.")).contains("attention with a cap on its scores"));
    CHECK(reason(flash(true, 9, "0.1")).contains("attention with dropout"));
}

TEST_CASE("Kineto: products of whole numbers are in int8") {
    std::string op = product("7", 5, "aten::_int_mm");
    for (auto at = op.find("c10::BFloat16"); at != std::string::npos; at = op.find("c10::BFloat16"))
        op.replace(at, 13, "signed char");
    ImportedTables const t = imported(trace({op, kernel("0", 5, 10)}));
    REQUIRE(t.products.size() == 1);
    CHECK(t.products[0].dtype == "int8");
    CHECK(t.products[0].result_bytes == 4);
    CHECK_THAT(products_csv(t), contains(",before,4\n"));
    CHECK_THAT(products_csv(imported(trace({product("7", 5, "aten::mm"), kernel("0", 5, 10)}))),
               !contains("result_bytes"));
}
