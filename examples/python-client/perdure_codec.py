"""The codec of sealed payloads, for Temporal's Python SDK: the embedded server of Perdure, and servers
with PERDURE_CODEC_KEYS. It needs `temporalio` and `cryptography`."""

import base64
import dataclasses
import json
import os
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    ActivitySerializationContext,
    DataConverter,
    PayloadCodec,
    WithSerializationContext,
)

SEALED = b"binary/encrypted"
ENCODINGS = [b"json/plain", b"binary/null", b"binary/plain"]


def key_file() -> Path:
    data = os.environ.get("PERDURE_DATA") or Path.home() / ".local/share/perdure"
    return Path(os.environ.get("PERDURE_CODEC_KEYS") or Path(data) / "payload-keys.json")


class SealingCodec(PayloadCodec, WithSerializationContext):
    """AES-256-GCM, bound to the session. What nobody with the key sealed for it is read as a text that says so."""

    def __init__(self, keys: dict, place: bytes = b"") -> None:
        self.keys, self.place = keys, place

    def with_context(self, context):
        kind = "activity" if isinstance(context, ActivitySerializationContext) else "workflow"
        activity = getattr(context, "activity_id", None) or ""
        place = [kind, context.namespace, getattr(context, "workflow_id", None) or "", activity]
        return SealingCodec(self.keys, json.dumps(place, separators=(",", ":"), ensure_ascii=False).encode())

    async def encode(self, payloads):
        return [self.seal(payload) for payload in payloads]

    async def decode(self, payloads):
        return [self.open(payload) for payload in payloads]

    def seal(self, payload: Payload) -> Payload:
        name = self.keys["active"]
        text = bytes([ENCODINGS.index(payload.metadata["encoding"])]) + payload.data
        nonce = os.urandom(12)
        sealed = AESGCM(self.keys[name]).encrypt(nonce, text, self.place)
        head = b"\x01" + bytes.fromhex(name) + nonce + sealed[-16:]
        # A codec server, which isn't told where a payload was found, opens it at the place that is named.
        named = {"perdure-place": self.place} if self.place else {}
        return Payload(metadata={"encoding": SEALED, **named}, data=head + sealed[:-16])

    def open(self, payload: Payload) -> Payload:
        data = payload.data
        key = self.keys.get(data[1:5].hex())
        if payload.metadata.get("encoding") != SEALED or data[:1] != b"\x01" or key is None:
            return self.unreadable()
        try:
            text = AESGCM(key).decrypt(data[5:17], data[33:] + data[17:33], self.place)
        except InvalidTag:
            return self.unreadable()
        return Payload(metadata={"encoding": ENCODINGS[text[0]]}, data=text[1:])

    @staticmethod
    def unreadable() -> Payload:
        return Payload(metadata={"encoding": ENCODINGS[0]}, data=b'"not sealed with a key that is here"')


def sealing_converter() -> DataConverter:
    """The data converter for `Client.connect`, with the keys of this machine's Perdure."""
    file = json.loads(key_file().read_text())
    keys = {key["id"]: base64.b64decode(key["key"]) for key in file["keys"]}
    codec = SealingCodec({**keys, "active": file["active"]})
    return dataclasses.replace(DataConverter.default, payload_codec=codec)
