"""Messages of torch's own checks that state shapes, types, devices or counts: what these are, and which side has to change.

The sentences are as threads quote them, of many releases; they were not looked up in torch's source one by one.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_SIZE = r"\[(?P<{}>[\d, -]{{0,80}})\]"

TENSORS_STATED = (
    StatedMessage(
        r"Given groups=\d{1,4}, (?:expected )?weight (?:of size "
        r"|to be at least)\[(?P<weight>[\d, ]{3,60})\], expected input\[(?P<input>[\d, ]{3,60})\] to have "
        r"(?P<want>\d{1,6}) channels, but got (?P<got>\d{1,6}) channels",
        "A convolution takes {want} channels and gets {got}",
        "the weights are those of another model or task than the code, or the input is made otherwise (its shape is [{input}])",
        "bring the input into {want} channels (convert('RGB'), one or all channels of a sound, axes in the order N, C, H, W), or "
        "take the "
        "weights and the configuration whose first layer takes {got}",
        given=True,
    ),
    StatedMessage(
        r"[Ee]xpected (?P<dims>\dD \(unbatched\) or \dD \(batched\) input to \w{1,30}|\d-?(?:D|dimensional) (?:input"
        r"|tensor)[^,]{0,60}|(?:ndim|3D or 4D)[^,]{0,40}), "
        r"but got (?:input of size:?|\d-?(?:D|dimensional) (?:input|tensor) of size|\w{1,20} with shape"
        r"|\S{1,20}) ?\[(?P<size>[\d, ]{1,80})\]",
        "A layer gets a tensor of shape [{size}], which has another number of dimensions than it takes",
        "a batch dimension too many or too few (an item that is a batch already, one image without one), or a row of another form",
        "squeeze or unsqueeze(0) the input, or look at what the data set and the collator hand on",
        given=True,
    ),
    StatedMessage(
        r"shape mismatch: value tensor of shape \[(?P<value>[\d, ]{1,60})\] cannot be broadcast to indexing result of shape "
        r"\[(?P<places>[\d, ]{1,60})\]",
        "There are [{places}] places for values, and [{value}] values are to be put there",
        "in a vision model: the image tokens in the text are not as many as the image makes (text cut by max_length, a processor of "
        "another "
        "release or size than the model); else a mask of another length",
        "no cutting of rows with images (a larger max_length), and the processor that came with the model",
        given=True,
    ),
    StatedMessage(
        r"Attempting to deserialize object on (?:a )?CUDA device(?: (?P<device>\d{1,3}))? but torch\.cuda\.(?:is_available\(\) is False"
        r"|device_count\(\) is (?P<count>\d{1,3}))",
        "The file was saved from GPU {device}, which this process does not have",
        "a machine without a GPU, a torch without CUDA, or fewer GPUs than the one that saved it",
        "torch.load(FILE, map_location='cpu') (or 'cuda:0'); where a GPU should be seen, torch.cuda.is_available() first",
    ),
    StatedMessage(
        r"indices should be either on (?:cpu|\w{1,8}) or on the same device as the indexed tensor \((?P<device>[\w:]{2,10})\)",
        "The tensor that is indexed is on {device}, and its indices are elsewhere",
        "",
        "indices.to(x.device), or x to the device of the indices",
    ),
    StatedMessage(
        r"view size is not compatible with input tensor's size and stride",
        "view() on a tensor that does not lie in one piece in memory",
        "after a transpose, permute or slice; kernels of MPS and newer releases hand such tensors on where others did not",
        ".reshape(...) in place of .view(...), or .contiguous() before it, at the line above",
    ),
    StatedMessage(
        r"split_with_sizes expects split_sizes to sum exactly to (?P<size>\d{1,9}) .{0,60}?, but got split_sizes=\[(?P<parts>[\d, "
        r"]{1,60})\]",
        "A dimension of {size} is to be split into [{parts}], which is not {size} in all",
        "the weights are of another model or another number of heads than the configuration, or the layer is fused otherwise",
        "the configuration that belongs to these weights",
    ),
    StatedMessage(
        r"(?:stack expects a non-empty TensorList|torch\.cat\(\): expected a non-empty list of Tensors|need at least one array to "
        r"(?:stack|concatenate))",
        "An empty list is to be joined: not one item was collected before",
        "a data set, a folder or a selection is empty, every item was filtered out or failed, or a loop ran no step",
        "print the length of the list above that line, and look at why nothing came into it",
        given=True,
    ),
    StatedMessage(
        r"Expected (?P<dims>\d)-dimensional input for \d-dimensional weight \[(?P<weight>[\d, ]{1,60})\], but got \d-dimensional "
        r"input of size "
        r"\[(?P<size>[\d, ]{1,60})\]",
        "The layer takes {dims} dimensions, and the input has the shape [{size}]",
        "the batch dimension is missing, or one too many",
        "x.unsqueeze(0) for one item, or a DataLoader",
        given=True,
    ),
    StatedMessage(
        r"number of dimensions in the tensor input does not match the length of the desired ordering of dimensions i\.e\. "
        r"input\.dim\(\) = "
        r"(?P<got>\d{1,2}) is not equal to len\(dims\) = (?P<want>\d{1,2})",
        "permute() orders {want} dimensions, and the tensor has {got}",
        "an input with or without a batch, of another rank than the code was written for, or of another release's model",
        "print the shape before that line, and squeeze or unsqueeze it",
        given=True,
    ),
    StatedMessage(
        r"Can't call numpy\(\) on Tensor that requires grad",
        "A tensor of a graph is made a NumPy array",
        "",
        ".detach().cpu().numpy(), or the computation under torch.no_grad()",
    ),
    StatedMessage(
        r"Output \d{1,3} of \w{1,60} is a view and (?:its base or another view of its base has been|is being) modified in-?place",
        "A view that backward needs is changed in place",
        "+=, an inplace activation (ReLU(inplace=True)) or a slice that is written to",
        "x = x + y in place of +=, inplace=False, or .clone() before it is changed",
    ),
    StatedMessage(
        r"result type (?P<a>\w{2,12}) can't be cast to the desired output type (?P<b>\w{2,12})",
        "A {a} result is to be kept in a tensor of {b}",
        "+= or a loss on a tensor of integers or booleans",
        "x = x.float() before it, or labels and masks in the type that the loss wants",
    ),
    StatedMessage(
        r"[Bb]oolean value of Tensor with more than one value is ambiguous"
        r"|truth value of an array with more than one element is ambiguous",
        "if, and, or, in or == is asked of a whole tensor",
        "several values cannot be one yes or no: often an argument that is a flag gets a tensor, or a class in place of an object "
        "(loss(x, y))",
        ".any(), .all() or 'is None' at the line above",
    ),
    StatedMessage(
        r"[Aa] Tensor with (?P<count>\d{1,12}) elements cannot be converted to Scalar"
        r"|only one element tensors can be converted to Python scalars"
        r"|only (?:length-1|size-1|0-dimensional) arrays can be converted to Python scalars",
        "One number is wanted, and the tensor holds {count} several",
        "a loss that was not reduced, one loss for each GPU (DataParallel), or a list where a number is meant",
        "loss.mean() (or .sum()) before .item(), float() or backward",
    ),
    StatedMessage(
        r"Calculated padded input size per channel: \((?P<input>[\dx ]{1,40})\)\. Kernel size: \((?P<kernel>[\dx ]{1,40})\)",
        "A layer with a kernel of {kernel} gets what is only {input} wide",
        "an image or a sound is too small or too short for this network, or its axes are in another order",
        "resize or pad the input, or leave out rows that are so short",
        given=True,
    ),
    StatedMessage(
        r"(?:tensor has a non-zero number of elements, but its data is not allocated yet"
        r"|Cannot access data pointer of Tensor that doesn't have "
        r"storage)",
        "A tensor without memory is read: a fake or meta tensor, or one that was sharded or offloaded away",
        "torch.compile or export tracing code that reads pointers, or weights of ZeRO-3, FSDP or device_map that are elsewhere",
        "run it without torch.compile; under ZeRO-3 and FSDP gather the weight before it is read",
        sure=False,
    ),
    StatedMessage(
        r"linalg\.cholesky: .{0,60}?(?:could not be completed|The factorization)|cholesky_cpu: .{0,80}singular|not positive-definite"
        r"|is not positive definite",
        "A matrix is not positive definite, so it cannot be factored",
        "in GPTQ and its kin that is the Hessian of the calibration rows: too few or too equal rows, inputs that overflowed or are "
        "NaN, an "
        "expert or a channel that no row reached",
        "more damping (damp_percent=0.1), more and other calibration rows of full length, bfloat16 or float32 for the pass; else "
        "leave that "
        "layer out",
    ),
    StatedMessage(
        r"CUDA error: invalid configuration argument",
        "A kernel was started with no or too many blocks: a tensor is empty or too large for it",
        "an empty batch or mask (no token, no expert hit), or a batch times heads beyond 65,535",
        "print the shapes before that call; a smaller batch, or rows without content left out; CUDA_LAUNCH_BLOCKING=1 shows the call",
        sure=False,
    ),
    StatedMessage(
        r"peer access is not supported between these two devices|CUDA error: peer mapping resources exhausted",
        "The GPUs of the run do not reach each other's memory",
        "different boards, a virtual machine, or an IOMMU between them",
        "NCCL_P2P_DISABLE=1, or one GPU: CUDA_VISIBLE_DEVICES=0",
    ),
    StatedMessage(
        r"einops\.EinopsError|Error while processing (?:rearrange|repeat"
        r"|\w{2,10})-reduction pattern \"(?P<pattern>[^\"]{1,120})\".{0,200}?"
        r"[Ii]nput (?:tensor )?shape: (?:torch\.Size\()?[\[(](?P<shape>[\d, ]{1,60})[\])].{0,120}?(?:Shape mismatch, (?P<a>\d+) != "
        r"(?P<b>\d+))?",
        "einops is to order a tensor of shape [{shape}] by {pattern}, and the two do not fit",
        "an axis that the pattern writes as 1 must be 1, one more or less dimension than it has, or a size that does not divide: a "
        "sound in "
        "stereo or an image with another number of channels makes such shapes",
        "compare the axes one by one; mix a stereo sound down to mono (x.mean(0, keepdim=True)), or bring the input into the form "
        "that the "
        "project wants",
        given=True,
    ),
    StatedMessage(
        r"only batches of spatial targets supported \(3D tensors\) but got targets of (?:dimension|size): ?(?P<got>[\d, \[\]]{1,40})",
        "The labels of a segmentation are an image with channels ({got}), and one class to a pixel is wanted: N x H x W",
        "masks were saved as RGB, or keep a channel of one",
        "masks of one channel with the class as value, squeezed: mask[:, 0].long()",
        given=True,
    ),
    StatedMessage(
        r"Dimension out of range \(expected to be in range of \[-?\d{1,2}, -?\d{1,2}\], but got (?P<got>-?\d{1,2})\)",
        "A tensor has fewer dimensions than the operation asks for (dimension {got})",
        "an item without a batch dimension, a scalar in place of a row, or a squeeze() that took away a dimension of 1",
        "print the shape before that line; unsqueeze(0), or squeeze(dim) with its number",
        sure=False,
    ),
    # torch's parser of arguments (torch/csrc/utils/python_arg_parser.cpp), as torch 2.13.0 raised them.
    StatedMessage(
        r"(?P<call>\w{1,60})\(\) received an invalid combination of arguments - got "
        r"\((?P<got>[^()\n]{0,120}(?:\([^()\n]{0,60}\)[^()\n]{0,60})?)\)",
        "{call}() of torch was called with ({got}), and no form of it takes that",
        "a list, an array or None where a tensor is expected, or an argument by a name that it does not have",
        "its forms are listed below the message: compare them with what is handed on, argument by argument",
        given=True,
        package="torch",
    ),
    StatedMessage(
        r"(?P<call>\w{1,60})\(\): argument '(?P<name>\w{1,40})' (?:\(position \d{1,2}\) )?must be (?P<want>[\w ]{1,40}), "
        r"not (?P<got>str|int|float|bool|list|tuple|dict|set|NoneType|numpy\.ndarray)\b",
        "{call}() of torch takes a {want} as {name}, and got {got}",
        "",
        "hand on a {want}; a list or an array becomes a tensor by torch.tensor(...)",
        given=True,
        package="torch",
    ),
    StatedMessage(
        r"(?P<call>\w{1,40})\(\): self and source expected to have the same dtype, but got \(self\) (?P<self>\w{1,20}) and "
        r"\(source\) (?P<source>\w{1,20})",
        "{call}() writes a tensor of {source} into one of {self}",
        "a part computed in another precision than the rest: outside of autocast, or a layer that was kept in float32",
        "source.to(self.dtype) in that line, or one dtype for the whole model",
        package="torch",
    ),
)
