#include "calibrate/import/importer.hpp"

#include "calibrate/import/kineto_collective.hpp"
#include "core/error.hpp"
#include "core/measurements/kernel_row.hpp"
#include "cost_models/collective_row.hpp"
#include "tests/catch.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <tuple>

using namespace sextant;

namespace {

ImportedTables imported(std::string_view text, std::string const& device = "") {
    Importer const& importer = importer_for(text, "file");
    return importer.read(text, {.name = "file", .device = device, .source = ""});
}

std::string recognised(std::string_view text) { return importer_for(text, "file").name; }

/// Every row of the kernel tables as the fits read it.
std::vector<KernelCase> cases_of(ImportedTables const& tables) {
    std::vector<KernelCase> out;
    for (std::string const& csv : {products_csv(tables), attention_csv(tables), memory_csv(tables)}) {
        if (csv.empty()) continue;
        CsvTable const table = parse_csv(csv, "imported.csv");
        KernelTable const kind = kernel_table_of(table);
        for (CsvRecord const& record : table.records)
            out.push_back(kernel_case(kind, RowCells(table, record)));
    }
    return out;
}

std::string const aic_gemm =
    "framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,bfloat16,1024,4096,2048,0.0345\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,fp8,16,512,256,0.0098\n"
    "TRTLLM,1.2.0,NVIDIA H200,gemm,torch_flow,fp8,,512,256,0.0098\n";
std::string const aic_context =
    "framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,beam_width,"
    "attn_dtype,kv_cache_dtype,step,window_size,latency\n"
    "VLLM,0.24.0,NVIDIA H100 80GB HBM3,context_attention,fa3,4,1024,32,8,128,1,bfloat16,fp8,0,0,0.25\n"
    "VLLM,0.24.0,NVIDIA H100 80GB HBM3,generation_attention,fa3,4,1,32,8,128,1,bfloat16,bfloat16,2047,0,0.02\n"
    "VLLM,0.24.0,NVIDIA H100 80GB HBM3,context_attention,fa3,4,1024,32,8,128,1,bfloat16,bfloat16,0,128,0.2\n";
std::string const aic_nccl =
    "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n"
    "TRTLLM,2.26.2,NVIDIA H200,all_gather,NCCL,half,8,1048576,0.031\n"
    "TRTLLM,2.26.2,NVIDIA H200,all_reduce,NCCL,int8,4,4096,0.012\n";
std::string const vidur_mlp =
    "time_stats.attn_pre_proj.median,time_stats.attn_post_proj.median,time_stats.mlp_up_proj.median,"
    "time_stats.mlp_down_proj.median,time_stats.mlp_act.median,time_stats.add.median,n_head,n_kv_head,n_embd,"
    "n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,num_tensor_parallel_workers\n"
    "0.1,0.05,0.4,0.2,0.03,0.006,32,8,4096,14336,128256,True,512,2\n";
std::string const vidur_attention =
    "time_stats.attn_decode.median,time_stats.attn_prefill.median,n_embd,n_q_head,n_kv_head,block_size,"
    "num_tensor_parallel_workers,max_model_len,batch_size,prefill_chunk_size,kv_cache_size,is_prefill,"
    "attention_backend\n"
    "0.015,,8192,64,8,16,2,4096,4,0,992,False,AttentionBackend.FLASH_ATTENTION\n"
    ",0.5,8192,64,8,16,2,4096,1,512,0,True,AttentionBackend.FLASH_ATTENTION\n";
std::string const vidur_network =
    ",time_stats.all_reduce.min,time_stats.all_reduce.median,rank,num_workers,size,collective,devices_per_node,"
    "max_devices_per_node\n"
    "0,0.03,0.037,0,8,2097152,all_reduce,8,8\n"
    "1,0.03,0.036,1,8,2097152,all_reduce,8,8\n";
std::string const nvbench = R"({"meta": {}, "devices": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "benchmarks": [
 {"name": "matmul", "states": [
  {"name": "Device=0", "device": 0, "is_skipped": false,
   "axis_values": [{"name": "T{ct}", "type": "string", "value": "BF16"}, {"name": "M", "type": "int64", "value": "256"},
                   {"name": "N", "type": "int64", "value": "512"}, {"name": "K", "type": "int64", "value": "1024"}],
   "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "1.5e-05"}]},
                 {"tag": "nv/batch/time/gpu/mean", "data": [{"name": "value", "type": "float64", "value": "1.2e-05"}]}]},
  {"name": "skipped", "device": 0, "is_skipped": true, "axis_values": null, "summaries": null}]},
 {"name": "copy", "states": [
  {"name": "Device=0", "device": 0, "is_skipped": false, "axis_values": [],
   "summaries": [{"tag": "nv/cold/time/gpu/mean", "data": [{"name": "value", "value": "1e-03"}]},
                 {"tag": "nv/cold/bw/global/bytes_per_second", "data": [{"name": "value", "value": "2e12"}]}]}]}]})";
std::string const kineto = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}],
 "record_shapes": 1, "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "args": {"External id": 7,
   "Input Dims": [[128, 256], [256, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "args": {"External id": 8,
   "Input Dims": [[128, 256], [256, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "args": {"External id": 9,
   "Input Dims": [[64], [32, 16], [16, 64], [], []], "Input type": ["float", "float", "float", "Scalar", "Scalar"]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::add", "args": {"External id": 10, "Input Dims": [[4], [4], []]}},
 {"ph": "X", "cat": "cpu_op", "name": "aten::_flash_attention_forward", "args": {"External id": 11,
   "Input Dims": [[2, 1024, 32, 128], [2, 1024, 8, 128], [2, 1024, 8, 128], [], [], [], [], [], []],
   "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"],
   "Concrete Inputs": ["", "", "", "", "", "1024", "1024", "0.", "True"]}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "dur": 10.0, "args": {"External id": 7}},
 {"ph": "X", "cat": "kernel", "name": "splitk_reduce", "dur": 2.0, "args": {"External id": 7}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "dur": 14.0, "args": {"External id": 8}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "dur": 3.0, "args": {"External id": 9}},
 {"ph": "X", "cat": "kernel", "name": "elementwise", "dur": 1.0, "args": {"External id": 10}},
 {"ph": "X", "cat": "kernel", "name": "flash_fwd", "dur": 77.0, "args": {"External id": 11}},
 {"ph": "X", "cat": "kernel", "name": "orphan", "dur": 1.0, "args": {}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "dur": 200.0, "args": {"Collective name": "_allgather_base",
   "In msg nelems": 1024, "Out msg nelems": 8192, "Group size": 8, "dtype": "BFloat16"}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "dur": 90.0, "args": {"Collective name": "_allgather_base",
   "In msg nelems": 1024, "Out msg nelems": 8192, "Group size": 8, "dtype": "BFloat16"}}]})";
std::string const nccl_log =
    "# nThread 1 nGpus 2 minBytes 1048576 maxBytes 2097152\n"
    "#  Rank  0 Group  0 Pid  12 on  node1 device  0 [0x01] NVIDIA L40S\n"
    "#  Rank  1 Group  0 Pid  12 on  node1 device  1 [0x02] NVIDIA L40S\n"
    "# all_reduce_perf\n#                     out-of-place        in-place\n"
    "  1048576  262144  float  sum  -1  101.5  10.33  10.33  0  99.5  10.54  10.54  0\n";
std::string const bench_rows =
    "{\"bench\": \"gemm\", \"backend\": \"cuda\", \"device\": \"NVIDIA L40S\", \"kernel\": \"cublaslt\", \"dtype\": "
    "\"e4m3\", \"m\": 64, \"n\": 128, \"k\": 256, \"cache\": \"cold\", \"launch\": \"stream\", \"median_us\": 9.5}\n"
    "{\"bench\": \"collectives\", \"backend\": \"host\", \"device\": \"NVIDIA L40S\", \"kernel\": \"all_to_all\", "
    "\"dtype\": \"fp32\", \"bytes\": 4096, \"ranks\": 4, \"nodes\": 1, \"cache\": \"hot\", \"launch\": \"stream\", "
    "\"median_us\": 30}\n"
    "{\"bench\": \"norm\", \"backend\": \"cuda\", \"device\": \"NVIDIA L40S\", \"kernel\": \"rmsnorm\", \"dtype\": "
    "\"bf16\", \"cache\": \"hot\", \"launch\": \"graph\", \"median_us\": 10, \"gbps\": 200}\n"
    "{\"bench\": \"launch\", \"backend\": \"cuda\", \"device\": \"NVIDIA L40S\", \"kernel\": \"graph_node\", "
    "\"median_us\": 3}\n";

}  // namespace

TEST_CASE("importers: each text is recognised as what it is, and nothing else is") {
    CHECK(recognised(aic_gemm) == "aiconfigurator");
    CHECK(recognised(aic_context) == "aiconfigurator");
    CHECK(recognised(aic_nccl) == "aiconfigurator");
    CHECK(recognised(vidur_mlp) == "vidur");
    CHECK(recognised(vidur_network) == "vidur");
    CHECK(recognised(nvbench) == "nvbench");
    CHECK(recognised(kineto) == "kineto");
    CHECK(recognised(nccl_log) == "nccl-tests");
    CHECK(recognised(bench_rows) == "sextant-bench");
    CHECK_THROWS_WITH(importer_for("a,b\n1,2\n", "x.csv"), contains("x.csv: is in no format that is known"));
    CHECK_THROWS_WITH(importer_for(" \n", "x.csv"), contains("x.csv: is empty"));
    CHECK_THROWS_WITH(importer_for("\x1f\x8b\b", "t.json.gz"), contains("is compressed (unpack it with gunzip)"));
    CHECK_THROWS_WITH(importer_for("PAR1", "t.parquet"), contains("is a Parquet file"));
    CHECK_THROWS_WITH(find_importer("kinetto"), contains("did you mean 'kineto'"));
}

TEST_CASE("importers: the catalogue names each once, and each finds itself") {
    std::set<std::string> names;
    for (Importer const* importer : importers()) {
        CHECK(names.insert(importer->name).second);
        CHECK(&find_importer(importer->name) == importer);
        CHECK(std::string_view(importer->summary).size() > 10);
        CHECK(std::string_view(importer->source).size() > 5);
    }
}

TEST_CASE("importers: broken files are one clear error, never a row") {
    for (std::string const& text : {nvbench, kineto, bench_rows}) {
        Importer const& importer = importer_for(text, "file");
        for (double const share : {0.3, 0.6, 0.9}) {
            std::string const cut = text.substr(0, static_cast<std::size_t>(share * static_cast<double>(text.size())));
            if (&importer == &find_importer("sextant-bench")) {
                CHECK_NOTHROW(importer.read(cut, {.name = "file"}));  // whole lines are kept
                continue;
            }
            CHECK_THROWS_WITH(importer.read(cut, {.name = "file"}), contains("is no JSON, or was cut off"));
        }
    }
    auto const changed = [](std::string text, std::string_view from, std::string_view to) {
        return text.replace(text.find(from), from.size(), to);
    };
    // A cell of a table costs its row.
    for (auto const& [text, from, to] : {std::tuple{aic_gemm, "0.0345", "fast"},
                                         {aic_gemm, "1024,4096", "-5,4096"},
                                         {vidur_mlp, "0.1,0.05", "inf,0.05"}}) {
        ImportedTables const tables = imported(changed(text, from, to), "L40S");
        CHECK(tables.rows() < imported(text, "L40S").rows());
        CHECK(std::any_of(tables.skipped.begin(), tables.skipped.end(), [](auto const& entry) {
            return entry.second == 1 && entry.first.find(" (file line ") != std::string::npos;
        }));
    }
    CHECK_THROWS_AS(imported(changed(kineto, "10.0", "-10.0"), "L40S"), InputError);
    std::string unmeasured = aic_gemm;  // one that is not a number was not measured
    unmeasured.replace(unmeasured.find("0.0345"), 6, "nan");
    CHECK_NOTHROW(imported(unmeasured, "L40S"));
    for (Importer const* importer : importers())
        CHECK_THROWS_AS(importer->read("", {.name = "file"}), InputError);
}

TEST_CASE("importers: bytes of JSON that are no UTF-8 are named as the cause, with what drops them") {
    for (std::string text : {nvbench, kineto}) {
        Importer const& importer = importer_for(text, "file");
        std::size_t const at = text.find("H100");
        auto const line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        text[at] = '\xE9';
        CHECK_THROWS_WITH(importer.read(text, {.name = "file"}),
                          "file: line " + std::to_string(line) +
                              " has a byte that is no UTF-8 (iconv -c -f UTF-8 -t UTF-8 file > clean.json drops it)");
        // A character that the end of the file cuts off is not wrong.
        CHECK_THROWS_WITH(importer.read(text.substr(0, at) + "\xE2\x82", {.name = "file"}),
                          contains("is no JSON, or was cut off"));
    }
}

TEST_CASE("Kineto: the reader of a long trace tells how far it is, and reads the same") {
    std::string text = kineto;
    text.insert(text.find("\"record_shapes\""), "\"padding\": \"" + std::string(10 << 20, 'x') + "\", ");
    std::vector<std::size_t> told;
    Importer const& importer = importer_for(text, "file");
    ImportedTables const t = importer.read(text, {.name = "file", .progress = [&](std::size_t done, std::size_t of) {
                                                      CHECK(of == text.size());
                                                      told.push_back(done);
                                                  }});
    CHECK(told == std::vector<std::size_t>{4 << 20, 8 << 20});
    CHECK(t.rows() == imported(kineto).rows());
    CHECK(products_csv(t) == products_csv(imported(kineto)));
    auto const stop = [](std::size_t, std::size_t) { throw std::runtime_error("stop"); };
    CHECK_THROWS_WITH(importer.read(text, {.name = "file", .progress = stop}), "stop");
}

TEST_CASE("importers: deep nesting, wrong types and missing parts give reasons or errors, never a crash") {
    for (char const* text :
         {"{\"traceEvents\": 5}", "{\"traceEvents\": [5, null, {\"cat\": \"kernel\"}]}",
          "{\"traceEvents\": [{\"cat\": \"kernel\", \"dur\": 1, \"args\": []}]}",
          "{\"traceEvents\": [{\"cat\": \"cpu_op\", \"args\": {\"External id\": 1, \"Input Dims\": \"x\"}, \"name\": "
          "\"aten::mm\"}, {\"cat\": \"kernel\", \"dur\": 1, \"args\": {\"External id\": 1}}]}",
          "{\"benchmarks\": 1, \"states\": 2}", "{\"benchmarks\": [{\"states\": [1, [], {}]}]}",
          "{\"benchmarks\": [], \"states\": []}"}) {
        try {
            std::size_t const rows = imported(text).rows();
            CHECK(rows == 0);
        } catch (InputError const& error) {
            CHECK(std::string(error.what()).find("file") == 0);
        }
    }
}

TEST_CASE("importers: whatever a figure is changed to, no row has a size or a time that is not above zero") {
    auto const whole = [](double value) { return value > 0 && std::isfinite(value); };
    std::size_t read = 0;
    for (std::string const& text : {aic_gemm, aic_context, aic_nccl, vidur_mlp, vidur_attention, vidur_network, nvbench,
                                    kineto, nccl_log, bench_rows}) {
        for (std::size_t begin = text.find_first_of("0123456789"); begin != std::string::npos;) {
            std::size_t const end = text.find_first_not_of("0123456789.e", begin);
            for (char const* figure : {"0", "-1", "1e308", "0.4", "\"7\"", "nan"}) {
                std::string changed = text;
                changed.replace(begin, end - begin, figure);
                CAPTURE(text.substr(begin > 30 ? begin - 30 : 0, 60), figure);
                try {
                    ImportedTables const tables = imported(changed, "L40S");
                    read += tables.rows();
                    for (auto const& p : tables.products)
                        CHECK((p.m > 0 && p.n > 0 && p.k > 0 && whole(p.microseconds)));
                    for (auto const& a : tables.attention)
                        CHECK((a.batch > 0 && a.length > 0 && a.heads > 0 && a.kv_heads > 0 && a.head_dim > 0 &&
                               a.past >= 0 && whole(a.microseconds)));
                    for (auto const& m : tables.memory)
                        CHECK((m.bytes >= 0.5 && whole(m.bytes) && whole(m.microseconds)));
                    for (auto const& c : tables.collectives)
                        CHECK((c.nodes > 0 && c.per_node > 0 && c.bytes >= 0.5 && whole(c.bytes) &&
                               whole(c.microseconds)));
                } catch (InputError const& error) {
                    CHECK_THAT(std::string(error.what()), contains("file"));
                }
            }
            begin = text.find_first_of("0123456789", end);
        }
    }
    CHECK(read > 500);
}

TEST_CASE("AIConfigurator: tables of which there is no model are named, headers may have blanks and capitals") {
    std::string const head = "framework,version,device,op_name,kernel_source,";
    for (auto const& [columns, what] : {std::pair{"moe_dtype,num_tokens,hidden_size,inter_size,topk", "experts"},
                                        {"allreduce_dtype,num_gpus,message_size", "custom_allreduce"}})
        CHECK_THROWS_WITH(imported(head + columns + ",latency\n"), contains(what) && contains("no model of tables of"));
    std::string text = aic_gemm;
    text.replace(text.find("gemm_dtype,m,n,k,latency"), 24, "GEMM_dtype, M, N, K, Latency");
    CHECK(recognised(text) == "aiconfigurator");
    CHECK(imported(text).products.size() == imported(aic_gemm).products.size());
}

TEST_CASE(
    "AIConfigurator: decodes of latent attention and the products around them; what is more than they is left out") {
    std::string const head = "framework,version,device,op_name,kernel_source,";
    std::string const mla = head + "mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,tp_size,step,latency\n";
    std::string const row = "TRTLLM,1.2.0,NVIDIA H200,mla_generation,default,float16,fp8,16,8,1,8,4095,0.025\n";
    ImportedTables const decodes =
        imported(mla + row + "TRTLLM,1.2.0,NVIDIA H200,mla_context,default,float16,float16,16,8,1024,8,0,0.5\n" +
                 "SGLang,0.5.6,NVIDIA H200,mla_generation,fa3,fp8_block,fp8,128,8,4096,1,0,0.5\n" +
                 "TRTLLM,1.2.0,NVIDIA H200,mla_generation_module,default,float16,fp8,16,8,1,8,4095,0.5\n");
    REQUIRE(decodes.attention.size() == 1);
    CHECK(decodes.skipped.size() == 3);
    KernelCase const decode = cases_of(decodes).at(0);
    CHECK(decode.latent);
    CHECK(std::get<DecodeAttention>(decode.what).keys == 4096);
    CHECK(std::get<DecodeAttention>(decode.what).heads == 16);
    CHECK(decode.measured->base() == Approx(25e-6));
    // Tables of 2025 have the ranks of 128 heads alone.
    std::string const ranks = head + "mla_dtype,kv_cache_dtype,batch_size,isl,tp_size,step,latency\n" +
                              "TRTLLM,0.20.0,NVIDIA H200,mla_generation,default,float16,float16,8,1,4,4095,0.025\n";
    CHECK(imported(ranks).attention.at(0).heads == 32);

    ImportedTables const products = imported(head + "bmm_dtype,num_tokens,num_heads,latency\n" +
                                             "TRTLLM,1.2.0,NVIDIA H200,mla_gen_pre,default,float16,64,16,0.01\n" +
                                             "TRTLLM,1.2.0,NVIDIA H200,mla_gen_post,default,fp8,64,16,0.02\n" +
                                             "TRTLLM,1.2.0,NVIDIA H200,mla_gen_other,default,fp8,64,16,0.02\n");
    std::vector<KernelCase> const cases = cases_of(products);
    REQUIRE(cases.size() == 2);
    CHECK(cases[0].products == 16);
    CHECK(std::get<Gemm>(cases[0].what).n == 512);
    CHECK(std::get<Gemm>(cases[0].what).k == 128);
    CHECK(std::get<Gemm>(cases[1].what).n == 128);
    CHECK(std::get<Gemm>(cases[1].what).k == 512);
    CHECK(cases[1].variant == "fp8-block");
    CHECK(products.skipped.contains("no model of the op 'mla_gen_other'"));
}

TEST_CASE("importers: quoted names of columns are those names") {
    for (std::string const& text : {aic_gemm, aic_nccl}) {
        std::string quoted = "\"";
        std::size_t const end = text.find('\n');
        for (char const c : text.substr(0, end))
            quoted += c == ',' ? "\",\"" : std::string(1, c);
        CHECK(recognised(quoted + '"' + text.substr(end)) == "aiconfigurator");
    }
}

TEST_CASE("Vidur: an operator without a time is counted, whichever it is") {
    std::string missing = vidur_mlp;
    missing.replace(missing.find(",0.03,0.006,"), 12, ",,0,");
    ImportedTables const tables = imported(missing, "A100");
    std::size_t left_out = 0;
    for (auto const& [reason, count] : tables.skipped)
        left_out += count;
    CHECK(tables.rows() + left_out == 8);  // four products and four memory-bound kernels
    CHECK(tables.skipped.at("mlp_act has no time") == 1);
    CHECK(tables.skipped.at("add has no time") == 1);
}

TEST_CASE("Vidur: operators that are no kernel of a table are counted") {
    std::string const header = "time_stats.emb.median,time_stats.attn_rope.median,";
    std::string text = header + vidur_mlp;
    text.insert(text.find("\n0.1,") + 1, "0.01,0.02,");
    ImportedTables const tables = imported(text, "A100");
    CHECK(tables.skipped.at("emb is no kernel that is modelled") == 1);
    CHECK(tables.skipped.at("attn_rope is no kernel that is modelled") == 1);
    CHECK(tables.products.size() == 4);
}

TEST_CASE("importers: a table with another separator is told so") {
    std::string tabs = aic_gemm;
    std::replace(tabs.begin(), tabs.end(), ',', '\t');
    CHECK_THROWS_WITH(importer_for(tabs, "gemm.txt"), contains("gemm.txt: its columns are parted by tabs"));
}

TEST_CASE("AIConfigurator: milliseconds become microseconds, elements of a message bytes") {
    ImportedTables const gemm = imported(aic_gemm);
    REQUIRE(gemm.products.size() == 2);
    CHECK(gemm.products[0].microseconds == Approx(34.5));
    CHECK(gemm.products[0].device == "NVIDIA H200");
    CHECK(gemm.skipped.at("m is not stated") == 1);
    auto const rows = cases_of(gemm);
    CHECK(rows[0].variant == "bf16");
    CHECK(rows[1].variant == "fp8");
    CHECK(rows[1].quantised == Quantised::with_product);

    ImportedTables const attention = imported(aic_context);
    REQUIRE(attention.attention.size() == 2);
    CHECK(attention.skipped.at("attention with a sliding window") == 1);
    auto const kernels = cases_of(attention);
    CHECK(kernels[0].variant == "bf16/fp8");
    CHECK(std::get<Attention>(kernels[0].what).queries == 1024);
    CHECK(std::get<DecodeAttention>(kernels[1].what).keys == 2048);
    CHECK(kernels[1].measured->in(units::us) == Approx(20));

    ImportedTables const nccl = imported(aic_nccl);
    REQUIRE(nccl.collectives.size() == 2);
    CHECK(nccl.collectives[0].bytes == 2 * 1048576);
    CHECK(nccl.collectives[1].bytes == 4096);
    CHECK(nccl.collectives[0].microseconds == Approx(31));
}

TEST_CASE("AIConfigurator: a window that no key is outside of is none") {
    auto const rows = [](std::string const& from, std::string const& to) {
        std::string text = aic_context;
        text.replace(text.find(from), from.size(), to);
        return imported(text).attention.size();
    };
    CHECK(rows(",0,128,0.2", ",0,1023,0.2") == 2);
    CHECK(rows(",0,128,0.2", ",0,1024,0.2") == 3);
    CHECK(rows(",0,128,0.2", ",1,1024,0.2") == 2);  // one token is before the chunk
    CHECK(rows(",2047,0,0.02", ",2047,2047,0.02") == 1);
    CHECK(rows(",2047,0,0.02", ",2047,2048,0.02") == 2);
}

TEST_CASE("Vidur: products are those of one tensor-parallel rank") {
    ImportedTables const layer = imported(vidur_mlp, "A100-SXM4-80GB");
    REQUIRE(layer.products.size() == 4);
    auto const shape = [&](std::size_t i) {
        ImportedProduct const& p = layer.products[i];
        return std::array{p.m, p.n, p.k};
    };
    CHECK(shape(0) == std::array<std::int64_t, 3>{512, (32 + 2 * 8) * 128 / 2, 4096});
    CHECK(shape(1) == std::array<std::int64_t, 3>{512, 4096, 2048});
    CHECK(shape(2) == std::array<std::int64_t, 3>{512, 2 * 7168, 4096});
    CHECK(shape(3) == std::array<std::int64_t, 3>{512, 4096, 7168});
    REQUIRE(layer.memory.size() == 2);
    CHECK(layer.memory[1].bytes == 6.0 * 512 * 7168);
    CHECK(imported(vidur_mlp).rows() == 0);  // it does not say its device
    ImportedTables const attention = imported(vidur_attention, "A100-SXM4-80GB");
    REQUIRE(attention.attention.size() == 2);
    CHECK(attention.attention[0].kind == "generation");
    CHECK(attention.attention[0].heads == 32);
    CHECK(attention.attention[0].kv_heads == 4);
    CHECK(attention.attention[0].past == 992);
    CHECK(attention.attention[1].length == 512);
    ImportedTables const network = imported(vidur_network, "H100-SXM5-80GB");
    REQUIRE(network.collectives.size() == 1);
    CHECK(network.collectives[0].microseconds == Approx(37));
    CHECK(network.collectives[0].per_node == 8);
    CHECK(network.skipped.at("another rank of the same run") == 1);
}

TEST_CASE("Vidur: buffers of one rank are counted as nccl-tests counts them") {
    for (std::string const name : {"all_gather", "reduce_scatter", "all_reduce"}) {
        std::string text = vidur_network;
        for (std::size_t at = text.find("all_reduce"); at != std::string::npos; at = text.find("all_reduce", at + 1))
            text.replace(at, 10, name);
        ImportedTables const t = imported(text, "A100");
        REQUIRE(t.collectives.size() == 1);
        CHECK(t.collectives[0].bytes == (name == "all_reduce" ? 1 : 8) * 2097152.0);
    }
}

TEST_CASE("Vidur: a block without a second normalisation adds twice") {
    std::string const header =
        "time_stats.input_layernorm.median,time_stats.post_attention_layernorm.median," + vidur_mlp;
    auto const added = [&](std::string const& norms) {
        std::string text = header;
        text.insert(text.find("\n0.1,") + 1, norms);
        for (ImportedMemoryKernel const& row : imported(text, "A100").memory)
            if (row.kernel == "add") return row.bytes;
        return 0.0;
    };
    CHECK(added("0.01,0.01,") == 6.0 * 512 * 4096);
    CHECK(added("0.01,,") == 12.0 * 512 * 4096);
    CHECK(added("0.01,0,") == 12.0 * 512 * 4096);
    CHECK(added(",,") == 6.0 * 512 * 4096);  // an older profile, with neither
}

TEST_CASE("NVBench: products in a batch are not taken for one") {
    for (std::string const axis : {"Batch", "b", "L", "groups", "num_batches"})
        for (std::string const value : {"16", "1", "RowMajor"}) {
            CAPTURE(axis, value);
            std::string text = nvbench;
            std::string const other = R"({"name": ")" + axis + R"(", "type": "int64", "value": ")" + value + R"("}, )";
            text.insert(text.find(R"({"name": "M")"), other);
            ImportedTables const t = imported(text);
            CHECK(t.products.size() == (value == "16" ? 0 : 2));
            CHECK(t.memory.size() == 1);
            CHECK(t.skipped.count("products in a batch or in groups (the table has single ones)") ==
                  (value == "16" ? 1 : 0));
        }
}

TEST_CASE("NVBench: axes are the shape, single launches are cold, bytes come from the bandwidth") {
    ImportedTables const t = imported(nvbench);
    REQUIRE(t.products.size() == 2);
    CHECK(t.products[0].cache == CacheState::cold);
    CHECK(t.products[0].microseconds == Approx(12));  // 15 less the start between two events
    CHECK(t.products[1].microseconds == Approx(12));
    CHECK(t.products[1].cache == CacheState::hot);
    CHECK(t.products[1].dtype == "bfloat16");
    REQUIRE(t.memory.size() == 1);
    CHECK(t.memory[0].bytes == Approx(2e9));
    CHECK(t.memory[0].microseconds == Approx(997));
    CHECK(t.memory[0].device == "NVIDIA H100 80GB HBM3");
    CHECK(t.skipped.at("NVBench skipped the state") == 1);
    auto const rows = cases_of(t);
    CHECK(rows[0].cache == CacheState::cold);
    CHECK(rows[1].cache == CacheState::hot);
    std::string brief = nvbench;
    brief.replace(brief.find("1.5e-05"), 7, "5.0e-06");
    CHECK(imported(brief).products.size() == 1);
    CHECK(imported(brief).skipped.at("cold, and no longer than its start takes") == 1);
}

TEST_CASE("NVBench: a figure that is none costs its row and not the file") {
    struct Fault {
        std::string from, to, reason;
        std::size_t products, memory;
    };
    for (Fault const& fault :
         {Fault{"1.5e-05", "inf", "nv/cold/time/gpu/mean is not finite (matmul, Device=0: 'inf')", 1, 1},
          {"1.5e-05", "-inf", "nv/cold/time/gpu/mean is not finite (matmul, Device=0: '-inf')", 1, 1},
          {"1.5e-05", "nan", "nv/cold/time/gpu/mean is not finite (matmul, Device=0: 'nan')", 1, 1},
          {"1.2e-05", "fast", "nv/batch/time/gpu/mean is not a number (matmul, Device=0: 'fast')", 1, 1},
          {"256", "2.5", "m is not a whole number (matmul, Device=0: '2.5')", 0, 1},
          {"256", "-256", "m is negative (matmul, Device=0: '-256')", 0, 1},
          {"2e12", "inf", "nv/cold/bw/global/bytes_per_second is not finite (copy, Device=0: 'inf')", 2, 0},
          {"1e-03", "-nan", "nv/cold/time/gpu/mean is not finite (copy, Device=0: '-nan')", 2, 0}}) {
        CAPTURE(fault.from, fault.to);
        std::string text = nvbench;
        text.replace(text.find(fault.from), fault.from.size(), fault.to);
        ImportedTables const t = imported(text);
        CHECK(t.products.size() == fault.products);
        CHECK(t.memory.size() == fault.memory);
        CAPTURE(t.skipped);
        REQUIRE(t.skipped.contains(fault.reason));
        CHECK(t.skipped.at(fault.reason) == 1);
        CHECK(t.skipped.size() == 2);  // and the state that NVBench skipped
    }
}

TEST_CASE("importers: types as CUDA, CUTLASS and NVBench spell them are the formats of the tables") {
    for (auto const& [type, format] : {std::pair{"__nv_bfloat16", "bfloat16"},
                                       {"nv_bfloat16", "bfloat16"},
                                       {"cutlass::bfloat16_t", "bfloat16"},
                                       {"cutlass::half_t", "float16"},
                                       {"cutlass::tfloat32_t", "tf32"},
                                       {"cutlass::float_e4m3_t", "fp8"},
                                       {"BF16", "bfloat16"},
                                       {"F16", "float16"},
                                       {"I8", "sq"},
                                       {"int8_t", "sq"},
                                       {"F64", "f64"}}) {
        CAPTURE(type);
        std::string text = nvbench;
        text.replace(text.find("BF16"), 4, type);
        ImportedTables const t = imported(text);
        REQUIRE(t.products.size() == 2);
        CHECK(t.products[0].dtype == format);
    }
}

TEST_CASE("Kineto: kernels belong to their operator, repeated shapes give a median, waiting ranks do not count") {
    ImportedTables const t = imported(kineto);
    REQUIRE(t.products.size() == 2);
    for (ImportedProduct const& p : t.products) {
        CHECK(p.cache == CacheState::cold);
        if (p.kernel == "aten::mm") {
            CHECK(std::array{p.m, p.n, p.k} == std::array<std::int64_t, 3>{128, 512, 256});
            CHECK(p.microseconds == Approx(13));  // 10 + 2 and 14
        } else {
            CHECK(std::array{p.m, p.n, p.k} == std::array<std::int64_t, 3>{32, 64, 16});
            CHECK(p.dtype == "float32");
        }
    }
    REQUIRE(t.attention.size() == 1);
    CHECK(t.attention[0].kv_heads == 8);
    CHECK(t.attention[0].microseconds == 77);
    REQUIRE(t.collectives.size() == 1);
    CHECK(t.collectives[0].bytes == 2 * 8192);
    CHECK(t.collectives[0].microseconds == 90);
    CHECK(t.skipped.at("no model of the operator 'aten::add'") == 1);
    CHECK(t.skipped.size() == 2);
    CHECK(cases_of(t).size() == 3);
}

TEST_CASE("Kineto: a trace of the processor alone says that it has no kernels") {
    std::string text = kineto;
    for (std::size_t at = text.find("\"kernel\""); at != std::string::npos; at = text.find("\"kernel\""))
        text.replace(at, 8, "\"python_function\"");
    ImportedTables const t = imported(text);
    CHECK(t.rows() == 0);
    REQUIRE(t.skipped.size() == 1);
    CHECK_THAT(t.skipped.begin()->first, contains("ProfilerActivity.CUDA"));
    CHECK(t.skipped.begin()->second == 5);
}

TEST_CASE("Kineto: the order of events, and where the device is named, make no difference") {
    auto const trace = [](std::string const& before, std::string const& events, std::string const& after) {
        return "{" + before + "\"traceEvents\": [" + events + "]" + after +
               ", \"other\": [[1, {\"cat\": \"kernel\"}]]}";
    };
    std::string const op =
        R"({"cat": "cpu_op", "name": "aten::mm", "args": {"External id": 7, "Input Dims": [[128, 256], [256, 512]],
            "Input type": ["float", "float"]}})";
    std::string const kernel = R"({"cat": "kernel", "dur": 5, "args": {"External id": 7}})";
    std::string const reduce = R"({"cat": "kernel", "dur": 9, "args": {"Collective name": "allreduce", "dtype": "Float",
            "Group size": 8, "In msg nelems": 1024, "Out msg nelems": 1024}})";
    std::string const device = R"("deviceProperties": [{"name": "NVIDIA H100 80GB HBM3"}])";
    for (std::string const& text : {trace(device + ", ", op + "," + kernel + "," + reduce, ""),
                                    trace("", reduce + "," + kernel + "," + op, ", " + device)}) {
        ImportedTables const t = imported(text);
        REQUIRE(t.products.size() == 1);
        CHECK(t.products[0].microseconds == 5);
        CHECK(t.products[0].device == "NVIDIA H100 80GB HBM3");
        REQUIRE(t.collectives.size() == 1);
        CHECK(t.collectives[0].device == "NVIDIA H100 80GB HBM3");
        CHECK(t.skipped.empty());
    }
}

TEST_CASE("Kineto: sizes whose product is no number are a reason, lists in lists beyond all measure an error") {
    ImportedTables const t = imported(
        R"({"deviceProperties": [{"name": "H100"}], "traceEvents": [
            {"cat": "cpu_op", "name": "aten::mm", "args": {"External id": 1, "Input type": ["float", "float"],
             "Input Dims": [[4611686018427387904, 4, 256], [256, 512]]}},
            {"cat": "kernel", "dur": 5, "args": {"External id": 1}}]})");
    CHECK(t.rows() == 0);
    CHECK(t.skipped.at("a product whose shapes do not fit") == 1);
    CHECK_THROWS_WITH(imported("{\"traceEvents\": [" + std::string(200, '[') + std::string(200, ']') + "]}"),
                      contains("nested deeper"));
}

TEST_CASE("Kineto: a collective of ranks that are no whole nodes is a reason, and no row") {
    ImportedTables const t = imported(
        R"({"deviceProperties": [{"name": "H100"}], "traceEvents": [{"cat": "kernel", "dur": 9, "args": {
            "Collective name": "allreduce", "dtype": "Float", "Group size": 12, "In msg nelems": 1024}}]})");
    CHECK(t.rows() == 0);
    CHECK(t.skipped.at("ranks that do not divide over nodes of eight") == 1);
}

TEST_CASE("Kineto: ranks that are named lie on the nodes of their numbers") {
    auto const nodes = [](std::string const& named, std::int64_t size) {
        GroupNodes const group = group_nodes(named, size);
        return std::pair{group.nodes, group.per_node};
    };
    using Pair = std::pair<std::int64_t, std::int64_t>;
    CHECK(nodes("[0, 1, 2, 3, 4, 5, 6, 7]", 8) == Pair{1, 8});
    CHECK(nodes("[0, 8, 16, 24, 32, 40, 48, 56]", 8) == Pair{8, 1});
    CHECK(nodes("[2,3,10,11]", 4) == Pair{2, 2});
    CHECK(nodes("[4, 5]", 2) == Pair{1, 2});
    CHECK(nodes("", 16) == Pair{2, 8});
    CHECK(nodes("[]", 4) == Pair{1, 4});
    // Of more than 30 ranks 29 are named, and the last.
    auto const cut = [](int step, int last) {
        std::string text = "[0";
        for (int i = 1; i < 29; ++i)
            text += ", " + std::to_string(step * i);
        return text + ", ..., " + std::to_string(last) + "]";
    };
    CHECK(nodes(cut(1, 63), 64) == Pair{8, 8});
    CHECK(nodes(cut(8, 504), 64) == Pair{64, 1});
    CHECK(nodes(cut(4, 252), 64) == Pair{32, 2});
    CHECK_THROWS_AS(nodes(cut(1, 70), 64), RowSkip);
    CHECK_THROWS_AS(nodes(cut(1, 63), 4611686018427387904), RowSkip);
    CHECK_THROWS_AS(nodes("[0, ..., 7]", 8), RowSkip);
    CHECK_THROWS_AS(nodes("[..., 7]", 8), RowSkip);
    CHECK_THROWS_AS(nodes("[0, 9223372036854775807, ..., 7]", 8), RowSkip);
    CHECK_THROWS_AS(nodes("[0, 1, 2, 8]", 4), RowSkip);
    CHECK_THROWS_AS(nodes("[0, 1]", 4), RowSkip);
    CHECK_THROWS_AS(nodes("[0, 99999999999999999999]", 2), RowSkip);
}

TEST_CASE("Kineto: groups of different ranks are different runs") {
    std::string const head = R"({"deviceProperties": [{"name": "H100"}], "traceEvents": [)";
    auto const reduce = [](char const* named, char const* time) {
        return std::string(R"({"cat": "kernel", "dur": )") + time + R"(, "args": {"Collective name": "allreduce", )" +
               R"("dtype": "Float", "Group size": 4, "In msg nelems": 1024, "Process Group Ranks": ")" + named + "\"}}";
    };
    ImportedTables const t = imported(head + reduce("[0, 1, 2, 3]", "20") + "," + reduce("[0, 8, 16, 24]", "90") + "," +
                                      reduce("[0, 1, 2, 3]", "30") + "]}");
    REQUIRE(t.collectives.size() == 2);
    CHECK(t.collectives[0].run != t.collectives[1].run);
    for (ImportedCollective const& row : t.collectives) {
        CHECK(row.nodes * row.per_node == 4);
        CHECK(row.microseconds == (row.nodes == 1 ? 20 : 90));
    }
}

TEST_CASE("Kineto: products and cuDNN's attention of a step on a GPU") {
    std::ifstream file(SEXTANT_SOURCE_DIR "/tests/data/kineto_excerpt.json");
    std::string const text{std::istreambuf_iterator<char>(file), {}};
    ImportedTables const t = imported(text);
    REQUIRE(t.products.size() == 2);
    CHECK(t.products[0].device == "NVIDIA H200");
    CHECK(std::array{t.products[0].m, t.products[0].n, t.products[0].k} ==
          std::array<std::int64_t, 3>{32000, 2048, 8192});
    CHECK(t.products[0].microseconds == Approx(1356.766));
    REQUIRE(t.attention.size() == 2);  // two forward passes of one shape, and a backward one
    for (ImportedAttention const& row : t.attention) {
        CHECK(row.batch == 4);
        CHECK(row.length == 2048);
        CHECK(row.heads == 32);
        CHECK(row.kv_heads == 32);
        CHECK(row.head_dim == 64);
        CHECK(row.library == "sdpa_cudnn");
    }
    CHECK(t.attention[0].backward);
    CHECK(t.attention[0].microseconds > 2 * t.attention[1].microseconds);
    CHECK(t.attention[1].microseconds > 150);
    CHECK(t.attention[1].microseconds < 250);
    std::vector<std::string> variants;
    for (KernelCase const& row : cases_of(t))
        if (std::holds_alternative<Attention>(row.what)) variants.push_back(row.variant);
    CHECK(variants == std::vector<std::string>{"bf16 sdpa_cudnn/backward", "bf16 sdpa_cudnn"});
}

TEST_CASE("Kineto: attention with a window or with dropout is not full attention") {
    auto const with = [](std::string const& dropout, std::string const& more) {
        std::string text = kineto;
        std::string const causal = R"("0.", "True"])";
        return text.replace(text.find(causal), causal.size(), '"' + dropout + R"(", "True")" + more + "]");
    };
    CHECK(imported(with("0.", R"(, "False", "", "", "")")).attention.size() == 1);
    CHECK(imported(with("0.", R"(, "False", "", "-1", "0")")).attention.size() == 1);
    CHECK(imported(with("0.", R"(, "False", "", "1023", "0")")).attention.size() == 1);  // of 1024 keys
    CHECK(imported(with("0.", R"(, "False", "", "512", "0")")).skipped.at("attention with a sliding window") == 1);
    CHECK(imported(with("0.1", "")).skipped.at("attention with dropout") == 1);
}

TEST_CASE("Kineto: attention without a mask is called that, and not without shapes") {
    std::string text = kineto;
    std::string const causal = R"("0.", "True"])";
    text.replace(text.find(causal), causal.size(), R"("0.", "False"])");
    ImportedTables const t = imported(text);
    CHECK(t.attention.empty());
    CHECK(t.skipped.at("attention without a causal mask") == 1);
}

TEST_CASE("Kineto: two libraries at one shape are two rows, each of its own kernel") {
    std::string text = kineto;
    std::string const of_cudnn =
        R"({"cat": "cpu_op", "name": "aten::_scaled_dot_product_cudnn_attention", "args": {"External id": 12,
   "Input Dims": [[2, 32, 1024, 128], [2, 8, 1024, 128], [2, 8, 1024, 128], [], [], [], [], [], []],
   "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16"],
   "Concrete Inputs": ["", "", "", "", "False", "0.", "True", "False", ""]}},
 {"cat": "kernel", "name": "cudnn", "dur": 50.0, "args": {"External id": 12}},
 )";
    std::string const first = R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm")";
    text.insert(text.find(first), of_cudnn);
    ImportedTables const t = imported(text);
    REQUIRE(t.attention.size() == 2);
    std::map<std::string, double> times;
    for (KernelCase const& row : cases_of(t))
        if (std::holds_alternative<Attention>(row.what)) times[row.variant] = row.measured->in(units::us);
    CHECK(times.at("bf16 sdpa_flash") == Approx(77));
    CHECK(times.at("bf16 sdpa_cudnn") == Approx(50));
}

TEST_CASE("Kineto: a product whose scales are powers of two is in MXFP8, of which there is no model") {
    auto const with = [](std::string const& scales) {
        return imported(
            R"({"deviceProperties": [{"name": "H200"}], "traceEvents": [{"cat": "cpu_op", "name": )"
            R"("aten::_scaled_mm", "args": {"External id": 1, "Input Dims": [[64, 128], [128, 32], [4], [4]],)"
            R"( "Input type": ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", ")" +
            scales + "\", \"" + scales + R"("]}}, {"cat": "kernel", "dur": 9, "args": {"External id": 1}}]})");
    };
    CHECK(with("float").products.size() == 1);
    CHECK(with("c10::Float8_e8m0fnu").products.empty());
    CHECK(with("c10::Float8_e8m0fnu").skipped.at("no model of kernels in mxfp8") == 1);
}

TEST_CASE("Kineto: a product of float32 is one in tf32 where its kernel says so") {
    std::string text = kineto;
    std::string const from = R"("name": "gemm", "dur": 3.0)";
    text.replace(text.find(from), from.size(), R"("name": "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", "dur": 3.0)");
    ImportedTables const t = imported(text);
    REQUIRE(t.products.size() == 2);
    for (ImportedProduct const& p : t.products)
        CHECK(p.dtype == (p.kernel == "aten::addmm" ? "tf32" : "bfloat16"));
    bool found = false;
    for (KernelCase const& row : cases_of(t))
        found = found || row.variant == "tf32";
    CHECK(found);
}

TEST_CASE("Kineto: the categories of older profilers are named as the cause") {
    std::string text = kineto;
    for (auto const& [now, then] :
         {std::pair{R"("cat": "kernel")", R"("cat": "Kernel")"}, {R"("cat": "cpu_op")", R"("cat": "Operator")"}})
        for (std::size_t at = text.find(now); at != std::string::npos; at = text.find(now))
            text.replace(at, std::string_view(now).size(), then);
    ImportedTables const t = imported(text);
    CHECK(t.rows() == 0);
    REQUIRE(t.skipped.size() == 1);
    CHECK_THAT(t.skipped.begin()->first, contains("older profiler"));
    CHECK(t.skipped.begin()->second == 9);
}

TEST_CASE("nccl-tests and sextant-bench: collectives come out as rows that the fits read") {
    for (ImportedTables const& t : {imported(nccl_log), imported(bench_rows)}) {
        REQUIRE(t.collectives.size() == 1);
        CsvTable const table = parse_csv(collectives_csv(t), "c.csv");
        CollectiveRow const row = collective_row(RowCells(table, table.records[0]));
        CHECK(row.machine.gpu == "NVIDIA L40S");
        double const out_of_place = t.collectives[0].microseconds;
        CHECK(row.measured->in(units::us) == Approx(t.collectives[0].in_place.value_or(out_of_place)));
        if (t.collectives[0].in_place) CHECK(row.slower->in(units::us) == Approx(out_of_place));
        CHECK(row.bytes.base() == t.collectives[0].bytes);
    }
    CsvTable const both = parse_csv(collectives_csv(imported(nccl_log)), "c.csv");
    CHECK(RowCells(both, both.records[0]).text("time_us_oop") == "101.5");
    CHECK(RowCells(both, both.records[0]).text("time_us_ip") == "99.5");
    ImportedTables const bench = imported(bench_rows);
    CHECK(bench.skipped.size() == 1);
    auto const rows = cases_of(bench);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].quantised == Quantised::before);
    CHECK(rows[0].cache == CacheState::cold);
    CHECK(std::get<MemoryKernel>(rows[1].what).moved.base() == Approx(2e6));
    CHECK(rows[1].variant == "rmsnorm bf16");
}

TEST_CASE("importers: a collective of one rank is none, whoever measured it") {
    auto const with = [](std::string text, std::string const& from, std::string const& to) {
        for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
        return text;
    };
    std::string const one_of_log =
        with(nccl_log, "#  Rank  1 Group  0 Pid  12 on  node1 device  1 [0x02] NVIDIA L40S\n", "");
    for (std::string const& text :
         {with(aic_nccl, "half,8,", "half,1,"), with(vidur_network, ",8,2097152", ",1,2097152"),
          with(bench_rows, "\"ranks\": 4", "\"ranks\": 1"), one_of_log}) {
        ImportedTables const t = imported(text, "L40S");
        CHECK(t.skipped.at("over one rank: nothing is communicated") == 1);
        for (ImportedCollective const& row : t.collectives)
            CHECK(row.nodes * row.per_node > 1);
    }
}

TEST_CASE("sextant-bench: the version of NCCL is that of the note, not the driver") {
    auto const version = [](std::string const& note) {
        return imported(R"({"bench": "nccl", "backend": "cuda", "device": "NVIDIA L40S", "driver": "570.1", "kernel": )"
                        R"("all_reduce", "dtype": "fp32", "bytes": 4096, "ranks": 2, "median_us": 30, "note": ")" +
                        note + "\"}\n")
            .collectives.at(0)
            .library_version;
    };
    CHECK(version("NCCL 2.27.3") == "2.27.3");
    CHECK(version("stopped early; NCCL 2.27.3, 2 processes") == "2.27.3");
    CHECK(version("") == "");
}

TEST_CASE("importers: --device and --source replace what the rows say") {
    ImportedTables const t = importer_for(aic_gemm, "f").read(aic_gemm, {.name = "f", .device = "L4", .source = "me"});
    CHECK(t.products.at(0).device == "L4");
    CHECK(t.products.at(0).source == "me");
}

TEST_CASE("importers: what a time was measured with does not hang on what the source is called") {
    for (char const* source : {"", "me", "aiconfigurator and us"}) {
        for (KernelCase const& row :
             cases_of(importer_for(aic_gemm, "f").read(aic_gemm, {.name = "f", .source = source})))
            CHECK(row.quantised == Quantised::with_product);
        auto const states = [&](std::string const& text) {
            std::vector<CacheState> out;
            for (KernelCase const& row : cases_of(importer_for(text, "f").read(text, {.name = "f", .source = source})))
                if (std::holds_alternative<Gemm>(row.what)) out.push_back(row.cache);
            return out;
        };
        CHECK(states(aic_gemm) == std::vector(2, CacheState::rotated));
        CHECK(states(nvbench) == std::vector{CacheState::cold, CacheState::hot});
    }
}

namespace {

/// A trace of operators that each launched one kernel.
class KinetoEvents {
public:
    /// @param arguments JSON of the operator's lists, @param kernel its name, @param device its number
    KinetoEvents& add(std::string const& op, std::string const& arguments, std::string const& kernel,
                      std::string const& device = "0") {
        std::string const id = std::to_string(++operators_);
        events_ += (events_.empty() ? "" : ",") + std::string(R"({"cat": "cpu_op", "name": ")") + op +
                   R"(", "args": {"External id": )" + id + ", " + arguments + R"(}}, {"cat": "kernel", "name": ")" +
                   kernel + R"(", "dur": 9, "args": {"External id": )" + id + R"(, "device": )" + device + "}}";
        return *this;
    }
    KinetoEvents& add_collective(std::string const& arguments) {
        events_ += (events_.empty() ? "" : ",") + std::string(R"({"cat": "kernel", "dur": 9, "args": {)") + arguments +
                   R"(, "Group size": 4, "Process Group Ranks": "[0, 1, 2, 3]"}})";
        return *this;
    }
    [[nodiscard]] ImportedTables read() const {
        return imported(R"({"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"},
            {"id": 1, "name": "NVIDIA L40S"}], "traceEvents": [)" +
                        events_ + "]}");
    }

private:
    std::string events_;
    int operators_ = 0;
};

/// Lists of aten::_scaled_mm: sizes of both matrices and of their scales.
std::string scaled_product(std::string const& sizes, std::string const& type, std::string const& scale_type) {
    return R"("Input Dims": [)" + sizes + R"(], "Input type": [")" + type + "\", \"" + type + "\", \"" + scale_type +
           "\", \"" + scale_type + "\"]";
}

}  // namespace

TEST_CASE("Kineto: scales in blocks along k make a product fp8_block, scales of rows or of tensors do not") {
    std::string const e4m3 = "c10::Float8_e4m3fn";
    auto const dtype = [&](std::string const& scales) {
        ImportedTables const t =
            KinetoEvents()
                .add("aten::_scaled_mm", scaled_product("[256, 1024], [1024, 512], " + scales, e4m3, "float"), "gemm")
                .read();
        REQUIRE(t.products.size() == 1);
        CHECK(t.products[0].k == 1024);
        CHECK(t.products[0].quantised_before);
        return cases_of(t).at(0).variant;
    };
    CHECK(dtype("[], []") == "fp8");
    CHECK(dtype("[1], [1]") == "fp8");
    CHECK(dtype("[1, 1], [1, 1]") == "fp8");
    CHECK(dtype("[256, 1], [1, 512]") == "fp8");
    CHECK(dtype("[256, 8], [8, 4]") == "fp8-block");
    CHECK(dtype("[256, 8], [8, 512]") == "fp8-block");
}

TEST_CASE("Kineto: products of gradients in e5m2 are in fp8, as those of e4m3 are") {
    auto const product = [&](std::string const& type, std::string const& scales) {
        ImportedTables const t =
            KinetoEvents()
                .add("aten::_scaled_mm", scaled_product("[256, 1024], [1024, 512], " + scales, type, "float"), "gemm")
                .read();
        REQUIRE(t.products.size() == 1);
        CHECK(t.products[0].quantised_before);
        return cases_of(t).at(0).variant;
    };
    for (std::string const type : {"c10::Float8_e5m2", "c10::Float8_e5m2fnuz"}) {
        CHECK(product(type, "[], []") == "fp8");
        CHECK(product(type, "[256, 8], [8, 4]") == "fp8-block");
    }
}

TEST_CASE("Kineto: an element of NVFP4 is two values, so k is twice the size of the matrix") {
    ImportedTables const t = KinetoEvents()
                                 .add("aten::_scaled_mm",
                                      scaled_product("[256, 512], [512, 384], [16384], [24576]",
                                                     "c10::Float4_e2m1fn_x2", "c10::Float8_e4m3fn"),
                                      "gemm")
                                 .read();
    REQUIRE(t.products.size() == 1);
    CHECK(std::array{t.products[0].m, t.products[0].n, t.products[0].k} == std::array<std::int64_t, 3>{256, 384, 1024});
    CHECK(t.products[0].dtype == "nvfp4");
    CHECK(cases_of(t).at(0).variant == "fp4");
}

TEST_CASE("Kineto: cuBLAS' kernels of float32 that are named by their instruction are TF32, those of SIMT are not") {
    std::string const lists = R"("Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"])";
    auto const dtype = [&](std::string const& kernel) {
        ImportedTables const t = KinetoEvents().add("aten::mm", lists, kernel).read();
        REQUIRE(t.products.size() == 1);
        return t.products[0].dtype;
    };
    CHECK(dtype("void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4>(Params)") == "tf32");
    CHECK(dtype("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)") == "float32");
    CHECK(dtype("ampere_sgemm_128x64_nn") == "float32");
    std::string const halves = R"("Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::Half", "c10::Half"])";
    CHECK(KinetoEvents().add("aten::mm", halves, "cutlass_75_tensorop_s1688gemm_f16_nn").read().products[0].dtype ==
          "float16");
}

TEST_CASE("Kineto: of several devices each kernel is of the one that it ran on") {
    std::string const lists = R"("Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"])";
    ImportedTables const t = KinetoEvents()
                                 .add("aten::mm", lists, "gemm", "0")
                                 .add("aten::mm", lists, "gemm", "1")
                                 .add("aten::mm", lists, "gemm", "7")
                                 .read();
    REQUIRE(t.products.size() == 2);  // of a number that the trace does not list: the first device
    CHECK(t.products[0].device == "NVIDIA H100 80GB HBM3");
    CHECK(t.products[1].device == "NVIDIA L40S");
}

TEST_CASE("Kineto: an all-to-all of unequal parts is not one of equal parts") {
    auto const parts = [](std::string const& in, std::string const& out) {
        return KinetoEvents()
            .add_collective(R"("Collective name": "all_to_allv", "dtype": "BFloat16", "In msg nelems": 4096,
                "Out msg nelems": 4096, "In split size": ")" +
                            in + R"(", "Out split size": ")" + out + '"')
            .read();
    };
    CHECK(parts("[]", "[]").collectives.size() == 1);
    CHECK(parts("[1024, 1024, 1024, 1024]", "[1024, 1024, 1024, 1024]").collectives.size() == 1);
    for (ImportedTables const& t :
         {parts("[4093, 1, 1, 1]", "[]"), parts("[1024, 1024, 1024, 1024]", "[0, 0, 0, 4096]")}) {
        CHECK(t.collectives.empty());
        CHECK(t.skipped.at("an all-to-all whose parts differ in size") == 1);
    }
}

TEST_CASE("Kineto: a node has as many ranks as its process sees devices, or eight where it sees one") {
    auto const nodes = [](int devices, std::string const& ranks, std::string const& size) {
        std::string listed;
        for (int i = 0; i < devices; ++i)
            listed += (i > 0 ? "," : "") + std::string(R"({"id": )") + std::to_string(i) + R"(, "name": "GH200"})";
        // The devices may stand behind the events.
        ImportedTables const t = imported(
            R"({"traceEvents": [{"cat": "kernel", "dur": 9, "args": {"Collective name": "allreduce", "dtype": "Float",
               "In msg nelems": 1024, "Group size": )" +
            size + R"(, "Process Group Ranks": ")" + ranks + R"("}}], "deviceProperties": [)" + listed + "]}");
        REQUIRE(t.collectives.size() == 1);
        return std::pair{t.collectives[0].nodes, t.collectives[0].per_node};
    };
    using Pair = std::pair<std::int64_t, std::int64_t>;
    CHECK(nodes(4, "[0, 1, 2, 3, 4, 5, 6, 7]", "8") == Pair{2, 4});
    CHECK(nodes(4, "", "12") == Pair{3, 4});
    CHECK(nodes(8, "[0, 1, 2, 3, 4, 5, 6, 7]", "8") == Pair{1, 8});
    CHECK(nodes(1, "[0, 1, 2, 3, 4, 5, 6, 7]", "8") == Pair{1, 8});
    CHECK(nodes(4, "[0, 4, 8, 12]", "4") == Pair{4, 1});
}

TEST_CASE("importers: messages of any usual elements have their bytes") {
    for (auto const& [dtype, bytes] : {std::pair{"Float", 4},
                                       {"Int", 4},
                                       {"Long", 8},
                                       {"Double", 8},
                                       {"Half", 2},
                                       {"BFloat16", 2},
                                       {"Float8_e4m3fn", 1},
                                       {"Float8_e5m2", 1},
                                       {"Byte", 1},
                                       {"Bool", 1}}) {
        CAPTURE(dtype);
        ImportedTables const t = KinetoEvents()
                                     .add_collective(std::string(R"("Collective name": "allreduce", "dtype": ")") +
                                                     dtype + R"(", "In msg nelems": 1000, "Out msg nelems": 1000)")
                                     .read();
        REQUIRE(t.collectives.size() == 1);
        CHECK(t.collectives[0].bytes == 1000 * bytes);
    }
    std::string text = aic_nccl;
    text.replace(text.find("half"), 4, "bfloat16");
    CHECK(imported(text).collectives.at(0).bytes == 2 * 1048576);
    text.replace(text.find("bfloat16"), 8, "complex64");
    CHECK(imported(text).skipped.at("a collective of unknown elements 'complex64'") == 1);
}

TEST_CASE("nccl-tests: a list of ranks without the device's name asks for it, and is no failure of the program") {
    std::string text = nccl_log;
    for (std::size_t at = 0; (at = text.find(" NVIDIA L40S")) != std::string::npos;)
        text.erase(at, std::string_view(" NVIDIA L40S").size());
    ImportedTables const t = imported(text);
    CHECK(t.collectives.empty());
    CHECK(t.skipped.at("does not say its device (--device NAME)") == 1);
    REQUIRE(imported(text, "l40s").collectives.size() == 1);
    CHECK(imported(text, "l40s").collectives[0].device == "l40s");
}

TEST_CASE("sextant-bench: a last row that is whole counts without a line end, too") {
    std::string text = bench_rows.substr(0, bench_rows.find('\n'));
    CHECK(imported(text).products.size() == 1);
    text.resize(text.size() - 1);  // without the brace
    CHECK(recognised(text) == "sextant-bench");
    CHECK_THROWS_WITH(imported(text), contains("has no rows of sextant-bench"));
}
