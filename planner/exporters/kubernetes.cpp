#include "core/spec/torus_slice.hpp"
#include "planner/exporters/fabric.hpp"
#include "planner/exporters/job_files.hpp"
#include "planner/exporters/quoting.hpp"
#include "planner/left_out.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace sextant {
namespace {

/// A text as the value of a mapping: as a block where a block holds it to the letter, else quoted.
std::string yaml_text(std::string_view text, std::size_t indent) {
    bool const plain =
        std::all_of(text.begin(), text.end(), [](char c) { return c == '\n' || (c >= ' ' && c < 0x7F); });
    bool const one_end = text.ends_with('\n') && !text.ends_with("\n\n") && text.front() != ' ';
    if (!plain || !one_end) return " " + yaml_quoted(text) + "\n";
    std::string const margin(indent, ' ');
    std::string out = " |\n";
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t const end = text.find('\n', begin);
        std::string_view const line = text.substr(begin, end - begin);
        out += (line.empty() ? "" : margin + std::string(line)) + "\n";
        begin = end + 1;
    }
    return out;
}

std::string service(std::string const& name) {
    return fmt::format(
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: {0}\nspec:\n  clusterIP: None  # headless: a name for every "
        "pod\n  publishNotReadyAddresses: true\n  selector:\n    app: {0}\n",
        name);
}

std::string config_map(std::string const& name, std::vector<ExportedFile> const& files) {
    std::string out = fmt::format("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {}-files\ndata:\n", name);
    for (ExportedFile const& file : files)
        out += "  " + yaml_quoted(file.name) + ":" + yaml_text(file.text, 4);
    return out;
}

std::string environment(LaunchPlan const& launch, std::string const& name, bool coordinator) {
    std::string out = "          env:\n";
    auto const set = [&](std::string const& key, std::string const& value) {
        out += fmt::format("            - name: {}\n              value: {}\n", key, yaml_quoted(value));
    };
    std::string const first = fmt::format("{0}-0.{0}", name);
    std::string const port = "29500";
    set("MASTER_ADDR", first);
    set("MASTER_PORT", port);
    if (coordinator) {
        set("JAX_COORDINATOR_IP", first);
        set("JAX_COORDINATOR_PORT", port);
        set("NNODES", fmt::format("{}", launch.nodes));
    }
    FabricEnvironment const fabric = fabric_environment(launch.cluster, launch.nodes);
    for (FabricSetting const& s : fabric.settings) {
        if (!s.reason.empty()) out += "            # " + comment_text(s.reason) + "\n";
        set(s.name, s.value);
    }
    for (std::string const& remark : fabric.remarks)
        out += "            # " + comment_text(remark) + "\n";
    return out;
}

std::string resources(LaunchPlan const& launch) {
    std::string const resource = accelerator_resource(launch.cluster);
    if (resource.empty()) return "";
    std::string out =
        fmt::format("          resources:\n            limits:\n              {}: {}\n", resource, launch.per_node);
    if (launch.nodes > 1 && launch.cluster.scale_out && launch.cluster.scale_out->kind != "dcn")
        out += "              # and the NICs, under the name that your cluster's device plugin gives them\n";
    return out;
}

/// GKE's name for the machines of a kind of TPU. Source: Google, "About TPUs in GKE", values of gke-tpu-accelerator.
std::string_view gke_tpu(std::string_view accelerator) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> names{{{"tpu-v4", "tpu-v4-podslice"},
                                                                                  {"tpu-v5e", "tpu-v5-lite-podslice"},
                                                                                  {"tpu-v5p", "tpu-v5p-slice"},
                                                                                  {"tpu-v6e", "tpu-v6e-slice"},
                                                                                  {"tpu7x", "tpu7x"}}};
    auto const found =
        std::find_if(names.begin(), names.end(), [&](auto const& name) { return name.first == accelerator; });
    return found == names.end() ? "REPLACE_WITH_TPU_ACCELERATOR" : found->second;
}

/// Nodes of the slice that the plan is priced on.
std::string node_selector(LaunchPlan const& launch) {
    if (launch.cluster.scale_up.kind != ScaleUpKind::torus || launch.cluster.accelerator.vendor != "Google") return "";
    std::int64_t const chips = launch.plan.world_size();
    std::string out;
    if (chips > launch.cluster.domain_size)
        out += fmt::format(
            "      # Several slices: Multislice wants a JobSet with one Job of {} pods per slice, which is yours to "
            "write.\n",
            launch.cluster.domain_size / launch.per_node);
    return out + fmt::format(
                     "      nodeSelector:\n        cloud.google.com/gke-tpu-accelerator: {}\n"
                     "        cloud.google.com/gke-tpu-topology: {}\n",
                     gke_tpu(launch.cluster.accelerator.name), slice_topology(launch.cluster, chips));
}

std::string job(LaunchPlan const& launch, std::string const& name, Export const& exported) {
    std::string run = "cp /launch/* . && ";
    if (exported.reads_coordinator) run += "export NODE_RANK=\"$JOB_COMPLETION_INDEX\" && ";
    run += "exec";
    for (std::string const& word : exported.command)
        run += " " + shell_quoted(word);
    std::string out = fmt::format(
        "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {0}\nspec:\n  completionMode: Indexed  # the index is the "
        "rank of the node\n  completions: {1}\n  parallelism: {1}\n  backoffLimit: {2}\n  template:\n    metadata:\n"
        "      labels:\n        app: {0}\n    spec:\n      subdomain: {0}\n      restartPolicy: Never\n",
        name, launch.nodes, 3 * launch.nodes);
    out += node_selector(launch) + "      containers:\n        - name: train\n";
    out += "          image: " + yaml_quoted(launch.settings.image) + "\n";
    out += "          command: [\"bash\", \"-c\", " + yaml_quoted(run) + "]\n";
    out += environment(launch, name, exported.reads_coordinator) + resources(launch);
    out +=
        "          volumeMounts:\n            - {name: launch, mountPath: /launch}\n"
        "            - {name: shared-memory, mountPath: /dev/shm}\n"
        "      volumes:\n        - name: launch\n          configMap:\n";
    out += fmt::format("            name: {}-files\n", name);
    return out + "        - name: shared-memory\n          emptyDir: {medium: Memory}\n";
}

}  // namespace

ExportedFile kubernetes_job(LaunchPlan const& launch, Export const& exported) {
    std::string const name = dns_label(launch.model.name, 40);
    std::string text =
        "# Kubernetes Job, written by 'sextant export'; volumes for data and checkpoints are yours to add.\n";
    text += comment_lines(fmt::format("{} on {} x {}: {} pods of {}", named(launch.model), launch.plan.world_size(),
                                      launch.cluster.name, launch.nodes, launch.per_node));
    if (!launch.checkpoint.basis.empty()) text += comment_lines("Checkpoints " + launch.checkpoint.basis + ".");
    text += service(name) + "---\n" + config_map(name, exported.files) + "---\n" + job(launch, name, exported);
    return {"job.yaml", text};
}

}  // namespace sextant
