"""Messages of JAX, TensorFlow, ONNX Runtime, the export to ONNX, and TensorRT.

Wordings as these print them: https://github.com/jax-ml/jax (jax/version.py, xla_bridge.py), https://github.com/tensorflow/tensorflow
(tsl/framework, stream_executor), https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html, https://github.com/onnx/onnx
(docs/Versioning.md), and TensorRT, whose engines belong to the release and the kind of GPU that built them.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

FRAMEWORKS = (
    StatedMessage(
        r"jaxlib version (?P<lib>[\d.]{3,12}) is (?P<how>newer|older) than and incompatible with jax version (?P<jax>[\d.]{3,12})",
        "jaxlib {lib} and jax {jax} do not go together",
        "one of them was moved alone",
        'pip install -U "jax[cuda12]" (jax[cpu]), which brings both, or "jax=={lib}" beside that jaxlib',
        package="jax",
    ),
    StatedMessage(
        r"CUDA-enabled jaxlib is not installed|No GPU/TPU found, falling back to CPU",
        "JAX found no GPU that its jaxlib can use, and computes on the CPU",
        "pip install jax alone brings no CUDA; where there is no GPU, or torch trains, the line harms nothing",
        'pip install -U "jax[cuda12]" (the driver has to serve CUDA 12); python -c "import jax; print(jax.devices())"',
        sure=False,
        package="jax",
    ),
    StatedMessage(
        r"RESOURCE_EXHAUSTED: Out of memory while trying to allocate (?P<bytes>\d{3,16}(?: ?bytes)?)|RESOURCE_EXHAUSTED: .{0,40}(?:OOM"
        r"|HBM)",
        "The accelerator's memory is full; more was asked for: {bytes}",
        "JAX takes three quarters of a GPU when it starts and TensorFlow all of it, so that a second process on it finds little",
        "a smaller batch or length, remat; beside another process on the card XLA_PYTHON_CLIENT_PREALLOCATE=false (JAX), "
        "set_memory_growth (TensorFlow)",
    ),
    StatedMessage(
        r"DNN library initialization failed|Failed to get convolution algorithm|cuDNN failed to initialize|Could not create cudnn handle",
        "cuDNN did not start",
        "a cuDNN of another release than the framework was built for, or a GPU whose memory is taken already",
        "the framework's own CUDA wheels (jax[cuda12], tensorflow[and-cuda]) and no LD_LIBRARY_PATH to others; tf.config.experimental."
        "set_memory_growth, or XLA_PYTHON_CLIENT_PREALLOCATE=false",
    ),
    StatedMessage(
        r"Blas GEMM launch failed|failed to create cublas handle|Blas xGEMM\w{0,20} launch failed|Attempting to perform BLAS operation "
        r"using "
        r"StreamExecutor without BLAS support",
        "TensorFlow or XLA could not multiply matrices on the GPU: cuBLAS did not start",
        "the GPU's memory is taken (by another process, or by torch in the same), or the GPU is newer than this TensorFlow's CUDA",
        "nvidia-smi; tf.config.experimental.set_memory_growth(gpu, True) before the first use; a TensorFlow whose CUDA knows the GPU",
        package="tensorflow",
    ),
    StatedMessage(
        r"Could not find cuda drivers on your machine|failed call to cuInit: (?P<why>[A-Z_:a-z ]{3,80})",
        "TensorFlow finds no driver of CUDA, and computes on the CPU: {why}",
        "no driver here, a container without its GPUs, or CUDA_VISIBLE_DEVICES that names none",
        "nvidia-smi in the same place; where torch is what trains, this line harms nothing",
        sure=False,
        package="tensorflow",
    ),
    StatedMessage(
        r"Cannot dlopen some GPU libraries|Skipping registering GPU devices|Could not load dynamic library '(?P<name>[\w.-]{3,40})'",
        "TensorFlow finds not all libraries of CUDA, and computes on the CPU: {name}",
        "its CUDA and cuDNN are not there, or of other releases than it was built for",
        "pip install 'tensorflow[and-cuda]' (from 2.14 on), or the CUDA and cuDNN of its table; where torch trains, it harms nothing",
        sure=False,
        package="tensorflow",
    ),
    StatedMessage(
        r"Unable to register cu(?:DNN|BLAS|FFT) factory|TF-TRT Warning: Could not find TensorRT|oneDNN custom operations are on",
        "A line that TensorFlow prints whenever it is imported; it is no error",
        "transformers imports TensorFlow where it is installed",
        "look for another error; USE_TF=0 (or pip uninstall tensorflow) where torch is what trains",
        sure=False,
        package="tensorflow",
    ),
    StatedMessage(
        r"'(?P<arch>sm_\d{2,3})' is not a recognized processor|ptxas (?:is )?too old|Unsupported processor sm_\d{2,3}",
        "What compiles kernels (LLVM, or CUDA's ptxas) is older than the GPU or the framework asks for: {arch}",
        "XLA calls ptxas of the toolkit that it finds, and may go on without",
        "a newer CUDA toolkit (or the framework's own CUDA wheels), its bin folder first on the PATH; for LLVM "
        "a later release of the framework",
        sure=False,
    ),
    StatedMessage(
        r"(?:INVALID_PROTOBUF|Protobuf parsing failed|Load model from \S{1,200} failed:\s?(?:Protobuf|System error|Invalid))",
        "The file is no ONNX model that can be read whole",
        "a pointer of git-lfs, a download that broke off, an export that was not finished, or weights beside it that are missing "
        "(.onnx_data)",
        "its size against that on the hub; fetch it again, with the file of its weights in the same folder",
        given=True,
        package="onnxruntime",
    ),
    StatedMessage(
        r"Failed to load library \S{0,200}libonnxruntime_providers_(?P<what>cuda|tensorrt)\.so.{0,80}(?P<lib>lib[\w.+-]{3,40}"
        r"|\bcudnn64_\d\.dll)"
        r"|LoadLibrary failed with error 126.{0,200}onnxruntime_providers_(?P<other>cuda|tensorrt)",
        "ONNX Runtime's part for the GPU lacks a library of CUDA: {lib}",
        "its releases before 1.19 are for CUDA 11.8 unless they come from another index, later ones for CUDA 12 and cuDNN 9",
        "the onnxruntime-gpu for this CUDA (the table on its page), or import torch before it, which loads its own CUDA and cuDNN",
        package="onnxruntime-gpu",
    ),
    StatedMessage(
        r"required to explicitly set the providers parameter|This ORT build has \[",
        "ONNX Runtime has several devices in this build and wants to be told which",
        "from 1.9 on a build with more than the CPU asks for providers",
        "InferenceSession(path, providers=['CUDAExecutionProvider', 'CPUExecutionProvider'])",
        package="onnxruntime",
    ),
    StatedMessage(
        r"Could not find an implementation for (?:the node )?(?P<op>[\w.:]{2,60}?)\((?P<version>\d{1,2})\)",
        "This ONNX Runtime has no kernel for {op} of opset {version} on that device or in that type",
        "a model that was exported for a later opset or in float16, or operators of a quantization",
        "a later onnxruntime, an export with a lower opset_version, or in float32",
        package="onnxruntime",
    ),
    StatedMessage(
        r"Unsupported model IR version: (?P<got>\d{1,2}), max supported IR version: (?P<want>\d{1,2})",
        "The ONNX file is of IR version {got}, and this ONNX Runtime reads up to {want}",
        "it was written by a newer onnx",
        "a later onnxruntime; else an older onnx for the export, or model.ir_version = {want} before onnx.save",
        package="onnxruntime",
    ),
    StatedMessage(
        r"[Oo]pset (?P<version>\d{1,2}) is under development|Unsupported ONNX opset version: ?(?P<other>\d{1,2})"
        r"|opset_?version.{0,30}(?:not supported|unsupported)",
        "An opset is asked for that this release does not have whole: {version}{other}",
        "",
        "a lower opset_version in the export (17 is old enough for most), or a later torch, onnx and onnxruntime",
    ),
    StatedMessage(
        r"Exporting the operator ['\"](?P<op>[\w:.]{3,60})['\"] to ONNX opset version (?P<version>\d{1,2}) is not supported",
        "torch's export has no form of {op} in opset {version}",
        "some operators came with a later opset (scaled_dot_product_attention with 14), others have none",
        "a higher opset_version; attn_implementation='eager' for attention; torch.onnx.export(..., dynamo=True) in later torch",
        package="torch",
    ),
    StatedMessage(
        r"expecting library version (?P<want>[\d.]{3,12}) got (?P<got>[\d.]{3,12})",
        "The TensorRT engine was built by TensorRT {got}, and {want} is to load it",
        "an engine belongs to the release, and to the kind of GPU, that built it",
        "build it again from its ONNX file here (trtexec --onnx=...), or pip install 'tensorrt=={got}'",
        package="tensorrt",
    ),
    StatedMessage(
        r"[Ee]ngine plan file is not compatible|Version tag does not match|stdVersionRead == serializationVersion",
        "The TensorRT engine was built by another release of TensorRT than the one that loads it",
        "an engine belongs to the release, and to the kind of GPU, that built it",
        "build it again from its ONNX file here (trtexec --onnx=...), or the TensorRT that it was built with",
        package="tensorrt",
    ),
    StatedMessage(
        r"CUDA initialization failure with error:? (?P<code>\d{1,3})",
        "TensorRT could not start CUDA: error {code} (35: the driver is older than the CUDA; 100: no GPU; 2: memory)",
        "",
        "nvidia-smi in the same place; a newer driver, or a TensorRT for an older CUDA",
        package="tensorrt",
    ),
    StatedMessage(
        r"INVALID_ARGUMENT: getPluginCreator could not find plugin (?P<name>\S{2,60})|No importer registered for op: "
        r"(?P<other>\w{2,60})",
        "TensorRT has no layer for an operator of the model: {name}{other}",
        "",
        "a later TensorRT, the plugin library that the project names (trt.init_libnvinfer_plugins), or an export without that operator",
        package="tensorrt",
    ),
    # https://github.com/galliot-us/PifPaf-TensorRT-Pose-Estimation/issues/5, https://github.com/NVIDIA/TensorRT/issues/183
    StatedMessage(
        r"Network must have at least one output",
        "TensorRT has a network without an output, mostly since its parser did not read the model to the end",
        "an operator that it does not know, a file that is cut or not there, an export for another release, or outputs that were not "
        "marked",
        "print parser.get_error(i) for every i of parser.num_errors, which names the operator; a later TensorRT or another opset_version",
        package="tensorrt",
    ),
    StatedMessage(
        r"Error Code 4: .{0,80}\((?P<why>[^()]{5,160})\)|INVALID_NODE: Invalid Node - (?P<node>[\w./-]{1,80})|In function convertAxis",
        "TensorRT refuses a layer of the model as it was exported: {why}{node}",
        "shapes that are computed in the graph, or axes that the parser of this release does not take",
        "export with a later torch, opset_version 13 or more and fixed shapes, simplify the file (onnxsim), or a later TensorRT",
        package="tensorrt",
    ),
)
