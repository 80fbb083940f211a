#include "planner/validation/table_predictor.hpp"

#include "core/spec/hardware_catalog.hpp"
#include "planner/validation/collective_validation.hpp"
#include "planner/validation/kernel_validation.hpp"
#include "planner/validation/serving_validation.hpp"
#include "planner/validation/train_validation.hpp"

#include <memory>

namespace sextant {
namespace {

TablePredictor train_tables(std::string const& profile, std::string const& machine) {
    auto const predictor = std::make_shared<TrainPredictor>(profile);
    if (!machine.empty()) predictor->take_machine(find_cluster(machine, "--cluster"));
    return [predictor](CsvTable const& table) {
        std::vector<ScoredRow> out;
        for (TrainingRow const& row : training_rows(table))
            out.push_back({.source = row.source_id, .groups = {}, .prediction = predictor->predict(row)});
        return out;
    };
}

}  // namespace

TablePredictor table_predictor(ValidationKind kind, std::string const& profile, std::string const& calibration,
                               std::string const& machine) {
    switch (kind) {
        case ValidationKind::train: return train_tables(profile, machine);
        case ValidationKind::kernels:
            return [predictor = std::make_shared<KernelPredictor>(profile, calibration)](CsvTable const& table) {
                return predictor->predict(table);
            };
        case ValidationKind::collectives:
            return [predictor = std::make_shared<CollectivePredictor>(profile, calibration)](CsvTable const& table) {
                return predictor->predict(table);
            };
        case ValidationKind::serving:
            return [predictor = std::make_shared<ServingPredictor>(profile, machine)](CsvTable const& table) {
                return predictor->predict(table);
            };
    }
    return {};
}

}  // namespace sextant
