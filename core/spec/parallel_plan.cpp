#include "core/spec/parallel_plan.hpp"

#include "core/spec/named_values.hpp"

namespace sextant {
namespace {

constexpr Named<Schedule> schedules[] = {
    {Schedule::gpipe, "gpipe"},
    {Schedule::one_f_one_b, "1f1b"},
    {Schedule::interleaved, "interleaved"},
    {Schedule::overlapped, "1f1b-overlap"},
    {Schedule::breadth_first, "breadth-first"},
    {Schedule::zb_h1, "zb-h1"},
    {Schedule::zb_h2, "zb-h2"},
    {Schedule::zb_v, "zb-v"},
    {Schedule::dualpipe, "dualpipe"},
    {Schedule::dualpipe_v, "dualpipe-v"},
};

constexpr Named<Recompute> recomputes[] = {
    {Recompute::none, "none"}, {Recompute::selective, "selective"}, {Recompute::full, "full"}};

constexpr Named<Offload> offloads[] = {
    {Offload::none, "none"},
    {Offload::optimizer, "optimizer"},
    {Offload::activations, "activations"},
    {Offload::optimizer_and_activations, "optimizer+activations"},
    {Offload::parameters, "parameters"},
    {Offload::parameters_and_activations, "parameters+activations"},
};

constexpr Named<ContextParallel> context_parallels[] = {
    {ContextParallel::ring, "ring"},
    {ContextParallel::all_gather, "all-gather"},
    {ContextParallel::ulysses, "ulysses"},
};

constexpr Named<Optimizer> optimizers[] = {
    {Optimizer::adamw, "adamw"},
    {Optimizer::adamw_bf16, "adamw-bf16"},
    {Optimizer::adamw_8bit, "adamw-8bit"},
    {Optimizer::adamw_pure_bf16, "adamw-pure-bf16"},
    {Optimizer::sgd, "sgd"},
    {Optimizer::muon, "muon"},
    {Optimizer::lion, "lion"},
    {Optimizer::lion_8bit, "lion-8bit"},
    {Optimizer::adafactor, "adafactor"},
};

constexpr Named<Dispatcher> dispatchers[] = {{Dispatcher::all_to_all, "alltoall"},
                                             {Dispatcher::deduplicated, "deduplicated"}};

constexpr Named<AttentionKernel> attention_kernels[] = {
    {AttentionKernel::flash, "flash"}, {AttentionKernel::unfused, "unfused"}, {AttentionKernel::eager, "eager"}};

constexpr Named<Preference> preferences[] = {
    {Preference::none, "none"}, {Preference::reference_free, "reference-free"}, {Preference::dpo, "dpo"}};

constexpr Named<GradientFormat> gradient_formats[] = {{GradientFormat::usual, "usual"}, {GradientFormat::bf16, "bf16"}};

}  // namespace

std::string_view name_of(Schedule schedule) { return name_in<Schedule>(schedules, schedule); }
std::string_view name_of(Recompute recompute) { return name_in<Recompute>(recomputes, recompute); }
std::string_view name_of(Offload offload) { return name_in<Offload>(offloads, offload); }
std::string_view name_of(ContextParallel mode) { return name_in<ContextParallel>(context_parallels, mode); }
std::string_view name_of(Optimizer optimizer) { return name_in<Optimizer>(optimizers, optimizer); }
std::string_view name_of(AttentionKernel kernel) { return name_in<AttentionKernel>(attention_kernels, kernel); }
std::string_view name_of(Dispatcher dispatcher) { return name_in<Dispatcher>(dispatchers, dispatcher); }
std::string_view name_of(Preference preference) { return name_in<Preference>(preferences, preference); }
std::string_view name_of(GradientFormat format) { return name_in<GradientFormat>(gradient_formats, format); }

Schedule schedule_from(std::string_view name, std::string_view where) {
    // A schedule by its own right, but not of training: nobody should look for a typing mistake.
    if (name == "forward-only")
        throw InputError("{}: schedule '{}' trains nothing (for training: {})", where, name,
                         join(all_names<Schedule>(schedules)));
    return value_in<Schedule>(schedules, name, where, "schedule");
}

Recompute recompute_from(std::string_view name, std::string_view where) {
    return value_in<Recompute>(recomputes, name, where, "recompute policy");
}

Offload offload_from(std::string_view name, std::string_view where) {
    return value_in<Offload>(offloads, name, where, "offload");
}

ContextParallel context_parallel_from(std::string_view name, std::string_view where) {
    return value_in<ContextParallel>(context_parallels, name, where, "context-parallel mode");
}

Optimizer optimizer_from(std::string_view name, std::string_view where) {
    // Known, with state of other sizes: no misspelling of one of ours.
    for (std::string_view const other : {"shampoo", "soap", "galore", "lamb", "lars", "adam-mini"})
        if (name == other)
            throw InputError("{}: '{}' is not modelled (known: {})", where, name,
                             join(all_names<Optimizer>(optimizers)));
    return value_in<Optimizer>(optimizers, name, where, "optimizer");
}

Dispatcher dispatcher_from(std::string_view name, std::string_view where) {
    return value_in<Dispatcher>(dispatchers, name, where, "dispatcher");
}

AttentionKernel attention_kernel_from(std::string_view name, std::string_view where) {
    return value_in<AttentionKernel>(attention_kernels, name, where, "attention kernel");
}

Preference preference_from(std::string_view name, std::string_view where) {
    return value_in<Preference>(preferences, name, where, "training on pairs");
}

GradientFormat gradient_format_from(std::string_view name, std::string_view where) {
    return value_in<GradientFormat>(gradient_formats, name, where, "format of gradients");
}

}  // namespace sextant
