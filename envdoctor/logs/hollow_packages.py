"""Packages that are there and have not what is imported from them: releases without their module, builds without their compiled part."""

from __future__ import annotations

# Packages whose release on the package index holds no module of their name: the source distribution of pyairports 0.0.1.
HOLLOW = {"pyairports": "install pyairports from its repository (github.com/ozeliger/pyairports), or outlines >=0.1, which does without"}
# Compiled parts that some builds of a package leave out. https://github.com/XLearning-SCU/2022-CVPR-AirNet/issues/5 and
# https://github.com/open-mmlab/mmdetection/issues/3272, and mmcv's own page on its installation.
UNBUILT = {
    "mmcv._ext": (
        "mmcv is here without its compiled operators: mmcv 1.x is the build without them (mmcv-full has them), in 2.x mmcv-lite is, and "
        "what was built from source without a compiler has none either",
        "pip uninstall mmcv mmcv-lite mmcv-full, then mmcv-full (1.x) or mmcv (2.x) as a wheel for this torch and CUDA: "
        "mim install mmcv-full, mim install mmcv",
    ),
}
