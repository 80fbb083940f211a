#include "cost_models/goodput/failure_process.hpp"

#include "core/spec/named_values.hpp"

namespace sextant {
namespace {

constexpr Named<FailureScope> scopes[] = {{FailureScope::process, "process"},
                                          {FailureScope::gpu, "gpu"},
                                          {FailureScope::node, "node"},
                                          {FailureScope::fabric, "fabric"}};

}  // namespace

std::string_view name_of(FailureScope scope) { return name_in<FailureScope>(scopes, scope); }

FailureScope failure_scope_from(std::string_view name, std::string_view where) {
    return value_in<FailureScope>(scopes, name, where, "scope of a failure");
}

}  // namespace sextant
