"""What a package index says of the builds that it holds: PyTorch's own are sorted by CUDA."""

from __future__ import annotations

import re

from packaging.requirements import Requirement

from envdoctor.facts.fact import Fact, Origin
from envdoctor.facts.values import parse_value
from envdoctor.records import dataclass, field
from envdoctor.sources.declared.declarations import Declarations

_PYTORCH = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/whl/(nightly/|test/)?(cu[0-9]{2,3})?(?:/|$)", re.ASCII)

_OTHER_KIND = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/whl/(?:nightly/|test/)?(cpu|rocm|xpu)", re.ASCII)


def cuda_of_index(url: str) -> str | None:
    """The CUDA of every torch in an index: ``https://download.pytorch.org/whl/cu118`` -> ``11.8``; None for any other."""
    from envdoctor.world.torch_builds import variant_cuda

    match = _PYTORCH.match(url)
    return variant_cuda(match[2]) if match and match[2] else None


def kind_of_index(url: str) -> str | None:
    """What every torch in an index is built for besides CUDA: ``https://download.pytorch.org/whl/cpu`` -> ``cpu``; None for any other."""
    match = _OTHER_KIND.match(url)
    return match[1] if match else None


def is_of_pytorch(url: str) -> bool:
    """Whether an index is PyTorch's own or the public one, which have the same packages besides PyTorch's."""
    return re.match(r"https?://(?:download(?:-r2)?\.pytorch\.org/whl|pypi\.org|pypi\.python\.org)(?:/|$)", url, re.ASCII) is not None


def is_nightly(url: str) -> bool:
    """Whether an index holds PyTorch's nightly builds, which are no releases."""
    match = _PYTORCH.match(url)
    return match is not None and match[1] == "nightly/"


@dataclass(slots=True)
class Indexes:
    """Where packages are taken from, each with its place; ``only`` replaces the public index, ``more`` are asked beside it."""

    only: tuple[str, Origin] | None = None
    more: list[tuple[str, Origin]] = field(default_factory=list)
    none: bool = False

    def _say_onnxruntime(self, declarations: Declarations) -> None:
        """Microsoft's own index has builds of onnxruntime-gpu for another CUDA than the package index's, under the same numbers."""
        own = next((origin for url, origin in filter(None, (self.only, *self.more)) if "onnxruntime-cuda-" in url), None)
        if own is not None:
            declarations.say(Fact("builds", parse_value("builds", ["onnxruntime-gpu+own"]), own))

    def say_cuda(self, torch: Requirement | None, declarations: Declarations) -> None:
        """State the CUDA of the torch that the indexes give, where they leave no choice.

        An index of one CUDA that is the only one leaves none. Of several an installer takes the highest version, and a local
        label counts as higher: ``torch==2.1.2`` becomes ``2.1.2+cu118`` where the table of torch's builds says that there is one.
        """
        self._say_onnxruntime(declarations)
        if (
            (self.only is None and not self.more)
            or torch is None
            or torch.url
            or "+" in str(torch.specifier)
            or self.none
            or self._on_macos(declarations)
        ):
            return
        # A local label counts as higher than none, so that it is taken from a further index too.
        kinds = {kind: origin for url, origin in filter(None, (self.only, *self.more)) if (kind := kind_of_index(url))}
        if len(kinds) == 1 and not any(cuda_of_index(url) for url, _ in filter(None, (self.only, *self.more))):
            ((kind, origin),) = kinds.items()
            declarations.say(Fact("builds", parse_value("builds", [f"torch+{kind}"]), origin))
            return
        if self.only is not None and not self.more:
            cuda = cuda_of_index(self.only[0])
            if cuda is not None:
                declarations.say(Fact("cuda", parse_value("cuda", cuda), self.only[1]))
            return
        found = {cuda: origin for url, origin in filter(None, (self.only, *self.more)) if (cuda := cuda_of_index(url))}
        pin = re.fullmatch(r"==([0-9.]+)", str(torch.specifier))
        if len(found) == 1 and pin is not None:
            from envdoctor.world.torch_builds import variant_cuda, variants

            ((cuda, origin),) = found.items()
            if cuda in map(variant_cuda, variants(pin[1])):
                declarations.say(Fact("cuda", parse_value("cuda", cuda), origin))

    @staticmethod
    def _on_macos(declarations: Declarations) -> bool:
        return declarations.installation.environment()["sys_platform"] == "darwin"
