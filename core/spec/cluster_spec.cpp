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

}  // namespace

std::string_view name_of(ScaleUpKind kind) { return name_in<ScaleUpKind>(kinds, kind); }

ScaleUpKind scale_up_kind_from(std::string_view name, std::string_view where) {
    return value_in<ScaleUpKind>(kinds, name, where, "scale-up kind");
}

}  // namespace sextant
