#include "core/spec/low_rank_adapters.hpp"

#include "core/spec/named_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

namespace sextant {
namespace {

using Target = AdapterTarget;

constexpr Named<Target> targets[] = {
    {Target::q, "q"},       {Target::k, "k"},       {Target::v, "v"},   {Target::qkv, "qkv"},
    {Target::output, "o"},  {Target::gate, "gate"}, {Target::up, "up"}, {Target::gate_up, "gate_up"},
    {Target::down, "down"},
};

constexpr Named<BaseWeights> formats[] = {
    {BaseWeights::bf16, "bf16"}, {BaseWeights::fp8, "fp8"}, {BaseWeights::int8, "int8"}, {BaseWeights::nf4, "nf4"}};

/// The part of "attention.q_up" after its group, "attention".
struct MatrixName {
    explicit MatrixName(std::string_view name) : group(name.substr(0, name.find('.'))), part(name) {
        part.remove_prefix(std::min(name.size(), group.size() + 1));
    }
    std::string_view group;
    std::string_view part;
};

/// What a matrix is to those who choose targets, by its own and by its fused name.
struct Role {
    Target own;
    std::optional<Target> other;  ///< latent keys and values are one matrix for both
    std::optional<Target> fused;
};

std::optional<Role> role_of(Parameter const& p) {
    if (!is_base_matrix(p) || p.sharding == Sharding::expert) return {};
    MatrixName const name(p.name);
    if (name.group == "attention") {
        if (name.part == "q") return Role{Target::q, {}, Target::qkv};
        if (name.part == "k") return Role{Target::k, {}, Target::qkv};
        if (name.part == "v") return Role{Target::v, {}, Target::qkv};
        if (name.part == "q_down" || name.part == "q_up") return Role{Target::q, {}, {}};
        if (name.part == "kv_down" || name.part == "kv_up") return Role{Target::k, Target::v, {}};
        if (name.part == "output") return Role{Target::output, {}, {}};
        return {};
    }
    if (name.group != "mlp" && name.group != "shared_expert") return {};
    if (name.part == "gate") return Role{Target::gate, {}, Target::gate_up};
    if (name.part == "up") return Role{Target::up, {}, Target::gate_up};
    if (name.part == "down") return Role{Target::down, {}, {}};
    return {};
}

enum class Chosen : std::uint8_t { none, own, fused };

/// Whether a matrix has adapters, of its own or fused with its neighbours.
Chosen chosen(Role const& role, AdapterTargets const& wanted) {
    if (role.fused && wanted.has(*role.fused)) return Chosen::fused;
    return wanted.has(role.own) || (role.other && wanted.has(*role.other)) ? Chosen::own : Chosen::none;
}

/// Every target that some layer of the model has.
AdapterTargets targets_of(ModelSpec const& model) {
    AdapterTargets found;
    for (LayerKind const kind : distinct_kinds(model))
        for (Parameter const& p : layer_parameters(model, kind)) {
            auto const role = role_of(p);
            if (!role) continue;
            found.add(role->own);
            if (role->other) found.add(*role->other);
            // Latent attention has no layer of all three.
            if (role->fused && !(model.attention.latent && *role->fused == Target::qkv)) found.add(*role->fused);
        }
    return found;
}

void require_rank(ModelSpec const& model, LowRankAdapters const& adapters, std::string_view where) {
    for (LayerKind const kind : distinct_kinds(model))
        for (Parameter const& p : layer_parameters(model, kind)) {
            auto const role = role_of(p);
            if (!role || chosen(*role, adapters.targets) == Chosen::none) continue;
            std::int64_t const most = std::min(p.rows, p.columns);
            if (adapters.rank > most)
                throw InputError("{}: rank {} is larger than {} of {}, [{}, {}] (at most {})", where, adapters.rank,
                                 p.name, model.name, p.rows, p.columns, most);
        }
}

}  // namespace

std::string_view name_of(AdapterTarget target) { return name_in<Target>(targets, target); }
std::string_view name_of(BaseWeights format) { return name_in<BaseWeights>(formats, format); }

BaseWeights base_weights_from(std::string_view name, std::string_view where) {
    if (name == "int4")
        throw InputError("{}: 'int4' is no format of base weights that are trained on (four bits are nf4; known: {})",
                         where, join(all_names<BaseWeights>(formats)));
    return value_in<BaseWeights>(formats, name, where, "format of base weights");
}

double bytes_per_weight(BaseWeights format) {
    switch (format) {
        case BaseWeights::bf16: return 2;
        case BaseWeights::fp8:
        case BaseWeights::int8: return 1;
        case BaseWeights::nf4: return (4 + 8.0 / 64 + 32.0 / (64 * 256)) / 8;
    }
    return 0;  // not reached: the switch names every format
}

AdapterTargets attention_targets() { return {Target::q, Target::k, Target::v, Target::output}; }

AdapterTargets all_targets() {
    return {Target::q, Target::k, Target::v, Target::output, Target::gate, Target::up, Target::down};
}

AdapterTargets adapter_targets_from(std::string_view text, std::string_view where) {
    AdapterTargets set;
    for (std::size_t begin = 0; begin <= text.size();) {
        std::size_t const comma = std::min(text.find(',', begin), text.size());
        std::string_view const word = text.substr(begin, comma - begin);
        begin = comma + 1;
        if (word == "attention") {
            set |= attention_targets();
        } else if (word == "all") {
            set |= all_targets();
        } else {
            auto const found = std::find_if(std::begin(targets), std::end(targets),
                                            [&](auto const& entry) { return entry.name == word; });
            if (found == std::end(targets)) {
                auto known = all_names<Target>(targets);
                known.insert(known.begin(), {"attention", "all"});
                throw InputError("{}: unknown target '{}'{} (known: {}; experts and router have no adapters)", where,
                                 word, did_you_mean(word, known), join(known));
            }
            set.add(found->value);
        }
    }
    if (set.has(Target::qkv) && (set.has(Target::q) || set.has(Target::k) || set.has(Target::v)))
        throw InputError("{}: '{}' names q, k or v twice (qkv is one adapter for all three)", where, text);
    if (set.has(Target::gate_up) && (set.has(Target::gate) || set.has(Target::up)))
        throw InputError("{}: '{}' names gate or up twice (gate_up is one adapter for both)", where, text);
    return set;
}

std::string targets_text(AdapterTargets set) {
    if (set == attention_targets()) return "attention";
    if (set == all_targets()) return "all";
    return names_in<Target>(targets, set, ",");
}

std::string adapters_label(LowRankAdapters const& adapters) {
    std::string text = fmt::format("lora{}", adapters.rank);
    bool const usual = adapters.targets == attention_targets();
    bool const plain = adapters.base == BaseWeights::bf16;
    if (usual && plain) return text;
    if (plain) return text + fmt::format(" ({})", targets_text(adapters.targets));
    return text + fmt::format(" ({}, {})", targets_text(adapters.targets), name_of(adapters.base));
}

bool splits_input(Parameter const& matrix) {
    std::string_view const part = MatrixName(matrix.name).part;
    return matrix.sharding == Sharding::tensor && (part == "output" || part == "down");
}

bool is_base_matrix(Parameter const& p) { return p.columns > 1 && p.rows > 1 && MatrixName(p.name).group != "router"; }

std::vector<Parameter> adapter_parameters(std::vector<Parameter> const& layer, LowRankAdapters const& adapters) {
    std::vector<Parameter> list;
    if (!adapters.on()) return list;
    std::set<std::string, std::less<>> fused_groups;  // whose A is there already
    for (Parameter const& p : layer) {
        auto const role = role_of(p);
        Chosen const how = role ? chosen(*role, adapters.targets) : Chosen::none;
        if (how == Chosen::none) continue;
        bool const first = how == Chosen::own || fused_groups.emplace(MatrixName(p.name).group).second;
        bool const by_input = splits_input(p);
        if (first)
            list.push_back({.name = p.name + " lora A",
                            .rows = adapters.rank,
                            .columns = p.columns,
                            .sharding = by_input ? Sharding::tensor : Sharding::replicated});
        list.push_back({.name = p.name + " lora B",
                        .rows = p.rows,
                        .columns = adapters.rank,
                        .sharding = by_input ? Sharding::replicated : p.sharding,
                        .heads = by_input ? 0 : p.heads});
    }
    return list;
}

void require_adapters(ModelSpec const& model, LowRankAdapters const& adapters, std::string_view where) {
    if (adapters.rank == 0) return;
    if (adapters.rank < 0) throw InputError("{}: rank {} (at least 1)", where, adapters.rank);
    AdapterTargets const there = targets_of(model);
    bool any = false;
    for (auto const& entry : targets) {
        if (!adapters.targets.has(entry.value)) continue;
        any = any || there.has(entry.value);
        // "all" means all that there are.
        if (there.has(entry.value) || adapters.targets == all_targets()) continue;
        std::vector<std::string> known;
        for (auto const& other : targets)
            if (there.has(other.value)) known.emplace_back(other.name);
        throw InputError("{}: {} has no '{}' to put adapters on (it has {}{})", where, model.name, entry.name,
                         join(known), model.moe ? "; experts and router have none" : "");
    }
    if (!any) throw InputError("{}: no target for the adapters of {}", where, model.name);
    require_rank(model, adapters, where);
}

std::int64_t count_adapter_parameters(ModelSpec const& model, LowRankAdapters const& adapters) {
    std::int64_t total = 0;
    for (LayerKind const kind : distinct_kinds(model))
        total += std::count(model.layers.begin(), model.layers.end(), kind) *
                 total_count(adapter_parameters(layer_parameters(model, kind), adapters));
    return total;
}

}  // namespace sextant
