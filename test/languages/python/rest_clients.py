"""The Python SDKs, unmodified, against a gateway that serves the table of test/contract.

Usage: rest_clients.py BASE_URL. Exits with 0 if everything is as expected.
"""

import sys

import anthropic
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
    drawn = client.images.generate(model="image-1", prompt="a red circle", n=2, stream=True)
    events = [(e.type, e.size, e.usage.total_tokens) for e in drawn]
    assert events == [("image_generation.completed", "8x8", 0)] * 2, events


def azure_sdk():
    azure = {"azure_endpoint": BASE, "api_version": "2024-10-21", "max_retries": 0}
    client = openai.AzureOpenAI(**azure, api_key="all")
    whole = client.chat.completions.create(model="chat-1", messages=HELLO)
    assert whole.choices[0].message.content == TEXT, whole
    chunks = list(client.chat.completions.create(model="chat-1", messages=HELLO, stream=True))
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == TEXT, chunks
    assert client.responses.create(model="chat-1", input="Hello").output_text == TEXT
    picture = client.images.generate(model="image-1", prompt="a red circle")
    assert picture.data[0].url, picture
    assert "chat-1" in [m.id for m in client.models.list()]

    # What it is deployed as goes before what a call says, as at Azure.
    deployed = openai.AzureOpenAI(
        **azure, azure_ad_token="all", azure_deployment="chat-1"
    )
    whole = deployed.chat.completions.create(model="gpt-4o", messages=HELLO)
    assert whole.choices[0].message.content == TEXT and whole.model == "chat-1", whole
    assert "chat-1" in [m.id for m in deployed.models.list()]
    newer = openai.OpenAI(base_url=f"{BASE}/openai/v1/", api_key="all", max_retries=0)
    whole = newer.chat.completions.create(model="chat-1", messages=HELLO)
    assert whole.choices[0].message.content == TEXT, whole

    stranger = openai.AzureOpenAI(**azure, api_key="stranger")
    raises(
        openai.AuthenticationError,
        lambda: stranger.chat.completions.create(model="chat-1", messages=HELLO),
    )


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


def openai_responses():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="all", max_retries=0)
    whole = client.responses.create(model="thinks", input="Hello")
    assert whole.output_text == "42" and whole._request_id, whole
    assert [item.type for item in whole.output] == ["reasoning", "message"], whole
    with client.responses.stream(model="chat-1", input="Hello") as stream:
        texts = [e.delta for e in stream if e.type == "response.output_text.delta"]
        assert "".join(texts) == stream.get_final_response().output_text == TEXT, texts
    half = client.responses.create(model="half", input="Hello", stream=True)
    raises(openai.APIError, lambda: list(half))


def pictures():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="all", max_retries=0)
    asked = {"model": "draws", "messages": HELLO, "extra_body": {"modalities": ["text", "image"]}}
    whole = client.chat.completions.create(**asked).choices[0].message
    assert whole.content == "Here they are." and len(whole.images) == 2, whole
    with client.chat.completions.stream(model="draws", messages=HELLO) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion().choices[0].message
    assert streamed.images == whole.images, streamed
    asked["messages"] = [*HELLO, whole.model_dump(exclude_none=True), *HELLO]
    assert client.chat.completions.create(**asked).choices[0].message.content == "2 seen"

    answer = client.responses.create(model="draws", input="Draw.")
    drawn = [item.result for item in answer.output if item.type == "image_generation_call"]
    assert [f"data:image/png;base64,{it}" for it in drawn] == [
        it["image_url"]["url"] for it in whole.images
    ], answer
    items = [item.model_dump(exclude_none=True) for item in answer.output]
    again = client.responses.create(model="draws", input=[*HELLO, *items, *HELLO])
    assert again.output_text == "2 seen", again

    google = genai.Client(api_key="all", http_options={"base_url": BASE})
    config = types.GenerateContentConfig(
        response_modalities=["TEXT", "IMAGE"], image_config=types.ImageConfig(aspect_ratio="16:9")
    )
    chat = google.chats.create(model="draws", config=config)
    parts = chat.send_message("Draw.").candidates[0].content.parts
    assert [p.inline_data.mime_type for p in parts[1:]] == ["image/png"] * 2, parts
    assert chat.send_message("More.").text == "2 seen"


def logprobs():
    client = openai.OpenAI(base_url=f"{BASE}/v1", api_key="all", max_retries=0)
    asked = {"model": "likely", "messages": HELLO, "logprobs": True}
    told = lambda choice: [(it.token, it.logprob) for it in choice.logprobs.content]
    tokens = [("Hel", -0.5), ("lo", -0.5)]
    whole = client.chat.completions.create(**asked).choices[0]
    assert told(whole) == tokens and whole.logprobs.content[0].bytes == [72, 101, 108], whole
    with client.chat.completions.stream(**asked) as stream:
        for _ in stream:
            pass
        assert told(stream.get_final_completion().choices[0]) == tokens
    assert client.chat.completions.create(model="likely", messages=HELLO).choices[0].logprobs is None

    asked = {"model": "likely", "input": "Hi", "include": ["message.output_text.logprobs"]}
    answer = client.responses.create(**asked)
    assert [it.token for it in answer.output[0].content[0].logprobs] == ["Hel", "lo"], answer
    with client.responses.stream(**asked) as stream:
        deltas = [e.logprobs for e in stream if e.type == "response.output_text.delta"]
        assert [it.token for all in deltas for it in all] == ["Hel", "lo"], deltas
        final = stream.get_final_response().output[0].content[0]
        assert [it.token for it in final.logprobs] == ["Hel", "lo"], final

    google = genai.Client(api_key="all", http_options={"base_url": BASE})
    config = types.GenerateContentConfig(response_logprobs=True)
    candidate = google.models.generate_content(model="likely", contents="Hi", config=config).candidates[0]
    chosen = candidate.logprobs_result.chosen_candidates
    assert [(it.token, it.log_probability) for it in chosen] == tokens, candidate
    assert candidate.avg_logprobs == -0.5, candidate


def anthropic_sdk():
    client = anthropic.Anthropic(base_url=BASE, api_key="all", max_retries=0)
    asked = {"model": "chat-1", "max_tokens": 100, "messages": HELLO}
    whole = client.messages.create(**asked)
    assert whole.content[0].text == TEXT and whole._request_id, whole
    assert (whole.stop_reason, whole.usage.output_tokens) == ("end_turn", 3), whole
    with client.messages.stream(**asked) as stream:
        assert "".join(stream.text_stream) == TEXT
        assert stream.get_final_message().usage.input_tokens == 7
    thinking = {"type": "enabled", "budget_tokens": 1024}
    long = {**asked, "max_tokens": 2000, "thinking": thinking}
    with client.messages.stream(**{**long, "model": "thinks"}) as stream:
        blocks = stream.get_final_message().content
    assert [b.type for b in blocks] == ["thinking", "text"], blocks
    assert client.messages.count_tokens(model="chat-1", messages=HELLO).input_tokens > 0

    weather = {"name": "weather", "input_schema": {"type": "object"}}
    with client.messages.stream(**{**asked, "model": "calls", "tools": [weather]}) as stream:
        called = stream.get_final_message()
    calls = [(b.id, b.name, b.input) for b in called.content]
    assert calls == [("a", "weather", {"city": "Rome"}), ("b", "weather", {"city": "Oslo"})], calls
    said = [
        {"type": "tool_result", "tool_use_id": b.id, "content": f"sunny {b.id} "}
        for b in called.content
    ]
    turns = [
        *HELLO,
        {"role": "assistant", "content": called.content},
        {"role": "user", "content": said},
    ]
    told = {**asked, "model": "calls", "messages": turns, "tools": [weather]}
    answer = client.messages.create(**told)
    assert answer.content[0].text == "sunny a sunny b ", answer

    with client.messages.stream(**{**asked, "model": "half"}) as stream:
        raises(anthropic.APIStatusError, lambda: list(stream))
    wrong = raises(
        anthropic.UnprocessableEntityError,
        lambda: client.messages.create(**{**asked, "max_tokens": 0}),
    )
    assert "max_tokens" in str(wrong), wrong
    raises(
        anthropic.NotFoundError,
        lambda: client.messages.create(**{**asked, "model": "nope"}),
    )
    stranger = anthropic.Anthropic(base_url=BASE, api_key="stranger", max_retries=0)
    raises(anthropic.AuthenticationError, lambda: stranger.messages.create(**asked))


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
azure_sdk()
openai_tools()
openai_responses()
pictures()
logprobs()
anthropic_sdk()
google_sdk()
livepeer_sdk()
print("ok")
