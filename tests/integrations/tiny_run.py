"""A Trainer run of a tiny random Llama with a LoRA adapter on the CPU, watched: run in an environment with torch, transformers and peft.

python tiny_run.py DIRECTORY DOCTOR BEFORE,DURING ...: prints a JSON list, an object for each pair, on the last line.
"""

from __future__ import annotations

import json
import sys

import peft  # type: ignore[import-not-found,unused-ignore]
import torch  # type: ignore[import-not-found,unused-ignore]
import transformers  # type: ignore[import-not-found,unused-ignore]

from envdoctor.integrations.transformers import EnvDoctorCallback, UnfitEnvironmentError

STEPS = 6


def main() -> None:
    directory, doctor = sys.argv[1:3]
    print("\n" + json.dumps([watched(directory, doctor, *pair.split(",")) for pair in sys.argv[3:]]))


def watched(directory: str, doctor: str, before: str, during: str) -> dict[str, object]:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=128, max_position_embeddings=64
    )
    base = transformers.LlamaForCausalLM(config).to(torch.float16)
    adapter = peft.LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    rows = [{"input_ids": torch.randint(1, 128, (16,))} for _ in range(2 * STEPS)]
    arguments = transformers.TrainingArguments(
        output_dir=directory,
        per_device_train_batch_size=2,
        max_steps=STEPS,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        optim="adamw_torch",
        disable_tqdm=True,
    )
    callback = EnvDoctorCallback(before=before, during=during, doctor=None if doctor == "-" else [doctor])
    trainer = transformers.Trainer(
        model=peft.get_peft_model(base, adapter),
        args=arguments,
        train_dataset=[{**row, "labels": row["input_ids"]} for row in rows],
        callbacks=[callback],
    )
    unfit = None
    try:
        trainer.train()
    except UnfitEnvironmentError as error:
        unfit = [finding.rule for finding in error.findings]
    return {
        "unfit": unfit,
        "steps": trainer.state.global_step,
        "diagnoses": [[one.symptom.kind, one.symptom.step, [found.rule for found in one.findings]] for one in callback.diagnoses],
        "facts": callback.facts,
        "logged": [{name: str(value) for name, value in log.items() if name in ("loss", "grad_norm")} for log in trainer.state.log_history],
    }


if __name__ == "__main__":
    main()
