"""Factors products of two primes by continued fractions, after Morrison and Brillhart: a great many whole numbers of
one to three words, each on the heap.  Argument: how many products."""
import sys
from itertools import pairwise
from math import gcd, isqrt, prod


def primes(least, most):
    return [n for n in range(least, most) if all(n % i for i in range(2, isqrt(n) + 1))]


def exponents(n, base):
    """Those of the base's primes in n, or None if something is left."""
    found = []
    for p in base:
        power = 0
        while n % p == 0:
            n //= p
            power += 1
        found.append(power)
    return found if n == 1 else None


def squares(n, base):
    """Numbers whose squares are, modulo n, products of -1 and of the base's primes; and the exponents of these."""
    root = isqrt(n)
    p, q, before, now, step = 0, 1, 1, root, 0
    quotient = root
    while True:
        p = quotient * q - p
        q = (n - p * p) // q
        step += 1
        if found := exponents(q, base):
            yield now, [step % 2, *found]
        quotient = (root + p) // q
        before, now = now, (quotient * now + before) % n


def factors(n, most):
    base = [p for p in primes(2, most) if p == 2 or pow(n, (p - 1) // 2, p) in (0, 1)]
    rows, kept = {}, []  # rows: by the highest odd exponent, the odd ones as bits, and which of `kept` it is made of
    for square in squares(n, base):
        kept.append(square)
        odd, which = sum((power & 1) << i for i, power in enumerate(square[1])), 1 << len(kept) - 1
        while odd.bit_length() in rows:
            odd, which = (a ^ b for a, b in zip((odd, which), rows[odd.bit_length()], strict=True))
        if odd:
            rows[odd.bit_length()] = odd, which
            continue
        chosen = [square for i, square in enumerate(kept) if which >> i & 1]
        root = prod(p ** (sum(powers[i + 1] for _, powers in chosen) // 2) for i, p in enumerate(base))
        if 1 < (found := gcd(prod(number for number, _ in chosen) - root, n)) < n:
            yield found


for p, q in list(pairwise(primes(10**8, 10**8 + 10**4)))[: int(sys.argv[1])]:
    assert p * 10007 * q % next(factors(p * 10007 * q, 200)) == 0
