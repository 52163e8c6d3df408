"""What a version condition cannot say: code that looks, and says which rule holds.

A check of facts alone is judged again for every set of pins that a remedy proposes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from envdoctor.checks import architectures, declared_together, hardware
from envdoctor.checks.hit import Hit

if TYPE_CHECKING:
    from envdoctor.sources.machine.interpreter import Installed

FACT_CHECKS = (*hardware.CHECKS, *architectures.CHECKS, *declared_together.CHECKS)

# The rules that code decides: those of the checks here, those that sources report while they read, and those that only an error's
# numbers tell (out_of_memory).
CHECK_IDS = frozenset(
    (
        "torch-wheel-lacks-gpu-kernels",
        "nvidia-driver-older-than-torch-cuda",
        "cpu-torch-beside-a-gpu",
        "bf16-on-a-gpu-without-it",
        "plan-exceeds-gpu-memory",
        "declared-requirement-unmet",
        "declared-requirement-missing",
        "model-type-unknown-to-transformers",
        "tokenizer-class-unknown-to-transformers",
        "soft-minimum-unmet",
        "extra-requirement-unmet",
        "installed-metadata-broken",
        "installed-duplicate-distribution",
        "installed-leftover-distribution",
        "ignore-expired",
        "input-unreadable",
        "requirement-malformed",
        "requirement-unsatisfiable",
        "requirements-contradict",
        "requirement-refuses-python",
        "requires-python-without-patches",
        "requirements-unresolvable",
        "sources-disagree",
        "gpu-memory-fragmented",
        "gpu-memory-free-yet-refused",
        "gpu-memory-in-use",
        "gpu-memory-held-by-others",
        "one-request-larger-than-the-gpu",
        "snapshot-lfs-pointer",
        "snapshot-safetensors-truncated",
        "snapshot-safetensors-header-invalid",
        "snapshot-shard-missing",
        "snapshot-index-invalid",
        "snapshot-json-invalid",
        "snapshot-tensor-not-in-shard",
        "snapshot-weights-changed",
        "snapshot-code-changed",
        "snapshot-tokenizer-changed",
        "snapshot-generation-defaults-changed",
        "snapshot-config-changed",
        "snapshot-documentation-changed",
        "snapshot-file-changed",
        "snapshot-file-reformatted",
        "snapshot-file-missing",
        "snapshot-file-renamed",
        "snapshot-file-extra",
        "snapshot-file-unreadable",
        "snapshot-file-not-downloaded",
        "snapshot-lock-invalid",
        "snapshot-blob-corrupt",
        "snapshot-download-incomplete",
        "snapshot-download-interrupted",
        "snapshot-edited-since-download",
        "snapshot-pad-id-out-of-range",
        "snapshot-chat-template-unread",
        "snapshot-chat-template-tag-unknown",
        "snapshot-generation-config-unsavable",
        "snapshot-quantization-library-missing",
        "snapshot-quantization-unknown",
        "snapshot-quantized-base-not-trainable",
        "snapshot-adapter-config-invalid",
        "snapshot-adapter-weights-missing",
        "snapshot-adapter-empty",
        "snapshot-adapter-rank-differs",
        "snapshot-adapter-other-base",
        "snapshot-adapter-type-unknown",
        "snapshot-adapter-config-refused",
        "snapshot-token-id-out-of-range",
        "snapshot-eos-not-a-stop",
        "snapshot-turn-end-not-a-stop",
        "snapshot-chat-template-broken",
        "snapshot-chat-templates-differ",
        "snapshot-chat-marker-not-a-token",
        "snapshot-remote-code-missing",
        "snapshot-adapter-field-ignored",
        "snapshot-adapter-beside-model",
        "snapshot-pad-is-eos",
        "snapshot-no-pad-token",
        "snapshot-double-bos",
        "snapshot-code-elsewhere",
        "snapshot-adapter-base-missing",
        "snapshot-shape-not-of-config",
        "snapshot-tensors-missing",
        "snapshot-embedding-rows-not-vocab-size",
        "snapshot-vocabulary-beyond-embedding",
        "snapshot-output-layer-missing",
        "snapshot-tensor-empty",
        "snapshot-pickle-dangerous-import",
        "snapshot-layers-beyond-config",
        "snapshot-added-token-beyond-embedding",
        "snapshot-output-layer-discarded",
        "snapshot-tensor-not-in-index",
        "snapshot-weights-of-another-save",
        "snapshot-tensor-repeated",
        "snapshot-download-unfinished",
        "snapshot-weights-unwritten",
        "snapshot-dtype-not-of-config",
        "snapshot-pickle-unknown-import",
        "snapshot-index-total-size",
        "snapshot-dtypes-mixed",
        "snapshot-weights-pickled",
        "remote-code-import-missing",
        "remote-code-load-member-missing",
        "remote-code-member-missing",
        "remote-code-argument-refused",
        "remote-code-result-changed",
        "remote-code-override-refuses",
        "remote-code-read-before-set",
        "remote-code-base-needs",
        "remote-code-checkpointing-no-op",
        "remote-code-gate-minor-only",
        "snapshot-mixed-revisions",
        "snapshot-code-needs-other-transformers",
    )
)


def installed_hits(installed: Installed) -> tuple[Hit, ...]:
    """What the metadata of an installed stack shows."""
    from envdoctor.checks.requirements import declared
    from envdoctor.checks.soft_minimums import soft_minimums
    from envdoctor.sources.machine.interpreter import marker_environment

    return (*declared(installed, marker_environment(installed)), *soft_minimums(installed))
