#pragma once

#include "cli/command.hpp"
#include "cost_models/goodput.hpp"
#include "simulator/faults/fault_study.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sextant::cli {

/// What `sextant goodput` was asked, as text where it has a unit.
struct GoodputOptions {
    std::string model, cluster, framework = "megatron", optimizer = "adamw", precision = "bf16";
    std::string parameters;
    std::string checkpoint_size;
    std::int64_t gpus = 0;
    std::optional<std::int64_t> gpus_per_node;
    std::optional<std::int64_t> dp;
    std::int64_t tp = 1, pp = 1, cp = 1, ep = 1;

    std::optional<double> days;
    std::string steps, tokens, tokens_per_second;
    std::string step_time;

    std::string failures;
    std::string gpu_mtbf, node_mtbf, fabric_mtbf, software_mtbf;
    double weibull_shape = 1;
    std::string fleet = "running";
    std::string detection, restart, repair_time;
    std::optional<std::int64_t> spares;
    bool elastic = false;

    std::string storage = "parallel-fs", checkpoint = "async";
    std::string write_bandwidth, aggregate_bandwidth, stall, write_time, load_time;
    std::string interval = "auto", storage_interval = "auto";

    std::optional<double> spikes;
    std::string spike_rewind;
    std::optional<double> spike_rewind_steps;
    std::string maintenance_every, maintenance_duration;

    std::optional<double> price;

    std::vector<std::string> injected;
    bool only_injected = false;
};

void add_goodput_options(CLI::App& app, GoodputOptions& options);

/// The run that the options describe, with what it stands on.
struct GoodputSubject {
    GoodputCase run;
    std::int64_t gpus = 0;
    std::int64_t gpus_per_node = 8;
    std::string model;  ///< name, empty: none was named
    CheckpointSize checkpoint;
    std::string checkpoint_words;  ///< where the size comes from
    std::string storage;
    CheckpointMode mode = CheckpointMode::async;
    std::string failures;  ///< where the rates come from
    std::optional<double> usd_per_gpu_hour;
    TrialOptions trial;
    std::vector<std::string> assumptions;
};

// Parts of find_goodput_subject that its files share.

/// Size, tiers and intervals of the checkpoints. @pre work and failures are set.
void set_checkpoints(GoodputOptions const& options, GoodputSubject& subject, BytesPerSecond host_bandwidth);
Seconds time_of(std::string const& text, char const* flag, Seconds fallback);
/// @throws InputError: not above zero.
Seconds positive_time(std::string const& text, char const* flag);
/// @throws InputError: outside of least to most, or not a number. @pre there is a value.
double in_range(std::optional<double> value, char const* flag, double least, double most);

/// @throws InputError for anything unknown, out of range or missing.
GoodputSubject find_goodput_subject(GoodputOptions const& options);

}  // namespace sextant::cli
