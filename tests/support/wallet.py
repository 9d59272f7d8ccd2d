# SPDX-License-Identifier: Apache-2.0
"""Addresses of a wallet, derived from its extended public key by other means than the product's:
plain arithmetic on the curve, and the definitions of BIP32, BIP84 and bech32."""

import hashlib
import hmac

P = 2**256 - 2**32 - 977
BASE = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
        0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


def add(a, b):
    if a is None or b is None:
        return a or b
    if a[0] == b[0] and (a[1] + b[1]) % P == 0:
        return None
    slope = (3 * a[0] * a[0] * pow(2 * a[1], -1, P) if a == b
             else (b[1] - a[1]) * pow(b[0] - a[0], -1, P)) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def multiply(point, factor):
    total = None
    for bit in bin(factor)[2:]:
        total = add(total, total)
        if bit == "1":
            total = add(total, point)
    return total


def packed(point):
    return bytes([2 + point[1] % 2]) + point[0].to_bytes(32, "big")


def unpacked(data):
    x = int.from_bytes(data[1:], "big")
    y = pow(x**3 + 7, (P + 1) // 4, P)
    return x, y if y % 2 == data[0] % 2 else P - y


def bech32(words):
    def polymod(values):
        check = 1
        for value in values:
            top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
            for place, factor in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD,
                                            0x2A1462B3)):
                check ^= factor if top >> place & 1 else 0
        return check
    check = polymod([3, 3, 0, 2, 3, *words, 0, 0, 0, 0, 0, 0]) ^ 1
    return "bc1" + "".join(BECH32[word] for word in
                           [*words, *(check >> 5 * (5 - i) & 31 for i in range(6))])


class Wallet:
    """A zpub."""

    def __init__(self, text):
        number = 0
        for letter in text:
            number = number * 58 + BASE58.index(letter)
        data = number.to_bytes(82, "big")
        self.key = unpacked(data[45:78]), data[13:45]

    @staticmethod
    def child(key, number):
        point, code = key
        mac = hmac.digest(code, packed(point) + number.to_bytes(4, "big"), "sha512")
        return add(point, multiply(BASE, int.from_bytes(mac[:32], "big"))), mac[32:]

    def address(self, chain, number):
        point, _ = self.child(self.child(self.key, chain), number)
        name = hashlib.new("ripemd160", hashlib.sha256(packed(point)).digest()).digest()
        bits = "".join(f"{byte:08b}" for byte in name)
        return bech32([0, *(int(bits[i:i + 5], 2) for i in range(0, len(bits), 5))])
