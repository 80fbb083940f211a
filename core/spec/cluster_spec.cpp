#include "core/spec/cluster_spec.hpp"

#include "core/spec/named_values.hpp"

namespace sextant {
namespace {

constexpr Named<ScaleUpKind> kinds[] = {
    {ScaleUpKind::switched, "switched"},
    {ScaleUpKind::mesh, "mesh"},
    {ScaleUpKind::pcie, "pcie"},
    {ScaleUpKind::torus, "torus"},
};

constexpr Named<ScaleOutTopology> topologies[] = {
    {ScaleOutTopology::rail_optimised, "rail-optimised"},
    {ScaleOutTopology::fat_tree, "fat-tree"},
    {ScaleOutTopology::dragonfly, "dragonfly"},
};

}  // namespace

std::string_view name_of(ScaleUpKind kind) { return name_in<ScaleUpKind>(kinds, kind); }

ScaleUpKind scale_up_kind_from(std::string_view name, std::string_view where) {
    return value_in<ScaleUpKind>(kinds, name, where, "scale-up kind");
}

std::string_view name_of(ScaleOutTopology topology) { return name_in<ScaleOutTopology>(topologies, topology); }

ScaleOutTopology scale_out_topology_from(std::string_view name, std::string_view where) {
    return value_in<ScaleOutTopology>(topologies, name, where, "scale-out topology");
}

ScaleOutTopology usual_topology(std::string_view scale_out_kind) {
    if (scale_out_kind == "slingshot") return ScaleOutTopology::dragonfly;
    if (scale_out_kind == "infiniband" || scale_out_kind == "roce") return ScaleOutTopology::rail_optimised;
    return ScaleOutTopology::fat_tree;
}

}  // namespace sextant
