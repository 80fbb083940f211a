#pragma once

#include "cli/output.hpp"
#include "cli/plan/plan_report_json.hpp"

#include <string>
#include <vector>

namespace sextant::cli {

/// "llama-3.1-70b on 512 x h100-sxm, seq 8192, global batch 512 (4.19 M tokens a step), bf16, megatron"; says so
/// when the sequences are longer than the model was built for.
std::string headline(PlanQuestion const& question, std::int64_t accelerators, Precision precision);

/// " in documents of 200" of a workload that packs them, nothing of another.
std::string documents_text(Workload const& workload);
/// "--max-memory 71GB".
std::string room_option(Bytes limit);

/// " at $2.95 per GPU-hour (indicative: Nebius H100, on-demand, 2025)" after a sum of dollars, nothing without a price.
std::string at_price(ClusterSpec const& cluster);

/// One plan in full:
///
///     step time      2.345 s      (tokens/s 1.79 M, per GPU 3.49 K)
///     MFU            43.1 %       ...
std::string estimate_text(PlanQuestion const& question, StepReport const& report,
                          std::vector<std::string> const& explanation);
/// A list of what a measured step says beside the report; empty without one.
std::string measured_markdown(StepReport const& report);

/// `estimate_text` as a table of key and value, for markdown, and for csv with what was asked.
Table estimate_table(StepReport const& report);
Table estimate_table(PlanQuestion const& question, StepReport const& report);

/// The ranked list with the reason each plan is where it is.
std::string plan_text(PlanQuestion const& question, PlanAnswer const& answer);
/// The list with what each plan costs, and what it stands on; or why there is none.
std::string plan_markdown(PlanQuestion const& question, PlanAnswer const& answer);

/// What sets a plan apart besides its degrees: "full2 zb-h1", "sel3 dedup" (three modules run
/// again, tokens sent once per domain), "~" for terms without measurements, "!" for what the framework may refuse,
/// "-" for nothing.
std::string plan_extras(StepReport const& report);

/// Why a plan is behind the first, by the closed form: the part of the step that grew most.
std::string against_best(StepReport const& report, StepReport const& best);

/// The plan that would be fastest, or the smallest one where none fits, and what it lacks in memory.
std::vector<std::string> misfit_sentences(SearchResult const& result, MemoryLimit const& limit);

/// "fits", or "DOES NOT FIT", with the reason where that is host memory.
std::string fit_words(StageMemory const& memory, MemoryLimit const& limit);
/// "112.4 GB are offloaded, and there are 64 GB of host memory per accelerator".
std::string host_misfit_words(StageMemory const& memory, MemoryLimit const& limit);
/// "! megatron may refuse this, or run it otherwise: ..." of what `not_expressed` has; empty where that is nothing.
std::string refusal_sentence(FrameworkProfile const& framework, std::vector<std::string> const& not_expressed);
/// The same as a paragraph.
std::string refusal_markdown(FrameworkProfile const& framework, std::vector<std::string> const& not_expressed);
/// "2: ! megatron may refuse this, or run it otherwise: ..." of each plan that is marked so.
std::vector<std::string> not_expressed_sentences(PlanQuestion const& question, PlanAnswer const& answer);

/// "not supported by any measurement: ...", a line each; or that every term is.
std::string unsupported_lines(std::vector<std::string> const& unsupported);

/// "assumed terms (23), the first ...": the list that every report ends with.
std::string assumption_lines(std::vector<std::string> const& assumptions, std::size_t most);

}  // namespace sextant::cli
