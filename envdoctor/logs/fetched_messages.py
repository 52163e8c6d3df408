"""Messages of what is fetched and of the files that come of it: the hub, HTTP, certificates, proxies, tokenizers, safetensors.

Wordings as these raise them: https://github.com/huggingface/huggingface_hub (errors.py, file_download.py), https://github.com/huggingface/xet-core,
https://github.com/psf/requests, https://github.com/huggingface/tokenizers, https://github.com/huggingface/safetensors,
https://github.com/huggingface/datasets (load.py), https://github.com/POSTECH-CVLab/FastPointTransformer/issues/8. What they come to is on https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables.
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_AGAIN = "the same command again goes on where it stopped"

FETCHED = (
    StatedMessage(
        r"W&B API: (?:permission denied|project not found)|CommError: (?:permission denied|It appears that you do not have permission)"
        r"|permission denied \(<Response \[403\]>\)",
        "wandb's server does not let this account write to the project that is named",
        "an entity or a project that is somebody else's, as in scripts that were taken over, or the key of another account",
        "wandb.init(entity=...) or WANDB_ENTITY with your own name or left out; wandb login --relogin for another key; WANDB_MODE=offline "
        "or report_to='none' to go on without",
        package="wandb",
    ),
    StatedMessage(
        r"CERTIFICATE_VERIFY_FAILED|certificate verify failed|SSLCertVerificationError",
        "The certificate of the server cannot be verified",
        "a proxy of a company that signs with its own certificate, certificates that are missing (Python on macOS) or too old, or a "
        "clock that "
        "is wrong",
        "REQUESTS_CA_BUNDLE and SSL_CERT_FILE with the file of the company's certificate; pip install -U certifi; on macOS Install "
        "Certificates.command",
    ),
    StatedMessage(
        r"SSLEOFError|UNEXPECTED_EOF_WHILE_READING|EOF occurred in violation of protocol|WRONG_VERSION_NUMBER",
        "The encrypted connection was cut while it was made",
        "a proxy or firewall in between, a proxy that is given as https:// and speaks http, or a network from which that server is not "
        "reached",
        "HTTPS_PROXY=http://HOST:PORT (with http); curl -v of the same address shows where it stops; HF_ENDPOINT with a mirror that is "
        "reached",
    ),
    StatedMessage(
        r"ProxyError|Unable to connect to proxy|Tunnel connection failed: (?P<code>\d{3})",
        "The proxy that is set lets the connection not through: {code}",
        "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY name one that does not run, wants a password, or forbids that host",
        "env | grep -i proxy; unset them where there is none, or correct them; NO_PROXY for hosts inside",
    ),
    StatedMessage(
        r"Missing dependencies for SOCKS support|socksio.{0,40}not installed",
        "A SOCKS proxy is set (ALL_PROXY), and the package that speaks it is not there",
        "",
        "unset ALL_PROXY all_proxy, or pip install pysocks 'httpx[socks]' before",
    ),
    StatedMessage(
        r"offline mode is enabled|OfflineModeIsEnabled",
        "The hub is asked while HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) forbids it, and the file is not in the cache",
        "",
        "unset it once to fetch (hf download MODEL), with the same HF_HOME; or name a local folder",
        given=True,
        package="huggingface-hub",
    ),
    StatedMessage(
        r"CAS service error|xet.{0,80}Reqwest|Data processing error: .{0,80}(?:CAS|Reqwest)",
        "Xet, the hub's storage of large files, refused or broke off the transfer",
        "a network that reaches huggingface.co and not its storage (cas-server.xethub.hf.co), a token without the right, or a passing "
        "fault",
        _AGAIN + "; HF_HUB_DISABLE_XET=1 takes the older way; a mirror (HF_ENDPOINT) may not serve it",
        package="huggingface-hub",
    ),
    StatedMessage(
        r"You don't have the rights to create a model|403 Forbidden: (?P<why>(?!\{)[^\n]{5,160})",
        "The server (the hub, mostly) knows who asks and does not allow it: {why}",
        "a token with fewer rights (read, or for other repositories), or a namespace that is another's",
        "hf auth whoami shows who asks; a token with write access to that namespace; HF_TOKEN in the environment goes before the saved one",
        given=True,
        package="huggingface-hub",
    ),
    StatedMessage(
        r"Invalid token passed|Invalid user token|Token is required|Invalid username or password|401 Client Error: Unauthorized",
        "The server (the hub, mostly) was asked without a token that it takes",
        "none is set here, it was revoked, or it has a line break at its end; the hub answers so for a name that is not there, too",
        "hf auth login (huggingface-cli login), or HF_TOKEN in the environment of the run; hf auth whoami tells whether it is taken",
        given=True,
        package="huggingface-hub",
    ),
    StatedMessage(
        r"(?:429 )?(?:Client Error: )?Too Many Requests|rate limit(?:ed)? (?:exceeded|reached)|RateLimitError",
        "The server was asked too often in a short time and answers no more for now",
        "many processes or files at once, or without a token",
        "wait, log in, fetch once on one process before the others start, fewer workers",
    ),
    StatedMessage(
        r"Read timed out|ReadTimeout(?:Error)?\b|ConnectTimeout(?:Error)?\b|Connection to \S{3,80} timed out|The read operation timed out",
        "The server did not answer in time",
        "a slow or blocked way to it, or its own trouble",
        _AGAIN + "; HF_HUB_DOWNLOAD_TIMEOUT=60 for the hub, pip --default-timeout=100 for pip; HF_ENDPOINT with a mirror that is reached",
    ),
    StatedMessage(
        r"IncompleteRead\(|ChunkedEncodingError|Connection broken|prematurely closed|ContentTooShortError|retrieval incomplete",
        "A transfer broke off before its end",
        "",
        _AGAIN,
    ),
    StatedMessage(
        r"Max retries exceeded with url|NewConnectionError|Failed to establish a new connection|Couldn't reach (?P<what>\S{3,120}"
        r"|'[^']{3,120}')",
        "A server could not be reached: {what}",
        "no network here (a compute node, a container), a firewall or proxy, or a host that is blocked where this runs",
        "curl -I of that address from the same place; fetch beforehand where there is a network, then HF_HUB_OFFLINE=1; HF_ENDPOINT "
        "with a mirror",
    ),
    StatedMessage(
        r"Consistency check failed: file should be of size (?P<want>\d{1,15}) but has size (?P<got>\d{1,15})",
        "A fetched file has {got} bytes and should have {want}",
        "the transfer broke off, a proxy gave a page in its place, or the disk is full",
        "df -h; then the same again with force_download=True (hf download --force-download)",
        package="huggingface-hub",
    ),
    StatedMessage(
        r"Dataset '?(?P<name>[^'\s]{2,120})'? doesn't exist on the Hub",
        "The hub has no data set {name} that this account may see",
        "a mistyped name, one that is private or gated, or a local folder that is not there",
        "open huggingface.co/datasets/{name}; hf auth login for a private or gated one; for files of one's own load_dataset('json', "
        "data_files=...)",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"Couldn't find (?:a dataset script at (?P<place>\S{3,300})|any data file at (?P<other>\S{3,300}))",
        "There is no data set at {place}{other}",
        "a path that is seen from another folder, an empty folder, or an id of the hub that was taken for a path",
        "ls it; load_dataset('json', data_files='FILE') for one file, load_from_disk for what save_to_disk wrote",
        given=True,
        package="datasets",
    ),
    StatedMessage(
        r"BuilderConfig '?(?P<name>[^'\s]{1,80})'? not found\. Available: (?P<have>\[[^\]]{1,200}\]?)",
        "The data set has no configuration {name}; it has {have}",
        "",
        "load_dataset(NAME, one of these)",
        given=True,
        package="datasets",
    ),
    # https://github.com/allenai/open-instruct/issues/738 (0.19.1, a newer file), https://github.com/huggingface/transformers/issues/30382
    StatedMessage(
        r"data did not match any variant of untagged enum (?P<what>\w{3,40})",
        "tokenizer.json has a form that this tokenizers does not read ({what})",
        "mostly a newer tokenizers wrote it (the form grew with 0.20); releases have also refused what older ones took",
        "pip install -U tokenizers transformers; or tokenizer.json in the state of an older commit of the model's repository",
        package="tokenizers",
    ),
    StatedMessage(
        r"AddedVocabulary bad split|Non-consecutive added token",
        "The tokens that were added to the tokenizer do not fit its vocabulary",
        "tokenizer.json, added_tokens.json and the vocabulary are of different states, or tokens were added twice",
        "take all files of the tokenizer from one source; after edits load it once with use_fast=False and save it anew",
        package="tokenizers",
    ),
    StatedMessage(
        r"PanicException|thread '[^']{0,40}' (?:\(\d+\) )?panicked at",
        "Compiled code of a package in Rust (tokenizers, safetensors, polars, xet) stopped where it had not expected it",
        "a file that it reads has another form than it takes for granted, or is cut",
        "the words behind 'panicked at' name the source; fetch the file again, and a later release of that package",
        sure=False,
    ),
    StatedMessage(
        r"can't convert negative int to unsigned|can't convert negative value to unsigned",
        "A negative number is given where only others are taken: mostly a token id that is to be turned into text",
        "labels with -100, or the -1 of a padding, are handed to decode",
        "np.where(ids < 0, tokenizer.pad_token_id, ids) before batch_decode",
    ),
    StatedMessage(
        r"InvalidTensorView|TensorInvalidInfo|MetadataIncompleteBuffer|InvalidHeader(?:Deserialization|Length|Start)?\b|HeaderTooLarge"
        r"|HeaderTooSmall"
        r"|IncompleteMetadata",
        "The safetensors file is cut, or is none: what its head promises is not there",
        "a download or a save that broke off, a full disk, a pointer of git-lfs, or a file of torch.save by that name",
        "its size against that on the hub; fetch it again (hf download MODEL --force-download), or save it again with room on the disk",
        package="safetensors",
    ),
    StatedMessage(
        r"safetensors (?:archive|file).{0,200}does not contain the valid metadata",
        "The safetensors file does not say by which framework it was saved, and transformers wants that",
        "safetensors.torch.save_file without metadata writes none",
        "save_file(weights, path, metadata={{'format': 'pt'}}), or model.save_pretrained",
        package="transformers",
    ),
    StatedMessage(
        r"File(?: \S{1,200})? does not contain tensor (?P<name>\S{3,160})",
        "The safetensors file has no tensor {name}, which its index or the program expects there",
        "the index (model.safetensors.index.json) and the shards are of different states, or names differ (a merged, wrapped or tied "
        "weight)",
        "fetch all shards and the index anew; save the model once with save_pretrained",
        package="safetensors",
    ),
    StatedMessage(
        r"[Tt]oken indices sequence length is longer than the specified maximum sequence length for this model \((?P<got>\d{1,8}) > "
        r"(?P<want>\d{1,8})\)",
        "A row has {got} tokens and the tokenizer names {want} as the model's most: a warning, until the row reaches the model",
        "",
        "truncation=True with max_length, or pieces; where rows are cut later, it harms nothing",
        sure=False,
        package="transformers",
    ),
    StatedMessage(
        r"current process just got forked, after parallelism has already been used",
        "tokenizers turns its threads off in a process that was forked: a warning that harms nothing but speed",
        "",
        "TOKENIZERS_PARALLELISM=false (or true) ends it; look for another error",
        sure=False,
        package="tokenizers",
    ),
    StatedMessage(
        r"expected str, bytes or os\.PathLike object, not NoneType|stat: path should be string, bytes, os\.PathLike or integer, not "
        r"NoneType",
        "A file that is to be opened has no name: None stands where a path should",
        "a file of the tokenizer or model that is not in the folder (vocab, merges, tokenizer.model, qwen.tiktoken), or a setting that "
        "is not set",
        "compare the folder with the model's files on the hub and fetch what is missing; else the argument of the last line of one's own",
        sure=False,
    ),
    StatedMessage(
        r"[Cc]onfig file at '(?P<file>[^']{3,300})' is not a valid JSON file",
        "{file} is not JSON",
        "a download that broke off, a pointer of git-lfs, a page of a proxy or a mirror, or an edit",
        "look into it, and fetch it again; python -m json.tool FILE names the place",
        given=True,
    ),
    # https://github.com/matterport/Mask_RCNN/issues/653
    StatedMessage(
        r"truncated file: eof = (?P<got>\d{1,15}), .{0,60}stored_eof = (?P<want>\d{1,15})",
        "The HDF5 file is cut: it has {got} bytes of {want}",
        "a download that broke off stays in the cache, and is taken from there again",
        "remove it (in the cache too: ~/.keras, ~/.cache) and fetch it again",
        given=True,
    ),
    StatedMessage(
        r"file signature not found",
        "The file is no HDF5 file",
        "a pointer of git-lfs, a page of HTML, a cut download, or weights in another format (SavedModel, .keras, safetensors)",
        "look at its first bytes (head -c 200) and its size; fetch it again",
        given=True,
    ),
)
