"""The commands that tests/faults/run executes with faults, and the files that they read.

All inputs are small, so that a command takes milliseconds and makes at most a few thousand calls that can fail.
"""

import os

# A capsule, of which the first launches can be replayed.
CAPSULE = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli", "capsule", "program.capsule"),
           "--launch", "0..2"]

# PTX with debug information, for which `fathom run` prints a launch file.
TYPED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels", "spaces", "typed_params.ptx")

# The recording of a small measurement of a real device, and the description that it gives.
CONTRIBUTION = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay", "opencl", "neoverse" + end)
                for end in (".json", ".zst")]

KERNEL = """.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 out, .param .f32 factor)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<5>;
    .reg .f32 %f<4>;
    .shared .align 4 .b8 tile[128];
    ld.param.u64 %rd1, [out];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r3, %r1, 32, %r2;
    mul.wide.u32 %rd2, %r3, 4;
    add.u64 %rd3, %rd1, %rd2;
    ld.global.f32 %f2, [%rd3];
    mul.f32 %f3, %f2, %f1;
    mov.u32 %r4, tile;
    st.shared.f32 [%r4], %f3;
    bar.sync 0;
    st.global.f32 [%rd3], %f3;
    ret;
}
"""

LAUNCH = """{"schema": "fathom-launch/1", "ptx": "k.ptx", "sizes": {"N": 2},
 "buffers": {"out": "f32[32*N]=iota"},
 "launches": [{"for": "t", "from": 0, "to": 2, "launches": [
   {"kernel": "scale", "grid": "N", "block": 32, "args": ["out", "f32:2"]}]}],
 "expect": [{"buffer": "out", "sum": 8064, "moment": 5460, "relative": 1e-6}]}
"""

# The kernel scales the 128 bytes of a tensor map, which it takes as an address.
MAPS = """{"schema": "fathom-launch/1", "ptx": "k.ptx", "buffers": {"out": "f32[64]=iota", "a": "f16[64]=random"},
 "launches": [
   {"grid": 1, "block": 32, "args": [{"tensormap": "a", "sizes": [8, 8], "box": [8, 8]}, ["bytes:0000", "f16:2"]]},
   {"grid": 2, "block": 32, "cluster": 2, "args": ["out", "f32:2"]}]}
"""

# A GPU with one SM and small caches, which is simulated quickly.
TINY = """{
  "schema": "fathom-gpu/1",
  "device": {"name": "Tiny", "sms": 1, "compute_capability": "3.0", "clock_mhz": 1000},
  "elements": {
    "l1": {"size_bytes": 8192, "line_bytes": 128, "sets": 16, "ways": 4, "latency_cycles": 30, "policy": "lru"},
    "l2": {"size_bytes": 65536, "line_bytes": 32, "latency_cycles": 200,
           "unknown": {"sets": "not measured"}, "of_a_later_version": {"a": [1, 2.5]}},
    "memory": {"size_bytes": 1073741824, "latency_cycles": {"value": 400, "source": "measured", "samples": 5,
                                                            "confidence": 0.9, "low": 390, "high": 410}}
  }
}
"""

STUDY = """{"schema": "fathom-exploration/1", "studies": [
  {"name": "ways", "traces": ["launch.json scale"], "set": {"gpu.sms": "1"}, "vary": {"l1.ways": ["2", "4"]}}]}
"""

TEXTS = {"k.ptx": KERNEL, "launch.json": LAUNCH, "maps.json": MAPS, "tiny.json": TINY, "study.json": STUDY}

MODEL = ["--gpu", "@tiny.json", "--threads", "1"]
POINTS = ["--gpu", "none", "--set", "gpu.sms=1", "--vary", "l1.ways=2,4", "--threads", "1"]
PTX = ["@k.ptx", "-g", "2", "-b", "32", "-a", "ptr:f32[64]=iota", "-a", "f32:2"]

# Commands that make further inputs: (the file that they write, their arguments). "@NAME" is the path of an input.
MADE = [
    ("pack.tar.zst", ["gpus", "--contribute", CONTRIBUTION[0], "--recording", CONTRIBUTION[1], "-o", "OUT"]),
    ("topo.rec", ["topo", "--device", "sim:@tiny.json", "--only", "l1", "--record", "OUT"]),
    ("tiny-topo.json", ["topo", "--device", "replay:@topo.rec", "--only", "l1", "--json", "-o", "OUT"]),
    ("dissect.rec", ["dissect", "l1", "--device", "sim:@tiny.json", "--record", "OUT"]),
    ("series.csv", ["dissect", "l1", "--device", "replay:@dissect.rec", "--series", "OUT"]),
    ("bench.rec", ["bench", "scaling", "link", "--device", "sim:@tiny.json", "--record", "OUT"]),
    ("bench.json", ["bench", "scaling", "link", "--device", "replay:@bench.rec", "--json", "-o", "OUT"]),
    ("k.trace", ["trace", "@launch.json", "-o", "OUT"]),
    ("k.txt", ["trace", "@k.trace", "--dump"]),
    ("model.json", ["model", "@k.trace", *MODEL, "--curve", "--json", "-o", "OUT"]),
    ("points.jsonl", ["explore", "@k.trace", *POINTS, "-o", "OUT"]),
    ("points.json", ["explore", "@k.trace", *POINTS, "--json"]),
    ("part.1", ["explore", "@k.trace", *POINTS, "--shard", "1/2", "-o", "@part.%r"]),
    ("part.2", ["explore", "@k.trace", *POINTS, "--shard", "2/2", "-o", "@part.%r"]),
    ("prints.rec", ["fingerprint", "enroll", "one", "--runs", "2", "--device", "sim:@tiny.json", "--store", "unused.db",
                    "--record", "OUT"]),
    ("prints.db", ["fingerprint", "enroll", "one", "--runs", "2", "--device", "replay:@prints.rec", "--store", "OUT"]),
    ("prints.json", ["fingerprint", "export", "--store", "@prints.db", "-o", "OUT"]),
]

# Commands that show the results that they have computed before the failure.
SHOWS_PARTS = ["explore", "explore --file"]

REPLAY = ["--device", "replay:@topo.rec", "--only", "l1"]

# The commands: (name, with "cuda" if a stand-in for NVIDIA's driver is needed (that for OpenCL is always there); arguments; files that are copied from the
# inputs before; files that may be incomplete afterwards and that the same command completes when it runs again).
CASES = [
    ("help", ["help"], [], []),
    ("help topo", ["help", "topo"], [], []),
    ("help --man", ["help", "--man"], [], []),
    ("--version", ["--version"], [], []),
    ("no such command", ["tpoo"], [], []),
    ("completion bash", ["completion", "bash"], [], []),
    ("completion zsh", ["completion", "zsh"], [], []),
    ("completion fish", ["completion", "fish"], [], []),
    ("devices", ["devices"], [], []),
    ("devices cuda", ["devices", "--json"], [], []),
    ("bench opencl", ["bench", "latency", "--device", "opencl:0", "--format", "csv"], [], []),
    ("gpus", ["gpus"], [], []),
    ("gpus NAME", ["gpus", "gt740m"], [], []),
    ("gpus FILE --json", ["gpus", "@tiny.json", "--json"], [], []),
    ("gpus --contribute", ["gpus", "--contribute", CONTRIBUTION[0], "--recording", CONTRIBUTION[1], "-o", "new.tar.zst"], [],
     ["new.tar.zst"]),
    ("gpus --check", ["gpus", "--check", "@pack.tar.zst"], [], []),
    ("topo sim", ["topo", "--device", "sim:@tiny.json", "--only", "memory"], [], []),
    ("topo sim --record", ["topo", "--device", "sim:@tiny.json", "--only", "shared", "--json", "--record", "r.rec"], [],
     ["r.rec"]),
    ("topo replay", ["topo", *REPLAY], [], []),
    ("topo replay --json", ["topo", *REPLAY, "--json", "-o", "out.json"], [], []),
    ("topo replay hwloc", ["topo", *REPLAY, "--format", "hwloc"], [], []),
    ("topo replay mt4g", ["topo", *REPLAY, "--format", "mt4g"], [], []),
    ("topo replay accel-sim", ["topo", *REPLAY, "--format", "accel-sim"], [], []),
    ("topo replay gem5", ["topo", *REPLAY, "--format", "gem5"], [], []),
    ("topo replay csv", ["topo", *REPLAY, "--format", "csv"], [], []),
    ("dissect", ["dissect", "l1", "--device", "replay:@dissect.rec"], [], []),
    ("dissect --json", ["dissect", "l1", "--device", "replay:@dissect.rec", "--json"], [], []),
    ("dissect --series", ["dissect", "l1", "--device", "replay:@dissect.rec", "--series", "s.csv"], [], []),
    ("bench link sim", ["bench", "link", "--device", "sim:@tiny.json"], [], []),
    ("bench replay", ["bench", "scaling", "link", "--device", "replay:@bench.rec", "--json"], [], []),
    ("compare", ["compare", "@tiny.json", "gt740m"], [], []),
    ("compare --json", ["compare", "@tiny.json", "@tiny-topo.json", "--json"], [], []),
    # Files, and not a folder: a file of a folder that cannot be read is listed, and does not end the command.
    ("fleet judge", ["fleet", "judge", "@tiny.json", "@tiny-topo.json", "--format", "prometheus"], [], []),
    ("fleet collect", ["fleet", "collect", "@tiny.json", "-o", "part.jsonl.zst"], [], []),
    ("fleet reference", ["fleet", "reference", "@tiny.json", "@tiny-topo.json", "-o", "ref.json"], [], []),
    ("report", ["report", "@tiny.json", "@bench.json", "@model.json", "@points.jsonl", "@points.json", "@series.csv",
                "@topo.rec", "-o", "page.html"], [], []),
    ("report over a page", ["report", "@tiny.json", "-o", "tiny.json"], ["tiny.json"], []),
    ("fingerprint enroll", ["fingerprint", "enroll", "two", "--runs", "2", "--device", "replay:@prints.rec", "--store",
                            "prints.db"], ["prints.db"], []),
    ("fingerprint new store", ["fingerprint", "import", "@prints.json", "--store", "new.db"], [], ["new.db"]),
    ("fingerprint identify", ["fingerprint", "identify", "--runs", "2", "--device", "replay:@prints.rec", "--store",
                              "@prints.db"], [], []),
    ("fingerprint list", ["fingerprint", "list", "--store", "@prints.db"], [], []),
    ("fingerprint forget", ["fingerprint", "forget", "one", "--store", "prints.db"], ["prints.db"], []),
    ("fingerprint export", ["fingerprint", "export", "--store", "@prints.db", "-o", "e.json"], [], []),
    ("run PTX", ["run", *PTX], [], []),
    ("run launch file", ["run", "@launch.json", "--verify"], [], []),
    ("run without arguments", ["run", TYPED], [], []),
    ("run --check-async", ["run", "@maps.json", "--check-async", "--copy-order", "random"], [], []),
    ("run --save", ["run", "@maps.json", "--save", "."], [], ["out.bin", "a.bin"]),
    ("run tensor maps cuda", ["run", "@maps.json", "--on", "cuda:0"], [], []),
    ("run --on sim", ["run", *PTX, "--on", "sim:@tiny.json"], [], []),
    ("run --on cuda", ["run", *PTX, "--on", "cuda:0"], [], []),
    ("run CAPSULE", ["run", *CAPSULE, "--verify"], [], []),
    ("run CAPSULE --parameters", ["run", *CAPSULE, "--parameters", "--format", "json"], [], []),
    ("trace", ["trace", "@launch.json"], [], []),
    ("trace CAPSULE", ["trace", *CAPSULE, "-o", "k.trace"], [], []),
    ("trace -o", ["trace", *PTX, "-o", "k.trace"], [], []),
    ("trace TRACE", ["trace", "@k.trace", "--lines", "--json"], [], []),
    ("trace text", ["trace", "@k.txt", "-o", "k.trace"], [], []),
    ("model", ["model", "@launch.json", *MODEL], [], []),
    ("model 2 threads", ["model", "@k.trace", "--gpu", "@tiny.json", "--set", "gpu.sms=2", "--threads", "2"], [], []),
    ("model --lines", ["model", "@k.trace", *MODEL, "--lines", "--launches", "--json"], [], []),
    ("model --profile", ["model", "@k.trace", *MODEL, "--profile"], [], []),
    ("model --curve", ["model", "@k.trace", *MODEL, "--curve"], [], []),
    ("model --parameters", ["model", "--parameters", "--gpu", "@tiny.json"], [], []),
    ("explore", ["explore", "@launch.json", *POINTS], [], []),
    ("explore -o", ["explore", "@k.trace", *POINTS, "-o", "points.jsonl"], [], ["points.jsonl"]),
    ("explore 2 threads", ["explore", "@k.trace", *POINTS[:-1], "2", "--l1-off", "-o", "points.jsonl"], [],
     ["points.jsonl"]),
    ("explore resumed", ["explore", "@k.trace", *POINTS, "-o", "part.%r", "--shard", "1/2"], ["part.1"], ["part.1"]),
    ("explore --file", ["explore", "--file", "@study.json", "--threads", "1", "--format", "csv"], [], []),
    ("merge", ["merge", "@part.1", "@part.2", "-o", "all.jsonl"], [], []),
    ("merge shown", ["merge", "@part.1", "@part.2", "--json"], [], []),
]

# Commands that take long, and benches whose recordings take seconds of CPU time to make. They are only tested with --all.
SLOW_BENCHES = ["banks", "shared", "latency", "arith", "atomics", "global", "stream"]
SLOW_MADE = [(f"{name}.rec", ["bench", name, "--device", "sim:@tiny.json", "--record", "OUT"]) for name in SLOW_BENCHES]
SLOW_CASES = [("topo cuda", ["topo", "--device", "cuda:0", "--only", "memory"], [], [])]
SLOW_CASES += [(f"bench {name}", ["bench", name, "--device", f"replay:@{name}.rec"], [], []) for name in SLOW_BENCHES]
