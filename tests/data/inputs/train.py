"""A QLoRA run."""

import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, Trainer, TrainingArguments

MODEL = "meta-llama/Llama-2-7b-hf"
quant = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model = AutoModelForCausalLM.from_pretrained(
    MODEL,
    load_in_4bit=True,
    quantization_config=quant,
    torch_dtype=torch.bfloat16,
    device_map={"": 0},
)
tokenizer = AutoTokenizer.from_pretrained(MODEL)
tokenizer.padding_side = "right"
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
arguments = TrainingArguments(output_dir="out", per_device_train_batch_size=4, bf16=True, gradient_checkpointing=True)

if __name__ == "__main__":
    Trainer(model=model, args=arguments, tokenizer=tokenizer, train_dataset=[]).train()
