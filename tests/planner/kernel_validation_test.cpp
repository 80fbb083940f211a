#include "planner/validation/kernel_validation.hpp"

#include "core/error.hpp"
#include "core/spec/hardware_catalog.hpp"
#include "core/spec/kernel_catalog.hpp"
#include "cost_models/kernel_time.hpp"
#include "planner/validation/kernel_doubts.hpp"
#include "planner/validation/prediction_rows.hpp"
#include "planner/validation/table_predictor.hpp"
#include "tests/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace sextant;

namespace {

std::string const product_header = "source_ref,device,kernel_source,dtype,m,n,k,latency_us\n";
std::string const attention_header =
    "source_ref,device,kind,attn_dtype,kv_dtype,batch,isl,past_kv,num_heads,num_kv_heads,head_dim,latency_us\n";
std::string const published_header =
    "source_ref,gpu,kernel,dtype,pass,causal,head_dim,seqlen,batch,num_heads,tflops,note\n";

RowPrediction predicted(std::string const& header, std::string const& line) {
    return KernelPredictor().predict(parse_csv(header + line + "\n", "t.csv")).at(0).prediction;
}

RowPrediction product(std::string const& device, std::string const& dtype, std::string const& shape) {
    return predicted(product_header, "s," + device + ",x," + dtype + "," + shape);
}

Validation scored(std::vector<char const*> const& files) {
    TablePredictor const predict = table_predictor(ValidationKind::kernels, "");
    Scorer scorer(ValidationKind::kernels);
    for (char const* file : files)
        for (ScoredRow const& row : predict(read_csv(std::string(SEXTANT_SOURCE_DIR "/tests/data/") + file)))
            scorer.add(row);
    return scorer.result();
}

}  // namespace

TEST_CASE("kernel rows: a product is the cost model's, on the device of any spelling") {
    AcceleratorProfile const h100 = find_accelerator("h100-sxm", "test");
    Seconds const expected = estimate_product({.groups = 1, .m = 4096, .n = 8192, .k = 1024},
                                              gemm_format(Precision::bf16), h100, {.cache = CacheState::hot})
                                 .time;
    for (char const* device : {"NVIDIA H100 80GB HBM3", "H100-SXM5-80GB", "h100_sxm"}) {
        RowPrediction const p = product(device, "bfloat16", "4096,8192,1024,100");
        REQUIRE(p.time);
        CHECK(*p.time == expected);
        CHECK(p.measured_time->in(units::us) == Approx(100));
    }
}

TEST_CASE("kernel rows: intervals of another generation's constants are no narrower than on its devices") {
    RowPrediction const ada = product("L40S", "bfloat16", "1024,4096,7168,100");
    RowPrediction const card = product("RTX 5090", "bfloat16", "1024,4096,7168,100");
    REQUIRE(ada.interval);
    REQUIRE(card.interval);
    CHECK(card.interval->low <= ada.interval->low);
    CHECK(card.interval->high >= ada.interval->high);
}

TEST_CASE("kernel rows: a vocabulary that is no multiple of eight takes the product longer, in fp8 of sixteen") {
    auto const time = [](char const* format, int n) {
        return *predicted("device,dtype,m,n,k,latency_us\n", fmt::format("H100,{},8192,{},4096,9000", format, n)).time;
    };
    for (char const* const format : {"bf16", "fp8"}) {
        CHECK(time(format, 50257) > 2 * time(format, 50304));
        CHECK(time(format, 50256) / time(format, 50272) == Approx(1).epsilon(0.02));
    }
    CHECK(time("fp8", 50264) > 1.5 * time("fp8", 50272));
    CHECK(time("bf16", 50264) / time("bf16", 50272) == Approx(1).epsilon(0.02));
}

TEST_CASE("kernel rows: weights take turns where AIConfigurator measured, and where a row says so") {
    auto const state = [](std::string const& source, std::string const& cache) {
        CsvTable const table = parse_csv(
            "source_ref,device,dtype,m,n,k,latency_us,cache\n" + source + ",L40S,bf16,8,4096,4096,20," + cache + "\n",
            "t.csv");
        return kernel_case(KernelTable::product, RowCells(table, table.records.at(0))).cache;
    };
    CHECK(state("github.com/ai-dynamo/aiconfigurator systems/data", "") == CacheState::rotated);
    CHECK(state("github.com/ai-dynamo/aiconfigurator systems/data", "cold") == CacheState::cold);
    CHECK(state("mine", "") == CacheState::hot);
    CHECK(state("mine", "Rotated") == CacheState::rotated);
}

TEST_CASE("kernel rows: a table need not say where its rows come from") {
    auto const rows = [](std::string const& text) {
        return KernelPredictor("", "").predict(parse_csv(text, "t.csv")).at(0).prediction;
    };
    auto const few = rows("device,dtype,m,n,k,latency_us\nH100,bf16,4096,4096,4096,250\n");
    CHECK(few.skip_reason.empty());
    CHECK(few.time ==
          rows("source_ref,device,kernel_source,dtype,m,n,k,latency_us\nx,H100,y,bf16,4096,4096,4096,250\n").time);
    CHECK_THROWS_AS(rows("device,m,n,k,latency_us\nH100,1,1,1,1\n"), InputError);
}

TEST_CASE("kernel rows: a time that the rate beside it contradicts is left out, a comma for a point is named") {
    auto const row = [](std::string const& cells) {
        return predicted("device,dtype,m,n,k,latency_us,tflops\n", "H100,bf16,4096,4096,4096," + cells);
    };
    CHECK(row("250,549.8").skip_reason.empty());
    CHECK(row("250,").skip_reason.empty());
    CHECK(row("250,see note").skip_reason.empty());
    CHECK_THAT(row("0.25,549.8").skip_reason, contains("latency_us and tflops contradict each other"));
    CHECK(row("\"250,4\",").skip_reason == "latency_us has a decimal comma (write a point)");
}

TEST_CASE("kernel rows: fp8 products take the quantisation of their activations longer") {
    AcceleratorProfile const h100 = find_accelerator("h100-sxm", "test");
    GemmShape const shape{.groups = 1, .m = 512, .n = 256, .k = 4096};
    auto const bare = [&](char const* format) {
        return estimate_product(shape, *find_gemm_format(format), h100, {.cache = CacheState::hot}).time;
    };
    auto const timed = [](std::string const& source, std::string const& dtype) {
        return predicted(product_header, source + ",NVIDIA H100 80GB HBM3,x," + dtype + ",512,256,4096,20");
    };
    RowPrediction const p = timed("aiconfigurator TRTLLM", "fp8");
    REQUIRE(p.time);
    CHECK(*p.time > bare("fp8") + 5 * units::us);
    CHECK(*timed("aiconfigurator TRTLLM", "fp8_block").time > bare("fp8-block") + 1 * units::us);
    CHECK(*timed("mine", "fp8").time == bare("fp8"));
    REQUIRE(p.interval);
    CHECK(p.interval->low < 1);
    CHECK(p.interval->high > 1);
}

TEST_CASE(
    "kernel rows: a batch of products is priced as so many, groups are left out, whatever their column is called") {
    auto const row = [](std::string const& column, std::string const& count, std::string const& cells) {
        return predicted("device,dtype,m,n,k,latency_us,tflops," + column + "\n", "H100,bf16," + cells + "," + count);
    };
    RowPrediction const one = row("batch", "1", "1958,3904,4864,100,");
    RowPrediction const two = row("batch", "2", "1958,3904,4864,200,");
    REQUIRE(one.time);
    CHECK(one.assumptions.empty());
    CHECK(*two.time > 1.7 * *one.time);
    CHECK(*two.time < 2.1 * *one.time);
    CHECK(two.assumptions.size() == 1);
    for (char const* column : {"batch_size", "L", "b", "Batch", "num_batches"})
        CHECK(row(column, "2", "1958,3904,4864,200,").time == two.time);
    CHECK(row("b", "yes", "1958,3904,4864,100,").time == one.time);  // of a bias
    for (char const* column : {"groups", "num_experts", "num_groups", "g"})
        CHECK(row(column, "8", "1958,3904,4864,200,").skip_reason ==
              "products in groups (single ones and batches of one shape are read)");
    // Its rate counts all of them.
    CHECK(row("batch", "2", "4096,4096,4096,500,549.8").skip_reason.empty());
    CHECK_THAT(row("batch", "2", "4096,4096,4096,500,274.9").skip_reason, contains("contradict each other"));
}

TEST_CASE("kernel rows: names of columns have blanks around them, and letters of any case") {
    RowPrediction const plain = predicted("device,dtype,m,n,k,latency_us\n", "H100,bf16,512,1024,2048,10");
    REQUIRE(plain.time);
    CHECK(predicted("device, dtype, m, n, k, latency_us\n", "H100,bf16,512,1024,2048,10").time == plain.time);
    CHECK(predicted("Device,DType,M,N,K,Latency_us\n", "H100,bf16,512,1024,2048,10").time == plain.time);
}

TEST_CASE("kernel rows: a product whose results are wider takes what writing them takes longer") {
    std::string const shallow = "H100,int8,8192,8192,512,100", deep = "H100,int8,8192,8192,16384,1000";
    auto const with = [](std::string const& row, std::string const& bytes) {
        return predicted("device,dtype,m,n,k,latency_us,result_bytes\n", row + "," + bytes);
    };
    Seconds const two = *with(shallow, "").time;
    CHECK(*with(shallow, "2").time == two);
    CHECK(*with(shallow, "4").time > 1.1 * two);
    CHECK(*with(shallow, "1").time < two);
    CHECK(*with(deep, "4").time < 1.05 * *with(deep, "").time);
    CHECK(with(shallow, "0").skip_reason == "result_bytes is zero");
}

TEST_CASE("kernel rows: activations are quantised before the product unless AIConfigurator or the row says otherwise") {
    auto const read = [](std::string const& source, std::string const& dtype, std::string const& quantised) {
        CsvTable const table = parse_csv("source_ref,device,dtype,m,n,k,latency_us,quantised\n" + source + ",H100," +
                                             dtype + ",512,256,4096,20," + quantised + "\n",
                                         "t.csv");
        return kernel_case(KernelTable::product, RowCells(table, table.records.at(0)));
    };
    for (char const* source : {"github.com/ai-dynamo/aiconfigurator systems/data", "aiconfigurator TRTLLM 1.2.0"}) {
        CHECK(read(source, "fp8", "").quantised == Quantised::with_product);
        CHECK(read(source, "fp8", "").assumptions.empty());
        CHECK(read(source, "fp8", "before").quantised == Quantised::before);
    }
    for (char const* dtype : {"fp8", "fp8_block", "w8a8"}) {
        CHECK(read("mine", dtype, "").quantised == Quantised::before);
        CHECK_THAT(read("mine", dtype, "").assumptions.at(0), contains("activations came quantised"));
    }
    CHECK(read("mine", "fp8", "with").quantised == Quantised::with_product);
    CHECK(read("mine", "fp8", "before").assumptions.empty());
    CHECK(read("mine", "bf16", "").assumptions.empty());
    CHECK_THROWS_WITH(read("mine", "fp8", "perhaps"), "quantised is neither 'with' nor 'before'");
}

TEST_CASE("kernel rows: what no model covers is skipped with a reason") {
    CHECK(product("Abacus 3000", "bfloat16", "1,1,1,1").skip_reason == "no profile for device 'Abacus 3000'");
    CHECK(product("", "bfloat16", "1,1,1,1").skip_reason == "device is not stated");
    CHECK(product("NVIDIA H200", "q7", "1,1,1,1").skip_reason == "unknown number format 'q7'");
    CHECK(product("NVIDIA A100-SXM4-80GB", "fp8", "1,1,1,1").skip_reason == "a100-sxm-80gb has no fp8 products");
    CHECK(product("NVIDIA H200", "bfloat16", "1,,1,1").skip_reason == "n is not stated");
    CHECK(product("NVIDIA H200", "bfloat16", "0,1,1,1").skip_reason == "m is zero");
    CHECK(predicted(published_header, "s,A100,FlashAttention-1,bf16,fwd,0,128,512,1,16,100,").skip_reason ==
          "no model of the kernel FlashAttention-1");
    CHECK(predicted(published_header, "s,H100,FlashAttention-3,fp8,fwd,0,128,512,1,16,100,").skip_reason ==
          "no model of a training step's attention in fp8");
    CHECK(predicted(published_header, "s,A100,FlashAttention-2,bf16,sideways,0,128,512,1,16,100,").skip_reason ==
          "unknown pass 'sideways'");
    CHECK(predicted(published_header, "s,A100,PyTorch,bf16,fwd,1,128,512,1,16,100,").skip_reason ==
          "no model of attention that adds a mask in 16 bits");
}

TEST_CASE("kernel rows: attention with the scores in memory runs the whole square, and its rate counts that") {
    auto const row = [](char const* pass, char const* size) {
        return predicted(published_header, std::string("s,A100,PyTorch,bf16,") + pass + ",0," + size + ",16,43,");
    };
    RowPrediction const p = row("fwd+bwd", "64,2048,8");
    REQUIRE(p.time);
    REQUIRE(p.measured_time);
    CHECK(p.measured_time->base() == Approx(3.5 * 4 * 8 * 16 * 2048.0 * 2048 * 64 / 43e12));
    // Bound by the bytes of its scores: a head twice as wide takes hardly longer.
    CHECK(row("fwd+bwd", "128,2048,8").time->base() < 1.1 * p.time->base());
    CHECK(row("fwd", "64,2048,8").time->base() < 0.5 * p.time->base());
}

TEST_CASE("kernel rows: a fused kernel without a mask runs the whole square, and no diagonal for nothing") {
    auto const row = [](char const* device, char const* kernel, char const* mask, char const* length) {
        return predicted(published_header, std::string("s,") + device + "," + kernel + ",bf16,fwd+bwd," + mask +
                                               ",128," + length + ",4,16,100,")
            .time->base();
    };
    double const whole = row("A100", "FlashAttention-2", "0", "8192") / row("A100", "FlashAttention-2", "1", "8192");
    CHECK(whole > 1.8);
    CHECK(whole < 2);
    // Short sequences are mostly diagonal.
    double const brief = row("A100", "FlashAttention-2", "0", "512") / row("A100", "FlashAttention-2", "1", "512");
    CHECK(brief < whole - 0.1);
    // FlashAttention-2 has Ampere's instructions on Hopper too.
    double const slower = row("H100", "FlashAttention-2", "1", "8192") / row("H100", "FlashAttention-3", "1", "8192");
    CHECK(slower > 1.5);
    CHECK(slower < 2);
    CHECK(row("A100", "FlashAttention-2", "1", "8192") == row("A100", "cuDNN", "1", "8192"));
}

TEST_CASE(
    "kernel rows: the Blackwells of data centres run Ampere's attention at Hopper's share, FlashAttention-3 none") {
    auto const row = [](std::string const& device, char const* kernel) {
        return predicted(published_header, "s," + device + "," + kernel + ",bf16,fwd,1,128,8192,4,16,100,");
    };
    for (char const* device : {"B200", "GB300"}) {
        double const slower = *row(device, "FlashAttention-2").time / *row(device, "cuDNN").time;
        CHECK(slower > 1.5);
        CHECK(slower < 1.7);
    }
    CHECK(row("RTX 5090", "FlashAttention-2").time == row("RTX 5090", "cuDNN").time);
    for (std::string const device : {"B200", "A100", "RTX 5090"})
        CHECK_THAT(row(device, "FA3").skip_reason, contains("has not the instructions of FlashAttention-3"));
    for (char const* const device : {"V100", "P100", "TPU v5p"})
        CHECK_THAT(row(device, "FA2").skip_reason, contains("FlashAttention-2 does not run on"));
    CHECK(row("MI300X", "FA2").skip_reason.empty());
    CHECK(row("H800-SXM", "FA3").skip_reason.empty());
}

TEST_CASE("kernel rows: columns that change attention are read, or leave their row out") {
    auto const row = [](std::string const& kind, std::string const& more, std::string const& sizes,
                        std::string const& columns) {
        std::string header = attention_header;
        header.insert(header.size() - 1, "," + columns);
        return predicted(header, "s,H100," + kind + ",bf16,bf16," + sizes + "," + more);
    };
    std::string const prompt = "4,4096,0,32,8,128,2000", token = "64,4096,0,32,8,128,500";
    auto const whole = row("context", "0", prompt, "causal");
    auto const masked = row("context", "True", prompt, "causal");
    REQUIRE(whole.time);
    CHECK(masked.time == predicted(attention_header, "s,H100,context,bf16,bf16," + prompt).time);
    CHECK(*whole.time > 1.7 * *masked.time);
    CHECK(row("generation", "0", token, "causal").time == row("generation", "1", token, "causal").time);
    // Windows.
    auto const windowed = row("context", "512", prompt, "window_size");
    REQUIRE(windowed.time);
    CHECK(*masked.time / *windowed.time > 2);  // 3.8 times the work, as many bytes
    CHECK(*masked.time / *windowed.time < 4);
    CHECK(windowed.interval->high / windowed.interval->low > masked.interval->high / masked.interval->low);
    auto const shorter = row("context", "128", prompt, "sliding_window");
    CHECK(*shorter.time < *windowed.time);
    for (char const* none : {"0", "-1", "4096", ""})
        CHECK(row("context", none, prompt, "window_size").time == masked.time);
    CHECK(row("generation", "512", token, "window_size").time ==
          predicted(attention_header, "s,H100,generation,bf16,bf16,64,512,0,32,8,128,500").time);
    CHECK(row("generation", "512", token, "sliding_window").assumptions.size() == 1);
    // Sizes of values.
    CHECK(row("context", "128", prompt, "v_head_dim").time == masked.time);
    CHECK(row("context", "64", prompt, "v_head_dim").skip_reason == "keys and values of different sizes");
    CHECK(row("generation", "512", "64,4096,0,128,1,576,500", "v_head_dim").skip_reason.empty());  // a latent's
    // A rate counts the whole square, or what a mask leaves: 4 b h s^2 d is 1.1 TFLOP.
    CHECK(row("context", "549.8", prompt, "tflops").skip_reason.empty());
    CHECK(row("context", "274.9", prompt, "tflops").skip_reason.empty());
    CHECK_THAT(row("context", "0.5498", prompt, "tflops").skip_reason, contains("contradict each other"));
    auto const copy = [](char const* cells) {
        return predicted("device,kernel,dtype,bytes_moved,latency_us,gbps\n", std::string("H100,copy,bf16,") + cells);
    };
    CHECK(copy("1GB,500,2000").skip_reason.empty());
    CHECK(copy("1GB,500,1000").skip_reason.empty());
    CHECK_THAT(copy("1GB,500,2").skip_reason, contains("latency_us and gbps contradict each other"));
}

TEST_CASE("kernel rows: attention of a training library is that library's") {
    std::string header = attention_header;
    header.insert(header.size() - 1, ",library,pass");
    auto const row = [&](std::string const& more) {
        CsvTable const table =
            parse_csv(header + "s,H100,context,bfloat16,bfloat16,4,4096,0,32,8,128,2000," + more + "\n", "t.csv");
        return KernelPredictor().predict(table).at(0);
    };
    auto const flash = row("sdpa_flash,fwd").prediction;
    REQUIRE(flash.time);
    CHECK(*flash.time > 1.2 * *row("sdpa_cudnn,fwd").prediction.time);
    CHECK(*row("sdpa_flash,bwd").prediction.time > 2.0 * *flash.time);
    CHECK(row(",").prediction.time < flash.time);  // a serving engine's
    CHECK(row("sdpa_flash,bwd").what.find("bf16 sdpa_flash/backward") != std::string::npos);
    CHECK(row("sdpa_flash,sideways").prediction.skip_reason == "unknown pass 'sideways'");
    CHECK(row("mine,fwd").prediction.skip_reason == "no model of attention of the library 'mine'");
}

TEST_CASE("kernel rows: what stands on other devices or formats is known no better than where it was measured") {
    auto const interval = [](std::string const& device, std::string const& dtype) {
        RowPrediction const p = product(device, dtype, "8192,8192,8192,2000");
        REQUIRE(p.interval);
        return *p.interval;
    };
    auto const holds = [](IntervalFactors wider, IntervalFactors narrower) {
        CHECK(wider.low <= narrower.low);
        CHECK(wider.high >= narrower.high);
    };
    for (char const* device : {"H100-PCIe", "H800-SXM", "GH200"}) {
        holds(interval(device, "bf16"), interval("H100-SXM", "bf16"));
        holds(interval(device, "bf16"), interval("H200", "bf16"));
    }
    holds(interval("A100-SXM4-80GB", "fp16"), interval("A100-SXM4-80GB", "bf16"));
    // In tf32 only Hopper was measured: other generations are known as any device is in bf16.
    auto const any = shipped_kernel_calibration("class-any")->find(KernelKind::gemm, "bf16")->outside;
    RowPrediction const tf32 = product("A100-SXM4-80GB", "tf32", "8192,8192,8192,9000");
    FlopsPerSecond const peak = find_accelerator("a100-sxm-80gb", "test").peak_of(Precision::tf32).value;
    double const at_peak = 2 * std::pow(8192.0, 3) * units::flop / peak / *tf32.time;
    CHECK(at_peak > any.low);  // where the interval ends: no time is shorter
    holds(*tf32.interval, {.low = at_peak * (1 + 1e-9), .high = any.high});
    holds({.low = any.low, .high = any.high}, interval("H100-PCIe", "tf32"));
}

TEST_CASE("kernel rows: the last tokens of a prompt attend to those in the cache") {
    auto const prefill = [](char const* length, char const* past) {
        return predicted(attention_header,
                         std::string("s,NVIDIA H200,context,bfloat16,bfloat16,1,") + length + "," + past + ",64,8,128,")
            .time->base();
    };
    // Of 16,384 tokens the second half has three quarters of the work.
    double const second = prefill("8192", "8192") / prefill("16384", "0");
    CHECK(second == Approx(0.75).epsilon(0.1));
    CHECK(prefill("8192", "8192") > 2.5 * prefill("8192", "0"));
}

TEST_CASE("kernel rows: decode reads isl + past_kv tokens of its cache, an fp8 one half of it") {
    AcceleratorProfile const h200 = find_accelerator("h200-sxm", "test");
    auto const decode = [](char const* format, char const* length) {
        return predicted(attention_header,
                         std::string("s,NVIDIA H200,generation,bfloat16,") + format + ",64," + length + ",64,8,128,");
    };
    // 1.07 GB of keys and values at no more than the data sheet's rate, and not much less.
    double const floor = 2.0 * 64 * 4096 * 8 * 128 * 2 / h200.memory_bandwidth.value.base();
    double const whole = decode("bfloat16", "1,4095").time->base();
    CHECK(whole > floor);
    CHECK(whole < 1.5 * floor);
    CHECK(decode("bfloat16", "4096,0").time->base() == whole);
    CHECK(decode("fp8", "1,4095").time->base() < 0.75 * whole);
}

TEST_CASE("kernel rows: TFLOP/s of causal attention count half of the square, the backward pass 2.5 times") {
    // 4 b h s^2 d / 2 = 2 * 2 * 16 * 1024^2 * 128 FLOPs forward.
    double const forward = 2.0 * 2 * 16 * 1024 * 1024 * 128;
    auto const p = predicted(published_header, "s,A100-SXM4-80GB,FlashAttention-2,bf16,fwd+bwd,1,128,1024,2,16,100,");
    CHECK(p.measured_time->base() == Approx(3.5 * forward / 100e12));
    auto const only = predicted(published_header, "s,A100-SXM4-80GB,FlashAttention-2,bf16,fwd,1,128,1024,2,16,100,");
    CHECK(only.measured_time->base() == Approx(forward / 100e12));
    CHECK(*only.time < *p.time);
}

TEST_CASE("kernel rows: attention of another library stands on other kernels, not on this device's fit") {
    for (char const* row : {"FlashAttention-2,bf16,fwd+bwd,1", "FlashAttention-2,bf16,fwd,1", "PyTorch,bf16,fwd+bwd,0"})
        CHECK(KernelPredictor()
                  .predict(parse_csv(published_header + "s,A100-SXM4-80GB," + row + ",128,1024,2,16,100,\n", "t.csv"))
                  .at(0)
                  .doubt == "the model stands on: measurements of other devices or kernels");
}

TEST_CASE("kernel rows: a cell that is no number, negative or not finite skips the row, with file and line") {
    for (auto const& [cell, problem] : {std::pair{"-inf", "m is not finite"},
                                        {"-3", "m is negative"},
                                        {"x", "m is not a number"},
                                        {"1.5", "m is not a whole number"},
                                        {"inf", "m is not finite"}}) {
        RowPrediction const p = product("NVIDIA H200", "bfloat16", std::string(cell) + ",1,1,1");
        CHECK(p.skip_reason == problem);
        CHECK(p.unreadable == fmt::format("t.csv line 2: '{}'", cell));
    }
}

TEST_CASE("kernel rows: formats in the words of PyTorch, CUDA and engines are those of the tables") {
    auto const time = [](std::string const& dtype) {
        RowPrediction const p = product("NVIDIA H100 80GB HBM3", dtype, "4096,8192,1024,100");
        INFO(dtype << ": " << p.skip_reason);
        CHECK(p.time);
        return p.time;
    };
    for (char const* dtype : {"torch.bfloat16", "BF16", "c10::BFloat16", "__nv_bfloat16"})
        CHECK(time(dtype) == time("bfloat16"));
    for (char const* dtype : {"half", "torch.float16", "c10::Half"})
        CHECK(time(dtype) == time("float16"));
    for (char const* dtype : {"fp8_e4m3", "float8_e4m3fn", "torch.float8_e4m3fn", "e4m3"})
        CHECK(time(dtype) == time("fp8"));
    CHECK(time("w8a8") == time("sq"));
    CHECK(time("W4A16") == time("int4_wo"));
    CHECK(product("NVIDIA H100 80GB HBM3", "mxfp8", "4096,8192,1024,100").skip_reason ==
          "no model of kernels in mxfp8");
    CHECK(product("NVIDIA H100 80GB HBM3", "posit16", "4096,8192,1024,100").skip_reason ==
          "unknown number format 'posit16'");
}

TEST_CASE("kernel rows: attention as engines call its kinds, formats and libraries") {
    auto const served = [](std::string const& kind, std::string const& formats) {
        RowPrediction const p =
            predicted(attention_header, "s,H100-SXM5-80GB," + kind + "," + formats + ",8,2048,0,32,8,128,300");
        INFO(kind << " " << formats << ": " << p.skip_reason);
        CHECK(p.time);
        return p.time;
    };
    CHECK(served("prefill", "bfloat16,bfloat16") == served("context", "bfloat16,bfloat16"));
    CHECK(served("decode", "bfloat16,bfloat16") == served("generation", "bfloat16,bfloat16"));
    CHECK(served("decode", "half,auto") == served("decode", "bf16,bf16"));
    CHECK(served("decode", "fp8,auto") == served("decode", "fp8,fp8"));
    CHECK(served("decode", "torch.bfloat16,fp8_e4m3") == served("decode", "bf16,fp8"));
    CHECK(predicted(attention_header, "s,H100-SXM5-80GB,decode,int8,int8,8,2048,0,32,8,128,300").skip_reason ==
          "no model of attention in int8");
    auto const published = [](std::string const& kernel, std::string const& dtype) {
        return predicted(published_header, "s,H100-SXM5-80GB," + kernel + "," + dtype + ",fwd,1,128,8192,2,16,400,");
    };
    for (char const* kernel : {"FA2", "flash_attn_2", "flash-attn 2"})
        CHECK(published(kernel, "bf16").time == published("FlashAttention-2", "bf16").time);
    for (char const* kernel : {"FA3", "flash_attn_3", "flash-attention 3"})
        CHECK(published(kernel, "bf16").time == published("FlashAttention-3", "bf16").time);
    CHECK(published("FA2", "bf16").time > published("FA3", "bf16").time);
    CHECK(published("flash_attn_1", "bf16").skip_reason == "no model of the kernel flash_attn_1");
    for (char const* dtype : {"float8_e4m3fn", "fp8", "FP8 e5m2"})
        CHECK(published("FA3", dtype).skip_reason == "no model of a training step's attention in fp8");
}

TEST_CASE("kernel rows: one key-value head of 576 is a latent that all heads read once") {
    auto const decode = [](std::string const& cells) {
        CsvTable const table =
            parse_csv(attention_header + "s,H100-SXM5-80GB,generation,bfloat16,bfloat16," + cells + "\n", "t.csv");
        return KernelPredictor().predict(table).at(0);
    };
    ScoredRow const row = decode("64,4097,0,128,1,576,150");
    REQUIRE(row.prediction.time);
    double const read = 64.0 * 4097 * 576 * 2 / 3.35e12;  // one latent for each sequence and key
    double const work = 2.0 * 64 * 4097 * 128 * (2 * 512 + 64) / 989.4e12;
    CHECK(row.prediction.time->base() > std::max(read, work));
    CHECK(row.prediction.time->base() < 2.5 * std::max(read, work));
    CHECK_THAT(row.prediction.assumptions.at(0), contains("is a latent"));
    CHECK_THAT(row.doubt, contains("measurements of other devices or kernels"));
    // Sixteen heads of a rank in eight read as much, and keys and values of 512 are apart.
    CHECK(*decode("64,4097,0,16,1,576,150").prediction.time > read * units::s);
    CHECK(decode("64,4097,0,8,1,512,300").prediction.assumptions.empty());
    CHECK(decode("64,4097,0,8,1,512,300").prediction.time->base() > 1.7 * read * 512 / 576);
}

TEST_CASE("kernel rows: no interval of a measurement by others reaches below what the device can do") {
    for (auto const& [format, peak] : {std::pair("bf16", 312e12), std::pair("sq", 624e12)})
        for (std::int64_t const size : {4096, 8192, 16384}) {
            CAPTURE(format, size);
            RowPrediction const p = product("A100-SXM4-80GB", format, fmt::format("{0},{0},{0},1e6", size));
            REQUIRE(p.time);
            REQUIRE(p.interval);
            double const least = 2 * std::pow(static_cast<double>(size), 3) / peak;
            CHECK(p.time->base() * p.interval->low >= least * (1 - 1e-9));
        }
}

TEST_CASE("kernel rows: a time that the device cannot reach is of another unit, and left out") {
    std::string const in_ms = "faster than the device can be: is the time in another unit?";
    CHECK(product("H100", "bf16", "8192,8192,8192,1.5").skip_reason == in_ms);
    CHECK(product("H100", "bf16", "8192,8192,8192,1500").skip_reason.empty());
    CHECK(predicted(attention_header, "s,H100,generation,bf16,bf16,64,4097,0,32,8,128,0.4").skip_reason == in_ms);
    CHECK(
        predicted("source_ref,device,kernel,dtype,bytes_moved,latency_us\n", "s,H100,copy,bf16,1GB,0.6").skip_reason ==
        in_ms);
    // Another device's rows on this one are no slip.
    CHECK(KernelPredictor("l4")
              .predict(parse_csv(product_header + "s,H100,x,bf16,8192,8192,8192,1500\n", "t.csv"))
              .at(0)
              .prediction.skip_reason.empty());
}

TEST_CASE("kernel rows: flags as Python prints them, bytes with a unit") {
    auto const attention = [](std::string const& causal) {
        return predicted(published_header,
                         "s,A100-SXM4-80GB,FlashAttention-2,bf16,fwd," + causal + ",128,2048,2,16,100,");
    };
    CHECK(attention("True").time == attention("1").time);
    CHECK(attention("False").time == attention("0").time);
    CHECK(attention("True").time < attention("no").time);
    CHECK(attention("perhaps").skip_reason == "causal is neither yes nor no");
    auto const copy = [](std::string const& bytes) {
        return predicted("source_ref,device,kernel,dtype,bytes_moved,latency_us\n",
                         "s,H100,copy,bf16," + bytes + ",500");
    };
    CHECK(copy("1GB").time == copy("1000000000").time);
    CHECK(copy("1 GiB").time == copy("1073741824").time);
}

TEST_CASE("kernel excerpts: sums agree, and most rows that can be expressed are met within a factor of two") {
    Validation const v = scored({"gemm_excerpt.csv", "attention_excerpt.csv"});
    CHECK(v.overall.n == 400);
    CHECK(v.sources.size() == 10);
    std::size_t n = 0;
    std::size_t time_n = 0;
    for (SourceScore const& source : v.sources) {
        n += source.n;
        time_n += source.time.n;
        CHECK(source.n == source.skipped + source.time.n);
    }
    CHECK(n == v.overall.n);
    CHECK(time_n == v.overall.time.n);
    CHECK(time_n >= 200);
    CHECK(v.overall.time.median_ape_pct <= 50);
    std::size_t by_kernel = 0;
    for (auto const& [group, score] : v.groups)
        if (group.by == "kernel") by_kernel += score.n;
    CHECK(by_kernel == time_n);
}

TEST_CASE("kernel rows: a profile replaces the device of every row") {
    CsvTable const table = parse_csv(product_header + "s,Abacus 3000,x,bfloat16,64,64,64,5\n", "t.csv");
    CHECK_FALSE(KernelPredictor().predict(table).at(0).prediction.time);
    CHECK(KernelPredictor("l40s").predict(table).at(0).prediction.time);
    CHECK_THROWS_AS(KernelPredictor("no-such-device"), InputError);
}

TEST_CASE(
    "kernel rows: those that the fit saw are told from those it did not see, foreign ones and devices without a fit") {
    auto const split = [](KernelCase const& c, char const* device) {
        RowGroup const group = split_of(c, find_accelerator(device, "test"));
        CHECK(group.by == "split");
        return group.name;
    };
    KernelCase c;
    c.variant = "bf16";
    c.source = "github.com/ai-dynamo/aiconfigurator systems/data";
    auto const& seen = find_accelerator("h100-sxm", "test").kernels->find(KernelKind::gemm, "bf16")->seen;
    REQUIRE_FALSE(seen.empty());
    int fitted = 0;
    int unseen = 0;  // shapes that the fit's table does not have, though no rule holds them out
    for (std::int64_t m = 1; m <= 40; ++m) {
        for (std::int64_t const n : {500, 512, 1024, 4096}) {
            c.what = Gemm{.m = m, .n = n, .k = 1024};
            std::string const name = split(c, "h100-sxm");
            bool const is_seen = std::find(seen.begin(), seen.end(), shape_mark(c)) != seen.end();
            CHECK(name == (is_seen ? "fitted" : "held out of the fit"));
            if (is_held_out(c)) CHECK(name == "held out of the fit");
            fitted += is_seen ? 1 : 0;
            unseen += !is_seen && !is_held_out(c) ? 1 : 0;
        }
    }
    CHECK(fitted > 0);
    CHECK(unseen > 100);
    CHECK(split(c, "h100-pcie") == "kernel not measured on this device");
    // The same tables as this program imports them are of the same source; other engines of theirs are not.
    std::string const as_shipped = split(c, "h100-sxm");
    c.source = "aiconfigurator TRTLLM 1.3.0rc20";
    CHECK(split(c, "h100-sxm") == as_shipped);
    c.source = "aiconfigurator VLLM 0.24.0";
    CHECK(split(c, "h100-sxm") == "measured by others than the fit's source");
    c.source = "sextant-bench cuda";
    CHECK(split(c, "h100-sxm") == "measured by others than the fit's source");
    c.variant = "tf32";
    CHECK(split(c, "a100-sxm-80gb") == "kernel not measured on this device");
}

TEST_CASE("kernel rows: a calibration of another device, or of a class without a profile, is refused") {
    std::string const folder = SEXTANT_SOURCE_DIR "/hardware_profiles/calibrations/kernels/";
    CHECK_THROWS_WITH(KernelPredictor("l40s", folder + "h100-sxm.json"), contains("is of h100-sxm, not of l40s"));
    CHECK_THROWS_WITH(KernelPredictor("", folder + "class-any.json"), contains("of a class"));
    CsvTable const table = parse_csv(product_header + "s,NVIDIA H100 80GB HBM3,x,bfloat16,640,640,640,5\n", "t.csv");
    auto const time = [&](KernelPredictor const& predictor) {
        return predictor.predict(table).at(0).prediction.time->base();
    };
    // What ships is what is given here; a class knows the device less well.
    CHECK(time(KernelPredictor("", folder + "h100-sxm.json")) == time(KernelPredictor()));
    CHECK(time(KernelPredictor("h100-sxm", folder + "class-any.json")) != time(KernelPredictor()));
}

TEST_CASE("kernel doubts: repeats that differ, sizes that are slower than larger ones, points off the line") {
    std::vector<std::optional<KernelCase>> cases;
    auto const add = [&](std::int64_t m, double microseconds, char const* device = "d") {
        KernelCase c;
        c.what = Gemm{.m = m, .n = 64, .k = 64};
        c.variant = "bf16";
        c.kind = "product bf16";
        c.device = device;
        c.measured = microseconds * units::us;
        cases.emplace_back(std::move(c));
    };
    add(1, 10);
    add(2, 11);
    add(4, 30);  // the next is quicker
    add(8, 14);
    add(16, 20);
    add(32, 20);  // measured twice
    add(32, 30);
    add(2, 100, "another device");
    cases.emplace_back(std::nullopt);
    add(64, 90);
    add(128, 40);
    std::get<Gemm>(cases.back()->what).n = 256;  // larger in two sizes, and quicker
    auto const doubts = kernel_doubts(cases);
    REQUIRE(doubts.size() == cases.size());
    CHECK(doubts[0].empty());
    CHECK_THAT(doubts[1], contains("off the line"));  // 11 us where 17 lies between 10 and 30
    CHECK_THAT(doubts[2], contains("114 % slower than a larger one"));
    CHECK_THAT(doubts[3], contains("off the line"));
    CHECK(doubts[4].empty());
    CHECK_THAT(doubts[5], contains("measured 2 times, times differ by 50 %"));
    CHECK(doubts[6] == doubts[5]);
    CHECK(doubts[7].empty());
    CHECK(doubts[8].empty());
    CHECK_THAT(doubts[9], contains("125 % slower than a larger one"));
    CHECK(doubts[10].empty());
    CHECK(kernel_text(*cases[0]) == "bf16 1 x 64 x 64");
}
