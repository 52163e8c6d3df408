"""What a package does to a class from outside of it, which the class itself does not show: attributes it sets, constructors it replaces."""

from __future__ import annotations

from envdoctor.atlas.missing import split
from envdoctor.atlas.volume import Volume
from envdoctor.facts.versions import exact, version_condition

# What `self.trainer.NAME = ...` sets in pytorch_lightning/trainer/connectors and loops: wheels 1.9.5, 2.0.9 and 2.5.5, where `Trainer`
# itself has none of these in its body.
_OF_LIGHTNINGS_TRAINER = frozenset(
    ("accumulate_grad_batches", "accumulation_scheduler", "auto_lr_find", "auto_scale_batch_size", "callbacks",
     "check_val_every_n_epoch", "ckpt_path", "datamodule", "fast_dev_run", "limit_predict_batches", "limit_test_batches",
     "limit_train_batches", "limit_val_batches", "log_every_n_steps", "logger", "loggers", "move_metrics_to_cpu", "num_sanity_val_steps",
     "overfit_batches", "predict_dataloaders", "profiler", "reload_dataloaders_every_n_epochs", "should_stop", "state", "test_dataloaders",
     "train_dataloader", "training", "val_check_batch", "val_check_interval", "val_dataloaders", "validating")
)  # fmt: skip
_LIGHTNING = frozenset(("lightning", "pytorch-lightning"))
# ValidatedTransformMeta of albumentations/core/validation.py puts a constructor in the place of a transform's own, which drops what that
# does not take with a warning: in 1.4.4, 1.4.10 and 2.0.8, not in 1.4.2 (1.4.3 was not read).
_DROPS = {"albumentations": version_condition(">=1.4.3")}


def is_set_from_outside(volume: Volume, name: str) -> bool:
    """Whether an attribute, ``module:Class.name``, is one that other code of the package sets on the object."""
    _, first, rest = split(volume, name)
    return volume.name in _LIGHTNING and first == "Trainer" and bool(rest) and rest[0] in _OF_LIGHTNINGS_TRAINER


def drops_what_it_does_not_take(package: str, release: str, name: str) -> bool:
    """Whether a call of a class, ``module:Class``, leaves out the keywords that its constructor has not."""
    dropping = _DROPS.get(package)
    return dropping is not None and name.rpartition(":")[2].rpartition(".")[2][:1].isupper() and dropping.admits(exact(release))
