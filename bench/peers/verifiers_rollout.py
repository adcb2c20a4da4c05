"""The peer of bench/rollout.ts: the same episodes through verifiers' MultiTurnEnv, against an instant policy.

Usage: python verifiers_rollout.py workload.json [BASE_URL]
Prints one JSON line: {"version": ..., NAME: turns per CPU second, ...}. In process, without BASE_URL:
  text    a stub `Client` that gives text alone: its cheapest path, no ids, nothing to train on
  tokens  its own OpenAI client over a stub AsyncOpenAI whose replies carry token ids and logprobs, as vLLM's do
Against a server, with BASE_URL ("http://127.0.0.1:8000/v1"):
  http    its own OpenAI client as its ClientConfig makes it by default; ids and logprobs are asked for and kept
Needs: pip install verifiers==0.1.14
"""

import asyncio
import importlib.metadata
import json
import logging
import re
import sys
import time
from types import SimpleNamespace

import verifiers as vf
from datasets import Dataset
from openai.types.chat import ChatCompletion
from verifiers.clients import Client, OpenAIChatCompletionsClient
from verifiers.types import ClientConfig, Response, ResponseMessage

logging.disable(logging.WARNING)
WORD = re.compile(r"\w+")
SEARCH = re.compile(r"<search>(.*?)</search>", re.S)
REPEATS = 4


class Index:
    """Passages that share words with the query, most shared first, ties by id."""

    def __init__(self, passages):
        self.passages = passages
        self.postings = {}
        for i, p in enumerate(passages):
            for word in set(WORD.findall(f"{p['title']} {p['text']}".lower())):
                self.postings.setdefault(word, []).append(i)

    def search(self, query, k):
        scores = {}
        for word in set(WORD.findall(query.lower())):
            for i in self.postings.get(word, ()):
                scores[i] = scores.get(i, 0) + 1
        best = sorted(scores, key=lambda i: (-scores[i], self.passages[i]["id"]))[:k]
        return [self.passages[i] for i in best]


class StubClient(Client):
    """Says the question's turns without computing anything."""

    def __init__(self, turns):
        super().__init__(None)
        self.turns = turns

    def setup_client(self, config):
        return None

    async def to_native_tool(self, tool):
        return tool

    async def to_native_prompt(self, messages):
        return messages, {}

    async def get_native_response(self, prompt, model, sampling_args, tools=None, **kwargs):
        turn = (len(prompt) - 1) // 2
        text = self.turns[prompt[0].content][turn]
        message = ResponseMessage(role="assistant", content=text, finish_reason="stop", is_truncated=False)
        return Response(id="stub", created=0, model=model, message=message)

    async def raise_from_native_response(self, response):
        pass

    async def from_native_response(self, response):
        return response

    async def close(self):
        pass


def stub_openai(turns):
    """An AsyncOpenAI that answers at once; each reply is built the first time it is needed."""
    replies = {}

    def reply(messages, turn):
        text = turns[messages[0]["content"]][turn]
        ids = list(range(len(text.split())))
        seen = sum(len(m["content"].split()) for m in messages)
        logprobs = [{"token": "w", "logprob": -1.0, "bytes": None, "top_logprobs": []} for _ in ids]
        return ChatCompletion.model_validate(
            {
                "id": "stub",
                "object": "chat.completion",
                "created": 0,
                "model": "stub",
                "prompt_token_ids": list(range(seen)),
                "choices": [
                    {
                        "index": 0,
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": text},
                        "logprobs": {"content": logprobs},
                        "token_ids": ids,
                    }
                ],
            }
        )

    async def create(messages, **kwargs):
        key = (messages[0]["content"], (len(messages) - 1) // 2)
        if key not in replies:
            replies[key] = reply(messages, key[1])
        return replies[key]

    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))


class SearchEnv(vf.MultiTurnEnv):
    def __init__(self, index, **kwargs):
        super().__init__(**kwargs)
        self.index = index

    @vf.stop
    async def answered(self, state):
        return bool(state["trajectory"]) and "<answer>" in state["trajectory"][-1]["completion"][-1].content

    async def env_response(self, messages, state, **kwargs):
        query = SEARCH.search(messages[-1].content)
        hits = self.index.search(query.group(1), 3)
        shown = "\n".join(p["text"] for p in hits)
        return [{"role": "user", "content": f"<information>{shown}</information>"}]


SAMPLING = {
    "temperature": 1.0,
    "max_tokens": 500,
    "stop": ["</search>"],
    "logprobs": True,
    "extra_body": {
        "return_token_ids": True,
        "include_stop_str_in_output": True,
        "skip_special_tokens": False,
    },
}


async def main(path, base_url=None):
    with open(path, encoding="utf-8") as file:
        workload = json.load(file)
    questions = workload["questions"]
    size = workload["groupSize"]
    shown = {q["question"]: f"<question> {q['question']} </question>" for q in questions}
    env = SearchEnv(
        Index(workload["passages"]),
        dataset=Dataset.from_list([{"question": text, "answer": "x"} for text in shown.values()]),
        rubric=vf.Rubric(funcs=[lambda completion, **kwargs: 0.0]),
        max_turns=4,
    )
    inputs = [row for row in env.get_dataset().to_list() for _ in range(size)]
    turns = {shown[q["question"]]: q["turns"] for q in questions}
    if base_url is None:
        clients = {"text": StubClient(turns), "tokens": OpenAIChatCompletionsClient(stub_openai(turns))}
    else:
        clients = {"http": OpenAIChatCompletionsClient(ClientConfig(api_base_url=base_url, api_key_var="NO_KEY"))}
    result = {"version": importlib.metadata.version("verifiers")}
    for name, client in clients.items():
        rates = []
        for _ in range(REPEATS if base_url is None else REPEATS - 1):
            start = time.process_time()
            outputs = await env.generate(
                inputs,
                client,
                "stub",
                sampling_args=SAMPLING if base_url else None,
                max_concurrent=64,
                state_columns=["trajectory"],
            )
            seconds = time.process_time() - start
            count = sum(int(o["metrics"]["num_turns"]) for o in outputs["outputs"])
            assert count == 3 * len(inputs), count
            step = outputs["outputs"][0]["trajectory"][0]
            assert (step["tokens"] is not None) == (name != "text"), step["tokens"]
            rates.append(count / seconds)
        result[name] = sorted(rates[1:])[(len(rates) - 1) // 2]
    print(json.dumps(result))


asyncio.run(main(*sys.argv[1:]))
