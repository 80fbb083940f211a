#pragma once

#include "core/spec/hardware_catalog.hpp"
#include "core/spec/model_catalog.hpp"
#include "planner/exporters/exporter.hpp"

#include <algorithm>
#include <string>

namespace sextant::fixtures {

/// What a format makes of a plan.
struct ExportQuestion {
    char const* format;
    ModelSpec model;
    ParallelPlan plan{};
    std::int64_t global_batch = 8;
    char const* cluster = "h100-sxm";
    std::int64_t sequence = 1024;
};
inline Export exported(ExportQuestion const& q) {
    return find_exporter(q.format, "test")
        .write(make_launch_plan(q.model, find_cluster(q.cluster, "test"),
                                {.sequence = q.sequence, .global_batch = q.global_batch}, q.plan, {}));
}
inline Export exported(char const* format, char const* model, ParallelPlan const& plan = {},
                       std::int64_t global_batch = 8) {
    return exported({.format = format, .model = find_model(model), .plan = plan, .global_batch = global_batch});
}

/// Whether some file of the export has these words.
inline bool writes(Export const& e, std::string const& part) {
    return std::any_of(e.files.begin(), e.files.end(),
                       [&](ExportedFile const& file) { return file.text.find(part) != std::string::npos; });
}

/// Whether a note on the field has these words.
inline bool notes(Export const& e, std::string const& part, std::string const& field = "model") {
    return std::any_of(e.not_expressed.begin(), e.not_expressed.end(), [&](NotExpressed const& note) {
        return note.field == field && note.message.find(part) != std::string::npos;
    });
}

}  // namespace sextant::fixtures
