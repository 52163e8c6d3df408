"""What the config.json of a published model says, by the name of its repository: its ``model_type``, and whether it brings code of its own.

Only repositories of those who made the models, whose names their makers keep, and of those who copy them under the same name: what
somebody else calls so may be anything. The names and architectures were compared with the models that ms-swift 3.10.0 and 4.6.0 list
(some 1,000 each, with their architecture), those of copies with the template tables of LLaMA-Factory 0.9.3 and unsloth's mapper.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envdoctor.facts.fact import FactValue
from envdoctor.facts.published_sizes import least_parameters
from envdoctor.records import dataclass

_META = (
    (r"llama-3\.2-\d+b-vision.*", "mllama"),
    (r"llama-guard-4-12b|llama-4-(scout|maverick)-.*", "llama4"),
    (r"llama-2-\d+b(-chat)?-hf|(meta-)?llama-3(\.[123])?-\d+b(-instruct)?(-fp8)?|llama-guard-3-[18]b|codellama-\d+b(-\w+)?-hf", "llama"),
)
_QWEN = (
    (r"qwen2-vl-.*|qvq-72b-preview", "qwen2_vl"),
    (r"qwen2\.5-vl-.*", "qwen2_5_vl"),
    (r"qwen2\.5-omni-\d+b.*", "qwen2_5_omni"),
    (r"qwen3-omni-.*", "qwen3_omni_moe"),
    (r"qwen3-vl-(30b-a3b|235b-a22b)-.*", "qwen3_vl_moe"),
    (r"qwen3-vl-\d+b-(instruct|thinking)(-fp8)?|qwen3-vl-(embedding|reranker)-\d+b", "qwen3_vl"),
    (r"qwen3\.[56]-\d+b-a\d+b(-base|-fp8)?", "qwen3_5_moe"),
    (r"qwen3\.[56]-[\d.]+b(-base|-fp8)?", "qwen3_5"),
    (r"qwen2-audio-.*", "qwen2_audio"),
    (r"qwen1\.5-moe-.*|qwen2-57b-a14b.*", "qwen2_moe"),
    (r"qwen3-next-.*|qwen3-coder-next.*", "qwen3_next"),
    (r"qwen3-(coder-)?(30b-a3b|235b-a22b|480b-a35b)[\w.-]*", "qwen3_moe"),
    (r"qwen3-[\d.]+b(-base|-fp8|-awq|-gptq-int\d)?|qwen3-4b-(instruct|thinking)-2507(-fp8)?", "qwen3"),
    (r"qwen3(-embedding|-reranker|guard-gen)-[\d.]+b", "qwen3"),
    (r"(code)?qwen(1\.5|2|2\.5)(-coder|-math)?-[\d.]+b(?!-prm)[\w.-]*|qwq-32b(-preview|-awq)?", "qwen2"),
    (r"qwen-(1_8|7|14|72)b(-chat)?(-int[48])?|qwen-(vl|audio)(-chat)?(-int4)?", "qwen"),
)
_MISTRAL = (
    (r"mistral-small-3\.[12]-24b-.*|ministral-3-\d+b-.*", "mistral3"),
    (r"mixtral-8x\d+b-.*", "mixtral"),
    (r"mistral-7b(-.*)?|mistral-nemo-.*|mistral-small-24b-.*-2501|mistral-small-instruct-2409|ministral-8b-instruct-2410", "mistral"),
    (r"mistral-large-instruct-24\d\d|codestral-22b-v0\.1|mathstral-7b-v0\.1", "mistral"),
)
_GOOGLE = (
    (r"gemma-3n-.*", "gemma3n"),
    (r"gemma-3-(270m|1b)(-it|-pt)?|embeddinggemma-300m|medgemma-27b-text-it", "gemma3_text"),
    (r"gemma-3-(4|12|27)b-(it|pt)|medgemma-(4|27)b-(it|pt)", "gemma3"),
    (r"gemma-4-(e2b|e4b|31b|26b-a4b)(-it)?", "gemma4"),
    (r"paligemma2?-\d+b-.*", "paligemma"),
    (r"gemma-2-(2|9|27)b(-it)?", "gemma2"),
    (r"(code)?gemma-(1\.1-)?(2|7)b(-it)?", "gemma"),
    (r"flan-t5-\w+", "t5"),
    (r"mt5-\w+", "mt5"),
)
_DEEPSEEK = (
    (r"deepseek-r1-0528-qwen3-8b", "qwen3"),
    (r"deepseek-r1-distill-qwen-.*", "qwen2"),
    (r"deepseek-r1-distill-llama-.*|deepseek-(llm|math)-\d+b-.*|deepseek-coder-(1\.3|6\.7|7|33)b-.*", "llama"),
    (r"deepseek-(coder-)?v2(-lite)?(-base|-chat|-instruct)?(-0\d\d\d)?|deepseek-v2\.5(-1210)?", "deepseek_v2"),
    (r"deepseek-(v3|v3-base|v3-0324|v3\.1(-base|-terminus)?|r1|r1-zero|r1-0528|prover-v2-671b)", "deepseek_v3"),
    (r"deepseek-moe-16b-(base|chat)", "deepseek"),
)
_SMALL = ((r"smollm3-3b(-base)?", "smollm3"), (r"smollm2?-(135m|360m|1\.7b)(-instruct)?", "llama"))
_PHI = (
    (r"m?deberta-v3-(xsmall|small|base|large)|deberta-v2-xx?large(-mnli)?", "deberta-v2"),
    (r"phi-(1|1_5|2)", "phi"),
    (r"phi-3-(mini|medium)-\d+k-instruct|phi-3\.5-mini-instruct|phi-4|phi-4-mini-instruct|phi-4(-mini)?-reasoning(-plus)?", "phi3"),
    (r"phi-3\.5-moe-instruct", "phimoe"),
    (r"phi-4-multimodal-instruct", "phi4mm"),
    (r"phi-3(\.5)?-vision(-128k)?-instruct", "phi3_v"),
)
_GLM = (
    (r"glm-4\.1v-9b-.*|glm-4\.6v-flash", "glm4v"),
    (r"glm-4\.5v(-fp8)?|glm-4\.6v(-fp8)?", "glm4v_moe"),
    (r"glm-4\.[567](-air)?(-base)?(-fp8)?", "glm4_moe"),
    (r"glm-z1-(9|32)b-0414", "glm4"),
    (r"glm-edge-[\d.]+b-chat", "glm"),
    (r"codegeex4-all-9b|longwriter-glm4-9b", "chatglm"),
    (r"codegeex2-6b", "chatglm"),
)
_INTERN = (
    (r"internlm-(chat-)?(7|20)b(-8k)?", "internlm"),
    (r"internlm2(_5)?-(chat-|base-)?(math-)?(base-)?(1_8|7|20)b(-chat)?(-sft|-1m)?", "internlm2"),
    (r"internlm3-8b-instruct", "internlm3"),
)
_MINICPM = (
    (r"minicpm(-llama3)?-v(-[\d_]+)?", "minicpmv"),
    (r"minicpm-o-[\d_]+", "minicpmo"),
    (r"minicpm3-4b", "minicpm3"),
    (r"minicpm-[12]b-.*|minicpm4-[\d.]+b", "minicpm"),
)
_BAICHUAN = ((r"baichuan2?-(7|13)b(-base|-chat)?(-4bits)?", "baichuan"),)
_COHERE = ((r"c4ai-command-r7b-12-2024|c4ai-command-a-03-2025", "cohere2"), (r"c4ai-command-r-.*|aya-(expanse|23)-\d+b", "cohere"))
_GRANITE = (
    (r"granite-4\.0-h-(small|tiny|micro|1b|350m)(-base)?", "granitemoehybrid"),
    (r"granite-3\.\d-\d+b-a\d+m-\w+", "granitemoe"),
    (r"granite-3\.\d-[28]b-(base|instruct)", "granite"),
)
_LLAVA = (
    (r"llava-1\.5-\d+b-hf", "llava"),
    (r"llava-v1\.6-.*-hf|llama3-llava-next-8b-hf|llava-next-\d+b-hf", "llava_next"),
    (r"llava-next-video-.*-hf", "llava_next_video"),
    (r"llava-onevision-qwen2-.*-hf", "llava_onevision"),
)
_YI = ((r"yi(-1\.5|-coder)?-[\d.]+b(-chat)?(-16k|-200k|-[48]bits)?", "llama"),)
_GPT_OSS = ((r"gpt-oss-(safeguard-)?(20|120)b", "gpt_oss"),)
_ALLENAI = (
    (r"olmo-(1\.7-)?\d+b-hf", "olmo"),
    (r"olmo-2-\d+-\d+b(-instruct)?", "olmo2"),
    (r"molmo2-(o-)?\d+b", "molmo2"),
)
_TINY = ((r"tinyllama-1\.1b-.*|tinyllama_v1\.1", "llama"),)
_GPT2 = ((r"gpt2(-medium|-large|-xl)?", "gpt2"),)
_FALCON = ((r"falcon-(7|40|180|11)b(-instruct|-chat)?", "falcon"),)
_BLOOM = ((r"bloom(z)?(-\d+[mb]\d*)?(-mt)?", "bloom"),)
_STARCODER = ((r"starcoder2-(3|7|15)b", "starcoder2"), (r"(tiny_)?starcoder(base)?(-\d+b|_py|plus)?", "gpt_bigcode"))
_ZEPHYR = ((r"zephyr-7b-(alpha|beta)", "mistral"),)
_VICUNA = ((r"vicuna-\d+b-v1\.5(-16k)?", "llama"),)
# By owner: patterns over the rest of the name, in lower case; the first that fits the whole of it counts.
_NAMES: dict[str, tuple[tuple[str, str], ...]] = {
    "meta-llama": _META,
    "codellama": _META,
    "qwen": _QWEN,
    "mistralai": _MISTRAL,
    "google": _GOOGLE,
    "microsoft": _PHI,
    "deepseek-ai": _DEEPSEEK,
    "tinyllama": _TINY,
    "huggingfacetb": _SMALL,
    "huggingfaceh4": _ZEPHYR,
    "lmsys": _VICUNA,
    "01-ai": _YI,
    "state-spaces": ((r"mamba-[\d.]+[mb]-hf", "mamba"),),
    "tiiuae": _FALCON,
    "helsinki-nlp": ((r"opus-mt-[\w-]+", "marian"),),
    "openai": (*_GPT_OSS, (r"whisper-(tiny|base|small|medium|large)(\.en)?|whisper-large-v[23](-turbo)?", "whisper")),
    "distil-whisper": ((r"distil-(small|medium|large)(\.en|-v[23](\.5)?)", "whisper"),),
    "openai-community": _GPT2,
    "eleutherai": ((r"pythia-[\w.]+(-deduped)?|gpt-neox-20b", "gpt_neox"), (r"gpt-neo-[\d.]+[mb]", "gpt_neo"), (r"gpt-j-6b", "gptj")),
    "facebook": (
        (r"opt-[\d.]+[mb]", "opt"),
        (r"nllb-200-[\w.-]+|m2m100_[\w.]+", "m2m_100"),
        (r"bart-(base|large)(-cnn|-mnli|-xsum)?", "bart"),
    ),
    "bigscience": _BLOOM,
    "bigcode": _STARCODER,
    "huggyllama": ((r"llama-\d+b(-hf)?", "llama"),),
    "openlm-research": ((r"open_llama_\d+b(_v2)?", "llama"),),
    "google-bert": ((r"bert-(base|large)-((multilingual-)?(un)?cased(-whole-word-masking)?|chinese|german-cased)", "bert"),),
    "facebookai": ((r"roberta-(base|large)", "roberta"), (r"xlm-roberta-(base|large)", "xlm-roberta")),
    "google-t5": ((r"t5-(small|base|large|3b|11b)", "t5"),),
    "answerdotai": ((r"modernbert-(base|large)", "modernbert"),),
    "zai-org": _GLM,
    "internlm": _INTERN,
    "openbmb": _MINICPM,
    "baichuan-inc": _BAICHUAN,
    "cohereforai": _COHERE,
    "coherelabs": _COHERE,
    "ibm-granite": _GRANITE,
    "llava-hf": _LLAVA,
    "opengvlab": (
        (r"internvl3(_5)?-\d+b(-a\d+b)?-hf", "internvl"),
        (r"(mini-)?internvl(2|2_5|3|3_5|-chat-v1-5)?(-chat)?-[\w-]*\d+b[\w-]*(?<!-hf)", "internvl_chat"),
    ),
    "baidu": ((r"ernie-4\.5-0\.3b(-base)?-pt", "ernie4_5"), (r"ernie-4\.5-(21b-a3b|300b-a47b)(-base)?-pt", "ernie4_5_moe")),
    "stabilityai": ((r"stablelm-(3b-4e1t|zephyr-3b|2-(zephyr-)?(1_6|12)b(-chat)?)", "stablelm"),),
    "hfl": ((r"chinese-(roberta|bert|macbert)-[\w-]+|rbtl?\d", "bert"),),
    "bytedance-seed": ((r"seed-oss-36b-(base|instruct)(-wosyn)?", "seed_oss"),),
    "allenai": _ALLENAI,
    "eurobert": ((r"eurobert-(210m|610m|2\.1b)", "eurobert"),),
    "inclusionai": ((r"llada2\.0-(mini|flash)(-preview)?", "llada2_moe"),),
    "mosaicml": ((r"mpt-(1b|7b|30b)(-instruct|-chat|-storywriter|-8k|-8k-instruct|-8k-chat)?", "mpt"),),
    "databricks": ((r"dbrx-(base|instruct)", "dbrx"), (r"dolly-v2-(3|7|12)b", "gpt_neox")),
}
# Who publishes the models of others under their names: on the hub, and what ModelScope calls the makers.
_COPIES: dict[str, tuple[tuple[tuple[str, str], ...], ...]] = {
    "unsloth": (
        _META, _QWEN, _MISTRAL, _GOOGLE, _DEEPSEEK, _SMALL, _GPT_OSS, _YI, _LLAVA,
        (
            (r"llama-2-\d+b(-chat)?|codellama-\d+b|tinyllama(-chat)?", "llama"),
            (r"zephyr-sft", "mistral"),
        ),
    ),
    "nousresearch": (_META,),
    "llm-research": (_META, _GOOGLE, _MISTRAL, _PHI),
    "ai-modelscope": (_GOOGLE, _MISTRAL, _COHERE, _GRANITE, _FALCON, _BLOOM, _STARCODER, _LLAVA, _GPT2, _ZEPHYR, ((r"phi-2", "phi"),)),
    "zhipuai": (_GLM,),
    "thudm": (_GLM,),
    "shanghai_ai_laboratory": (_INTERN,),
    "01ai": (_YI,),
    "openai-mirror": (_GPT_OSS,),
    "modelscope": (_FALCON, _ZEPHYR),
}  # fmt: skip
# Whose models the hub had before owners, and still takes by the name alone.
_BARE = ("openai-community", "google-bert", "facebookai", "google-t5")
# Types that repositories of their makers publish with an auto_map, be it in some revision.
_WITH_CODE = frozenset(
    ("baichuan", "chatglm", "cohere", "dbrx", "deepseek", "deepseek_v2", "deepseek_v3", "ernie4_5", "ernie4_5_moe",
     "eurobert", "falcon", "gpt_bigcode", "internlm",
     "internlm2", "internlm3", "internvl_chat", "llada2_moe", "minicpm", "minicpm3", "minicpmo", "minicpmv", "molmo2", "mpt", "phi", "phi3",
     "phi3_v", "phi4mm", "phimoe", "qwen", "stablelm")
)  # fmt: skip
# Of these all revisions have it, as far as issues tell (hiyouga/LlamaFactory#6829, allenai/molmo2#22, KRLabsOrg/LettuceDetect#33,
# huggingface/diffusers#13357): a transformers without a class of that type runs the repository's.
STILL_WITH_CODE = frozenset(("deepseek_v2", "deepseek_v3", "eurobert", "llada2_moe", "molmo2", "mpt"))
# What unsloth adds to a name when it quantizes, and what their makers add.
_BNB = re.compile(r"(-unsloth)?(-dynamic)?-bnb-[48]bit$")
_BF16 = re.compile(r"-bf16$")
# Of those that end in fp8 and the like Qwen's and DeepSeek's alone are stored so: Meta's are FBGEMM's, others compressed tensors.
_STORED = (
    (r"-gptq(-int[48])?$|-int[48]$", "gptq"),
    (r"-awq(-int4)?$", "awq"),
    (r"-bnb-[48]bit$|-4bits$", "bitsandbytes"),
    (r"^qwen3.*-fp8$|^deepseek-(v3(-base|-0324|\.1)?|r1(-zero|-0528)?)$", "fp8"),
)
# Families that snapshots tell by other settings (envdoctor/sources/model/model_family.py).
_INTERNLM2_INSIDE = r"internvl(2|2_5)-(2|8|26)b|internvl3-9b|internvl-chat-v1-5"
_FAMILIES = (
    ("internvl_chat", _INTERNLM2_INSIDE, "internvl-internlm2"),
    ("internvl_chat", "", "internvl"),
    ("qwen", r"qwen-vl", "qwen-vl"),
    ("qwen", "", "qwen"),
    ("gemma4", r"gemma-4-e[24]b", "gemma4-e"),
    ("gemma4", "", "gemma4"),
)
# Llama 3.1 and later scale their rotary positions.
_ROPES = (
    (r"(.*-)?(meta-)?llama-3\.[123]-", "llama3"),
    (r"(meta-)?llama-([23]-)?\d+b|(open_|tiny)llama|codellama-|yi-|vicuna-\d+b-v1\.5$", "default"),
)
# Published with code that asks for their rotary positions by name, and without a scaling.
_UNSCALED = frozenset(("eurobert", "llada2_moe", "molmo2"))
# What transformers does not load, or loads in another way.
_OTHERWISE = re.compile(r"gguf|mlx|onnx|exl[23]|ggml|openvino|-mnn|-rkllm|tokenizer|embed|reward|-rm(-|$)|vision|draft|eagle")
_MOST_PARTS = 8
# A folder that is called after a model has its size in the name, or a name that nothing else has.
_SIZED = re.compile(r"\d[bm](?![a-z])|^(qwen-(vl|audio)|minicpm-|deepseek-|glm-4\.)")


@dataclass(frozen=True, slots=True)
class Published:
    """What the config.json of a published model says; ``plain``: no revision of it has code of its own.

    ``parameters`` is what the model has at the least, by the size in its name.
    """

    type: str
    plain: bool
    quant_method: str | None = None
    family: str | None = None
    rope_type: str | None = None
    parameters: int | None = None

    def facts(self) -> Iterator[tuple[str, FactValue]]:
        """The facts that follow, by name. A type that no release of transformers knows says itself that the code is the snapshot's."""
        yield "model.type", self.type
        if self.family is not None:
            yield "model.family", self.family
        if self.plain:
            yield "model.remote_code", False
            yield "model.own_config", False
            yield "model.tokenizer_remote_code", False
        if self.quant_method is not None:
            yield "model.quant_method", self.quant_method
        if self.rope_type is not None:
            yield "model.rope_type", self.rope_type
            yield "model.rope_type_key", "none" if self.rope_type == "default" else "rope_type"
        if self.parameters is not None:
            yield "model.parameters", self.parameters


def published_model(name: str) -> Published | None:
    """What is known of a published repository; None for one that is not known, and for a folder."""
    owner, separator, rest = name.lower().partition("/")
    if not separator:
        # People leave the owner out, as the name of a folder does: Qwen2.5-VL-7B-Instruct.
        bare = _first(tuple(_NAMES[one] for one in _BARE), owner)
        return _published(bare, owner) if bare is not None else model_of_folder(name)
    rest_plain = _BF16.sub("", _BNB.sub("", rest)) if owner == "unsloth" else rest
    tables = (_NAMES[owner],) if owner in _NAMES else _COPIES.get(owner, ())
    return _published(_first(tables, rest_plain), rest)


def model_of_folder(path: str) -> Published | None:
    """The same for a folder that has a published model's name, or lies in the hub's cache."""
    parts = [part for part in path.replace("\\", "/").lower().split("/") if part not in ("", ".")]
    cached = next((part for part in parts if part.startswith("models--") and part.count("--") == 2), None)
    if cached is not None:
        return published_model(cached.removeprefix("models--").replace("--", "/"))
    last = parts[-1] if parts else ""
    if not _SIZED.search(last):
        return None
    return _published(_first(tuple(_NAMES.values()), last), last)


@lru_cache(maxsize=256)
def likely_type(name: str) -> str | None:
    """The ``model_type`` that a repository of anybody's most likely has: one whose name has a published model's in it.

    ``princeton-nlp/gemma-2-9b-it-SimPO`` is trained from gemma-2-9b-it. Of what other programs load (GGUF, MLX, ONNX) nothing is likely.
    """
    _, separator, rest = name.lower().partition("/")
    if not separator or published_model(name) is not None:
        return None
    if (copied := _first(tuple(_NAMES.values()), rest)) is not None and _SIZED.search(rest):
        return copied
    if _OTHERWISE.search(rest):
        return None
    parts = rest.split("-")
    for length in range(min(len(parts), _MOST_PARTS), 1, -1):
        for start in range(len(parts) - length + 1):
            inner = "-".join(parts[start : start + length])
            if _SIZED.search(inner) and (kind := _first(tuple(_NAMES.values()), inner)) is not None:
                return kind
    return None


def published_type(name: str) -> str | None:
    """The ``model_type`` of a published repository; None for one that is not known, and for a folder."""
    found = published_model(name)
    return found.type if found is not None else None


def _first(tables: tuple[tuple[tuple[str, str], ...], ...], name: str) -> str | None:
    return next((kind for table in tables for pattern, kind in table if re.fullmatch(pattern, name)), None)


def _published(kind: str | None, name: str) -> Published | None:
    if kind is None:
        return None
    stored = next((method for pattern, method in _STORED if re.search(pattern, name)), None)
    family = next((family for of, pattern, family in _FAMILIES if of == kind and re.search(pattern, name)), None)
    rope = next((rope for pattern, rope in _ROPES if kind == "llama" and re.match(pattern, name)), None)
    rope = "default" if kind in _UNSCALED else rope
    return Published(kind, kind not in _WITH_CODE, stored, family, rope, least_parameters(name))
