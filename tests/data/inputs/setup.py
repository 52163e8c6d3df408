from setuptools import find_packages, setup

COMMON = ["torch>=2.0", "transformers>=4.31"]
EXTRAS = {"train": ["peft>=0.5", "trl"], "deepspeed": ["deepspeed==0.10.0"]}
EXTRAS["all"] = EXTRAS["train"] + EXTRAS["deepspeed"]

setup(
    name="tuner",
    version="0.1",
    packages=find_packages("src"),
    python_requires=">=3.8",
    install_requires=COMMON + ["datasets"],
    extras_require=EXTRAS,
)
