"""A Slurm of Debian's on this machine, for tools/slurm: a controller and nodes, each with a host name, processes and a
disk of its own, so that slurmd runs there as it does on a machine, and whatever ends a node's first process ends all of
them. Needs root."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

CONFIGURATION = """ClusterName=locus
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.sock
CredType=cred/munge
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/%n/spool
SlurmctldPidFile={home}/c.pid
SlurmdPidFile={home}/%n/d.pid
SlurmctldLogFile={home}/c.log
SlurmdLogFile={home}/%n/d.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
ReturnToService=2
SlurmdTimeout=15
KillWait=10
MinJobAge=1800
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
"""
# Two processors and two GPUs whatever this machine has: config_overrides.
NODE = "NodeName={node} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=8000 Gres=gpu:2 State=UNKNOWN\n"
PARTITIONS = """PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
"""
# What is on the node's disk is found where every node has its own.
FIRST_PROCESS = ('hostname "$1"; mount -t proc proc /proc; mount --bind "$0/$1/disk" "$0/disk"; touch "$0/$1/up"; '
                 "sleep infinity & wait")

started = time.monotonic()


def say(text):
    print(f"slurm: {time.monotonic() - started:5.0f} s  {text}", flush=True)


class Machine:
    """Programs that are started, asked and ended with one environment and a folder for what they print."""

    def __init__(self, home, **environment):
        self.home, self.environment, self.children = home, {**os.environ, **environment}, {}

    def fail(self, text):
        say(f"{text}; logs are in {self.home}")
        sys.exit(1)

    def wait(self, what, ready, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := ready():
                return found
            time.sleep(0.5)
        return self.fail(f"waited {seconds} s in vain until {what}")

    def ask(self, *command, **more):
        """The status of a command and what it prints."""
        done = subprocess.run([str(word) for word in command], env={**self.environment, **more}, capture_output=True,
                              text=True)
        return done.returncode, done.stdout if done.returncode == 0 else done.stderr.strip() or done.stdout.strip()

    def run(self, *command, **more):
        """What a command prints that must not fail."""
        status, said = self.ask(*command, **more)
        return said if status == 0 else self.fail(f"`{' '.join(str(word) for word in command)}`: {said}")

    def start(self, name, *command):
        with open(self.home / f"{name}.out", "ab") as log:
            self.children[name] = subprocess.Popen([str(word) for word in command], env=self.environment, stdout=log,
                                                   stderr=log, start_new_session=True)

    def stop(self, name, number=signal.SIGTERM):
        if child := self.children.pop(name, None):
            child.send_signal(number)
            child.wait()

    def child_of(self, name):
        """The first process that this one has made."""
        pid = self.children[name].pid
        kin = Path(f"/proc/{pid}/task/{pid}/children")
        return int(self.wait(f"{name} has a child", lambda: kin.read_text().split())[0])


class Cluster:
    """NODES: of each node its GPUs, numbers that no other node has."""

    def __init__(self, machine, nodes):
        self.machine, self.home, self.nodes = machine, machine.home, nodes
        machine.environment["SLURM_CONF"] = str(self.home / "slurm.conf")

    def begin(self):
        shutil.rmtree(self.home, ignore_errors=True)
        for folder in ("state", "disk", *(f"{node}/{part}" for node in self.nodes for part in ("spool", "disk"))):
            (self.home / folder).mkdir(parents=True)
        self.home.chmod(0o711)
        self.configure()
        files = [f"--{word}-file={self.home}/munge.{word}" for word in ("key", "pid", "log", "seed")]
        self.machine.run("munged", "--force", f"--socket={self.home}/munge.sock", *files)
        self.begin_controller()
        for node in self.nodes:
            self.power_on(node)
        idle = {"idle"}
        self.machine.wait("every node is idle", lambda: {self.state_of(node) for node in self.nodes} == idle)

    def configure(self):
        holders = [socket.create_server(("127.0.0.1", 0)) for _ in range(1 + len(self.nodes))]
        ports = [holder.getsockname()[1] for holder in holders]
        for holder in holders:
            holder.close()
        text = CONFIGURATION.format(host=socket.gethostname().split(".")[0], port=ports[0], home=self.home)
        text += "".join(NODE.format(node=node, port=port) for node, port in zip(self.nodes, ports[1:]))
        (self.home / "slurm.conf").write_text(text + PARTITIONS)
        (self.home / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        gres = "NodeName={} Name=gpu File={}/gpu[{}-{}]\n"
        (self.home / "gres.conf").write_text("".join(
            gres.format(node, self.home, gpus[0], gpus[-1]) for node, gpus in self.nodes.items()))
        for gpu in sum(self.nodes.values(), ()):
            os.mknod(self.home / f"gpu{gpu}", 0o20600, os.makedev(1, 3))
        (self.home / "munge.key").write_bytes(os.urandom(1024))
        (self.home / "munge.key").chmod(0o600)

    def end(self):
        for node in self.nodes:
            self.cut_power(node)
        self.machine.stop("slurmctld")
        try:
            os.kill(int((self.home / "munge.pid").read_text()), signal.SIGTERM)
        except (OSError, ValueError):
            pass

    # ---- daemons ----
    def begin_controller(self):
        self.machine.start("slurmctld", "slurmctld", "-D")

    def kill_controller(self):
        self.machine.stop("slurmctld", signal.SIGKILL)

    def answers(self):
        return self.machine.ask("squeue")[0] == 0

    def power_on(self, node):
        up = self.home / node / "up"
        up.unlink(missing_ok=True)
        self.machine.start(node, "unshare", "--pid", "--uts", "--mount", "--fork", "--kill-child", "bash", "-euc",
                           FIRST_PROCESS, self.home, node)
        self.machine.wait(f"{node} is up", up.exists)
        self.begin_slurmd(node)

    def cut_power(self, node):
        """Ends every process of the node at once."""
        self.machine.stop(node, signal.SIGKILL)
        if entered := self.machine.children.pop(f"slurmd-{node}", None):
            entered.wait()

    def begin_slurmd(self, node):
        self.machine.start(f"slurmd-{node}", "nsenter", "--target", self.machine.child_of(node), "--pid", "--uts",
                           "--mount", "slurmd", "-D")

    def kill_slurmd(self, node):
        """Ends the daemon; the node's jobs live on."""
        os.kill(self.machine.child_of(f"slurmd-{node}"), signal.SIGKILL)
        self.machine.children.pop(f"slurmd-{node}").wait()

    # ---- what it says ----
    def state_of(self, node):
        status, said = self.machine.ask("sinfo", "--noheader", f"--nodes={node}", "--partition=main", "--format=%T")
        return said.strip() if status == 0 else ""

    def jobs(self, name):
        """Numbers and states of the jobs of a name, those that have ended a while ago left out."""
        lines = self.machine.run("squeue", "--noheader", f"--name={name}", "--format=%i %T").split("\n")
        return dict(line.split() for line in lines if line)

    def facts(self):
        """Of every job that Slurm still knows, by its number."""
        jobs = [dict(word.split("=", 1) for word in line.split() if "=" in word)
                for line in self.machine.run("scontrol", "show", "jobs", "--oneliner").splitlines()]
        return {job["JobId"]: job for job in jobs if "JobId" in job}
