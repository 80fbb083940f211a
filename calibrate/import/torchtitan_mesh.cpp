#include "calibrate/import/torchtitan_mesh.hpp"

#include "calibrate/import/log_line.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace sextant {
namespace {

constexpr std::string_view axes_follow = "device mesh with [";
constexpr std::string_view degrees_follow = "device mesh with parallelism:";

using MeshDegrees = std::map<std::string, std::int64_t, std::less<>>;

bool add_degree(std::string_view name, std::string_view size, MeshDegrees& degrees) {
    std::int64_t value = 0;
    constexpr std::int64_t most = 1'000'000;
    if (name.empty() || !is_number(size, value) || value < 1 || value > most) return false;
    degrees.insert_or_assign(std::string(name), value);
    return true;
}

/// The item at `at`, which then is behind the comma that ends it.
std::string_view next_item(std::string_view list, std::size_t& at) {
    std::size_t const begin = std::min(at, list.size());
    std::size_t const end = std::min(list.find(',', begin), list.size());
    at = end + 1;
    return trimmed(list.substr(begin, end - begin), " '\"\r");
}

/// Of "'dp_shard', 'tp'], [4, 2]"; nothing where names and sizes do not pair up.
std::optional<MeshDegrees> named_axes(std::string_view text) {
    constexpr std::string_view between = "], [";
    std::size_t const parted = text.find(between);
    if (parted == std::string_view::npos) return std::nullopt;
    std::string_view const names = text.substr(0, parted);
    std::string_view const behind = text.substr(parted + between.size());
    std::string_view const sizes = behind.substr(0, behind.find(']'));
    MeshDegrees degrees;
    for (std::size_t name = 0, size = 0; name <= names.size();)
        if (!add_degree(next_item(names, name), next_item(sizes, size), degrees)) return std::nullopt;
    return degrees;
}

/// Of "pp=1, dp_replicate=1, dp_shard=4, ...".
std::optional<MeshDegrees> stated_degrees(std::string_view text) {
    MeshDegrees degrees;
    for (std::size_t at = 0; at <= text.size();) {
        std::string_view const item = next_item(text, at);
        std::size_t const sign = item.find('=');
        if (sign == std::string_view::npos) break;
        if (!add_degree(item.substr(0, sign), item.substr(sign + 1), degrees)) return std::nullopt;
    }
    if (degrees.empty()) return std::nullopt;
    return degrees;
}

/// Nothing where they are too many to be any.
std::optional<std::int64_t> ranks_of(MeshDegrees const& degrees) {
    constexpr std::int64_t most = 10'000'000;
    std::int64_t ranks = 1;
    for (auto const& [axis, size] : degrees) {
        if (axis == "ep" || axis == "etp") continue;
        ranks *= size;
        if (ranks > most) return std::nullopt;
    }
    return ranks;
}

class TorchtitanMesh {
public:
    explicit TorchtitanMesh(MeshDegrees const& degrees) : degrees_(degrees) {}

    void put_into(CellRow& cells) const {
        auto const ranks = ranks_of(degrees_);
        if (!ranks) return;
        std::int64_t const replicas = of("dp_replicate");
        std::int64_t const shards = of("dp_shard") * of("dp_shard_mod_ep") * of("dp_shard_in_ep");
        put(cells, "num_gpus", fmt::to_string(*ranks));
        put(cells, "dp", fmt::to_string(of("dp") * replicas * shards));
        for (char const* axis : {"tp", "pp", "cp"})
            put(cells, axis, fmt::to_string(of(axis)));
        std::string notes;
        std::int64_t const group = shards * of("cp");  // FSDP shards over the ranks of a sequence, too
        // The first releases had one axis, "dp", whatever was done over it.
        if (!degrees_.contains("dp")) put(cells, "zero_stage", group == 1 ? "0" : replicas > 1 ? "HSDP" : "3");
        if (replicas > 1 && group > 1) notes = fmt::format("shard group {}", group);
        put_experts(cells, notes);
        put(cells, "notes", notes);
    }

private:
    [[nodiscard]] std::int64_t of(std::string_view axis) const {
        auto const found = degrees_.find(axis);
        return found == degrees_.end() ? 1 : found->second;
    }

    /// Named axes do not say whether tensor parallelism cuts the experts; if not, a group of experts is that much
    /// larger. assumed: it does not, the default of expert_tensor_parallel_degree.
    void put_experts(CellRow& cells, std::string& notes) const {
        bool const by_axes = degrees_.contains("dp_shard_mod_ep") || degrees_.contains("dp_shard_in_ep");
        if (!by_axes && !degrees_.contains("ep")) return;
        std::int64_t const experts = by_axes ? of("dp_shard_in_ep") * of("cp") * of("tp") : of("ep");
        put(cells, "ep", fmt::to_string(experts));
        bool const is_guess = by_axes && of("dp_shard_in_ep") * of("cp") > 1 && of("tp") > 1;
        if (experts > 1 && (is_guess || of("etp") > 1))
            notes += fmt::format("{}expert-tensor-parallel-size={}{}", notes.empty() ? "" : "; ", of("etp"),
                                 is_guess ? " (assumed)" : "");
    }

    MeshDegrees const& degrees_;
};

}  // namespace

bool names_torchtitan_mesh(std::string_view line) {
    return line.find(axes_follow) != std::string_view::npos || line.find(degrees_follow) != std::string_view::npos;
}

void put_torchtitan_mesh(std::string_view line, CellRow& cells) {
    auto const axes = line.find(axes_follow);
    auto const stated = line.find(degrees_follow);
    std::optional<MeshDegrees> degrees;
    if (axes != std::string_view::npos)
        degrees = named_axes(line.substr(axes + axes_follow.size()));
    else if (stated != std::string_view::npos)
        degrees = stated_degrees(line.substr(stated + degrees_follow.size()));
    if (degrees) TorchtitanMesh(*degrees).put_into(cells);
}

}  // namespace sextant
