"""Projects that threads of tuning, speech, diffusion and evaluation are about: all minors, for they are installed as they were left."""

from __future__ import annotations

PROJECTS = (
    "audiocraft", "audiomentations", "autogluon-multimodal", "autogluon-timeseries", "basicsr", "be-great", "beir", "chatterbox-tts",
    "clip-interrogator", "colbert-ai", "coqpit", "coqui-tts", "demucs", "encodec", "f5-tts", "fairseq", "funasr", "gfpgan", "gluonts",
    "gritlm", "instructorembedding", "langchain-huggingface", "lerobot", "lightning-flash", "llm2vec", "lm-format-enforcer",
    "lycoris-lora", "mteb", "nnsight", "opacus", "opendelta", "optimum-neuron", "optimum-onnx", "oumi", "prodigyopt",
    "pytorch-metric-learning", "qwen-tts", "ragatouille", "rembg", "segmentation-models-pytorch", "stable-ts", "tabpfn", "tevatron",
    "torch-audiomentations", "trackio", "transformer-lens", "transformer-smaller-training-vocab", "transformers-interpret", "vocos",
    "whisper-timestamped", "xinference",
)  # fmt: skip
