#include "core/spec/framework_fields.hpp"
#include "core/spec/hardware_json.hpp"
#include "core/spec/value_checks.hpp"

namespace sextant {
namespace {

template <class Q>
Sourced<Q> bounded_quantity(ObjectReader& in, std::string_view key, double most) {
    auto value = in.sourced_quantity<Q>(key);
    if (value.value.base() > most)
        throw InputError("{}: is larger than {}", in.path_to(key), human(Q::from_base(most)));
    return value;
}

/// `base` is the entry for everything, or null while that one is read.
FrameworkTiming read_timing(ObjectReader in, FrameworkTiming const* base) {
    read_default_provenance(in);
    FrameworkTiming timing = base != nullptr ? *base : FrameworkTiming{};
    timing.generation = in.text("generation");
    timing.precision = in.text("precision");
    if (timing.precision != "*") static_cast<void>(precision_from(timing.precision, in.path_to("precision")));
    bool const complete = base == nullptr;
    if (complete && (timing.generation != "*" || timing.precision != "*"))
        throw InputError("{}: is for {}/{} (the first entry is the one for \"*\" and \"*\", which the others build on)",
                         in.where(), timing.generation, timing.precision);
    for (auto const& field : timing_numbers) {
        in.allow(field.key);
        if (complete || in.has(field.key)) timing.*field.member = bounded_number(in, field.key, 0, field.most);
    }
    for (auto const& field : timing_times) {
        in.allow(field.key);
        if (complete || in.has(field.key)) timing.*field.member = bounded_quantity<Seconds>(in, field.key, field.most);
    }
    for (auto const* divisor :
         {&timing.gemm_scale, &timing.grouped_gemm_scale, &timing.attention_scale, &timing.memory_scale})
        if (!(divisor->value > 0)) throw InputError("{}: a scale is zero (it must be positive)", in.where());
    in.finish();
    return timing;
}

FrameworkMemory read_memory(ObjectReader in) {
    read_default_provenance(in);
    FrameworkMemory memory;
    for (auto const& field : memory_numbers)
        memory.*field.member = bounded_number(in, field.key, 0, field.most);
    for (auto const& field : memory_sizes)
        memory.*field.member = bounded_quantity<Bytes>(in, field.key, field.most);
    if (memory.reserved_low.value > memory.reserved_typical.value ||
        memory.reserved_typical.value > memory.reserved_high.value)
        throw InputError("{}: reserved_low, reserved_typical and reserved_high do not ascend (they must)", in.where());
    if (!(memory.usable_fraction.value > 0))
        throw InputError("{}: is zero (it must be positive)", in.path_to("usable_fraction"));
    in.finish();
    return memory;
}

}  // namespace

FrameworkProfile read_framework(ObjectReader in) {
    in.format("framework", 1);
    in.set_default_provenance(Basis::assumed, "the file gives no source");
    read_default_provenance(in);
    FrameworkProfile framework;
    framework.name = in.text("name");
    framework.title = in.text("title", framework.name);
    framework.aliases = in.texts("aliases");
    for (auto& entry : in.objects("timing")) {
        auto const* const base = framework.timing.empty() ? nullptr : &framework.timing.front();
        auto timing = read_timing(std::move(entry), base);
        framework.timing.push_back(std::move(timing));
    }
    if (framework.timing.empty())
        throw InputError("{}: is missing or empty (one entry for \"*\" and \"*\" is needed)", in.path_to("timing"));
    framework.memory = read_memory(in.object("memory"));
    in.finish();
    return framework;
}

}  // namespace sextant
