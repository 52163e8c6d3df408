"""Keywords that a package took under two names for some releases before it dropped the old one: the signatures alone do not say that
these are one thing, its own warnings do. Each is proposed only where the releases themselves took both side by side.

Sources are the releases' own messages: trl 0.19.1 (``trl/trainer/sft_config.py``), scikit-learn 1.3 (``_encoders.py``,
``_bagging.py``, ``_weight_boosting.py``, ``calibration.py``), transformers 4.46 (``training_args.py``),
datasets 2.21 (``load.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from envdoctor.atlas.callables import fields_of
from envdoctor.atlas.masks import stretches
from envdoctor.atlas.missing import signature_at, split
from envdoctor.atlas.signatures import names_of
from envdoctor.atlas.volume import Volume

_TOLD: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "trl": {"SFTConfig": {"max_seq_length": "max_length"}},
    "scikit-learn": {
        "OneHotEncoder": {"sparse": "sparse_output"},
        "BaggingClassifier": {"base_estimator": "estimator"},
        "BaggingRegressor": {"base_estimator": "estimator"},
        "AdaBoostClassifier": {"base_estimator": "estimator"},
        "AdaBoostRegressor": {"base_estimator": "estimator"},
        "CalibratedClassifierCV": {"base_estimator": "estimator"},
    },
    "transformers": {"TrainingArguments": {"no_cuda": "use_cpu", "push_to_hub_token": "hub_token"}},
    "datasets": {"load_dataset": {"use_auth_token": "token"}, "load_dataset_builder": {"use_auth_token": "token"}},
}


def known_rename(volume: Volume, name: str, old: str, place: int) -> str | None:
    """What a release calls a keyword, where the package itself said so while it took both."""
    module, first, rest = split(volume, name)
    new = _TOLD.get(volume.name, {}).get(first, {}).get(old) if not rest else None
    if new is None:
        return None
    both = _taking(volume, module, first, old) & _taking(volume, module, first, new)
    now = _taking(volume, module, first, new) & ~_taking(volume, module, first, old)
    return new if both and now >> place & 1 else None


def _taking(volume: Volume, module: str, name: str, keyword: str) -> int:
    """The releases whose signature, or whose own fields, have a keyword."""
    found = fields_of(volume, module, name, keyword)[0]
    for start, end in stretches(volume.provides(module, name).there):
        for place in range(start, end + 1):
            found |= (keyword in names_of(signature_at(volume, module, name, (), place))) << place
    return found
