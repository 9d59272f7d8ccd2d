# SPDX-License-Identifier: Apache-2.0
"""Directories of UnixFS as blocks, plain or spread over shards; made by another hand than the
product's."""

import base64
import hashlib

WORD = (1 << 64) - 1
FACTORS = 0x87c37b91114253d5, 0x4cf5ad432745937f


def turn(value, bits):
    return (value << bits | value >> (64 - bits)) & WORD


def mix(value):
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        value = (value ^ value >> 33) * factor & WORD
    return value ^ value >> 33


def murmur(data):
    """The first half of murmur3 for 64-bit machines, as eight bytes."""
    def half(at, first):
        part = data[at:at + 8] if first else data[at + 8:at + 16]
        one, two = FACTORS if first else FACTORS[::-1]
        return turn(int.from_bytes(part, "little") * one & WORD, 31 if first else 33) * two & WORD
    a = b = 0
    end = len(data) // 16 * 16
    for at in range(0, end, 16):
        a = ((turn(a ^ half(at, True), 27) + b) * 5 + 0x52dce729) & WORD
        b = ((turn(b ^ half(at, False), 31) + a) * 5 + 0x38495ab5) & WORD
    a, b = a ^ half(end, True) ^ len(data), b ^ half(end, False) ^ len(data)
    a = (a + b) & WORD
    b = (b + a) & WORD
    return ((mix(a) + mix(b)) & WORD).to_bytes(8, "big")


def node(entries, data):
    """The address and the block of a node with these links."""
    links = b""
    for name, cid in entries:
        binary = base64.b32decode(cid[1:].upper() + "=" * (-len(cid[1:]) % 8))
        link = (bytes([0x0a, len(binary)]) + binary + bytes([0x12, len(name)]) + name.encode()
                + b"\x18\x01")
        links += bytes([0x12, len(link)]) + link
    block = links + bytes([0x0a, len(data)]) + data
    binary = bytes([1, 0x70, 0x12, 32]) + hashlib.sha256(block).digest()
    return "b" + base64.b32encode(binary).decode().lower().rstrip("="), block


def folder(entries):
    """The address and the blocks, by address, of a directory."""
    cid, block = node(entries, b"\x08\x01")
    return cid, {cid: block}


def shards(entries, depth=0):
    """The same, spread: who is alone at a place lies there, others in a shard of their own."""
    places, links, blocks = {}, [], {}
    for name, cid in entries:
        places.setdefault(murmur(name.encode())[depth], []).append((name, cid))
    for place, there in sorted(places.items()):
        if len(there) == 1:
            links.append((f"{place:02X}{there[0][0]}", there[0][1]))
        else:
            cid, below = shards(there, depth + 1)
            blocks.update(below)
            links.append((f"{place:02X}", cid))
    cid, block = node(links, b"\x08\x05\x28\x22\x30\x80\x02")
    blocks[cid] = block
    return cid, blocks
