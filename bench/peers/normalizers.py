"""The reference of reward/normalize.ts, strict.ts and answers.ts, run by bench/squad-parity.ts.

Reads JSONL {"prediction", "goldenAnswers"} on stdin, writes JSONL {id: [normalised prediction, em, f1, cover em]} for
each normaliser. Standard library only; any Python 3 runs it, 3.11 (Unicode 14) is the one Forager equals to the last
code point.
"""

import collections
import json
import re
import string
import sys
import unicodedata

DROP = set(string.punctuation)
SPACED = DROP | set("‘’´`")
CLOSED = ("yes", "no", "noanswer")


def without_articles(text):
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad(text):
    return without_articles("".join(ch for ch in text.lower() if ch not in DROP))


def r1_searcher(text):
    text = {"True": "yes", "False": "no"}.get(text, text)
    return without_articles("".join(" " if ch in SPACED else ch for ch in text.replace("_", " ").lower()))


SIGNS = {**dict.fromkeys("‘’‚‛ʼ′´`", "'"), **dict.fromkeys("“”„‟", '"'), **dict.fromkeys("‐‑‒–—―−", "-")}
AROUND = set(",;:!?\"'()[]{}<>«»‹›¿¡、。「」『』《》【】")


def is_digit(ch):
    return "0" <= ch <= "9"


def ungrouped(word):
    """Written as a scan, not as the pattern of strict.ts: two ways to one result."""
    out, at = [], 0
    while at < len(word):
        end = at
        while end < len(word) and (is_digit(word[end]) or word[end] == ","):
            end += 1
        if end == at:
            out.append(word[at])
            at += 1
            continue
        run = word[at:end]
        core = run.rstrip(",")
        parts = core.split(",")
        free = at == 0 or word[at - 1] != "."
        whole = len(parts) > 1 and 1 <= len(parts[0]) <= 3 and all(len(part) == 3 for part in parts[1:])
        out.append("".join(parts) + run[len(core) :] if free and whole else run)
        at = end
    return "".join(out)


def trimmed(word):
    start, end = 0, len(word)
    while start < end and (
        word[start] in AROUND or (word[start] == "." and not (start + 1 < end and is_digit(word[start + 1])))
    ):
        start += 1
    while end > start and (word[end - 1] in AROUND or word[end - 1] == "."):
        end -= 1
    return word[start:end]


def strict(text):
    words = "".join(SIGNS.get(ch, ch) for ch in unicodedata.normalize("NFKC", text).lower()).split()
    bare = [word for word in (trimmed(ungrouped(word)) for word in words) if word]
    if not bare:
        return " ".join(words)
    return " ".join(bare[1:] if len(bare) > 1 and bare[0] in ("a", "an", "the") else bare)


NORMALIZERS = {"squad": squad, "r1-searcher": r1_searcher, "flashrag": squad, "strict": strict}


def f1(prediction, gold):
    if prediction != gold and (prediction in CLOSED or gold in CLOSED):
        return 0.0
    a, b = prediction.split(), gold.split()
    same = sum((collections.Counter(a) & collections.Counter(b)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(a), same / len(b)
    return 2 * precision * recall / (precision + recall)


def score(normalize, record):
    prediction = normalize(record["prediction"])
    golds = [g for g in map(normalize, record["goldenAnswers"]) if g]
    answered = prediction != ""
    return [
        prediction,
        int(answered and prediction in golds),
        max((f1(prediction, g) for g in golds), default=0.0) if answered else 0.0,
        int(answered and any(g in prediction for g in golds)),
    ]


for line in sys.stdin:
    record = json.loads(line)
    print(json.dumps({name: score(normalize, record) for name, normalize in NORMALIZERS.items()}))
