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

weather = chat_pb2.Tool(
    type="function", function=chat_pb2.FunctionTool(name="weather", parameters='{"type":"object"}')
)
asked = chat_pb2.LLMRequest(messages=HELLO, model="calls", tools=[weather])
called = chat.Complete(asked, metadata=ALL).choices[0]
assert called.finish_reason == "tool_calls", called
calls = [(c.id, c.function.arguments) for c in called.message.tool_calls]
assert calls == [("a", '{"city":"Rome"}'), ("b", '{"city":"Oslo"}')], calls
streamed = {}
for piece in chat.Chat(asked, metadata=ALL):
    for c in piece.choices[0].delta.tool_calls:
        streamed[c.index] = streamed.get(c.index, "") + c.function.arguments
assert list(streamed.values()) == [c[1] for c in calls], streamed
asked.messages.append(called.message)
asked.messages.extend(
    chat_pb2.LLMMessage(role="tool", tool_call_id=c[0], content=f"sunny {c[0]} ") for c in calls
)
answer = chat.Complete(asked, metadata=ALL).choices[0].message.content
assert answer == "sunny a sunny b ", answer

request = image_pb2.TextToImageRequest(prompt="a red circle", seed=7, include_data=True)
events = list(images.StreamTextToImage(request, metadata=ALL))
kinds = [e.WhichOneof("event") for e in events]
assert kinds == ["progress", "progress", "image", "done"], kinds
assert events[2].image.media.data.startswith(b"\x89PNG"), events[2]
assert events[2].image.media.seed == 7
print("ok")
