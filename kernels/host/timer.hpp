#pragma once

#include <functional>

#include "kernels/harness/bench.hpp"

namespace sextant::bench {

/// Times `work` by the steady clock. Hot: after warm-up calls, in blocks long enough for the clock (20 us), each block
/// one sample. Cold: a buffer twice the last-level cache is written before each single call, which is then one sample.
Timing time_on_host(std::function<void()> const& work, Variant variant, StopRule const& rule);

/// Bytes of the last-level cache as the system states it; 32 MiB (assumed) where it does not.
std::int64_t last_level_cache_bytes();
/// Overwrites the caches with a buffer of twice the last-level cache.
void flush_caches();
/// Clock of the first processor in MHz as the system states it, or Row::unset.
double processor_mhz();
/// Name of the processor, and of the system with its release.
std::string processor_name();
/// The same of what /proc/cpuinfo says: "model name", which 64-bit Arm has not; then its implementer and part in
/// numbers, "Arm 0x41 0xd4f" (Neoverse V2).
std::string processor_name(std::string const& cpuinfo);
std::string system_name();
/// Processors that this process may use.
std::int64_t processor_count();

}  // namespace sextant::bench
