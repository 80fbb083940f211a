# Every model preset: one Hugging Face config.json each.
set(SEXTANT_MODEL_FILES)
