#!/usr/bin/env bash
# Megatron-LM arguments, written by 'sextant export --format megatron' for Megatron-Core 0.15.
#
# gpt2 on 8 x h100-sxm: dp 2, tp 2, pp 2, cp 1, ep 1; sequence 1024, global batch 4096, micro-batch
# 1 (2048 microbatches a step)
# Predicted: step 30.93 s (80 %: 27.07 s to 42.38 s), 136 K tokens/s, MFU 1.5 %, 896.1 MB of 78.68
# GB usable memory
# Checkpoints every 79.93 min of training, 155 steps of 30.93 s: the interval that loses least when
# 1.742 GB of checkpoint are written asynchronously and failures come as in Llama 3 405B
# pre-training, H100 (docs/goodput.md; assumed where you know better).
# Placeholders, which the plan does not hold: REPLACE_WITH_DATA_PATH, REPLACE_WITH_TOKENIZER_PATH,
# REPLACE_WITH_CHECKPOINT_FOLDER, 1000 steps, learning rate 0.0003.
# Every part of the plan is expressed.
set -euo pipefail
export CUDA_DEVICE_MAX_CONNECTIONS=1

# The environment may override these.
data_default=REPLACE_WITH_DATA_PATH
data=${DATA_PATH:-$data_default}
tokenizer_default=REPLACE_WITH_TOKENIZER_PATH
tokenizer=${TOKENIZER_PATH:-$tokenizer_default}
checkpoints_default=REPLACE_WITH_CHECKPOINT_FOLDER
checkpoints=${CHECKPOINT_FOLDER:-$checkpoints_default}

arguments=(
  # how the model is split
  --tensor-model-parallel-size 2
  --pipeline-model-parallel-size 2
  --sequence-parallel
  --recompute-granularity selective
  --recompute-modules layernorm core_attn
  --grad-reduce-in-bf16
  # state of training
  --use-distributed-optimizer
  --overlap-grad-reduce
  --overlap-param-gather
  --optimizer adam
  # one step
  --seq-length 1024
  --micro-batch-size 1
  --global-batch-size 4096
  --attention-backend flash
  --attention-dropout 0
  --hidden-dropout 0
  --bf16
  # model; rotary base, epsilon and router details are not part of the plan: see its config.json
  --num-layers 12
  --hidden-size 768
  --ffn-hidden-size 3072
  --num-attention-heads 12
  --max-position-embeddings 1024
  --position-embedding-type learned_absolute
  --normalization LayerNorm
  --vocab-size 50257
  # the run
  --train-iters 1000
  --lr 0.0003
  --data-path "$data"
  --tokenizer-type HuggingFaceTokenizer
  --tokenizer-model "$tokenizer"
  --save "$checkpoints"
  --load "$checkpoints"
  --save-interval 155
  --async-save
)

node_rank=${NODE_RANK:-${SLURM_NODEID:-${JOB_COMPLETION_INDEX:-0}}}
exec torchrun --nnodes 1 --nproc-per-node 8 --node-rank "$node_rank" \
  --master-addr "${MASTER_ADDR:-localhost}" --master-port "${MASTER_PORT:-29500}" \
  pretrain_gpt.py "${arguments[@]}"
