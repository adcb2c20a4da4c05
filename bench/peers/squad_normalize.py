"""The reference of reward/normalize.ts and reward/answers.ts, run by bench/squad-parity.ts.

Reads JSONL {"prediction", "goldenAnswers"} on stdin, writes JSONL [normalised prediction, em, f1, cover em].
Standard library only; any Python 3 runs it, 3.11 (Unicode 14) is the one Forager equals to the last code point.
"""

import collections
import json
import re
import string
import sys

DROP = set(string.punctuation)
CLOSED = ("yes", "no", "noanswer")


def normalize(text):
    text = "".join(ch for ch in text.lower() if ch not in DROP)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def f1(prediction, gold):
    if prediction != gold and (prediction in CLOSED or gold in CLOSED):
        return 0.0
    a, b = prediction.split(), gold.split()
    same = sum((collections.Counter(a) & collections.Counter(b)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(a), same / len(b)
    return 2 * precision * recall / (precision + recall)


for line in sys.stdin:
    record = json.loads(line)
    prediction = normalize(record["prediction"])
    golds = [g for g in map(normalize, record["goldenAnswers"]) if g]
    answered = prediction != ""
    print(
        json.dumps(
            [
                prediction,
                int(answered and prediction in golds),
                max((f1(prediction, g) for g in golds), default=0.0) if answered else 0.0,
                int(answered and any(g in prediction for g in golds)),
            ]
        )
    )
