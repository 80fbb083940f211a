#include "core/spec/precision.hpp"

#include "core/spec/named_values.hpp"

namespace sextant {
namespace {

constexpr Named<Precision> names[] = {
    {Precision::fp32, "fp32"},   {Precision::tf32, "tf32"}, {Precision::fp16, "fp16"},
    {Precision::bf16, "bf16"},   {Precision::fp8, "fp8"},   {Precision::fp8_block, "fp8-block"},
    {Precision::mxfp8, "mxfp8"}, {Precision::fp4, "fp4"},
};

}  // namespace

std::string_view name_of(Precision precision) { return name_in<Precision>(names, precision); }

Precision precision_from(std::string_view name, std::string_view where) {
    return value_in<Precision>(names, name, where, "precision");
}

double bytes_per_element(Precision precision) {
    switch (precision) {
        case Precision::fp32:
        case Precision::tf32: return 4;
        case Precision::fp16:
        case Precision::bf16: return 2;
        case Precision::fp8:
        case Precision::fp8_block:
        case Precision::mxfp8: return 1;
        case Precision::fp4: return 0.5;
    }
    return 0;  // not reached: the switch names every format
}

}  // namespace sextant
