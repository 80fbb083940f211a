#include "cli/shell/doctor.hpp"

#include "core/json/json_text.hpp"

#include <nlohmann/json.hpp>

namespace sextant::cli {

std::string doctor_json(DoctorReport const& report) {
    nlohmann::ordered_json findings = nlohmann::ordered_json::array();
    for (Finding const& finding : report.findings) {
        nlohmann::ordered_json each{{"name", finding.name},
                                    {"kind", finding.kind},
                                    {"what", finding.what},
                                    {"present", finding.present},
                                    {"found", finding.version}};
        if (!finding.present) each["remedy"] = finding.remedy;
        findings.push_back(std::move(each));
    }
    nlohmann::ordered_json const out{{"format", "doctor"},
                                     {"version", 1},
                                     {"program_version", report.version},
                                     {"compiler", report.compiler},
                                     {"cores", report.cores},
                                     {"memory_bytes", report.memory_bytes},
                                     {"findings", std::move(findings)}};
    return json_text(out, 2) + "\n";
}

}  // namespace sextant::cli
