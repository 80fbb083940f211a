#include "core/spec/checkpoint_format.hpp"

#include "core/json/object_reader.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace sextant {
namespace {

constexpr std::int64_t usual_int4_group = 128;  // as `scale_bytes_per_value` has it

/// A format of `gemm_formats`, or why there is none.
struct Weights {
    std::string format;
    std::string unknown{};
    std::int64_t group = 0;
};

Weights unknown(std::string why) { return {.format = {}, .unknown = std::move(why), .group = 0}; }

/// Weights alone, widened as they are multiplied.
Weights weights_only(std::int64_t bits) {
    if (bits == 4) return {"int4-weights"};
    if (bits == 8) return {"int8-weights"};
    return unknown(fmt::format("no format here has weights of {} bits", bits));
}

/// A number format in the words of compressed-tensors.
struct Numbers {
    std::string type;  ///< "int" or "float"
    std::int64_t bits = 0;
    bool tiled = false;      ///< a scale for a block of rows and columns
    std::int64_t group = 0;  ///< values with one scale; 0: not stated, or a whole row
    bool operator==(Numbers const&) const = default;
};

/// `group_size`, where it is one; -1 is a whole row.
std::int64_t group_size(ObjectReader& in) {
    return in.has("group_size") ? std::max<std::int64_t>(0, in.integer("group_size", 0)) : 0;
}

std::optional<Numbers> numbers_in(ObjectReader& in, std::string_view key) {
    auto numbers = in.optional_object(key);
    if (!numbers) return std::nullopt;
    return Numbers{.type = numbers->text("type", "int"),
                   .bits = numbers->integer("num_bits", 8),
                   .tiled = numbers->text("strategy", "") == "block",
                   .group = group_size(*numbers)};
}

Weights weights_of_group(Numbers const& weights, std::optional<Numbers> const& activations) {
    if (!activations) return weights_only(weights.bits);
    bool const alike = weights.type == activations->type && weights.bits == activations->bits;
    if (alike && weights.type == "float" && weights.bits == 8) return {weights.tiled ? "fp8-block" : "fp8"};
    if (alike && weights.type == "float" && weights.bits == 4) return {"fp4"};
    if (alike && weights.type == "int" && weights.bits == 8) return {"int8"};
    return unknown(fmt::format("no format here has weights in {} {} and activations in {} {}", weights.type,
                               weights.bits, activations->type, activations->bits));
}

Weights weights_of_groups(ObjectReader& in) {
    auto groups = in.optional_object("config_groups");
    if (!groups) return unknown("it has no config_groups");
    std::optional<Weights> found;
    for (std::string const& name : groups->keys()) {
        auto group = groups->optional_object(name);
        if (!group) continue;
        auto const weights = numbers_in(*group, "weights");
        if (!weights) continue;
        Weights each = weights_of_group(*weights, numbers_in(*group, "input_activations"));
        each.group = weights->group;
        if (found && found->format != each.format) return unknown("its config_groups are in several formats");
        found = std::move(each);
    }
    return found ? *found : unknown("its config_groups have no weights");
}

Weights weights_of_fp8(ObjectReader& in) {
    auto const tile = in.integers("weight_block_size");
    if (tile.empty()) return {"fp8"};
    if (tile == std::vector<std::int64_t>{128, 128}) return {"fp8-block"};
    return unknown("its weight_block_size is not 128 x 128");
}

Weights weights_of_bitsandbytes(ObjectReader& in) {
    if (in.flag("load_in_4bit", false) || in.flag("_load_in_4bit", false)) return {"int4-weights"};
    if (in.flag("load_in_8bit", false) || in.flag("_load_in_8bit", false)) return {"int8-weights"};
    return unknown("neither load_in_4bit nor load_in_8bit is true");
}

/// Source: `QUANTIZATION_*` of modelopt/torch/export.
Weights weights_of_modelopt(ObjectReader& in) {
    constexpr std::array<std::pair<char const*, char const*>, 9> algorithms{{{"fp8", "fp8"},
                                                                             {"fp8_per_channel_per_token", "fp8"},
                                                                             {"fp8_pb_wo", "fp8-block"},
                                                                             {"nvfp4", "fp4"},
                                                                             {"nvfp4_awq", "fp4"},
                                                                             {"w4a16_awq", "int4-weights"},
                                                                             {"w4a16", "int4-weights"},
                                                                             {"w8a16", "int8-weights"},
                                                                             {"int8_sq", "int8"}}};
    std::string const name = in.text("quant_algo", "");
    if (name.empty()) return weights_of_groups(in);
    for (auto const& [algorithm, format] : algorithms)
        if (lower_case(name) == algorithm) return {format};
    return unknown(fmt::format("its quant_algo '{}' is not known here", name.substr(0, 40)));
}

Weights weights_of(ObjectReader& in, std::string const& method) {
    if (method == "fp8") return weights_of_fp8(in);
    if (method == "fbgemm_fp8") return {"fp8"};
    if (method == "mxfp4") return {"fp4"};
    if (method == "compressed-tensors") return weights_of_groups(in);
    if (method == "modelopt" || method == "modelopt_fp4") return weights_of_modelopt(in);
    if (method == "bitsandbytes") return weights_of_bitsandbytes(in);
    if (method == "gptq" || method == "awq" || method == "auto-round") {
        if (auto const type = in.text("data_type", "int"); type != "int")
            return unknown(fmt::format("its data_type '{}' is not known here", type.substr(0, 40)));
        return in.has("bits") ? weights_only(in.integer("bits")) : unknown("its bits are not stated");
    }
    return unknown(method.empty() ? "its quant_method is missing"
                                  : fmt::format("its quant_method '{}' is not known here", method.substr(0, 40)));
}

std::optional<CacheFormat> cache_of(ObjectReader& in) {
    std::string const algorithm = in.is_text("kv_cache_quant_algo") ? lower_case(in.text("kv_cache_quant_algo")) : "";
    auto const scheme = numbers_in(in, "kv_cache_scheme");
    if (algorithm == "fp8" || scheme == Numbers{.type = "float", .bits = 8}) return CacheFormat::fp8;
    if (algorithm == "int8" || scheme == Numbers{.type = "int", .bits = 8}) return CacheFormat::int8;
    if (scheme == Numbers{.type = "int", .bits = 4}) return CacheFormat::int4;
    return std::nullopt;
}

std::optional<ObjectReader> quantisation_in(ObjectReader& in) {
    for (char const* const key : {"quantization_config", "compression_config"})
        if (auto found = in.optional_object(key)) return found;
    auto text = in.optional_object("text_config");
    return text ? text->optional_object("quantization_config") : std::nullopt;
}

}  // namespace

std::string stored_format(CheckpointFormat const& checkpoint) {
    if (checkpoint.method == "mxfp4") return checkpoint.method;
    bool const usual = checkpoint.group == 0 || checkpoint.group == usual_int4_group;
    return usual ? checkpoint.weights : fmt::format("{}/{}", checkpoint.weights, checkpoint.group);
}

CheckpointFormat read_checkpoint_format(std::string_view config, std::string where) {
    auto const document = JsonDocument::from_text(config, std::move(where));
    ObjectReader root(document);
    auto in = quantisation_in(root);
    if (!in) return {};
    CheckpointFormat out;
    out.method = in->text("quant_method", "");
    // transformers wrote none for bitsandbytes at first.
    if (out.method.empty() && (in->has("load_in_4bit") || in->has("load_in_8bit"))) out.method = "bitsandbytes";
    out.cache = cache_of(*in);
    // ModelOpt narrows the cache alone, too: then the matrices are as they were.
    if (out.method == "modelopt" && !in->has("quant_algo") && !in->has("config_groups")) {
        out.method.clear();
        return out;
    }
    Weights const weights = weights_of(*in, out.method);
    if (out.method.empty()) out.method = "quantization_config";
    out.weights = weights.format;
    if (out.weights == "int4-weights") out.group = weights.group > 0 ? weights.group : group_size(*in);
    out.unknown = weights.unknown;
    return out;
}

}  // namespace sextant
