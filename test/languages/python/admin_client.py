"""A grpcio client of administration, made from proto/.

Usage: admin_client.py HOST:PORT TOKEN, with an administrator's token and the generated modules on PYTHONPATH.
"""

import sys

import grpc
from google.protobuf import duration_pb2
from lintel.admin.v1 import tokens_pb2, tokens_pb2_grpc
from lintel.v1 import chat_pb2, chat_pb2_grpc

address, admin = sys.argv[1:]
channel = grpc.insecure_channel(address)
tokens = tokens_pb2_grpc.TokensServiceStub(channel)
chat = chat_pb2_grpc.ChatServiceStub(channel)
HELLO = [chat_pb2.LLMMessage(role="user", content="Hello")]


def bearer(token):
    return [("authorization", f"Bearer {token}")]


OPS = bearer(admin)


def code(call):
    """The code of an error; OK where there is none."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def asks(secret):
    request = chat_pb2.LLMRequest(model="chat", messages=HELLO)
    return code(lambda: chat.Complete(request, metadata=bearer(secret)))


limits = tokens_pb2.Limits(
    requests_per_minute=tokens_pb2.Limit(amount=60),
    concurrent=tokens_pb2.Limit(unlimited=True),
)
wanted = tokens_pb2.CreateTokenRequest(
    name="alice",
    team="red",
    models=tokens_pb2.ModelNames(names=["chat"]),
    limits=limits,
    expiry=tokens_pb2.Expiry(ttl=duration_pb2.Duration(seconds=3600)),
)
made = tokens.CreateToken(wanted, metadata=OPS)
assert made.token.state == tokens_pb2.STATE_ACTIVE, made
assert made.token.limits == limits, made
assert made.token.HasField("expire_time"), made
assert asks(made.secret) == grpc.StatusCode.OK
again = code(lambda: tokens.CreateToken(wanted, metadata=OPS))
assert again == grpc.StatusCode.ALREADY_EXISTS, again

listed = tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=OPS)
assert list(listed.tokens) == [made.token], listed
stranger = code(
    lambda: tokens.ListTokens(tokens_pb2.ListTokensRequest(), metadata=bearer(made.secret))
)
assert stranger == grpc.StatusCode.UNAUTHENTICATED, stranger

rotated = tokens.RotateToken(tokens_pb2.RotateTokenRequest(token="alice"), metadata=OPS)
assert rotated.token.id == made.token.id, rotated
assert asks(made.secret) == grpc.StatusCode.UNAUTHENTICATED
assert asks(rotated.secret) == grpc.StatusCode.OK

revoked = tokens.RevokeToken(tokens_pb2.RevokeTokenRequest(token="alice"), metadata=OPS)
assert revoked.token.state == tokens_pb2.STATE_REVOKED, revoked
assert asks(rotated.secret) == grpc.StatusCode.UNAUTHENTICATED
gone = code(lambda: tokens.GetToken(tokens_pb2.GetTokenRequest(token="alice"), metadata=OPS))
assert gone == grpc.StatusCode.NOT_FOUND, gone
print("ok")
