# Every profile that the program carries.
set(SEXTANT_ACCELERATOR_FILES)
set(SEXTANT_CLUSTER_FILES)
set(SEXTANT_FRAMEWORK_FILES)
