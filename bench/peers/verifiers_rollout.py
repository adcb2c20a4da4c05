"""The peer of bench/rollout.ts: the same episodes through verifiers' MultiTurnEnv, in-process, instant stub client.

Usage: python verifiers_rollout.py workload.json
Prints one JSON line: {"turnsPerCpuSecond": ..., "version": ...}. Needs: pip install verifiers==0.1.14
Its client gives text without token ids, which is its cheaper path (ours keeps ids and logprobs).
"""

import asyncio
import importlib.metadata
import json
import logging
import re
import sys
import time

import verifiers as vf
from datasets import Dataset
from verifiers.clients import Client
from verifiers.types import Response, ResponseMessage

logging.disable(logging.WARNING)
WORD = re.compile(r"\w+")
SEARCH = re.compile(r"<search>(.*?)</search>", re.S)
REPEATS = 3


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
        shown = "\n".join(f"Doc {i + 1}(Title: {p['title']}) {p['text']}" for i, p in enumerate(hits))
        return [{"role": "user", "content": f"<information>{shown}</information>"}]


async def main(path):
    with open(path, encoding="utf-8") as file:
        workload = json.load(file)
    questions = workload["questions"]
    size = workload["groupSize"]
    rows = [{"question": q["question"], "answer": "x"} for q in questions]
    env = SearchEnv(
        Index(workload["passages"]),
        dataset=Dataset.from_list(rows),
        rubric=vf.Rubric(funcs=[lambda completion, **kwargs: 0.0]),
        max_turns=4,
    )
    client = StubClient({q["question"]: q["turns"] for q in questions})
    inputs = [row for row in env.get_dataset().to_list() for _ in range(size)]
    rates = []
    for _ in range(REPEATS):
        start = time.process_time()
        outputs = await env.generate(inputs, client, "stub", max_concurrent=64)
        seconds = time.process_time() - start
        turns = sum(int(o["metrics"]["num_turns"]) for o in outputs["outputs"])
        assert turns == 3 * len(inputs), turns
        rates.append(turns / seconds)
    version = importlib.metadata.version("verifiers")
    print(json.dumps({"turnsPerCpuSecond": sorted(rates)[len(rates) // 2], "version": version}))


asyncio.run(main(sys.argv[1]))
