#pragma once

#include "core/spec/hardware_profile.hpp"
#include "core/spec/kernel_calibration.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace sextant {

/// The shipped calibration of this name ("h100-sxm", "class-hopper", "class-any"), or null. Read once, then kept.
std::shared_ptr<KernelCalibration const> shipped_kernel_calibration(std::string_view name);

/// Whether the device has the instructions of Blackwells of data centres (sm_100), which stacked memory tells from
/// cards and small chips (sm_120, sm_121).
bool is_data_center_blackwell(AcceleratorProfile const& profile);

/// Whether it multiplies attention by instructions that Ampere's and Ada's kernels do not have: Hopper's or these.
bool has_later_instructions(AcceleratorProfile const& profile);

/// The class whose kernels of this kind and variant the device runs: its generation's, but Ada's on cards of Blackwell,
/// which multiply by the instructions of Ada: attention, and products but those in fp4 and with scales of blocks.
/// Source: TensorRT-LLM (`fmha_v2` and XQA are built for sm_89 and sm_120 alike, sm_100 has kernels of its own;
/// products with scales of blocks have one for sm_120). L40S predicted by Ampere's class, Blackwell's: products in
/// fp8 8.7 and 31 %.
std::string kernel_class(AcceleratorProfile const& profile, KernelKind kind, std::string_view variant);

/// Whether that is another class than its generation's, and the profile has no calibration of its own.
bool runs_kernels_of_others(AcceleratorProfile const& profile, KernelKind kind, std::string_view variant);

/// Gives the profile the kernels fitted on this very device, else those of its generation, else those of any device. A
/// profile that only bears the name of a shipped device is another one, where a peak, the multiprocessors or the memory
/// bandwidth differ (rates by more than a hundredth, as data sheets round).
void attach_kernels(AcceleratorProfile& profile);

/// What to say of a device that only bears a shipped name: what differs, and how it gets kernels of its own; where it
/// has them, `sheet_note`. Empty for any other.
std::string namesake_note(AcceleratorProfile const& profile);

/// The figures of a device that its kernels' constants are fractions of.
FittedSheet sheet_of(AcceleratorProfile const& profile);
/// What to say of kernels that were fitted where a device's profile had other figures (rates by more than a hundredth);
/// empty where it had these, or the file does not say. What was set behind the machine's name is changed on purpose.
std::string sheet_note(AcceleratorProfile const& profile);

}  // namespace sextant
