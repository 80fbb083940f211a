#pragma once

#include "planner/exporters/exporter.hpp"

namespace sextant {

/// Batch script for Slurm that runs the command of `exported` once per node.
ExportedFile slurm_job(LaunchPlan const& launch, Export const& exported);

/// Headless service, the files of `exported` as a ConfigMap, and an indexed Job with one pod per node.
ExportedFile kubernetes_job(LaunchPlan const& launch, Export const& exported);

}  // namespace sextant
