"""Messages of GPUs and what speaks to them: CUDA and its libraries, torch.compile and triton, Apple's MPS, ROCm, Ascend, TPU, XPU, Gaudi.

What the numbers of Ascend's runtime mean is in
https://www.hiascend.com/document/detail/en/canncommercial/800/apiref/appdevgapi/aclcppdevg_03_1345.html (aclError). Threads: https://github.com/ROCm/MIOpen/issues/1010,
https://github.com/pytorch/pytorch/issues/164346 (ROCm), /issues/88038 (cuFFT), https://github.com/huggingface/diffusers/issues/5894 (MPS).
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_WHERE = "CUDA_LAUNCH_BLOCKING=1 makes the error show at its own line"

DEVICES = (
    # torch/_utils.py and torch/cuda/_utils.py of 2.9.0: _get_device_index, which set_device and others call without optional=True.
    StatedMessage(
        r"Expected a torch\.device with a specified index or an integer, but got: ?(?P<device>[\w.:]{1,40})",
        "torch wants the number of a device here, and is given one without: {device}",
        "torch.cuda.set_device and some of the functions for memory do not take the current device for a bare 'cuda'",
        "'cuda:0', torch.device('cuda', torch.cuda.current_device()) or the number itself (LOCAL_RANK under torchrun) in place of {device}",
        given=True,
    ),
    StatedMessage(
        r"Expected a (?:cuda|non cpu)(?: or cpu)? device, but got: ?(?P<device>[\w.:]{1,40})",
        "A function for GPUs is called with the device {device}",
        "the model or the tensor whose device is passed is on {device}: torch sees no GPU, the model was not moved yet, or device_map left "
        "its first part there",
        "python -c 'import torch; print(torch.cuda.is_available())' shows whether torch sees a GPU; else the model moved "
        "before that call, or "
        "the call left out on {device}",
        given=True,
    ),
    StatedMessage(
        r"CUDA error: no kernel image is available|no kernel image is available for execution|cudaErrorNoKernelImageForDevice",
        "What was compiled for CUDA (torch, or an extension of it) has no code for this GPU",
        "a GPU that is newer than the build (the RTX 50 wants CUDA 12.8 and torch 2.7, Hopper 11.8), or older than it "
        "still serves; "
        "or an extension that was compiled for other GPUs",
        "python -c 'import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())': where the list lacks the GPU, "
        "pip install --force-reinstall torch torchvision --index-url https://download.pytorch.org/whl/cu128 for the RTX 50 and later "
        "(cu126 for those before Turing); where it has it, build the extension again with TORCH_CUDA_ARCH_LIST of that number",
        unless=("torch-wheel-lacks-gpu-kernels",),
        package="torch",
    ),
    # torch/csrc/cuda/comm.cpp and torch/nn/parallel/data_parallel.py; https://github.com/pytorch/pytorch/issues/5899,
    # https://github.com/ethnhe/FFB6D/issues/4, https://github.com/mit-han-lab/temporal-shift-module/issues/24
    StatedMessage(
        r"all tensors must be on devices\[0\]"
        r"|module must have its parameters and buffers on device \S{1,12} \(device_ids\[0\]\) but found one of them on device: \S{1,12}",
        "DataParallel copies the model from the first of its devices, and a part of the model lies on another",
        "the model, or a tensor in it, was put on another GPU than device_ids[0], or a part was left on the CPU",
        "model.to(f'cuda:{{device_ids[0]}}') as a whole before DataParallel(model, device_ids=device_ids), and no .cuda(N) of another "
        "number inside the model; under DistributedDataParallel device_ids=[local_rank] and torch.cuda.set_device(local_rank) before it",
        package="torch",
    ),
    StatedMessage(
        r"the launch timed out and was terminated|cudaErrorLaunchTimeout",
        "A kernel ran longer than the system allows a GPU that draws the screen",
        "Windows ends it after two seconds (TDR), X on Linux likewise",
        "smaller steps (batch, length); a GPU without a display; on Windows a longer TdrDelay in the registry",
    ),
    StatedMessage(
        r"operation not permitted when stream is capturing|operation (?:would make|failed due to).{0,40}captur"
        r"|cudaErrorStreamCapture\w{0,20}",
        "Something was done while a CUDA graph was recorded that none can hold",
        "a copy to the CPU (.item(), print), memory that is newly allocated, or a library without graphs",
        "mode='default' or torch.compile turned off for that part; vLLM: enforce_eager=True",
    ),
    StatedMessage(
        r"accessing tensor output of CUDAGraphs that has been overwritten",
        "A result of a compiled function is used after its next call, which wrote over it",
        "CUDA graphs (mode='reduce-overhead') use the same memory again",
        "clone() what is kept from call to call, torch.compiler.cudagraph_mark_step_begin() before each step, or mode='default'",
        package="torch",
    ),
    StatedMessage(
        r"CUDA error: invalid argument|cudaErrorInvalidValue",
        "CUDA was given an argument that it refuses",
        "memory that cannot be shared or pinned as asked (containers, WSL, P2P), or a kernel of another release or GPU",
        _WHERE + "; NCCL_P2P_DISABLE=1 or pin_memory=False shows whether it is that",
        sure=False,
    ),
    StatedMessage(
        r"CUDA error: unknown error|cudaErrorUnknown|CUDA_ERROR_UNKNOWN",
        "The driver failed and does not say why",
        "the machine slept since the driver was loaded, a driver was replaced, or the GPU fell away",
        "nvidia-smi and dmesg (Xid); sudo rmmod nvidia_uvm && sudo modprobe nvidia_uvm, or a restart",
        sure=False,
    ),
    StatedMessage(
        r"too many resources requested for launch",
        "A kernel asks for more registers or shared memory than this GPU has for it",
        "it was compiled for another GPU, or with too large a block",
        "a release of its package that is compiled for this GPU; smaller blocks where they are a setting",
    ),
    StatedMessage(
        r"driver shutting down|CUDA_ERROR_DEINITIALIZED",
        "The GPU is used while the process is already ending",
        "an object with tensors that is taken down last; mostly another error ended the process before",
        "look for the first error above; del the model and torch.cuda.empty_cache() before the end",
        sure=False,
    ),
    StatedMessage(
        r"CUSOLVER_STATUS_(?:INTERNAL_ERROR|NOT_INITIALIZED|ALLOC_FAILED|EXECUTION_FAILED)",
        "cuSOLVER failed: a decomposition of matrices on the GPU",
        "memory that is full, values that are no numbers, or another cuSOLVER than torch's own on LD_LIBRARY_PATH",
        "torch.backends.cuda.preferred_linalg_library('magma'), or that step on the CPU; unset LD_LIBRARY_PATH",
        package="torch",
    ),
    StatedMessage(
        r"CUFFT_(?:INTERNAL_ERROR|ALLOC_FAILED|SETUP_FAILED|EXEC_FAILED)",
        "cuFFT failed: a Fourier transform on the GPU",
        "the cuFFT of CUDA before 11.8 does this on the RTX 40, and so do a full GPU and another cuFFT on LD_LIBRARY_PATH",
        "a torch for CUDA 11.8 or later; unset LD_LIBRARY_PATH; else that transform on the CPU",
        package="torch",
    ),
    StatedMessage(
        r"FlashAttention (?:forward|backward|forward/backward)? ?only supports? head dim(?:ension)?s? (?:at most|up to|<=) "
        r"?(?P<most>\d{2,3})",
        "FlashAttention serves heads of up to {most} numbers, and this model's are wider",
        "",
        "attn_implementation='sdpa' (or 'eager') for this model",
        package="flash-attn",
    ),
    StatedMessage(
        r"No available kernel\. ?Aborting execution",
        "Of the attention kernels that were allowed, none fits what it was given",
        "torch.backends.cuda.sdp_kernel or sdpa_kernel leaves flash attention alone: it wants float16 or bfloat16, an Ampere GPU and no "
        "mask",
        "allow the others as well (EFFICIENT_ATTENTION, MATH), or cast to bfloat16; torch warns above which condition failed",
        package="torch",
    ),
    StatedMessage(
        r"InvalidCxxCompiler|No working C\+\+ compiler found|Failed to find C compiler|Compiler: cl is not found",
        "torch.compile (or triton) finds no C++ compiler",
        "the machine or the image has none, or on Windows it is not on the PATH",
        "apt-get install build-essential (CC and CXX name it; on Windows Visual Studio's Native Tools prompt), or TORCHDYNAMO_DISABLE=1",
        package="torch",
    ),
    StatedMessage(
        r"Command '\['\S{0,80}(?:gcc|cc|clang)'.{0,400}-lcuda'.{0,400}returned non-zero|cannot find -lcuda\b",
        "triton could not compile its launcher: it is linked with the driver's libcuda",
        "libcuda.so is not where the linker looks (only libcuda.so.1), the headers of Python are missing, or there is no driver",
        "apt-get install python3-dev build-essential; a link libcuda.so to libcuda.so.1 in a folder that TRITON_LIBCUDA_PATH names",
        package="triton",
    ),
    StatedMessage(
        r"torch\._dynamo hit config\.(?:re)?(?:compile|cache)[\w_]{0,20}limit|(?:recompile|cache_size)_limit \(\d",
        "torch.compile compiled one function for so many shapes that it gave up, and goes on without: slow, and no error",
        "lengths or options that change with each call",
        "dynamic=True, rows padded to a few lengths, or torch._dynamo.config.recompile_limit higher; TORCH_LOGS=recompiles tells why",
        sure=False,
        package="torch",
    ),
    StatedMessage(
        r"LLVM ERROR: Cannot select|Unexpected mma -> mma layout conversion|PassManager::run failed|Assertion `!\(srcMmaLayout && "
        r"dstMmaLayout\)",
        "triton's compiler fails on a kernel for this GPU",
        "mostly a GPU before Ampere (V100, T4, P100) for a kernel that was written for newer ones, or a triton of before the GPU",
        "turn that kernel off (attention of triton's, torch.compile, Liger, unsloth's), or a later triton with its torch",
        package="triton",
    ),
    StatedMessage(
        r"(?:triton\.compiler\.errors\.)?CompilationError:? at \d{1,4}:\d{1,4}",
        "triton could not compile a kernel, and says why below the source that it prints",
        "a type that this GPU or this triton does not have (fp8, bf16), or a function that another release of triton has",
        "the line after the source names it; the triton that this torch asks for, and a release of the kernel's package for it",
        package="triton",
    ),
    StatedMessage(
        r"Invalid buffer size: (?P<size>[\d.]{1,10} [GMT]i?B)",
        "One tensor of {size} is more than Apple's GPU takes for a buffer",
        "mostly the scores of attention, which grow with the square of the length or of the image's sides",
        "a shorter row, a smaller image or batch, attention in slices (enable_attention_slicing), or the CPU",
    ),
    StatedMessage(
        r"total bytes of NDArray > 2\*\*32|product of dimension sizes > 2\*\*31",
        "A tensor is larger than Metal's arrays may be (4 GB, or 2**31 numbers)",
        "attention over a long row or a large image, or a large vocabulary's logits",
        "a smaller batch, length or image; enable_attention_slicing; a later macOS and torch take more",
    ),
    StatedMessage(
        r"'mps\.\w{2,30}' op |MPSNDArrayMatrixMultiplication|MPSGraph.{0,80}failed assertion|MetalPerformanceShaders.{0,200}failed "
        r"assertion",
        "Metal's own library refuses an operation: shapes or types that it does not take",
        "torch hands to it what it checks itself on other devices: two sides that do not go together, mixed types, or a bug of that macOS",
        "the same on the CPU (device='cpu') gives torch's own message; a later torch and macOS",
    ),
    StatedMessage(
        r"Cannot read \S{0,200}TensileLibrary\S{0,80}(?:.{0,60}GPU arch ?: ?(?P<arch>gfx\w{3,6}))?",
        "rocBLAS has no kernels for this AMD GPU: {arch}",
        "a build lists the GPUs that it was made for",
        "HSA_OVERRIDE_GFX_VERSION of the nearest that it has (10.3.0 for gfx103x, 11.0.0 for gfx110x), or a ROCm build that names this GPU",
    ),
    StatedMessage(
        r"MIOpen\W(?!.{0,300}may degrade).{0,120}(?:SQLite|miopenStatus\w+|Internal error)|miopenStatus(?:InternalError|UnknownError)",
        "MIOpen, ROCm's library for convolutions, failed",
        "its cache cannot be written or is another release's (~/.config/miopen, ~/.cache/miopen), or it has no kernel for this GPU",
        "remove both folders; MIOPEN_USER_DB_PATH and MIOPEN_CUSTOM_CACHE_DIR on a local disk; MIOPEN_FIND_MODE=FAST",
    ),
    StatedMessage(
        r"Memory access fault by GPU",
        "A kernel on an AMD GPU read or wrote where it may not",
        "kernels that are taken for another GPU (HSA_OVERRIDE_GFX_VERSION), an extension of another ROCm, or an index out of range",
        "without HSA_OVERRIDE_GFX_VERSION or with the right one; AMD_SERIALIZE_KERNEL=3 shows which kernel",
    ),
    StatedMessage(
        r"error code(?: is)?:? ?(?P<code>507\d{3}|107\d{3}|207\d{3}|500002|561\d{3})\b|aclrt\w{3,40} failed,? ?(?P<other>\d{6})",
        "Ascend's runtime failed with {code}{other} (107xxx: an argument or a context; 207xxx: memory or a taken device; 507xxx: internal)",
        "the error that counts is in the lines with E and a number (EZ9999, EI0002) that it prints with it",
        "ASCEND_LAUNCH_BLOCKING=1 shows the operator; CANN, driver and torch_npu of one line of releases (the table on torch_npu's page)",
        package="torch-npu",
    ),
    StatedMessage(
        r"\bE[CEFGHIJKLZ]\d{4}: |\[Error\]: The Inner error is reported as above",
        "Ascend's CANN reports an error of its own; its lines name the operator and the reason",
        "CANN, its kernels for this chip, driver and torch_npu have to be of one line of releases",
        "compare them with the table on torch_npu's page; ASCEND_LAUNCH_BLOCKING=1 shows the line of Python",
        sure=False,
        package="torch-npu",
    ),
    StatedMessage(
        r"Expected one of cpu, cuda,.{0,200} device string: (?P<device>npu|mlu|gcu|musa|hpu|sdaa)",
        "torch knows no device {device}: the package that adds it is not imported",
        "",
        "import its package beside torch (import torch_npu for npu), in the release for this torch",
        package="torch",
    ),
    StatedMessage(
        r"(?:ASCEND_OPP_PATH\b(?!=)|OPP path).{0,80}(?i:not |empty|invalid|fail|null)"
        r"|(?:libascend_hal|libhccl|libascendcl)\.so.{0,20}(?:cannot "
        r"open|not found|No such)",
        "Ascend's CANN is not set up in this shell, or its driver is not there",
        "its libraries and kernels are found by variables that a script sets",
        "source /usr/local/Ascend/ascend-toolkit/set_env.sh; npu-smi info shows the driver; a container wants the driver's folders",
    ),
    StatedMessage(
        r"libtpu\.so already in use|TPU (?:is )?already in use|The TPU is already in use by process",
        "Another process holds the TPU",
        "one process alone has a TPU; an earlier one, or a notebook, was not ended",
        "end it (sudo lsof -w /dev/accel0 shows who), or restart the runtime",
    ),
    StatedMessage(
        r"Missing XLA configuration|Unexpected XLA device type",
        "torch_xla was not told of a device",
        "PJRT_DEVICE is not set, or the release is one that still wants XRT_TPU_CONFIG",
        "export PJRT_DEVICE=TPU (or CPU, CUDA), with the torch_xla of this torch",
        package="torch-xla",
    ),
    StatedMessage(
        r"(?:XPU|HPU|MLU|MUSA) out of memory",
        "The accelerator's memory is full",
        "",
        "a smaller batch or length, gradient checkpointing, fewer bits, or more cards; envdoctor fit tells what fills one",
    ),
    StatedMessage(
        r"synStatus ?=? ?(?:synStatus)? ?(?P<code>\d{1,3}) ?(?:\[(?P<why>[^\]]{2,60})\])?|Graph compile failed.{0,40}synStatus",
        "Gaudi's compiler or runtime failed: {code} {why}",
        "",
        "HABANA_LOGS with LOG_LEVEL_ALL=3 writes down why; driver, firmware and habana-torch of one release; hl-smi shows the cards",
        sure=False,
    ),
)
