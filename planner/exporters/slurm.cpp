#include "core/spec/usual_node.hpp"
#include "planner/exporters/fabric.hpp"
#include "planner/exporters/job_files.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/left_out.hpp"

#include <algorithm>
#include <cstdint>

namespace sextant {

namespace {

/// Hosts of a domain that a job takes together, so that each group of experts lies in as few domains as it is priced
/// over: as many as are in a domain at most, of which the job and those groups are multiples. 0: not to be said.
std::int64_t segment_of(LaunchPlan const& launch) {
    if (!has_domains_of_nodes(launch.cluster) || launch.nodes == 1) return 0;
    std::int64_t const domain = launch.cluster.domain_size;
    std::int64_t const group = launch.plan.ep * launch.plan.expert_tp;
    std::int64_t const domains = (group + domain - 1) / domain;
    for (std::int64_t hosts = std::min(launch.nodes, domain / launch.per_node); hosts > 1; --hosts)
        if (launch.nodes % hosts == 0 && hosts * launch.per_node * domains % group == 0) return hosts;
    return 0;
}

}  // namespace

ExportedFile slurm_job(LaunchPlan const& launch, Export const& exported) {
    std::string const name = dns_label(launch.model.name);
    std::string text = "#!/usr/bin/env bash\n";
    text += fmt::format("#SBATCH --job-name={}\n#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n", name, launch.nodes);
    if (launch.cluster.accelerator.vendor == "NVIDIA" || launch.cluster.accelerator.vendor == "AMD")
        text += fmt::format("#SBATCH --gpus-per-node={}\n", launch.per_node);
    if (std::int64_t const hosts = segment_of(launch); hosts > 0) text += fmt::format("#SBATCH --segment={}\n", hosts);
    text += "#SBATCH --exclusive\n#SBATCH --requeue\n#SBATCH --output=%x-%j.out\n";
    text += "# Slurm batch script, written by 'sextant export'. Add --partition, --account and --time of your site.\n";
    text += comment_lines(fmt::format("{} on {} x {}: {} nodes of {}", named(launch.model), launch.plan.world_size(),
                                      launch.cluster.name, launch.nodes, launch.per_node));
    if (!launch.checkpoint.basis.empty()) text += comment_lines("Checkpoints " + launch.checkpoint.basis + ".");
    text += "set -euo pipefail\n\n";
    FabricEnvironment const fabric = fabric_environment(launch.cluster, launch.nodes);
    for (std::string const& remark : fabric.remarks)
        text += comment_lines(remark);
    for (FabricSetting const& s : fabric.settings) {
        if (!s.reason.empty()) text += comment_lines(s.reason);
        text += fmt::format("export {}={}\n", s.name, shell_quoted(s.value));
    }
    text +=
        "\nhosts=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\")\n"
        "MASTER_ADDR=${hosts%%$'\\n'*}\n"
        "MASTER_PORT=${MASTER_PORT:-29500}\n"
        "export MASTER_ADDR MASTER_PORT\n"
        "cd \"$SLURM_SUBMIT_DIR\"\n";
    if (exported.reads_coordinator)
        text += fmt::format(
            "export JAX_COORDINATOR_IP=$MASTER_ADDR JAX_COORDINATOR_PORT=$MASTER_PORT NNODES={}\n"
            "# The rank is that of the task, not of this script.\n# shellcheck disable=SC2016\n",
            launch.nodes);
    text += "srun --kill-on-bad-exit=1";
    if (exported.reads_coordinator) text += " bash -c 'export NODE_RANK=$SLURM_PROCID; exec \"$@\"' bash";
    for (std::string const& word : exported.command)
        text += " " + shell_quoted(word);
    return {"job.sbatch", text + "\n"};
}

}  // namespace sextant
