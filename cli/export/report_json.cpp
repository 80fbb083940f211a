#include "cli/export/report.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace sextant::cli {

using Json = nlohmann::ordered_json;

std::string export_json(ExportOutput const& output, std::vector<ExportedFormat> const& formats,
                        ExportFacts const& facts) {
    Json json{{"format", "export"},
              {"version", 1},
              {"plan", facts.headline},
              {"nodes", facts.nodes},
              {"gpus_per_node", facts.per_node},
              {"checkpoint_interval_s", facts.checkpoint ? Json(facts.checkpoint->interval.base()) : Json(nullptr)},
              {"checkpoint_interval_steps", facts.checkpoint ? Json(facts.checkpoint->steps) : Json(nullptr)},
              {"files", Json::array()},
              {"not_expressed", Json::array()}};
    for (ExportedFormat const& format : formats) {
        for (ExportedFile const& file : format.files) {
            Json entry{{"format", format.format}, {"name", file.name}};
            if (!output.folder.empty()) entry["path"] = (std::filesystem::path(output.folder) / file.name).string();
            if (output.folder.empty()) entry["text"] = file.text;
            json["files"].push_back(std::move(entry));
        }
        for (NotExpressed const& note : format.not_expressed)
            json["not_expressed"].push_back(
                {{"format", format.format}, {"field", note.field}, {"message", note.message}});
    }
    return json_text(json, 2) + "\n";
}

}  // namespace sextant::cli
