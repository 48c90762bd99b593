"""The Python SDKs, unmodified, against a gateway that serves the table of test/contract.

Usage: rest_clients.py BASE_URL. Exits with 0 if everything is as expected.
"""

import sys

import openai
from google import genai
from google.genai import errors as genai_errors
from google.genai import types
from livepeer_ai import Livepeer
from livepeer_ai.models import errors

BASE = sys.argv[1]
HELLO = [{"role": "user", "content": "Hello"}]
TEXT = "Hello, wörld 🌍"


def raises(kind, call):
    """The error that a call must raise."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"expected {kind}")


def openai_sdk():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="all", max_retries=0)
    whole = client.chat.completions.create(model="chat-1", messages=HELLO)
    assert whole.choices[0].message.content == TEXT, whole
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage.total_tokens == 10

    chunks = list(client.chat.completions.create(model="chat-1", messages=HELLO, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == TEXT, chunks
    assert chunks[-1].choices[0].finish_reason == "stop"

    counted = list(
        client.chat.completions.create(
            model="chat-1", messages=HELLO, stream=True, stream_options={"include_usage": True}
        )
    )
    assert counted[-1].choices == [] and counted[-1].usage.total_tokens == 10, counted[-1]

    half = client.chat.completions.create(model="half", messages=HELLO, stream=True)
    raises(openai.APIError, lambda: list(half))

    wrong = raises(
        openai.UnprocessableEntityError,
        lambda: client.chat.completions.create(model="chat-1", messages=HELLO, temperature=9),
    )
    assert "temperature" in str(wrong), wrong
    stranger = openai.OpenAI(base_url=f"{BASE}/v1", api_key="stranger", max_retries=0)
    raises(
        openai.AuthenticationError,
        lambda: stranger.chat.completions.create(model="chat-1", messages=HELLO),
    )
    raises(
        openai.NotFoundError,
        lambda: client.chat.completions.create(model="nope", messages=HELLO),
    )
    assert "chat-1" in [m.id for m in client.models.list()]
    picture = client.images.generate(
        model="image-1", prompt="a red circle", response_format="b64_json"
    )
    assert picture.data[0].b64_json, picture


def openai_tools():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="all", max_retries=0)
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    weather = {"type": "function", "function": {"name": "weather", "parameters": parameters}}
    asked = {"model": "calls", "messages": HELLO, "tools": [weather]}
    whole = client.chat.completions.create(**asked).choices[0]
    assert whole.finish_reason == "tool_calls", whole
    calls = [(c.id, c.function.name, c.function.arguments) for c in whole.message.tool_calls]
    assert calls == [("a", "weather", '{"city":"Rome"}'), ("b", "weather", '{"city":"Oslo"}')], calls

    with client.chat.completions.stream(**asked) as stream:
        done = [e.arguments for e in stream if e.type == "tool_calls.function.arguments.done"]
        streamed = stream.get_final_completion().choices[0]
    assert done == [c[2] for c in calls], done
    assert [c.id for c in streamed.message.tool_calls] == ["a", "b"], streamed

    said = [{"role": "tool", "tool_call_id": c[0], "content": f"sunny {c[0]} "} for c in calls]
    asked["messages"] = [*HELLO, whole.message, *said]
    answer = client.chat.completions.create(**asked).choices[0]
    assert answer.message.content == "sunny a sunny b ", answer


def livepeer_sdk():
    with Livepeer(http_bearer="all", server_url=BASE) as client:
        whole = client.generate.llm(request={"messages": HELLO}).llm_response
        assert whole.choices[0].message.content == TEXT, whole
        assert whole.usage.total_tokens == 10
        picture = client.generate.text_to_image(
            request={"model_id": "", "prompt": "a red circle", "seed": 7}
        ).image_response
        assert picture.images[0].seed == 7, picture
        assert picture.images[0].url.startswith("http"), picture
        assert picture.images[0].nsfw is False, picture
        wrong = raises(
            errors.HTTPValidationError,
            lambda: client.generate.llm(request={"messages": HELLO, "temperature": 9}),
        )
        assert wrong.data.detail[0].loc == ["body", "temperature"], wrong.data
        blank = raises(
            errors.HTTPError,
            lambda: client.generate.text_to_image(request={"model_id": "", "prompt": " "}),
        )
        assert "prompt" in blank.data.detail.msg, blank.data
    with Livepeer(http_bearer="stranger", server_url=BASE) as client:
        raises(errors.HTTPError, lambda: client.generate.llm(request={"messages": HELLO}))


def google_sdk():
    def client(key):
        return genai.Client(api_key=key, http_options={"base_url": BASE})

    # A client closes as soon as nothing holds it.
    known, unknown = client("all"), client("stranger")
    models = known.models
    whole = models.generate_content(model="chat-1", contents="Hello")
    assert whole.text == TEXT, whole
    assert whole.usage_metadata.total_token_count == 10, whole
    chunks = list(models.generate_content_stream(model="chat-1", contents="Hello"))
    assert "".join(c.text or "" for c in chunks) == TEXT, chunks
    assert chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP, chunks[-1]
    half = models.generate_content_stream(model="half", contents="Hello")
    raises(genai_errors.APIError, lambda: list(half))

    wrong = raises(
        genai_errors.ClientError,
        lambda: models.generate_content(
            model="chat-1", contents="Hello", config={"temperature": 9}
        ),
    )
    assert wrong.code == 422 and "generationConfig.temperature" in wrong.message, wrong
    stranger = raises(
        genai_errors.ClientError,
        lambda: unknown.models.generate_content(model="chat-1", contents="Hello"),
    )
    assert stranger.status == "UNAUTHENTICATED", stranger
    assert "models/chat-1" in [m.name for m in models.list()]

    declared = types.FunctionDeclaration(
        name="weather",
        parameters=types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")}),
    )
    config = {"tools": [types.Tool(function_declarations=[declared])]}
    user = types.Content(role="user", parts=[types.Part(text="Hello")])
    asked = models.generate_content(model="calls", contents=[user], config=config)
    calls = [(c.id, c.name, c.args) for c in asked.function_calls]
    assert calls == [("a", "weather", {"city": "Rome"}), ("b", "weather", {"city": "Oslo"})], calls
    said = [
        types.Part.from_function_response(name=c.name, response={"result": f"sunny {c.id} "})
        for c in asked.function_calls
    ]
    answer = models.generate_content(
        model="calls",
        contents=[user, asked.candidates[0].content, types.Content(role="user", parts=said)],
        config=config,
    )
    assert answer.text == "sunny a sunny b ", answer


openai_sdk()
openai_tools()
google_sdk()
livepeer_sdk()
print("ok")
