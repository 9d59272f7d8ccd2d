# SPDX-License-Identifier: Apache-2.0
"""JSON as the library jansson reads it. It is loaded, not linked: its names are ours too."""

import ctypes
import json

DECODE_ANY, ALLOW_NUL = 0x4, 0x10  # of json_loadb()
ENCODE_ANY = 0x200                 # of json_dumps()
ERROR_BYTES = 256                  # struct json_error_t is smaller


class Jansson:
    def __init__(self):
        self.library = ctypes.CDLL("libjansson.so.4")
        self.library.json_loadb.restype = ctypes.c_void_p
        self.library.json_loadb.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t,
                                            ctypes.c_void_p]
        self.library.json_dumps.restype = ctypes.c_void_p
        self.library.json_dumps.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self.library.json_delete.argtypes = [ctypes.c_void_p]
        self.error = ctypes.create_string_buffer(ERROR_BYTES)
        self.free = ctypes.CDLL(None).free
        self.free.argtypes = [ctypes.c_void_p]

    def reads(self, document):
        """(value,) or None. Of members with equal names the last is left."""
        value = self.library.json_loadb(document, len(document), DECODE_ANY | ALLOW_NUL, self.error)
        if value is None:
            return None
        printed = self.library.json_dumps(value, ENCODE_ANY)
        words = ctypes.string_at(printed).decode("utf-8")
        self.free(printed)
        if words not in ("true", "false", "null"):  # those are nobody's
            self.library.json_delete(value)
        return (json.loads(words),)
