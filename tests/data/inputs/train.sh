#!/usr/bin/env bash
set -euo pipefail
export CUDA_VISIBLE_DEVICES=0,1
export HF_HUB_OFFLINE=1
MODEL=${1:-THUDM/chatglm3-6b}
BS=2
# --fp16 False
torchrun --nproc_per_node 2 train.py \
    --model_name_or_path "$MODEL" \
    --per_device_train_batch_size $BS \
    --gradient_accumulation_steps=8 \
    --fp16 True --gradient_checkpointing \
    --deepspeed ds_z2.json \
    --output_dir out 2>&1 | tee log.txt
