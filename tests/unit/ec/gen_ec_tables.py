#!/usr/bin/env python3
"""Writes g1_table.h, g2_table.h, pairing_table.h and thirdparty_table.h beside itself. The first three come from textbook
affine arithmetic on Python integers, an independent model of src/ec; the last is tests/golden/thirdparty-porep-2kib.json."""
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))
X = -0xd201000000010000
R = X**4 - X**2 + 1
P = (X - 1)**2 * R // 3 + X


class F2:
    """a + b u, u^2 = -1. Fp is the part with b = 0."""

    def __init__(self, a, b=0):
        self.a, self.b = a % P, b % P

    def __add__(self, o):
        return F2(self.a + o.a, self.b + o.b)

    def __sub__(self, o):
        return F2(self.a - o.a, self.b - o.b)

    def __neg__(self):
        return F2(-self.a, -self.b)

    def __mul__(self, o):
        return F2(self.a * o.a - self.b * o.b, self.a * o.b + self.b * o.a)

    def __eq__(self, o):
        return self.a == o.a and self.b == o.b

    def __pow__(self, e):
        out, base = F2(1), self
        while e:
            out = out * base if e & 1 else out
            base, e = base * base, e >> 1
        return out

    def inv(self):
        n = pow(self.a**2 + self.b**2, -1, P)
        return F2(self.a * n, -self.b * n)


class Curve:
    def __init__(self, name, n_coords, gen, b, order, cofactor_primes):
        self.name, self.n, self.gen, self.b, self.order = name, n_coords, gen, b, order
        self.cofactor_primes = cofactor_primes

    def has(self, pt):
        return pt is None or pt[1] * pt[1] == pt[0] * pt[0] * pt[0] + self.b

    def coords(self, v):
        return [v.a] if self.n == 1 else [v.b, v.a]

    def sqrt(self, v):
        if self.n == 1:
            y = F2(pow(v.a, (P + 1) // 4, P))
        else:  # Adj and Rodriguez-Henriquez, ePrint 2012/685, algorithm 9
            a1 = v**((P - 3) // 4)
            alpha, y = a1 * a1 * v, a1 * v
            y = y * (F2(0, 1) if alpha == F2(-1) else (F2(1) + alpha)**((P - 1) // 2))
        return y if y * y == v else None

    def at(self, x):
        y = self.sqrt(x * x * x + self.b)
        return None if y is None else (x, y)

    def small_x(self, i):
        return F2(i) if self.n == 1 else F2(i, i + 1)

    def unc(self, pt):
        if pt is None:
            return '40' + '00' * (96 * self.n - 1)
        return ''.join('%096x' % c for v in pt for c in self.coords(v))

    def comp(self, pt):
        if pt is None:
            return 'c0' + '00' * (48 * self.n - 1)
        lead = next((c for c in self.coords(pt[1]) if c), 0)
        return with_flags(self.unc(pt)[:96 * self.n], 0xa0 if lead > (P - 1) // 2 else 0x80)


def with_flags(hexes, flags):
    return '%02x' % (int(hexes[:2], 16) | flags) + hexes[2:]


def add(p, q):
    if p is None or q is None:
        return p or q
    if p[0] == q[0]:
        if p[1] == -q[1]:
            return None
        m = F2(3) * p[0] * p[0] * (p[1] + p[1]).inv()
    else:
        m = (q[1] - p[1]) * (q[0] - p[0]).inv()
    x = m * m - p[0] - q[0]
    return (x, m * (p[0] - x) - p[1])


def mul(k, p):
    out = None
    for bit in bin(k)[2:]:
        out = add(out, out)
        out = add(out, p) if bit == '1' else out
    return out


# Generators: zcash/librustzcash, pairing/src/bls12_381/README.md.
G1 = Curve('g1', 1,
           (F2(0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb),
            F2(0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1)),
           F2(4), (X - 1)**2 // 3 * R, (3, 11, 10177, 859267, 52437899))
G2 = Curve('g2', 2,
           (F2(0x024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8,
               0x13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e),
            F2(0x0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801,
               0x0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be)),
           F2(4, 4),
           (X**8 - 4 * X**7 + 5 * X**6 - 4 * X**4 + 6 * X**3 - 4 * X**2 - 4 * X + 13) // 9 * R,
           (13, 23, 2713, 11953, 262069))


def torsion(c, q, start):
    """A point of prime order q dividing the cofactor."""
    e = c.order
    while e % q == 0:
        e //= q
    while True:
        start = c.at(c.small_x(start)) if isinstance(start, int) else start
        t = mul(e, start) if start else None
        while t is not None and mul(q, t) is not None:
            t = mul(q, t)
        if t is not None:
            return t
        start = random.randrange(P)


def y_real_point():
    """A point of the twist whose y has no u part: x a cube root of y^2 - b, taken where the order of that is prime to 3."""
    t = P * P - 1
    while t % 3 == 0:
        t //= 3
    for y in range(1, 1000):
        v = F2(y * y) - G2.b
        if v**t == F2(1):
            return (v**pow(3, -1, t), F2(y))
    raise SystemExit('no such point')


def outside_points(c):
    small = [p for p in (c.at(c.small_x(i)) for i in range(1, 40)) if p and mul(R, p)]
    out = small[:2]
    for q in c.cofactor_primes:
        t = torsion(c, q, 1)
        out += [t, add(t, c.gen)]
    if c.n == 2:
        out.append(y_real_point())
    return out


def bad_x(c, emit, small):
    """Coordinates not below p; those of `small` + p would be aliases of a point."""
    body, half = c.unc(small), 96 * c.n
    limit = [('p', P), ('2^381 - 1', 2**381 - 1)]
    for k in range(2 * c.n):
        own = int(body[96 * k:96 * k + 96], 16)
        top = 2**381 if k == 0 else 2**384
        values = limit + ([('itself + p', own + P)] if own + P < top else []) + ([('2^384 - 1', 2**384 - 1)] if k else [])
        for what, v in values:
            h = body[:96 * k] + '%096x' % v + body[96 * k + 96:]
            want = 'an x coordinate below' if k < c.n else 'a y coordinate below'
            emit('coordinate %d is %s' % (k, what), False, h, want)
            if k < c.n:
                emit('compressed coordinate %d is %s' % (k, what), True, with_flags(h[:half], 0x80), want)


def bad_flags(c, emit):
    """All flag combinations on a point and on zeros; those missing here are right."""
    for what, pt in (('generator', c.gen), ('zeros', None)):
        for top in range(8):
            body = (c.unc(pt) if pt else '00' * 96 * c.n)
            infinity, sign, compressed = top & 2, top & 1, top & 4
            for as_compressed in (True, False):
                h = with_flags(body[:96 * c.n] if as_compressed else body, top << 5)
                if bool(compressed) != as_compressed:
                    want = 'the compressed flag ' + ('set' if as_compressed else 'clear')
                elif infinity:
                    want = 'an infinity without the sign flag' if sign else 'zero bytes in an infinity' if pt else None
                elif sign and not compressed:
                    want = 'no sign flag in an uncompressed point'
                elif not pt:
                    x0 = c.at(F2(0))
                    want = 'a point on the curve' if not compressed else None if x0 else 'the x coordinate of a point'
                else:
                    want = None
                if want:
                    emit('%s with flags %d%d%d' % (what, top >> 2, top >> 1 & 1, top & 1), as_compressed, h, want)


def bad_points(c):
    rows = []

    def emit(what, compressed, h, want):
        rows.append('    {"%s", %s,\n     "%s",\n     "%s"},' % (what, 'true' if compressed else 'false', h, want))

    bad_flags(c, emit)
    bad_x(c, emit, next(p for p in (c.at(c.small_x(i)) for i in range(1, 40)) if p))
    x, y = c.gen
    emit('x of the generator, y + 1', False, c.unc((x, y + F2(1))), 'a point on the curve')
    emit('x + 1, y of the generator', False, c.unc((x + F2(1), y)), 'a point on the curve')
    emit('x and y swapped', False, c.unc((y, x)), 'a point on the curve')
    lost = [c.small_x(i) for i in range(1, 40) if c.at(c.small_x(i)) is None][:3]
    for v in lost:
        for flags in (0x80, 0xa0):
            emit('x without a y', True, with_flags(c.unc((v, v))[:96 * c.n], flags), 'the x coordinate of a point')
    return rows


def write_curve(c):
    rnd = random.Random(20260 + c.n)
    ks = list(range(0, 11)) + [15, 16, 17, 31, 32, 33, 48577, 2**64 - 1, 2**64, 2**128 - 1, X * X, R - 2, R - 1, R, R + 1,
                               2 * R, 2**255, 2**256 - 1, 2**256 - 16, int('f0' * 32, 16), int('0f' * 32, 16)]
    ks += [rnd.getrandbits(256) for _ in range(4)]
    assert c.has(c.gen) and mul(R, c.gen) is None
    out = ['/* Written by gen_ec_tables.py. ZCash encodings, scalars big-endian, all hex. */',
           '/* k, k G uncompressed, k G compressed; the first eleven are k = 0 .. 10 */',
           'static const char *const table_multiples[][3] = {']
    for k in ks:
        p = mul(k % R, c.gen)
        out.append('    {"%064x",\n     "%s",\n     "%s"},' % (k, c.unc(p), c.comp(p)))
    t = torsion(c, c.cofactor_primes[0], 1)
    out += ['};', '/* 0 .. 10 times a point of order %d */' % c.cofactor_primes[0],
            'static const char *const table_torsion[11] = {']
    out += ['    "%s",' % c.unc(mul(k, t)) for k in range(11)]
    out += ['};', '/* points outside the subgroup: uncompressed, compressed, 0x1234567 times it, r times it */',
            'static const char *const table_outside[][4] = {']
    for p in outside_points(c):
        rp = mul(R, p)
        assert c.has(p) and rp is not None
        out.append('    {"%s",\n     "%s",\n     "%s",\n     "%s"},' % (c.unc(p), c.comp(p), c.unc(mul(0x1234567, p)), c.unc(rp)))
    out += ['};', '/* what, compressed?, bytes, what the refusal says */', 'static const struct bad_point {',
            '    const char *what;', '    bool compressed;', '    const char *hex, *want;', '} table_bad[] = {']
    out += bad_points(c) + ['};']
    open(os.path.join(HERE, c.name + '_table.h'), 'w').write('\n'.join(out) + '\n')


# Fp12 = Fp[w]/(w^12 - 2 w^6 + 2), with u = w^6 - 1: the same field as src/ff's tower, built differently.
def f12_mul(a, b):
    t = [0] * 23
    for i, v in enumerate(a):
        if v:
            for j, z in enumerate(b):
                t[i + j] += v * z
    for i in range(22, 11, -1):
        t[i - 6] += 2 * t[i]
        t[i - 12] -= 2 * t[i]
    return [v % P for v in t[:12]]


def f12_pow(a, e):
    out = [1] + [0] * 11
    for bit in bin(e)[2:]:
        out = f12_mul(out, out)
        out = f12_mul(out, a) if bit == '1' else out
    return out


def f12_at(v, k):
    """v w^k for v in Fp2, 0 <= k < 6."""
    out = [0] * 12
    out[k], out[k + 6] = (v.a - v.b) % P, v.b
    return out


def pairing_cubed(p, q):
    """Miller loop of |x| with affine lines through (x / w^2, y / w^3), scaled by w^3; x < 0 inverts the value."""
    f, t = [1] + [0] * 11, q
    px, py = p[0], p[1]

    def line(t, m):  # w^3 yP - m w^2 xP + (m xT - yT)
        rows = [f12_at(py, 3), f12_at(-(m * px), 2), f12_at(m * t[0] - t[1], 0)]
        return [sum(c) % P for c in zip(*rows)]

    for bit in bin(-X)[3:]:
        m = F2(3) * t[0] * t[0] * (t[1] + t[1]).inv()
        f = f12_mul(f12_mul(f, f), line(t, m))
        t = add(t, t)
        if bit == '1':
            m = (q[1] - t[1]) * (q[0] - t[0]).inv()
            f = f12_mul(f, line(t, m))
            t = add(t, q)
    f = f12_pow(f, 3 * ((P**12 - 1) // R))
    f = f12_pow(f, R - 1)
    return [F2(f[k] + f[k + 6], f[k + 6]) for k in range(6)]


def write_pairing():
    out = ['/* Written by gen_ec_tables.py. a, b, then e(a G1, b G2)^3: its coefficients of w^0 .. w^5, each real part then u part. */',
           'static const struct pairing_value {', '    unsigned a, b;', '    const char *coeff[12];', '} table_pairing[] = {']
    for a, b in ((1, 1), (5, 7)):
        cs = [v for z in pairing_cubed(mul(a, G1.gen), mul(b, G2.gen)) for v in (z.a, z.b)]
        out += ['    {%d, %d,' % (a, b), '     {' + ',\n      '.join('"%096x"' % v for v in cs) + '}},']
    out += ['};']
    open(os.path.join(HERE, 'pairing_table.h'), 'w').write('\n'.join(out) + '\n')


def write_thirdparty():
    d = json.load(open(os.path.join(HERE, '../../golden/thirdparty-porep-2kib.json')))['porep_2kib']
    assert d['verify_ok_here'] and not d['tampered_verify_here']
    out = ['/* Written by gen_ec_tables.py from tests/golden/thirdparty-porep-2kib.json (eigerco/polka-storage, Apache-2.0). */',
           'static const char thirdparty_vk[] =\n    "%s";' % d['vk_compressed'],
           'static const char thirdparty_proof[] =\n    "%s";' % d['proof'],
           '/* without ONE; canonical little-endian */',
           'static const char *const thirdparty_inputs[] = {'] + ['    "%s",' % v for v in d['public_inputs']] + ['};']
    open(os.path.join(HERE, 'thirdparty_table.h'), 'w').write('\n'.join(out) + '\n')


write_curve(G1)
write_curve(G2)
write_pairing()
write_thirdparty()
