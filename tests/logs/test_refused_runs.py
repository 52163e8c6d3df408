"""Errors that are about the run: what the hub answers, what a configuration has too much, tensors that differ, names without an import."""

from __future__ import annotations

import pytest

from envdoctor.facts.fact import Fact, Facts, Origin
from envdoctor.facts.versions import exact
from envdoctor.logs.demands import read_demands, read_wants
from envdoctor.logs.derived import Derived, derive_findings
from envdoctor.logs.reading import read_log


def derive(text: str, **releases: str) -> tuple[Derived, ...]:
    facts = {f"packages.{name}": Fact(f"packages.{name}", exact(release), Origin("a test")) for name, release in releases.items()}
    return derive_findings(read_log([text.encode()], ()), Facts(facts))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("OSError: You are trying to access a gated repo. 401 Client Error. Access to model acme/m-1 is restricted.", "acme/m-1 is gated"),
        ("HfHubHTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/acme/m/resolve/main/x.json", "refuses acme/m"),
        ("RepositoryNotFoundError: 404 Client Error. https://huggingface.co/api/models/acme/m", "The hub has no acme/m"),
        ("HTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x/y", "too many requests"),
        ("OSError: We couldn't connect to 'https://huggingface.co' to load this file", "was not reached"),
    ],
)
def test_what_the_hub_answered_is_told_with_what_to_do(text: str, told: str) -> None:
    (found,) = derive(text)
    assert found.hit.rule == "error-hub-refuses"
    assert told in found.hit.said


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float", "is Half, the other Float"),
        ("RuntimeError: expected scalar type Float but found Half", "is Float, the other Half"),
        ("RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cpu!", "on cuda:1"),
        (
            "RuntimeError: size mismatch for base_model.model.lm_head.weight: copying a param with shape torch.Size([32003, 8]) from "
            "checkpoint, the shape in current model is torch.Size([32000, 8]).",
            "resize_token_embeddings(32003)",
        ),
    ],
)  # fmt: skip
def test_tensors_that_do_not_go_together_are_told_with_their_numbers(text: str, told: str) -> None:
    (found,) = derive(text)
    assert found.hit.rule == "error-tensors-disagree"
    assert told in found.hit.said


def test_shapes_that_do_not_fit_are_told_where_a_package_brought_them() -> None:
    text = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x7 and 8x2)\n"
    assert derive(text) == ()
    frame = 'Traceback (most recent call last):\n  File "/e/site-packages/timm/layers/mlp.py", line 4, in forward\n    x = self.fc1(x)\n'
    assert "What goes into a layer is 7 wide, and the layer takes 8" in derive(frame + text)[0].hit.said


def test_the_widths_of_two_kinds_of_texts_are_told_by_their_models() -> None:
    (found,) = derive("RuntimeError: mat1 and mat2 shapes cannot be multiplied (154x2048 and 768x320)\n")
    assert "2048 is the width of a text for SDXL, 768 that for Stable Diffusion 1" in found.hit.said


def test_a_weight_that_is_packed_in_4_bits_is_no_width() -> None:
    (found,) = derive("RuntimeError: mat1 and mat2 shapes cannot be multiplied (1536x4096 and 1x8388608)\n")
    assert "packed in 4 bits" in found.hit.said


def test_a_head_of_another_number_of_labels_is_told_as_that() -> None:
    (found,) = derive(
        "RuntimeError: size mismatch for classifier.weight: copying a param with shape torch.Size([1, 768]) from checkpoint, the shape in "
        "current model is torch.Size([111, 768]).\n"
    )
    assert "the checkpoint's head is for 1 labels, and the model was made for 111" in found.hit.said
    assert "num_labels=1" in found.hit.advice


def test_the_frames_tell_whose_tensors_they_were() -> None:
    (found,) = derive(
        'Traceback (most recent call last):\n  File "/e/site-packages/trl/trainer/x.py", line 3, in step\n    y = f(x)\n'
        '  File "/e/site-packages/torch/nn/modules/linear.py", line 125, in forward\n    return F.linear(x)\n'
        "RuntimeError: mat1 and mat2 must have the same dtype, but got Half and Float\n"
    )
    assert found.hit.packages == ("trl",)
    assert "trl.trainer.x, step" in found.hit.said


def test_fields_that_a_configuration_refuses_are_named() -> None:
    (found,) = derive(
        "pydantic_core._pydantic_core.ValidationError: 2 validation errors for TrainSettings\nlearning\n"
        "  Extra inputs are not permitted [type=extra_forbidden, input_value=1, input_type=int]\n"
    )
    assert found.hit.rule == "error-configuration-refused"
    assert "TrainSettings" in found.hit.said
    assert "learning: Extra inputs are not permitted" in found.hit.said


@pytest.mark.parametrize("where", ["is not in struct", "not in 'TrainSettings'"])
def test_a_key_that_a_configuration_does_not_have_is_named(where: str) -> None:
    (found,) = derive(f"omegaconf.errors.ConfigAttributeError: Key 'lora_rankk' {where}\n    full_key: model.lora_rankk\n")
    assert found.hit.rule == "error-configuration-refused"
    assert "no key lora_rankk" in found.hit.said


def test_a_module_that_was_mistyped_is_told_by_its_neighbour_and_a_plural_is_not() -> None:
    (found,) = derive("ModuleNotFoundError: No module named 'lightening'")
    assert found.hit.packages == ("lightning",)
    (plural,) = derive("ModuleNotFoundError: No module named 'transformer'")
    assert (plural.hit.rule, plural.hit.packages, plural.hit.outcome) == ("error-of-own-code", (), None)


def test_a_package_below_a_shared_name_is_not_installed() -> None:
    (found,) = derive("ModuleNotFoundError: No module named 'google.protobuf'")
    assert (found.hit.rule, found.hit.packages) == ("error-package-not-installed", ("protobuf",))


def test_a_module_of_the_projects_own_is_no_packages() -> None:
    own = 'Traceback (most recent call last):\n  File "run.py", line 1, in <module>\n    import acmeproject.trainers\n'
    words = "ModuleNotFoundError: No module named 'acmeproject.trainers'"
    assert [one for one in derive(own + words) if one.hit.rule == "error-module-missing"] == []
    (found,) = derive(own + words.replace("acmeproject", "peft"))
    assert found.hit.rule == "error-module-missing"


def test_for_a_module_that_no_release_has_no_release_is_proposed() -> None:
    (found,) = derive("ModuleNotFoundError: No module named 'transformers.models.acme'", transformers="4.40.0")
    assert found.hit.rule == "error-module-missing"
    assert found.hit.pins == ()


def test_a_library_that_nobody_tracks_is_asked_for_by_its_own_words() -> None:
    (one,) = read_demands("AssertionError: ACMECV==2.2.0 is used but incompatible. Please install acmecv>=2.0.0rc4, <2.2.0.")
    assert (one.package, one.specifier) == ("acmecv", ">=2.0.0rc4,<2.2.0")
    assert read_demands("we need to talk of acmecv>=2.0, please") == ()
    assert read_wants("ImportError: apply_chat_template requires jinja2 to be installed.") == ("jinja2",)
    assert read_wants("importlib.metadata.PackageNotFoundError: No package metadata was found for bitsandbytes") == ("bitsandbytes",)
    assert read_wants("ImportError: the model requires the best library but it was not found") == ()


def test_the_nearest_release_that_meets_a_demand_is_proposed_before_the_newest() -> None:
    (found,) = derive("ImportError: this module requires accelerate>=0.26.0 to run, please upgrade", accelerate="0.20.3")
    assert found.hit.pins == (("accelerate", "==0.26.0"), ("accelerate", ">=0.26.0"))


def test_a_symbol_on_the_next_line_is_read() -> None:
    found = derive("/e/site-packages/acme.cpython-310-x86_64-linux-gnu.so: undefined\n symbol: _ZN3c104cuda9SetDeviceEi\n")
    assert found[0].hit.rule == "error-symbol-undefined"


def test_a_tensor_without_elements_is_what_zero_3_left() -> None:
    """https://github.com/huggingface/transformers/issues/20082"""
    (found,) = derive(
        "RuntimeError: Error(s) in loading state_dict for RobertaModel:\n\tsize mismatch for embeddings.word_embeddings.weight: copying "
        "a param with shape torch.Size([0]) from checkpoint, the shape in current model is torch.Size([50265, 1024])."
    )
    assert found.hit.rule == "snapshot-tensor-empty"
    assert found.hit.detail == "embeddings.word_embeddings.weight has no elements in the checkpoint, [50265, 1024] in the model"
