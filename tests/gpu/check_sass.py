#!/usr/bin/env python3
"""Check the machine code of device kernels against limits that speed depends on.

Usage: check_sass.py CUOBJDUMP PROBE_OBJECT KERNEL_OBJECT...
PROBE_OBJECT has one product per kernel (sass_probe.cu): wide multiplications are counted. KERNEL_OBJECTs hold
the kernels of src/gpu: local memory and code sizes are bounded. Exits with 77 without cuobjdump.
"""
import re
import shutil
import subprocess
import sys

# Wide products of the algorithms (gpu_chain.cuh, gpu_fr.cuh): each is one IMAD.WIDE, or one IMAD.HI where only
# the high half is used. A low and a high multiplication in place of one wide one would double the time.
WIDE = {"k_probe_fp_mul": 288, "k_probe_fr_mul": 128, "k_probe_fr_mul_fixed": 86}
SLACK_WIDE = 6  # addresses of the probe's operands and results
# All instructions of a probe, loads and stores included, with some room.
TOTAL = {"k_probe_fp_mul": 430, "k_probe_fr_mul": 230, "k_probe_fr_mul_fixed": 190}
# Bytes of code up to which passes of transforms run from the instruction cache (about 128 KiB on an H200).
CODE_MAX = 110 << 10
# Kernels that run for most of a proof, by a part of their name -> bytes of stack frame allowed.
HOT = {"k_ntt_down": 32, "k_ntt_up": 32, "k_shape_eval": 64}


def run(tool, *args):
    return subprocess.run([tool, *args], check=True, capture_output=True, text=True).stdout


def functions(tool, obj):
    """name -> (opcodes, bytes of code)"""
    out, name = {}, None
    for line in run(tool, "-sass", obj).splitlines():
        m = re.match(r"\s*Function : (\S+)", line)
        if m:
            name = m.group(1)
            out[name] = ([], 0)
            continue
        m = re.match(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)", line)
        if m and name:
            out[name] = (out[name][0], int(m.group(1), 16) + 16)
            out[name][0].append(m.group(2))
    return out


def stacks(tool, obj):
    """name -> bytes of stack frame"""
    text = run(tool, "-res-usage", obj)
    return {n: int(s) for n, s in re.findall(r"Function (\S+):\s*\n.*?STACK:(\d+)", text)}


def main():
    tool, probe, kernels = sys.argv[1], sys.argv[2], sys.argv[3:]
    if not shutil.which(tool):
        print("skipped: no cuobjdump")
        return 77
    bad = []
    probes = functions(tool, probe)
    for name, want in WIDE.items():
        ops = probes[name][0]
        n = sum(op.startswith(("IMAD.WIDE", "IMAD.HI")) for op in ops)
        n_all = sum(op != "NOP" for op in ops)
        print(f"{name}: {n} wide products, {n_all} instructions")
        if not want <= n <= want + SLACK_WIDE:
            bad.append(f"{name}: {n} wide products, want {want} and up to {SLACK_WIDE} more")
        if n_all > TOTAL[name]:
            bad.append(f"{name}: {n_all} instructions, at most {TOTAL[name]}")
    for obj in kernels:
        stack = stacks(tool, obj)
        for name, (_, size) in functions(tool, obj).items():
            hot = [limit for part, limit in HOT.items() if part in name]
            if not hot:
                continue
            print(f"{name}: {size} bytes of code, {stack[name]} of stack")
            if stack[name] > hot[0]:
                bad.append(f"{name}: {stack[name]} bytes of stack, at most {hot[0]}")
            if size > CODE_MAX:
                bad.append(f"{name}: {size} bytes of code, at most {CODE_MAX}")
    for line in bad:
        print("FAILED:", line)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
