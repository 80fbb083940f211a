#pragma once

#include "core/spec/cluster_spec.hpp"
#include "core/spec/engine_profile.hpp"
#include "core/spec/framework_profile.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace sextant {

/// One value of a profile or a model set to something else: `value` is a factor on what stands there ("x0.5"), or the
/// new value with its unit ("25 GB/s", "0.9").
struct ProfileChange {
    std::string key;
    std::string value;
};

/// A name with changes behind it, as every option takes them that names a cluster, a framework, an engine or a model:
///
///     h100-sxm:inter_node_bandwidth=x0.5:memory_capacity=141 GB
///     megatron:release=24.07
///     llama-3.1-70b:num_hidden_layers=40
struct ChangedName {
    std::string name;
    std::vector<ProfileChange> changes;
};

/// A name or path as it was given, without the blanks around it.
/// @throws InputError for a control character, such as the end of a line that a script left behind the name.
std::string_view given_name(std::string_view text, std::string_view where);

/// A colon begins a change where a key and an equals sign follow. @throws InputError for a change without a value, and
/// as `given_name` does.
ChangedName split_changes(std::string_view text, std::string_view where);

/// Applies the changes, in order, and adds them to the profile's name, so that a report says what it stands on; a
/// changed value's basis is `assumed`. Keys are those of `sextant hardware show`, or one of these names:
///
/// - cluster: `intra_node_bandwidth`, `inter_node_bandwidth`, `intra_node_latency`, `inter_node_latency` (factors on
///   every latency of that network), `gpus_per_node`, `hbm_bandwidth`, `hbm_capacity`, `peak` (a factor for all
///   precisions), `price`; and `calibration`, a file of fitted constants (core/spec/calibration_file.hpp) that the
///   other changes start from, wherever it stands among them;
/// - framework: each constant of its timing (in every entry) and of its memory; and `release` ("24.07") where its
///   constants tell releases apart;
/// - engine: each constant.
///
/// @throws InputError: an unknown key (with the nearest ones), a value that cannot be read, is out of range, or that
/// this machine's models do not look at.
void apply_changes(ClusterSpec& cluster, std::vector<ProfileChange> const& changes, std::string_view where);
void apply_changes(FrameworkProfile& framework, std::vector<ProfileChange> const& changes, std::string_view where);
void apply_changes(EngineProfile& engine, std::vector<ProfileChange> const& changes, std::string_view where);

/// The text of a Hugging Face config with the changes made. A key is one of the config's, inside an object of it too
/// (`text_config.hidden_size`, or `hidden_size` where only one has it); `layers`, `hidden`, `heads`, `kv_heads`,
/// `intermediate` and `vocab` stand for what the architecture calls them. Whole numbers stay whole.
/// @throws InputError as above.
std::string change_config(std::string_view config, std::vector<ProfileChange> const& changes, std::string_view where);

/// Keys that can be changed, for messages and to tell whose a key is.
std::vector<std::string> changeable_keys(ClusterSpec const& cluster);
std::vector<std::string> changeable_keys(FrameworkProfile const& framework);
std::vector<std::string> changeable_keys(EngineProfile const& engine);
std::vector<std::string> changeable_config_keys(std::string_view config);

}  // namespace sextant
