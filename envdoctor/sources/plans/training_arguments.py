"""The fields of transformers' TrainingArguments, and the defaults that are the same in all its releases."""

from __future__ import annotations

from envdoctor.sources.plans.settings import Settings

# Fields of TrainingArguments and Seq2SeqTrainingArguments in transformers 4.30.2, 4.37.2, 4.46.3, 4.57.1
# and 5.23.0 together, read from the released wheels.
FIELDS = frozenset(
    """
accelerator_config activation_checkpointing activation_checkpointing_kwargs adafactor adam_beta1 adam_beta2 adam_epsilon
auto_find_batch_size average_tokens_across_devices batch_eval_metrics bf16 bf16_full_eval data_seed dataloader_drop_last
dataloader_in_order dataloader_multiprocessing_context dataloader_num_workers dataloader_persistent_workers dataloader_pin_memory
dataloader_prefetch_factor ddp_backend ddp_broadcast_buffers ddp_bucket_cap_mb ddp_find_unused_parameters ddp_static_graph
ddp_timeout debug deepspeed disable_tqdm dispatch_batches do_eval do_predict do_train enable_jit_checkpoint
eval_accumulation_steps eval_delay eval_do_concat_batches eval_on_start eval_steps eval_strategy eval_use_gather_object
evaluation_strategy fp16 fp16_backend fp16_full_eval fp16_opt_level fsdp fsdp_config fsdp_min_num_params
fsdp_transformer_layer_cls_to_wrap full_determinism generation_config generation_max_length generation_num_beams
gradient_accumulation_steps gradient_checkpointing gradient_checkpointing_kwargs greater_is_better group_by_length
half_precision_backend hub_always_push hub_model_id hub_private_repo hub_revision hub_strategy hub_token ignore_data_skip
include_for_metrics include_inputs_for_metrics include_num_input_tokens_seen include_tokens_per_second jit_mode_eval label_names
label_smoothing_factor learning_rate length_column_name liger_kernel_config load_best_model_at_end local_rank log_level
log_level_replica log_on_each_node logging_dir logging_first_step logging_nan_inf_filter logging_steps logging_strategy
lr_scheduler_kwargs lr_scheduler_type max_grad_norm max_steps metric_for_best_model mp_parameters neftune_noise_alpha no_cuda
num_train_epochs optim optim_args optim_target_modules output_dir overwrite_output_dir parallelism_config past_index
per_device_eval_batch_size per_device_train_batch_size per_gpu_eval_batch_size per_gpu_train_batch_size predict_with_generate
prediction_loss_only project push_to_hub push_to_hub_model_id push_to_hub_organization push_to_hub_token ray_scope
remove_unused_columns report_to restore_callback_states_from_checkpoint resume_from_checkpoint run_name save_on_each_node
save_only_model save_safetensors save_steps save_strategy save_total_limit seed sharded_ddp skip_memory_metrics sortish_sampler
split_batches tf32 torch_compile torch_compile_backend torch_compile_mode torch_empty_cache_steps torchdynamo tpu_metrics_debug
tpu_num_cores trackio_bucket_id trackio_space_id trackio_static_space_id train_sampling_strategy use_cache use_cpu use_ipex
use_legacy_prediction_loop use_liger_kernel use_mps_device warmup_ratio warmup_steps weight_decay xpu_backend
    """.split()  # noqa: SIM905
)

# Facts of the fields that a file leaves out. Those that differ between releases (optimizer) are not here;
# gradient_checkpointing is None in 5.x, which means the same as False.
DEFAULTS: tuple[tuple[str, bool | int | float], ...] = (
    ("plan.fp16", False),
    ("plan.bf16", False),
    ("plan.batch_size", 8),
    ("plan.eval_batch_size", 8),
    ("plan.gradient_accumulation", 1),
    ("plan.gradient_checkpointing", False),
    ("plan.gradient_checkpointing_kwargs", False),
    ("plan.learning_rate", 5e-5),
    ("plan.max_grad_norm", 1.0),
    ("plan.save", True),
    ("plan.evaluate", False),
    ("plan.predict_with_generate", False),
    ("plan.resume", False),
    ("plan.compile", False),
    ("plan.remove_unused_columns", True),
    ("plan.deepspeed", False),
    ("plan.neftune", False),
    ("plan.liger", False),
)

SETTINGS = Settings(
    {
        "batch_size": "per_device_train_batch_size",
        "eval_batch_size": "per_device_eval_batch_size",
        "gradient_accumulation": "gradient_accumulation_steps",
        "gradient_checkpointing": "gradient_checkpointing activation_checkpointing?",
        "fp16": "fp16",
        "bf16": "bf16",
        "tf32": "tf32",
        "optimizer": "optim",
        "optimizer_eps": "adam_epsilon",
        "learning_rate": "learning_rate",
        "max_grad_norm": "max_grad_norm",
        "predict_with_generate": "predict_with_generate",
        "remove_unused_columns": "remove_unused_columns",
        "liger": "use_liger_kernel",
        "use_cache": "use_cache",
        "compile": "torch_compile",
        "report_to": "<report_to",
        "use_reentrant": ">gradient_checkpointing_kwargs.use_reentrant",
        "evaluate": ">eval_strategy? >evaluation_strategy?",
        "save": ">save_strategy",
        "neftune": ">neftune_noise_alpha?",
        "resume": ">resume_from_checkpoint?",
    }
)
# Fields whose value is that of a fact.
DIRECT = tuple((keys[0], fact) for keys, fact in SETTINGS.read())
# Fields that ask for something unless they say "no".
STRATEGIES = tuple((keys[0], f"plan.{fact}") for fact in ("evaluate", "save") for keys, _ in reversed(SETTINGS.written(fact)))
