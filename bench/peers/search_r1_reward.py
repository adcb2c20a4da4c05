"""Search-R1's reward rules (arXiv 2503.09516 and its format variant), written anew from their description.

Usage: search_r1_reward.py FILE, where FILE is JSON Lines of {"text", "golds"}: prompt and response as one string, as its
trainer decodes them (decoding is not timed). Then each line on stdin, a rule and a number of passes, scores all of them
that often and answers with {"seconds", "cpu", "total"}, the total of one pass. Standard library only.
"""

import collections
import json
import re
import string
import sys
import time

PUNCTUATION = set(string.punctuation)
TAGS = ("think", "search", "information", "answer")
STARTS = "<|im_start|>assistant"


def normalize(text):
    bare = "".join(ch for ch in text.lower() if ch not in PUNCTUATION)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def answer_of(text):
    """The prompt shows an answer tag as an example, so one alone is no answer."""
    found = list(re.finditer(r"<answer>(.*?)</answer>", text, re.DOTALL))
    return found[-1].group(1).strip() if len(found) > 1 else None


def is_match(prediction, golds):
    wanted = normalize(prediction)
    return any(normalize(gold) == wanted for gold in golds)


def em(text, golds):
    answer = answer_of(text)
    return 1.0 if answer is not None and is_match(answer, golds) else 0.0


# What may follow what: (state, tag) -> state. Text is free inside a tag, white space alone between tags.
STEPS = {
    ("start", "<think>"): "in think",
    ("in think", "</think>"): "thought",
    ("thought", "<search>"): "in search",
    ("in search", "</search>"): "searched",
    ("searched", "<information>"): "in information",
    ("in information", "</information>"): "start",
    ("thought", "<answer>"): "in answer",
    ("in answer", "</answer>"): "end",
}


def is_valid(text):
    at = text.find(STARTS)
    if at < 0:
        return False
    response = text[at + len(STARTS) :]
    for tag in TAGS:
        if len(re.findall(f"<{tag}>", response)) != len(re.findall(f"</{tag}>", response)):
            return False
    state = "start"
    for piece in re.split(r"(</?(?:think|search|information|answer)>)", response):
        if not piece.strip():
            continue
        if re.match(r"</?(?:think|search|information|answer)>", piece):
            state = STEPS.get((state, piece))
            if state is None:
                return False
        elif not state.startswith("in "):
            return False
    return state == "end"


def with_format(text, golds):
    valid = is_valid(text)
    answer = answer_of(text)
    if answer is None:
        return 0.2 if valid else 0.0
    if is_match(answer, golds):
        return 1.0 if valid else 0.8
    return 0.2 if valid else 0.1


def three_scores(text, golds):
    """Not a rule of Search-R1's: exact match, F1 and cover match of its answer, which ours computes in any case."""
    answer = answer_of(text)
    if answer is None:
        return 0.0
    answer = normalize(answer)
    golds = [normalize(gold) for gold in golds]
    best = 0.0
    for gold in golds:
        a, b = answer.split(), gold.split()
        same = sum((collections.Counter(a) & collections.Counter(b)).values())
        best = max(best, 2 * same / (len(a) + len(b)) if same else 0.0)
    return float(answer in golds) + best + float(any(gold in answer for gold in golds))


RULES = {"em": em, "three": three_scores, "format": with_format}

with open(sys.argv[1], encoding="utf-8") as lines:
    episodes = [(row["text"], row["golds"]) for row in map(json.loads, lines)]
print(json.dumps({"version": sys.version.split()[0], "episodes": len(episodes)}), flush=True)
for line in sys.stdin:
    name, passes = line.split()
    rule = RULES[name]
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(int(passes)):
        total = 0.0
        for text, golds in episodes:
            total += rule(text, golds)
    print(
        json.dumps(
            {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "total": total}
        ),
        flush=True,
    )
