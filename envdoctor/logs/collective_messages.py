"""Messages of processes that train together: NCCL, gloo, the rendezvous, process groups and the launcher.

What NCCL_DEBUG prints is in https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html. The threads beside each kind
came to what stands here: https://github.com/NVIDIA/nccl/issues/207 (an address that is not reached), /issues/293 (a port),
https://github.com/NVIDIA/nccl/issues/342 (a container's shared memory), https://github.com/wenet-e2e/wenet/issues/1891 (a
link-local address).
"""

from __future__ import annotations

from envdoctor.logs.stated_message import StatedMessage

_FIRST = "the first error of any process is the cause: read the logs of all of them"

COLLECTIVES = (
    StatedMessage(
        r"NCCL error.{0,200}invalid (?:usage|argument)|ncclInvalid(?:Usage|Argument)",
        "NCCL was called in a way that it refuses",
        "most often two processes use one GPU; else a tensor of another size or type on one of the ranks",
        "torch.cuda.set_device(local_rank) before the first use, and no more processes than GPUs; NCCL_DEBUG=WARN prints the reason",
        package="torch",
    ),
    StatedMessage(
        r"(?i)(?:error|fail|unable|no space).{0,120}[/]dev/shm/nccl-\S{1,20}|[/]dev/shm/nccl-\S{1,20}.{0,80}(?i:fail|no space)",
        "NCCL could not make its segment in shared memory (/dev/shm)",
        "mostly there is no room left: Docker gives a container 64 MB unless it is told otherwise",
        "docker run --shm-size=8g or --ipc=host; in Kubernetes an emptyDir of medium Memory at /dev/shm; df -h /dev/shm shows what is "
        "there",
    ),
    StatedMessage(
        r"NCCL WARN(?!.{0,120}ibv_).{0,160}(?:Network is unreachable|No route to host|Connection timed out)",
        "NCCL on this node does not reach the address that the other one gave",
        "it took an interface that the other node does not see (an address that begins with fe80, docker0, a virtual one), or a firewall "
        "stands between them",
        "NCCL_SOCKET_IFNAME with the interface of the nodes' own network (ip addr lists them), on every node, and its ports open",
    ),
    StatedMessage(
        r"NET/IB\W{1,4}Got completion.{0,80}(?:error|status=?) ?12\b",
        "A transfer over InfiniBand or RoCE was repeated and never answered (error 12)",
        "the process over there ended, or a link, a switch or the GID index of RoCE is wrong",
        "look for another rank's error first; NCCL_IB_DISABLE=1 shows whether it is the network; NCCL_IB_GID_INDEX for RoCE, ibstat for "
        "links",
    ),
    StatedMessage(
        r"[Mm]ismatched collective|[Dd]etected mismatch between collectives",
        "The processes do not call the same collective operation at the same time",
        "code that one rank alone runs (a reduce, a save or an evaluation under if rank == 0), rows that run out on one of them, or models "
        "that differ",
        "compare the operations that the message names for both ranks; TORCH_DISTRIBUTED_DEBUG=DETAIL checks every call",
    ),
    StatedMessage(
        r"Some NCCL operations have failed or timed out",
        "A collective operation failed or did not end in time, and torch ends the process so that nothing wrong is computed on",
        "one process ended, waits, or does other work than the rest, or the network between them broke",
        _FIRST + "; TORCH_NCCL_DUMP_ON_TIMEOUT=1 with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 writes down what each was about to do",
    ),
    StatedMessage(
        r"NCCL WARN Cuda failure (?:\d{1,4} )?'(?P<why>[^']{3,120})'",
        "A call of CUDA failed inside NCCL: {why}",
        "",
        "treat it as an error of CUDA by these words; the GPUs that the ranks use, the driver and the GPU's memory are the first to "
        "look at",
    ),
    StatedMessage(
        r"gloo.{0,120}Connection closed by peer|Connection closed by peer \[",
        "Another process of the run closed its connection, which it does when it ends",
        "",
        _FIRST,
    ),
    StatedMessage(
        r"connection to the C10d store has failed|client socket has (?:failed to connect|timed out after)|failed to recv, got 0 bytes"
        r"|sendBytes failed|Stop_waiting response is expected",
        "A process does not reach the store of the run (the first process, at MASTER_ADDR and MASTER_PORT), or it ended",
        "another address or port than the first process took, a name that only some nodes resolve, a firewall, or an error of the first "
        "process",
        "nc -vz MASTER_ADDR MASTER_PORT from the other node; the same address and port on all, and the first process's own log",
    ),
    StatedMessage(
        r"[Dd]efault process group (?:has not been|is not) initialized",
        "The code is for several processes, and none were joined",
        "it was started with python and not with torchrun, or it asks before init_process_group",
        "start it with torchrun --nproc_per_node=1 (accelerate launch), or init_process_group before that line",
    ),
    StatedMessage(
        r"Tensors must be (?:CUDA|on a GPU) and dense",
        "NCCL moves dense tensors on GPUs alone, and this one is on the CPU or sparse",
        "",
        "move it to the GPU before (tensor.cuda()), or init_process_group('cpu:gloo,cuda:nccl'), which serves both",
        package="torch",
    ),
    StatedMessage(
        r"No backend type associated with device type (?P<device>\w{2,10})",
        "The process group has no backend for tensors on {device}",
        "NCCL serves CUDA alone; weights or states that were offloaded, or a tensor that was made there, are to be exchanged",
        "init_process_group('cpu:gloo,cuda:nccl'), or the tensors on the GPU",
        package="torch",
    ),
    StatedMessage(
        r"Timed out initializing process group in store based barrier|Timed out waiting for clients"
        r"|\b(?P<came>\d{1,4})/(?!(?P=came)\b)\d{1,4} clients joined",
        "Not all processes came to the start of the run in time",
        "one failed before it came there, a node was not started, or they were told different numbers of processes (WORLD_SIZE, --nnodes)",
        "the logs of those that are missing; the same --nnodes, --nproc_per_node and address on every node",
    ),
    # https://github.com/snowflakedb/ArcticTraining/issues/219, https://github.com/om-ai-lab/VLM-R1/issues/257
    StatedMessage(
        r"watchdog got stuck for (?P<for>\d{1,6}) seconds without making progress",
        "The thread that watches NCCL did not come back from a call for {for} seconds, and torch ends the process",
        "a process hangs: another one ended or waits elsewhere, or a call into CUDA does not return",
        _FIRST + "; py-spy dump --pid of each process shows where it waits; TORCH_NCCL_ENABLE_MONITORING=0 only where it is sure to be "
        "slow and not stuck",
        package="torch",
    ),
    StatedMessage(
        r"got signal: 1\b|Signals\.SIGHUP",
        "The launcher was told to hang up (SIGHUP), and ends its processes then",
        "mostly the terminal or the connection from which it was started was closed",
        "tmux or screen for the session, or a scheduler; nohup alone does not keep torchrun from it in every release",
    ),
    StatedMessage(
        r"got signal: 15\b|Signals\.SIGTERM|Received 15 death signal|Received SIGTERM",
        "The run was told to end from outside (SIGTERM)",
        "a scheduler at its time limit, a person, or the launcher of another node after an error there",
        _FIRST + ", and what the scheduler says of the job",
        sure=False,
    ),
    StatedMessage(
        r"errno: 97 - Address family not supported by protocol",
        "The machine has no IPv6, and torch goes on with IPv4: a warning that harms nothing by itself",
        "",
        "look for another error; the run did not end for this one",
        sure=False,
    ),
)
