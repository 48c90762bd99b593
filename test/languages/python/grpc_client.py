"""A grpcio client made from proto/, against a gateway that serves the table of test/contract.

Usage: grpc_client.py HOST:PORT, with the generated modules on PYTHONPATH.
"""

import sys

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from lintel.v1 import chat_pb2, chat_pb2_grpc, image_pb2, image_pb2_grpc

channel = grpc.insecure_channel(sys.argv[1])
chat = chat_pb2_grpc.ChatServiceStub(channel)
images = image_pb2_grpc.TextToImageServiceStub(channel)
ALL = [("authorization", "Bearer all")]
HELLO = [chat_pb2.LLMMessage(role="user", content="Hello")]
TEXT = "Hello, wörld 🌍"


def fails(call):
    """The error that a call must raise."""
    try:
        call()
    except grpc.RpcError as error:
        return error
    raise AssertionError("expected an error")


whole = chat.Complete(chat_pb2.LLMRequest(messages=HELLO), metadata=ALL)
assert whole.choices[0].message.content == TEXT, whole
assert whole.usage.total_tokens == 10

pieces = list(chat.Chat(chat_pb2.LLMRequest(messages=HELLO), metadata=ALL))
assert "".join(p.choices[0].delta.content for p in pieces) == TEXT, pieces
assert pieces[-1].choices[0].finish_reason == "stop"

wrong = fails(
    lambda: chat.Complete(
        chat_pb2.LLMRequest(messages=HELLO, temperature=9, top_p=0), metadata=ALL
    )
)
assert wrong.code() == grpc.StatusCode.INVALID_ARGUMENT, wrong
bad = error_details_pb2.BadRequest()
assert any(d.Unpack(bad) for d in rpc_status.from_call(wrong).details), wrong
assert [v.field for v in bad.field_violations] == ["temperature", "top_p"], bad

stranger = fails(
    lambda: chat.Complete(
        chat_pb2.LLMRequest(messages=HELLO), metadata=[("authorization", "Bearer stranger")]
    )
)
assert stranger.code() == grpc.StatusCode.UNAUTHENTICATED, stranger

half = chat.Chat(chat_pb2.LLMRequest(messages=HELLO, model="half"), metadata=ALL)
got = []
broken = fails(lambda: got.extend(m.choices[0].delta.content for m in half))
assert broken.code() == grpc.StatusCode.INTERNAL, broken

request = image_pb2.TextToImageRequest(prompt="a red circle", seed=7, include_data=True)
events = list(images.StreamTextToImage(request, metadata=ALL))
kinds = [e.WhichOneof("event") for e in events]
assert kinds == ["progress", "progress", "image", "done"], kinds
assert events[2].image.media.data.startswith(b"\x89PNG"), events[2]
assert events[2].image.media.seed == 7
print("ok")
