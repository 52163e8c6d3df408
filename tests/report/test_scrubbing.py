"""What leaves a machine says nothing of whose it is: thirty secrets are planted, and none comes out."""

from __future__ import annotations

import pytest

from envdoctor.report.scrubbing import Known, scrub
from tests.each import each

KNOWN = Known(("mallory", "trainbox-7"), ("plain-but-secret",))
# A text as it may stand in a log or a fact, and the part of it that must be gone.
PLANTED = [
    ("Loading /home/alice/secret-project/train.py", "alice"),
    ('File "/mnt/nas/acme/run.py", line 3', "acme"),
    ("cache in ~/.cache/huggingface/token", "huggingface/token"),
    ("~bob/data", "bob"),
    (r"C:\Users\Carol\project\train.py failed", "Carol"),
    (r"\\fileserver\share\models\x", "fileserver"),
    ("file:///home/dave/x.json", "dave"),
    ("../customer-acme/data.jsonl", "customer-acme"),
    ("data/customer-acme/train.jsonl", "customer-acme"),
    ("$HOME/private/notes.txt", "private/notes"),
    ("hf_abcdefghijklmnopqrstuvwxyz0123456789", "hf_abcdef"),
    ("OPENAI sk-proj-abcdefghij0123456789ABCDEFGHIJ", "abcdefghij0123456789"),
    ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_"),
    ("github_pat_11ABCDEFG0123456789_abcdefghij", "11ABCDEFG"),
    ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "SyA1234567890"),
    ("xoxb-123456789012-abcdefghijkl", "123456789012"),
    ("glpat-abcdefghij0123456789", "abcdefghij0123"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh", "eyJhbGci"),
    ("Authorization: Bearer abcdef0123456789abcdef", "abcdef0123456789"),
    ("wandb login 0123456789abcdef0123456789abcdef01234567", "0123456789abcdef"),
    ("password=hunter2", "hunter2"),
    ("db_password: 'tr0ub4dor'", "tr0ub4dor"),
    ("--hub_token=short-one", "short-one"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXkt\n-----END OPENSSH PRIVATE KEY-----", "b3BlbnNzaC1rZXkt"),
    ("postgres://eve:pw@db.acme.internal:5432/x", "acme"),
    ("https://artifactory.acme.com/api/pypi/simple", "acme"),
    ("index https://user:pa55@pypi.org/simple", "pa55"),
    ("connect to 10.17.3.4:29500", "10.17.3.4"),
    ("fe80::1ff:fe23:4567:890a is down", "fe80"),
    ("00:1B:44:11:3A:B7", "3A:B7"),
    ("node gpu-17.cluster.acme.local", "acme"),
    ("ip-10-0-12-34 lost", "10-0-12-34"),
    ("frank@acme.com", "frank"),
    ("[rank0]: mallory on trainbox-7", "mallory"),
    ("[rank0]: mallory on trainbox-7", "trainbox"),
    ("secret key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
    ("value is plain-but-secret here", "plain-but-secret"),
]
KEPT = [
    "torch==2.5.1+cu124",
    "nvidia-cudnn-cu12==8.9.2.26",
    "nvidia-cudnn-cu12 8.9.2.26",
    "peft 0.14.0 requires transformers>=4.45, and transformers 4.42.0 is stated",
    "meta-llama/Llama-3.1-8B-Instruct, revision 0e9e39f249a1 (llama)",
    "peft/auto.py:32",
    "transformers.models.llama.modeling_llama has no LlamaFlashAttention2",
    "driver: 550.54.14, cuda: 12.4, glibc: 2.35",
    "NVIDIA H100 80GB HBM3 x8",
    "c10::cuda::SetDevice(int)",
    "see https://github.com/huggingface/peft/issues/1568",
    "plan: method = lora, load_dtype = bfloat16, batch_size = 4",
    "error-name-missing (peft:transformers.EncoderDecoderCache)",
    "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so",
]


def test_at_least_thirty_secrets_are_planted() -> None:
    assert len(PLANTED) >= 30


@each(("text", "secret"), PLANTED)
def test_a_planted_secret_does_not_come_out(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in scrub(text, KNOWN)
    assert secret not in scrub(f"before {text} after\n{text}", KNOWN)


@each("text", KEPT)
def test_what_an_issue_needs_stays(text: str) -> None:
    assert scrub(text, KNOWN) == text


def test_of_an_installed_file_the_part_that_all_have_stays() -> None:
    assert scrub("/home/alice/venv/lib/python3.10/site-packages/peft/auto.py:32") == "<path>/site-packages/peft/auto.py:32"


@pytest.mark.large
@pytest.mark.parametrize("text", ["a" * 20_000, "/" * 10_000, "1." * 10_000, ":" * 10_000, "eyJ" * 5_000])
def test_no_text_keeps_it_busy(text: str) -> None:
    assert len(scrub(text)) <= len(text) + 100
