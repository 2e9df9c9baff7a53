#!/usr/bin/env python3
"""Writes fp12_frob_table.c beside itself: (1 + u)^(i (p^k - 1)/6) in Montgomery form."""
import os

P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab


def mul2(a, b):
    return ((a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P)


def pow2(a, e):
    r = (1, 0)
    while e:
        if e & 1:
            r = mul2(r, a)
        a = mul2(a, a)
        e >>= 1
    return r


def limbs(x):
    x = (x << 384) % P
    ls = ["0x%016xu" % (x >> 64 * i & (2**64 - 1)) for i in range(6)]
    return "{{" + ", ".join(ls[:3]) + ",\n            " + ", ".join(ls[3:]) + "}}"


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fp12_frob_table.c"), "w") as f:
    f.write('/* Made by gen_frob_table.py. */\n#include "ff/fp12_frob.h"\n\nconst fp2 fp12_frob_table[3][5] = {\n')
    for k in (1, 2, 3):
        f.write("    {\n")
        for i in range(1, 6):
            c = pow2((1, 1), i * (P**k - 1) // 6)
            f.write("        {" + limbs(c[0]) + ",\n         " + limbs(c[1]) + "},\n")
        f.write("    },\n")
    f.write("};\n")
