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

}  // namespace sextant
