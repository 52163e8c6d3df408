import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import envdoctor.world.gpus as module
from envdoctor.world.gpus import capability_key, find_gpu, parse_gpu, sold_with, vendor

# As written in bug reports, by nvidia-smi and by torch: name, vendor, capability, GiB (None: unknown).
WRITTEN = [
    ("NVIDIA A100-SXM4-80GB", "A100 80GB", "nvidia", "8.0", 80.0),
    ("A100-SXM4-40GB", "A100 40GB", "nvidia", "8.0", 40.0),
    ("A100", "A100", "nvidia", "8.0", None),
    ("8xA100", "A100", "nvidia", "8.0", None),
    ("8x NVIDIA A100-SXM4-80GB", "A100 80GB", "nvidia", "8.0", 80.0),
    ("80 GB A100", "A100 80GB", "nvidia", "8.0", 80.0),
    ("NVIDIA A100 Tensor Core GPU (Ampere)", "A100", "nvidia", "8.0", None),
    ("RTX 3090 x3", "GeForce RTX 3090", "nvidia", "8.6", 24.0),
    ("Tesla V100S-PCIE-32GB", "V100S", "nvidia", "7.0", 32.0),
    ("V100-DGXS-32GB", "V100 32GB", "nvidia", "7.0", 31.72),
    ("RTX A6000 Ada", "RTX 6000 Ada", "nvidia", "8.9", 47.99),
    ("NVIDIA H20-3e", "H20-3e", "nvidia", "9.0", None),
    ("NVIDIA GeForce 940M", "940M", "nvidia", "5.0", None),
    ("NVIDIA L20 48GB", "L20", "nvidia", "8.9", 44.99),
    ("Tesla T4", "T4", "nvidia", "7.5", 15.0),
    ("NVIDIA Tesla T4", "T4", "nvidia", "7.5", 15.0),
    ("NVIDIA GeForce RTX 5090 D", "GeForce RTX 5090 D", "nvidia", "12.0", 32.0),
    ("Tesla V100 32GB", "V100 32GB", "nvidia", "7.0", 31.72),
    ("Tesla V100-PCIE...", "V100", "nvidia", "7.0", None),
    ("4x NVIDIA A800 80GB PCIe", "A800 80GB", "nvidia", "8.0", 80.0),
    ("NVIDIA Tesla P100 16GB", "P100", "nvidia", "6.0", 15.9),
    ("RTX4090", "GeForce RTX 4090", "nvidia", "8.9", 23.99),
    ("NVIDIA GeForce RTX 4090 D", "GeForce RTX 4090 D", "nvidia", "8.9", 24.0),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", "GeForce RTX 4090 Laptop", "nvidia", "8.9", 16.0),
    ("RTX 4090 48GB", "GeForce RTX 4090 48GB", "nvidia", "8.9", 48.0),
    ("A10", "A10", "nvidia", "8.6", 24.0),
    ("L4", "L4", "nvidia", "8.9", 22.49),
    ("L40", "L40", "nvidia", "8.9", 48.0),
    ("NVIDIA H100 80GB HBM3", "H100", "nvidia", "9.0", 79.65),
    ("NVIDIA H100 PCIe", "H100 PCIe", "nvidia", "9.0", 80.0),
    ("NVIDIA H100 NVL", "H100 NVL", "nvidia", "9.0", 94.0),
    ("NVIDIA GH200 480GB", "GH200", "nvidia", "9.0", None),
    ("NVIDIA B300 SXM6 AC", "B300", "nvidia", "10.3", 288.0),
    ("DGX Spark", "GB10", "nvidia", "12.1", 128.0),
    ("RTX A6000", "RTX A6000", "nvidia", "8.6", 47.99),
    ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "nvidia", "8.9", 47.99),
    ("NVIDIA RTX 6000 Ada Gene...", "RTX 6000 Ada", "nvidia", "8.9", 47.99),
    ("Quadro RTX 6000", "Quadro RTX 6000", "nvidia", "7.5", 24.0),
    ("NVIDIA RTX PRO 6000 Blackwell", "RTX PRO 6000 Blackwell", "nvidia", "12.0", 95.59),
    ("NVIDIA GeForce GTX 1050", "GeForce GTX 1050", "nvidia", "6.1", None),
    ("NVIDIA GeForce GTX 1080 with Max-Q Design", "GeForce GTX 1080", "nvidia", "6.1", 8.0),
    ("GTX 1660 SUPER", "GeForce GTX 1660 SUPER", "nvidia", "7.5", None),
    ("A4500", "RTX A4500", "nvidia", "8.6", None),
    ("MX150", "MX150", "nvidia", "6.1", None),
    ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000 Blackwell", "nvidia", "12.0", 95.59),
    ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "A100 40GB (MIG slice)", "nvidia", "8.0", None),
    ("Apple M1 Max (MPS)", "Apple M1 Max", "apple", None, None),
    ("Apple M4", "Apple M4", "apple", None, None),
    ("AMD MI50 (gfx906)", "MI50", "amd", None, None),
    ("AMD Radeon RX 7900 XTX", "Radeon RX 7900 XTX", "amd", None, 24.0),
    ("Ascend 910B", "Ascend 910B", "huawei", None, None),
    ("none (CPU)", "none", "none", None, None),
    ("NVIDIA Pascal (sm_61)", "sm_61", "nvidia", "6.1", None),
    ("sm_86", "sm_86", "nvidia", "8.6", None),
    ("compute capability 8.6, 24 GB", "sm_86 24GB", "nvidia", "8.6", 24.0),
    ("RTX 5090 (sm_120)", "GeForce RTX 5090", "nvidia", "12.0", 31.84),
    ("RTX PRO 6000 Blackwell (compute capability 12.0)", "RTX PRO 6000 Blackwell", "nvidia", "12.0", 95.59),
    ("NVIDIA GeForce RTX 50 series (Blackwell)", "GeForce RTX 50 series", "nvidia", "12.0", None),
    ("RTX 5090 FE", "GeForce RTX 5090", "nvidia", "12.0", 31.84),
    ("ASUS TUF Gaming GeForce RTX 4090 OC 24GB", "GeForce RTX 4090", "nvidia", "8.9", 23.99),
    ("MSI RTX 3060 Ti Ventus LHR", "GeForce RTX 3060 Ti", "nvidia", "8.6", 8.0),
    ("RTX 40xx", "GeForce RTX 40 series", "nvidia", "8.9", None),
    ("2x GTX 10-series 8GB", "GeForce GTX 10 series 8GB", "nvidia", "6.1", 8.0),
    ("Tesla V100-SXM2-32GB (compute capability 7.0)", "V100 32GB", "nvidia", "7.0", 31.72),
]


@pytest.mark.parametrize(("text", "name", "maker", "capability", "memory"), WRITTEN)
def test_what_people_write_for_a_gpu_is_understood(text: str, name: str, maker: str, capability: str | None, memory: float | None) -> None:
    gpu = find_gpu(text)
    assert gpu is not None
    assert (gpu.name, gpu.vendor, gpu.compute_capability, gpu.memory_gib) == (name, maker, capability, memory)
    assert vendor(text) == maker


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "GPU", "Ampere", "Hopper", "NVIDIA GeForce ...", "RTX 6000", "RTX 3090 Turing", "A100X", "RTX 3080 T...",
        "RTX3090/4090 24GB", "GRID T4-16Q", "RTX 9090", "M4", "AMD MI50 (gfx90a)", "24GB", "RTX 4090 Super Duper",
        "RTX 50 series (Ada)", "RTX 5000 series", "50 series", "Pascal (sm_86)", "RTX 5090 (sm_61)", "sm_99", "A100\x00" * 200,
    ],
)  # fmt: skip
def test_a_name_that_is_not_one_product_is_not_guessed(text: str) -> None:
    assert find_gpu(text) is None


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ("NVIDIA GeForce RTX 9090", "nvidia"),
        ("AMD Radeon Something", "amd"),
        ("Intel Arc A770", "intel"),
        ("Ampere", None),
        ("AMD and NVIDIA", None),
    ],
)
def test_a_vendor_named_in_an_unknown_name_is_still_told(text: str, maker: str | None) -> None:
    assert vendor(text) == maker


@pytest.mark.parametrize(
    ("text", "name", "count"),
    [
        ("8xA100", "A100", 8),
        ("8 x A100 (80GB)", "A100 (80GB)", 8),
        ("A100 x8", "A100", 8),
        ("A100 \N{MULTIPLICATION SIGN} 2", "A100", 2),
        ("A100 (x4)", "A100", 4),
        ("2x3090", "3090", 2),
        ("3090x2", "3090", 2),
        ("8 NVIDIA A100", "NVIDIA A100", 8),
        ("RTX 4090 (24)", "RTX 4090 (24)", None),
        ("AMD MI50 gfx906", "AMD MI50 gfx906", None),
        ("A100X", "A100X", None),
        ("80 GB A100", "80 GB A100", None),
        ("0x A100", "0x A100", None),
        ("", "", None),
        ("8x " + "A100 " * 100 + "A100", "8x " + "A100 " * 100 + "A100", None),
    ],
)
def test_a_count_is_told_from_the_name(text: str, name: str, count: int | None) -> None:
    assert parse_gpu(text) == (name, count)


@given(st.text(max_size=300))
def test_any_text_is_answered_without_an_error(text: str) -> None:
    gpu = find_gpu(text)
    assert gpu is None or vendor(text) == gpu.vendor


@given(st.sampled_from([row[0] for row in WRITTEN if row[2] == "nvidia" and parse_gpu(row[0])[1] is None]), st.integers(1, 128))
def test_a_count_in_front_changes_nothing_but_the_count(text: str, count: int) -> None:
    assert parse_gpu(f"{count}x {text}") == (text, count)
    assert find_gpu(f"{count}x {text}") == find_gpu(text)
    assert find_gpu(text.upper()) == find_gpu(text.lower()) == find_gpu(text)


def test_bfloat16_follows_from_the_capability() -> None:
    outcomes = {name: gpu.bf16 for name in ("V100", "T4", "A100", "RTX 3090", "MI300X", "Apple M1") if (gpu := find_gpu(name))}
    assert outcomes == {"V100": False, "T4": False, "A100": True, "RTX 3090": True, "MI300X": True, "Apple M1": None}


def test_where_the_memory_is_from_is_said() -> None:
    found = {text: gpu.memory_from for text in ("L4", "H20", "RTX 2080 Ti 22GB", "V100") if (gpu := find_gpu(text))}
    assert found == {"L4": "nvidia-smi", "H20": "sold", "RTX 2080 Ti 22GB": "stated", "V100": None}


def test_every_product_of_the_table_is_found_by_its_name_and_has_a_source() -> None:
    table = json.loads((Path(module.__file__).parent.parent / "data" / "gpus.json").read_text("utf-8"))
    for row in table["gpus"]:
        gpu = find_gpu(row["name"])
        assert gpu is not None, row
        assert gpu.name == row["name"]
        assert row["sources"]
        assert set(row["sources"]) <= set(table["sources"])
        for other in row.get("also", ()):
            assert getattr(find_gpu(other), "name", None) == row["name"]
        if row["compute_capability"] is not None:
            assert capability_key(row["compute_capability"]) is not None
        for variant in row["memory"]:
            # nvidia-smi never shows more than is sold, and at most a tenth less.
            if {"gib", "smi_mib"} <= set(variant):
                assert 0.9 * variant["gib"] <= variant["smi_mib"] / 1024 <= 1.02 * variant["gib"]
    for source in table["sources"].values():
        assert source["url"] is None or source["url"].startswith("https://")


@pytest.mark.parametrize(("text", "key"), [("8.6", (8, 6)), ("12.0", (12, 0)), ("8", None), ("8.66", None), ("sm_86", None), ("", None)])
def test_a_capability_is_two_numbers(text: str, key: tuple[int, int] | None) -> None:
    assert capability_key(text) == key


@pytest.mark.parametrize(
    ("text", "maker", "gib"),
    [
        ("MI300X", "amd", 192), ("AMD Instinct MI250X", "amd", 64), ("Gaudi 2", "intel", 96),
        ("Intel Gaudi3", "intel", 128),
        ("Habana Gaudi2", "intel", 96), ("M2 Ultra 128GB", "apple", 128), ("Apple M3 Max (64 GB)", "apple", 64),
        ("Apple M1", "apple", None),
        ("Ascend 910B", "huawei", None), ("Huawei Ascend 910B 64GB", "huawei", 64), ("Ascend910B4", "huawei", 32),
        ("Ascend 910B4-1", "huawei", 64),
        ("Ascend910B2", "huawei", None),
    ],
)  # fmt: skip
def test_what_is_not_of_nvidia_has_the_memory_that_its_name_tells(text: str, maker: str, gib: float | None) -> None:
    gpu = find_gpu(text)
    assert gpu is not None
    assert (gpu.vendor, gpu.memory_gib) == (maker, gib)


def test_a_name_that_stands_for_several_sizes_tells_which() -> None:
    assert [sold_with(text) for text in ("Ascend 910B", "MI300X", "nothing known")] == [(32, 64), (192,), ()]
