"""Names and modules that a distribution gave up, since which release, and what is written in their place.

The releases were read on both sides of each bound, in their wheels (on 2026-11-29): jinja2 3.0.3 and 3.1.0, markupsafe 2.0.1 and 2.1.0,
werkzeug 0.16.1, 1.0.0, 2.3.8 and 3.0.0, itsdangerous 2.0.1 and 2.1.0, scikit-learn 0.19.2, 0.20.0, 0.21.3, 0.22.2.post1 and 0.23.0, scipy
1.2.0, 1.3.0, 1.12.0 and 1.13.0, scikit-image 0.17.2 and 0.18.0, Pillow 6.2.2 and 7.0.0, torch 1.7.1, 1.8.1 and 1.9.0, torchvision 0.4.2,
0.5.0, 0.10.1 and 0.11.0, torchtext 0.8.1 and 0.9.1, transformers 3.5.1 and 4.0.0, pytorch-lightning 1.4.9 and 1.5.0, numpy 1.24.4 and
2.0.2, flask 1.1.4 and 2.0.3. Of the others a page says it, which stands at the name. They are older than what else is known of releases,
or are made as a module runs: no reading of sources tells them.
"""

from __future__ import annotations

import re

from envdoctor.records import dataclass


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A distribution, the first release without a name, what is written in its place, and the release that has it again.

    Not ``pinned``: the releases before are of Pythons that nobody has any more.
    """

    package: str
    since: str
    instead: str
    again: str = ""
    pinned: bool = True


_WINDOWS = (
    "boxcar triang parzen bohman blackman nuttall blackmanharris flattop bartlett barthann hamming kaiser gaussian "
    "general_gaussian chebwin cosine hann exponential tukey"
)
_LOADERS = (
    "Batch BPTTIterator BucketIterator Dataset Example Field Iterator LabelField NestedField Pipeline RawField ReversibleField "
    "TabularDataset"
)
_OF_TF_1 = (
    "ConfigProto GPUOptions GraphKeys InteractiveSession Session all_variables app assign flags get_default_graph get_default_session "
    "get_variable get_variable_scope global_variables global_variables_initializer gfile layers local_variables_initializer log logging "
    "placeholder placeholder_with_default py_func random_normal random_uniform read_file reset_default_graph set_random_seed "
    "trainable_variables truncated_normal_initializer variable_scope"
)
# Module, its names (none: the module itself), the distribution, the first release without them, and what to write.
_ROWS = (
    ("jinja2", "escape Markup", "jinja2", "3.1.0", "from markupsafe import NAME in place of from jinja2; flask asks for it before 2.0"),
    ("jinja2", "contextfunction contextfilter", "jinja2", "3.1.0", "jinja2.pass_context in place of NAME"),
    ("jinja2", "environmentfunction environmentfilter", "jinja2", "3.1.0", "jinja2.pass_environment in place of NAME"),
    ("jinja2", "evalcontextfunction evalcontextfilter", "jinja2", "3.1.0", "jinja2.pass_eval_context in place of NAME"),
    (
        "markupsafe",
        "soft_unicode",
        "markupsafe",
        "2.1.0",
        "jinja2 >=3.0, which does without it; in code of your own soft_str in place of soft_unicode",
    ),
    (
        "werkzeug.urls",
        "url_decode url_encode url_fix url_join url_parse url_quote url_quote_plus url_unparse url_unquote url_unquote_plus",
        "werkzeug",
        "3.0.0",
        "a later flask, where flask asks for it; in code of your own what urllib.parse has of the kind (quote, urlencode, urlparse)",
    ),
    (
        "werkzeug",
        "secure_filename cached_property import_string",
        "werkzeug",
        "1.0.0",
        "from werkzeug.utils import NAME in place of from werkzeug",
    ),
    ("werkzeug", "FileStorage ImmutableMultiDict MultiDict", "werkzeug", "1.0.0", "from werkzeug.datastructures import NAME"),
    ("werkzeug.contrib", "", "werkzeug", "1.0.0", "cachelib in place of werkzeug.contrib.cache, werkzeug.middleware in place of .fixers"),
    ("itsdangerous", "json", "itsdangerous", "2.1.0", "flask >=2.0, which does without it; in code of your own import json"),
    (
        "itsdangerous",
        "JSONWebSignatureSerializer TimedJSONWebSignatureSerializer",
        "itsdangerous",
        "2.1.0",
        "authlib or pyjwt in its place",
    ),
    ("sklearn.cross_validation", "", "scikit-learn", "0.20.0", "sklearn.model_selection in place of sklearn.cross_validation"),
    ("sklearn.grid_search", "", "scikit-learn", "0.20.0", "sklearn.model_selection in place of sklearn.grid_search"),
    (
        "sklearn.externals.joblib",
        "",
        "scikit-learn",
        "0.23.0",
        "pip install joblib, and import joblib in place of sklearn.externals.joblib",
    ),
    ("sklearn.externals.six", "", "scikit-learn", "0.23.0", "pip install six, and import six in place of sklearn.externals.six"),
    (
        "sklearn.utils.linear_assignment_",
        "",
        "scikit-learn",
        "0.23.0",
        "scipy.optimize.linear_sum_assignment, which gives rows and columns apart",
    ),
    ("sklearn.preprocessing", "Imputer", "scikit-learn", "0.22", "from sklearn.impute import SimpleImputer"),
    ("scipy.misc", "imread", "scipy", "1.3.0", "imageio.v2.imread in place of scipy.misc.imread"),
    ("scipy.misc", "imsave", "scipy", "1.3.0", "imageio.imwrite in place of scipy.misc.imsave"),
    (
        "scipy.misc",
        "imresize imrotate toimage fromimage bytescale",
        "scipy",
        "1.3.0",
        "Pillow does that: Image.fromarray(a).resize((width, height))",
    ),
    ("scipy.misc", "comb factorial logsumexp", "scipy", "1.3.0", "from scipy.special import NAME in place of from scipy.misc"),
    ("scipy.signal", _WINDOWS, "scipy", "1.13.0", "scipy.signal.windows.NAME in place of scipy.signal.NAME"),
    ("skimage.measure", "compare_ssim", "scikit-image", "0.18.0", "from skimage.metrics import structural_similarity"),
    ("skimage.measure", "compare_psnr", "scikit-image", "0.18.0", "from skimage.metrics import peak_signal_noise_ratio"),
    ("skimage.measure", "compare_mse", "scikit-image", "0.18.0", "from skimage.metrics import mean_squared_error"),
    ("skimage.measure", "compare_nrmse", "scikit-image", "0.18.0", "from skimage.metrics import normalized_root_mse"),
    ("skimage.measure.simple_metrics", "", "scikit-image", "0.18.0", "skimage.metrics in place of skimage.measure"),
    (
        "PIL",
        "PILLOW_VERSION",
        "pillow",
        "7.0.0",
        "PIL.__version__ in place of PIL.PILLOW_VERSION; a later torchvision, where that asks for it",
    ),
    ("torch", "irfft rfft ifft", "torch", "1.8", "torch.fft.NAME in place of torch.NAME: it takes and gives complex numbers"),
    ("torch._six", "container_abcs", "torch", "1.9.0", "import collections.abc as container_abcs"),
    ("torch.autograd.gradcheck", "zero_gradients", "torch", "1.9.0", "x.grad.zero_() in its place"),
    ("torchvision.models.utils", "", "torchvision", "0.11.0", "from torch.hub import load_state_dict_from_url"),
    (
        "torchtext.data",
        _LOADERS,
        "torchtext",
        "0.9.0",
        "from torchtext.legacy.data import NAME with torchtext 0.9 to 0.11; later releases have neither",
    ),
    ("pytorch_lightning.metrics", "", "pytorch-lightning", "1.5.0", "torchmetrics in place of pytorch_lightning.metrics"),
    # https://zulko.github.io/moviepy/getting_started/updating_to_v2.html
    ("moviepy.editor", "", "moviepy", "2.0", "from moviepy import ... in place of from moviepy.editor import ..."),
    # https://librosa.org/doc-playground/0.7.2/output.html and https://librosa.org/doc-playground/latest/changelog.html
    ("librosa.output", "", "librosa", "0.8.0", "soundfile.write(path, y, sr) in place of librosa.output.write_wav(path, y, sr)"),
    ("librosa.display", "waveplot", "librosa", "0.9.0", "librosa.display.waveshow in place of waveplot"),
)
# What MMCV 2 left to MMEngine: https://mmcv.readthedocs.io/en/latest/compatibility.html.
_OF_MMENGINE = frozenset(
    ("mmcv.runner", "mmcv.parallel", "mmcv.engine", "mmcv.device", "mmcv.fileio", "mmcv.Config", "mmcv.DictAction", "mmcv.utils.Config",
     "mmcv.utils.Registry", "mmcv.utils.build_from_cfg")
)  # fmt: skip
_MMCV = GivenUp(
    "mmcv", "2.0.0", "mmcv 2 left it to mmengine: pip install openmim, then mim install \"mmcv-full<2\" for code of MMCV 1; in MMCV 2's, "
    "mmengine has what is of the kind", pinned=False,
)  # fmt: skip
# https://www.tensorflow.org/guide/migrate
_TF_1 = (
    "tf.compat.v1.NAME in place of tf.NAME, and tf.compat.v1.disable_eager_execution() at the start: tensorflow 1 is of Python 3.7 at the "
    "latest"
)
_CONTRIB = (
    "nothing has all of tf.contrib in tensorflow 2: tf_slim has contrib.slim, tensorflow-addons some layers; tensorflow 1 is of Python 3.7 "
    "at the latest"
)
# The wheels of transformers 3.5.1 and 4.0.0: one module for each part of a model, then a folder for each model.
_MODELS = (
    "albert auto bart bert bert_generation bert_japanese bertweet blenderbot camembert ctrl deberta distilbert dpr electra "
    "encoder_decoder flaubert fsmt funnel gpt2 herbert layoutlm longformer lxmert marian mbart mmbt mobilebert openai pegasus "
    "phobert prophetnet rag reformer retribert roberta squeezebert t5 transfo_xl xlm xlm_prophetnet xlm_roberta xlnet"
)
_FLAT = re.compile(
    rf"transformers\.((?:modeling|tokenization|configuration)_(?:flax_|tf_)?(?:{'|'.join(_MODELS.split())})(?:_fast|_utilities)?)"
)
_TABLE = {
    (f"{module}.{name}" if name else module): GivenUp(package, since, instead.replace("NAME", name))
    for module, names, package, since, instead in _ROWS
    for name in names.split() or ("",)
}
_TABLE["numpy.typeDict"] = GivenUp("numpy", "1.24", "np.sctypeDict in place of np.typeDict")
_TABLE["numpy.long"] = GivenUp("numpy", "1.24", "int in place of np.long, where no C long is meant", again="2.0")
_TABLE |= {f"tensorflow.{name}": GivenUp("tensorflow", "2.0", _TF_1.replace("NAME", name), pinned=False) for name in _OF_TF_1.split()}
_TABLE["tensorflow.contrib"] = GivenUp("tensorflow", "2.0", _CONTRIB, pinned=False)
_FIRST_OF_MODELS = "4.0.0"


def given_up(dotted: str) -> GivenUp | None:
    """What gave up a name, by its module and itself; of a module also where one below it is asked for."""
    if (flat := _FLAT.fullmatch(dotted)) is not None:
        instead = f"from transformers import its classes, without .{flat[1]}: they are given at the top"
        return GivenUp("transformers", _FIRST_OF_MODELS, instead)
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        above = ".".join(parts[:end])
        if above in _OF_MMENGINE:
            return _MMCV
        if (found := _TABLE.get(above)) is not None:
            return found
    return None
