"""Messages of what spreads a model over processes: DeepSpeed, FSDP, accelerate, Megatron, and device_map.

Wordings as these raise them: https://github.com/deepspeedai/DeepSpeed (runtime/config.py, runtime/zero), https://github.com/pytorch/pytorch
(torch/distributed/fsdp), https://github.com/huggingface/accelerate (accelerator.py, big_modeling.py), https://github.com/NVIDIA/Megatron-LM
(megatron/training/arguments.py). Threads: https://github.com/hiyouga/LlamaFactory/issues/4557, https://github.com/deepspeedai/DeepSpeed/issues/3228,
https://github.com/huggingface/accelerate/issues/3481, https://github.com/zjunlp/KnowLM/issues/87,
https://github.com/deepspeedai/DeepSpeed/issues/988, https://github.com/OpenSenseNova/piccolo-embedding/issues/8.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

SHARDING = (
    StatedMessage(
        r"`?FlatParameter`? requires uniform dtype but got (?P<one>torch\.\w{3,12}) and (?P<other>torch\.\w{3,12})",
        "FSDP joins the weights of a layer into one tensor, and these are {one} and {other}",
        "an adapter in another dtype than its base, norms that were kept in float32, or a quantized base whose storage "
        "is not of the dtype of "
        "the rest",
        "load all in one dtype (torch_dtype, and for 4 bits the same bnb_4bit_quant_storage), and cast adapters and "
        "norms to it before FSDP "
        "wraps the model",
        given=True,
        unless=("fsdp-lora-before-4-39",),
        package="torch",
    ),
    # https://github.com/modelscope/twinkle/issues/182, https://github.com/huggingface/accelerate/pull/3985
    StatedMessage(
        r"FSDP expects uniform original parameter dtype but got \{(?P<one>torch\.\w{3,12}), (?P<other>torch\.\w{3,12})",
        "FSDP2 shards what it wraps together as one, and its weights are {one} and {other}",
        "an adapter or norms in another dtype than the base, or a layer that was loaded or made in float32",
        "model.to(torch.bfloat16) (one dtype for adapter and base) before fully_shard or prepare(), with float32 as the dtype in which "
        "gradients are reduced (reduce_dtype); or the parts of the other dtype wrapped by a fully_shard of their own",
        given=True,
        package="torch",
    ),
    StatedMessage(
        r"Cannot flatten integer dtype tensors",
        "FSDP joins the weights of a layer into one tensor, and these are whole numbers: the model was loaded quantised",
        "load_in_8bit or load_in_4bit: FSDP shards 4 bits only where they are stored as floats",
        "without load_in_8bit and load_in_4bit under FSDP; or 4 bits with bnb_4bit_quant_storage of the dtype of the "
        "other weights, as peft's "
        "example for QLoRA with FSDP has it",
        given=True,
        unless=("fsdp-with-8bit-base", "fsdp-qlora-quant-storage"),
        package="torch",
    ),
    StatedMessage(
        r"ZeroParamStatus\.AVAILABLE|'status': 'NOT_AVAILABLE'",
        "A weight that ZeRO-3 keeps in shares is used where it was not gathered",
        "code that uses a weight apart from its module's forward(), a module that is passed over in some steps (experts, a tower for "
        "images), "
        "or checkpointing that runs it at another time",
        "deepspeed.zero.GatheredParameters around that code, set_z3_leaf_modules for experts, use_reentrant=True with checkpointing, or "
        "ZeRO-2",
        package="deepspeed",
    ),
    StatedMessage(
        r"parameter (?P<at>\d{1,9}) has already been reduced\.\s{1,60}Gradient computed twice",
        "ZeRO hands each gradient on as soon as it is there, and that of parameter {at} came a second time in one backward pass",
        "a layer that is run twice before backward() under reentrant checkpointing: a model called for two inputs (pairs, chosen and "
        "rejected, two towers), several losses, or a weight that two modules share",
        "gradient_checkpointing_kwargs={{'use_reentrant': False}}, or no checkpointing; one forward pass for both inputs, put together "
        "along the batch",
        package="deepspeed",
    ),
    StatedMessage(
        r"still have inflight params",
        "ZeRO-3 had begun to fetch weights that the step then did not use",
        "the order of modules changes from step to step: a branch that some rows do not take, generation between steps, an exception "
        "before",
        "stage3_prefetch_bucket_size 0 in the configuration, all branches taken by all rows, or ZeRO-2",
        package="deepspeed",
    ),
    StatedMessage(
        r"train_batch_size is not equal to micro_batch_per_gpu \* gradient_acc_step \* world_size (?P<all>\d{1,7}) != (?P<parts>[\d "
        r"*]{5,30})",
        "DeepSpeed was told a train_batch_size of {all}, which is not {parts}",
        "two of the three are fixed and the number of processes gives another product (1 without a launcher); DeepSpeed 0.9.0 counts "
        "them wrongly with ZeRO-2",
        'train_batch_size and gradient_accumulation_steps "auto" (or left out) in the DeepSpeed configuration; start with deepspeed or '
        "torchrun",
        given=True,
        package="deepspeed",
    ),
    StatedMessage(
        r"specify the ZeRO optimization config in the DeepSpeed config",
        "accelerate got a DeepSpeed configuration without zero_optimization",
        "another file than was meant, or one whose keys stand elsewhere",
        'a block "zero_optimization": {{"stage": 2}} in the file that --deepspeed or accelerate\'s configuration names',
        given=True,
        package="accelerate",
    ),
    StatedMessage(
        r"correct the following DeepSpeed config values that mismatch TrainingArguments",
        "The DeepSpeed configuration and TrainingArguments say different things",
        "",
        'write "auto" for those keys in the DeepSpeed configuration: the Trainer fills them in',
        given=True,
        package="transformers",
    ),
    StatedMessage(
        r"When using `deepspeed_config_file`, the following accelerate config variables will be ignored",
        "accelerate's configuration names a DeepSpeed file, and has settings besides that stand in that file",
        "",
        "leave the settings that the message lists out of accelerate's configuration",
        given=True,
        package="accelerate",
    ),
    StatedMessage(
        r"parameter intra parallel group is already initialized",
        "DeepSpeed is initialized twice in one process, with zero_hpz_partition_size",
        "a reference or reward model beside the policy, or a second deepspeed.initialize",
        "zero_hpz_partition_size 1 for all but one of them",
        package="deepspeed",
    ),
    StatedMessage(
        r"using ZeRO-Offload with a client provided optimizer",
        "The optimizer's states are to be offloaded, and the optimizer is not DeepSpeed's own",
        "",
        '"zero_force_ds_cpu_optimizer": false in the configuration, or an optimizer block there (DeepSpeedCPUAdam is taken then)',
        given=True,
        package="deepspeed",
    ),
    StatedMessage(
        r"no_sync context manager is incompatible with gradient ?partitioning|no sync context manager is incompatible",
        "Gradients are to be held back (no_sync), which ZeRO-2 and 3 do not allow",
        "accelerate's accumulate() calls it; DeepSpeed refuses it from 0.16 on",
        "gradient_accumulation_steps in the DeepSpeed configuration and no no_sync in the loop; a later accelerate or transformers; or "
        "ZeRO-1",
        package="deepspeed",
    ),
    StatedMessage(
        r"You can't use same `Accelerator\(\)` instance with multiple models",
        "accelerate prepares one model for DeepSpeed, and got several",
        "",
        "one DeepSpeedPlugin and Accelerator for each model (accelerate 1.0 and later: a dict of plugins), or the second one unprepared",
        given=True,
        package="accelerate",
    ),
    StatedMessage(
        r"OVERFLOW! Rank \d{1,4} Skipping step|Gradient overflow\.\s{1,4}Skipping step|Reducing loss scale",
        "Gradients overflowed in float16, the step was left out, and the scale goes down",
        "some such lines at the start are as they should be; where they do not end, values are too large for float16",
        'bfloat16 ("bf16": {{"enabled": true}}) where the GPU has it, a smaller learning rate; look at the loss before the first of '
        "these lines",
        sure=False,
    ),
    StatedMessage(
        r"`sync_module_states=True` (?:requires|needs)|sync_module_states.{0,80}(?:GPU|CUDA|cuda)",
        "FSDP is to send weights from rank 0 to the others, and they are on the CPU",
        "sync_module_states sends through the GPU",
        "device_id=torch.cuda.current_device() for FSDP, or the model on the GPU before it is wrapped",
        package="torch",
    ),
    StatedMessage(
        r"Inconsistent compute device and `device_id`",
        "A process of FSDP has its model on another GPU than the one that it was told to use",
        "torch.cuda.set_device was not called, or device_map put the model on GPU 0 in all processes",
        "torch.cuda.set_device(local_rank) first, and no device_map in from_pretrained",
        package="torch",
    ),
    StatedMessage(
        r"Missing key in checkpoint state_dict: (?P<key>[\w.\[\]-]{3,160})",
        "A sharded checkpoint lacks {key}, which is to be loaded",
        "it was saved by another release, with another optimizer or wrapping, or without the optimizer",
        "load it with what saved it; or the weights alone (accelerate merge-weights), and the optimizer begins anew",
    ),
    StatedMessage(
        r"[Cc]heckpoint.{0,80}(?:world.?size|number of (?:ranks|GPUs|processes)).{0,60}(?:differ|mismatch|not match|not equal)"
        r"|The checkpoint being loaded used a DP world size of (?P<was>\d{1,5}) but the current world size is (?P<now>\d{1,5})",
        "The checkpoint was written by another number of processes than those that load it",
        "its states are cut for the processes that wrote them",
        "as many processes as before; else a universal checkpoint (ds_to_universal.py), or the weights alone (zero_to_fp32.py)",
    ),
    StatedMessage(
        r"Calculated loss must be on the original device: (?P<a>[\w:]{3,10}) but device in use is (?P<b>[\w:]{3,10})",
        "The loss came out on {b}, and the Trainer adds it up on {a}",
        "a model that device_map spreads over GPUs, whose last part is on another one than its first",
        "one GPU per process (no device_map='auto' in a Trainer that starts several), or a transformers that moves it",
        package="transformers",
    ),
    StatedMessage(
        r"You can't move a model that has some modules offloaded|Cannot copy out of meta tensor",
        "A part of the model has no numbers in memory: it was offloaded, or never loaded",
        "device_map put it on the CPU or the disk, or a weight is missing from the checkpoint and stayed empty (meta)",
        "no .to() and no second load of a model with device_map; more memory, fewer bits, or device_map={{'': 0}}; "
        "low_cpu_mem_usage=False shows "
        "whether weights are missing",
    ),
    StatedMessage(
        r"global batch size \((?P<all>\d{1,7})\) (?:is not|must be) divisible by micro batch size \((?P<micro>\d{1,5})\) times data "
        r"parallel size "
        r"\((?P<parts>\d{1,5})\)",
        "Megatron's global batch of {all} does not divide by {micro} rows on each of {parts} replicas",
        "the replicas are the processes divided by tensor, pipeline and context parallelism",
        "a global batch that is a multiple of both numbers' product, or a smaller micro batch",
        given=True,
    ),
    StatedMessage(
        r"None of the inputs have requires_grad=True",
        "Checkpointing runs a part whose input needs no gradient: a warning, and right where that part is frozen",
        "a frozen tower, or LoRA on a model whose embeddings are frozen",
        "where the weights do not change: model.enable_input_require_grads(), or gradient_checkpointing_kwargs={{'use_reentrant': False}}",
        sure=False,
        package="torch",
    ),
    StatedMessage(
        r"[Oo]ne of the differentiated Tensors does not require grad",
        "A gradient is asked of something that is frozen, or that came without a graph",
        "checkpointing of a frozen model (its input needs no gradient), or a list of weights that has frozen ones under LoRA",
        "model.enable_input_require_grads(), gradient_checkpointing_kwargs={{'use_reentrant': False}}, or checkpointing off for what is "
        "frozen",
    ),
    StatedMessage(
        r"'weight' must be 2-D|weight should have at least (?:two|three) dimensions|The weight.{0,20} is (?:empty|0-d)",
        "A weight has not the dimensions it should: mostly it is kept in shares and was not gathered",
        "ZeRO-3 and FSDP keep a share of each weight in each process; an embedding that is used apart from its model's forward() is empty",
        "deepspeed.zero.GatheredParameters around that code, or ZeRO-2; models made under zero.Init alike",
    ),
    StatedMessage(
        r"Cannot access gradient of a non-leaf|\.grad attribute of a Tensor that is not a leaf",
        "The gradient of a result is asked for, and torch keeps those of weights alone",
        "a weight that was cast or moved after requires_grad was set is a result as well",
        "retain_grad() on it before backward, or set requires_grad after .to()",
        sure=False,
    ),
)
