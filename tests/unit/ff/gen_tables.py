#!/usr/bin/env python3
"""Writes fr_table.h, fp_table.h and fp12_table.h beside itself: expected results of field operations from
Python's big integers (seed fixed). Run again after changing it; the code under test is not involved."""
import gzip
import json
import os
import random

P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab
R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001
M64 = 1 << 64
HERE = os.path.dirname(os.path.abspath(__file__))
rng = random.Random(381)


def limbs(x, n):
    return "{" + ", ".join("0x%xu" % (x >> 64 * i & (M64 - 1)) for i in range(n)) + "}"


def prime_table(name, m, n):
    big = 1 << (64 * n)
    unmont = pow(big, -1, m)
    edges = [0, 1, 2, m - 1, m - 2, (m - 1) // 2, (m + 1) // 2, big % m, unmont, (m - 1) * unmont % m,
             (2 ** (64 * n - 64) - 1), (2 ** (64 * n - 64) - 1) * unmont % m, (m - 2 ** 64) * unmont % m,
             (m >> 64 * (n - 1) << 64 * (n - 1)) * unmont % m]
    pairs = [(a, b) for a in edges for b in edges]
    pairs += [(rng.randrange(m), rng.randrange(m)) for _ in range(100)]
    with open(os.path.join(HERE, name + "_table.h"), "w") as f:
        f.write("/* Made by gen_tables.py. Canonical limbs, little-endian: a, b, a+b, a-b, a*b, 1/a (0 for 0), a*2^%d (mod). */\n"
                % (64 * n))
        f.write("static const uint64_t %s_rows[][7][%d] = {\n" % (name, n))
        for a, b in pairs:
            vals = [a, b, (a + b) % m, (a - b) % m, a * b % m, pow(a, -1, m) if a else 0, a * big % m]
            f.write("    {" + ",\n     ".join(limbs(v, n) for v in vals) + "},\n")
        f.write("};\n")
        f.write("/* 2^%d, 2^%d mod m; -1/m mod 2^64. */\n" % (64 * n, 128 * n))
        f.write("static const uint64_t %s_r[%d] = %s;\n" % (name, n, limbs(big % m, n)))
        f.write("static const uint64_t %s_r2[%d] = %s;\n" % (name, n, limbs(big * big % m, n)))
        f.write("static const uint64_t %s_modulus[%d] = %s;\n" % (name, n, limbs(m, n)))
        f.write("static const uint64_t %s_ninv = 0x%xu;\n" % (name, -pow(m, -1, M64) % M64))
        if name == "fr":
            f.write("/* 7^((r-1)/2^i), canonical. */\nstatic const uint64_t fr_roots[33][4] = {\n")
            for i in range(33):
                f.write("    " + limbs(pow(7, (m - 1) >> i, m), n) + ",\n")
            f.write("};\n")


# Fp12 as polynomials in w of degree < 6 over Fp2: w^6 = v^3 = 1 + u. Fp2 elements are pairs.
def mul2(a, b):
    return ((a[0] * b[0] - a[1] * b[1]) % P, (a[0] * b[1] + a[1] * b[0]) % P)


def mul12(a, b):
    t = [(0, 0)] * 11
    for i in range(6):
        for j in range(6):
            c = mul2(a[i], b[j])
            t[i + j] = ((t[i + j][0] + c[0]) % P, (t[i + j][1] + c[1]) % P)
    for k in range(10, 5, -1):
        c = mul2(t[k], (1, 1))
        t[k - 6] = ((t[k - 6][0] + c[0]) % P, (t[k - 6][1] + c[1]) % P)
    return t[:6]


ONE12 = [(1, 0)] + [(0, 0)] * 5


def pow12(a, e):
    r = ONE12
    for bit in bin(e)[2:]:
        r = mul12(r, r)
        if bit == "1":
            r = mul12(r, a)
    return r


def flat12(a):
    """Memory order of fp12: c0.c0, c0.c1, c0.c2 (powers w^0, w^2, w^4), then c1 (w^1, w^3, w^5)."""
    order = [0, 2, 4, 1, 3, 5]
    return "{" + ",\n      ".join(limbs(x, 6) for i in order for x in a[i]) + "}"


def fp12_table():
    with open(os.path.join(HERE, "fp12_table.h"), "w") as f:
        f.write("/* Made by gen_tables.py. Canonical, memory order of fp12: a, b, a*b, a^p, a^(p^2), a^(p^3). */\n")
        f.write("static const uint64_t fp12_rows[][6][12][6] = {\n")
        for k in range(3):
            a = [(rng.randrange(P), rng.randrange(P)) for _ in range(6)]
            b = [(rng.randrange(P), rng.randrange(P)) for _ in range(6)]
            if k == 2:
                a = [(P - 1, P - 1)] * 6
                b = [(P - 1, 0), (0, P - 1)] * 3
            f1 = pow12(a, P)
            f2 = pow12(f1, P)
            f3 = pow12(f2, P)
            f.write("    {" + ",\n     ".join(flat12(v) for v in (a, b, mul12(a, b), f1, f2, f3)) + "},\n")
        f.write("};\n")


def encode_table():
    """Replica encoding is the sum in Fr of label and data: rows of the golden vectors, appended to fr_table.h."""
    path = os.path.join(HERE, "..", "..", "golden", "vectors.json.gz")
    rows = json.load(gzip.open(path))["g_primitives"]["labels_and_encode"]
    with open(os.path.join(HERE, "fr_table.h"), "a") as f:
        f.write("/* From golden/vectors.json.gz, labels_and_encode: label, data, encoded; 32 bytes little-endian. */\n")
        f.write("static const uint8_t fr_golden[][3][32] = {\n")
        for row in rows:
            cells = ["{" + ", ".join("0x%02x" % x for x in bytes.fromhex(row[k])) + "}"
                     for k in ("label", "data", "encoded")]
            f.write("    {" + ",\n     ".join(cells) + "},\n")
        f.write("};\n")


prime_table("fr", R, 4)
encode_table()
prime_table("fp", P, 6)
fp12_table()
