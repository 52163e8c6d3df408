"""The model that a script names: a repository on the hub, or a folder."""

from __future__ import annotations

from pathlib import Path

from envdoctor.facts.fact import FactValue
from envdoctor.facts.hub_names import glm_family, may_be_on_the_hub
from envdoctor.facts.local_models import find_named_model
from envdoctor.facts.published_models import model_of_folder
from envdoctor.facts.stored_names import stored_in_name
from envdoctor.sources.scripts.kinds import Known
from envdoctor.sources.scripts.reading import Call, Reading

_KEYWORD = "pretrained_model_name_or_path"
_READS_CONFIG = ("AutoConfig", "PretrainedConfig", "PreTrainedConfig")
_READS_TEXT = ("AutoTokenizer", "AutoProcessor", "AutoImageProcessor", "AutoFeatureExtractor")
# What other libraries load by the name of a repository, through the configuration that transformers reads of it: the keyword, or the first.
# Read in sentence-transformers 5.1.0, langchain-huggingface 1.2.0, llama-index-embeddings-huggingface 0.6.1, optimum 1.27.0 and GPTQModel's
# repository.
_ELSEWHERE = (
    ("sentence_transformers", "SentenceTransformer", "model_name_or_path"),
    ("sentence_transformers", "CrossEncoder", "model_name_or_path"),
    ("langchain_huggingface", "HuggingFaceEmbeddings", "model_name"),
    ("langchain_community", "HuggingFaceEmbeddings", "model_name"),
    ("llama_index", "HuggingFaceEmbedding", "model_name"),
    ("gptqmodel", "load", "model_id_or_path"),
    ("optimum", "from_pretrained", "model_id"),
)
_FACTS = ("model.id", "model.path", "model.type")


def say_model(reading: Reading, call: Call, keyword: str, position: int = 0) -> None:
    """State the model that an argument of a call names."""
    known = reading.value(call, keyword, position)
    if known is None or not isinstance(known.value, str) or may_be_on_the_hub(known.value.strip()):
        if known is None or isinstance(known.value, str):
            line = call.line_of(keyword) if keyword in call.keywords else call.line
            reading.claims.say("model.id", known, line, call.scope, "the model is no constant")
        return
    # A folder: of several loads none is then the model of the run.
    reading.claims.unknown("model.id", call.line, call.scope, "a folder", quiet=True)
    folder = find_named_model(known.value, Path(reading.source.path))
    if folder is not None and not known.default:
        reading.claims.say("model.path", Known(str(folder), known.default, known.line), call.line, call.scope)
    family, published = glm_family(known.value), model_of_folder(known.value)
    said: tuple[tuple[str, FactValue], ...] = ()
    if family is not None:
        said = (("model.family", family), ("model.type", "chatglm"))
    elif published is not None and folder is None:
        said = tuple(published.facts())
    stored = stored_in_name(known.value) if folder is None else None
    if stored is not None and not any(fact == "model.quant_method" for fact, _ in said):
        said = (*said, ("model.quant_method", "bitsandbytes" if stored.endswith("bit") else stored))
    for fact, value in said:
        reading.claims.say(fact, Known(value, known.default, known.line), call.line, call.scope)


def read_other_names(reading: Reading) -> None:
    """The model that a configuration, else a tokenizer is of, where the script loads none."""
    if any(fact in reading.claims.claims for fact in _FACTS):
        return
    loads = [call for call in reading.named("transformers", "from_pretrained") if _gives(call, _KEYWORD, 0)]
    for classes in (_READS_CONFIG, _READS_TEXT):
        found = [call for call in loads if call.name.split(".")[-2] in classes]
        for call in found:
            say_model(reading, call, _KEYWORD)
        if found:
            return
    for package, last, keyword in _ELSEWHERE:
        for call in reading.few([call for call in reading.named(package, last) if _gives(call, keyword, 0)]):
            say_model(reading, call, keyword)


def _gives(call: Call, keyword: str, position: int) -> bool:
    return keyword in call.keywords or position < len(call.node.args)
