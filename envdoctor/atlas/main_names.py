"""The names that most people take from a package which loads its modules only when they are asked for.

The import of such a package by itself shows little of what it needs. These are the names that its own documentation begins with.
"""

from __future__ import annotations

from collections.abc import Iterable

MAIN_NAMES = {
    "adapters": ("adapters:AutoAdapterModel",),
    "audiocraft": ("audiocraft.models:MusicGen",),
    "autogluon-multimodal": ("autogluon.multimodal:MultiModalPredictor",),
    "autogluon-timeseries": ("autogluon.timeseries:TimeSeriesPredictor",),
    "axolotl": ("axolotl.train:train",),
    "basicsr": ("basicsr.data.degradations",),
    "be-great": ("be_great:GReaT",),
    "beir": ("beir.retrieval.models:SentenceBERT",),
    "chatterbox-tts": ("chatterbox.tts:ChatterboxTTS",),
    "clu": ("clu.metric_writers", "clu.metrics", "clu.periodic_actions"),
    "coqui-tts": ("TTS.api:TTS", "TTS.tts.configs.xtts_config:XttsConfig"),
    "demucs": ("demucs.separate",),
    "diffusers": ("diffusers:DiffusionPipeline", "diffusers:StableDiffusionPipeline", "diffusers:AutoencoderKL"),
    "distilabel": ("distilabel.pipeline:Pipeline",),
    "f5-tts": ("f5_tts.api:F5TTS",),
    "fairseq": ("fairseq.checkpoint_utils", "fairseq.models"),
    "fastai": ("fastai.vision.all", "fastai.text.all"),
    "flair": ("flair.models:SequenceTagger", "flair.embeddings:TransformerWordEmbeddings"),
    "flax": ("flax.linen", "flax.training.train_state", "flax.training.checkpoints"),
    "fschat": ("fastchat.model:load_model",),
    "funasr": ("funasr:AutoModel",),
    "gfpgan": ("gfpgan:GFPGANer",),
    "gluonts": ("gluonts.torch",),
    "instructorembedding": ("InstructorEmbedding:INSTRUCTOR",),
    "k-diffusion": ("k_diffusion.sampling",),
    "lerobot": ("lerobot.scripts.lerobot_train", "lerobot.scripts.train"),
    "lighteval": ("lighteval.pipeline:Pipeline",),
    "lightning-flash": ("flash.image:ImageClassifier", "flash.text:TextClassifier"),
    "litgpt": ("litgpt.finetune.lora",),
    "llamafactory": ("llamafactory.train.tuner:run_exp",),
    "llmcompressor": ("llmcompressor.modifiers.quantization:GPTQModifier", "llmcompressor.modifiers.quantization:QuantizationModifier"),
    "lm-format-enforcer": ("lmformatenforcer.integrations.transformers",),
    "mergekit": ("mergekit.merge:run_merge",),
    "ms-swift": ("swift.llm:sft_main",),
    "mteb": ("mteb:MTEB",),
    "opacus": ("opacus:PrivacyEngine",),
    "openrlhf": ("openrlhf.cli.train_sft",),
    "optimum": ("optimum.onnxruntime:ORTModelForCausalLM",),
    "optimum-habana": ("optimum.habana:GaudiTrainer",),
    "optimum-intel": ("optimum.intel:OVModelForCausalLM",),
    "optimum-neuron": ("optimum.neuron:NeuronModelForCausalLM",),
    "optimum-onnx": ("optimum.onnxruntime:ORTModelForCausalLM",),
    "pyannote-audio": ("pyannote.audio:Pipeline",),
    "sglang": ("sglang:Engine",),
    "simpletransformers": (
        "simpletransformers.classification:ClassificationModel", "simpletransformers.ner:NERModel",
        "simpletransformers.question_answering:QuestionAnsweringModel", "simpletransformers.seq2seq:Seq2SeqModel",
        "simpletransformers.t5:T5Model", "simpletransformers.language_modeling:LanguageModelingModel",
    ),
    "speechbrain": ("speechbrain.inference", "speechbrain.pretrained"),
    "textattack": ("textattack.models.wrappers:HuggingFaceModelWrapper",),
    "torch-geometric": ("torch_geometric.nn:GCNConv", "torch_geometric.loader:DataLoader"),
    "torchtune": ("torchtune.models.llama3:lora_llama3_8b",),
    "transformer-lens": ("transformer_lens:HookedTransformer",),
    "transformers": (
        "transformers:AutoTokenizer", "transformers:AutoModelForCausalLM", "transformers:Trainer", "transformers:TrainingArguments",
        "transformers:pipeline",
    ),
    "trl": ("trl:SFTTrainer", "trl:DPOTrainer", "trl:RewardTrainer", "trl:GRPOTrainer", "trl:PPOTrainer", "trl:KTOTrainer"),
    "tts": ("TTS.api:TTS", "TTS.tts.configs.xtts_config:XttsConfig"),
    "verl": ("verl.trainer.main_ppo",),
    "vllm": ("vllm:LLM", "vllm:SamplingParams", "vllm.entrypoints.openai.api_server"),
}  # fmt: skip


def main_entries(packages: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """The imports of the main names of packages, each with its package."""
    return tuple((package, entry) for package in packages for entry in MAIN_NAMES.get(package, ()))


__all__ = ["MAIN_NAMES", "main_entries"]
