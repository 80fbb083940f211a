#pragma once

#include "cost_models/serving/serving_case.hpp"

#include <string>
#include <vector>

namespace sextant {

/// How far a predicted serving time may be off.
struct ServingSupport {
    EngineInterval interval;     ///< 80 %, as factors on the time of an output token; `rows` of the engine's profile
    EngineInterval first_token;  ///< the same of the time to the first token
    std::vector<std::string> terms;  ///< that no measurement of this device or network supports, a sentence each
};

/// The interval of the engine's profile, which is of devices whose kernels were measured, wider where they were not: by
/// 1.1 for a device of which only others of its generation were measured, 1.25 for a format that was not measured on
/// its generation, for each network of no fitted run, for pipeline stages and for attention groups, and from 1 / 1.25
/// to 2.5 where of products or attention no device of the generation was measured: of a calibration of one's own what
/// it holds counts, not that there is one. Source: assumed; of the published rows on three such devices
/// (MI250, MI300X, Gaudi 2), each weighing the same, half took 1.1 times as long as predicted, a quarter more than 1.9
/// times, a tenth less than 0.85 of it.
ServingSupport serving_support(ServingCase const& what);

/// The same where prompts have replicas of their own: the time to the first token has the interval of these, the time
/// per token that of those which decode.
ServingSupport serving_support(ServingCase const& prompts, ServingCase const& decodes);

}  // namespace sextant
