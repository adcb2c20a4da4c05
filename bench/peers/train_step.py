"""The peer of bench/train-step.ts: the same decoder and the same training step in PyTorch eager.

Usage: python train_step.py '{"vocab": ..., "layers": ..., "rank": 0 | r, ...}'
Reads lines from stdin; "step N" makes N steps and prints {"seconds": wall, "cpu": all threads'}. Ends at end of file.

The choices are the fastest for torch on two cores (`python train_step.py --variants '{...}'` times them; within 3 %
of each other): plain modules, scaled_dot_product_attention, cross_entropy, fused AdamW. transformers with PEFT makes
the same products with more Python between them.
"""

import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(int(os.environ.get("FORAGER_THREADS", "2")))


class Lora(nn.Module):
    """A frozen projection with a low-rank update: x Wt + scale (x At) Bt."""

    def __init__(self, inner, out, rank):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(out, inner) / inner**0.5, requires_grad=False)
        self.a = nn.Parameter((2 * torch.rand(rank, inner) - 1) / inner**0.5)
        self.b = nn.Parameter(torch.randn(out, rank) * 0.01)

    def forward(self, x):
        return F.linear(x, self.weight) + F.linear(F.linear(x, self.a) * 2.0, self.b)


def projection(inner, out, rank):
    return Lora(inner, out, rank) if rank else nn.Linear(inner, out, bias=False)


class Norm(nn.Module):
    def __init__(self, width, learns):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width), requires_grad=learns)

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Layer(nn.Module):
    def __init__(self, s, o):
        super().__init__()
        d, f, r = s["hidden"], s["intermediate"], s["rank"]
        self.heads, self.kv, self.hd, self.o = s["heads"], s["kvHeads"], d // s["heads"], o
        self.fused = o["fuse"] and not r
        wide = (self.heads + 2 * self.kv) * self.hd
        if self.fused:
            self.qkv = projection(d, wide, 0)
            self.gate_up = projection(d, 2 * f, 0)
        else:
            self.q = projection(d, d, r)
            self.k = projection(d, self.kv * self.hd, r)
            self.v = projection(d, self.kv * self.hd, r)
            self.gate = projection(d, f, r)
            self.up = projection(d, f, r)
        self.out = projection(d, d, r)
        self.down = projection(f, d, r)
        self.n1, self.n2 = Norm(d, not r), Norm(d, not r)

    def forward(self, x, cos, sin, mask):
        B, T, _ = x.shape
        h = self.n1(x)
        if self.fused:
            q, k, v = self.qkv(h).split([self.heads * self.hd, self.kv * self.hd, self.kv * self.hd], -1)
        else:
            q, k, v = self.q(h), self.k(h), self.v(h)
        q = rotate(q.view(B, T, self.heads, self.hd).transpose(1, 2), cos, sin)
        k = rotate(k.view(B, T, self.kv, self.hd).transpose(1, 2), cos, sin)
        v = v.view(B, T, self.kv, self.hd).transpose(1, 2)
        if self.o["sdpa"]:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.kv != self.heads)
        else:
            g = self.heads // self.kv
            if g > 1:
                k, v = k.repeat_interleave(g, 1), v.repeat_interleave(g, 1)
            y = torch.softmax(q @ k.transpose(-1, -2) * self.hd**-0.5 + mask, -1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(B, T, -1))
        h = self.n2(x)
        gate, up = self.gate_up(h).chunk(2, -1) if self.fused else (self.gate(h), self.up(h))
        return x + self.down(F.silu(gate) * up)


class Decoder(nn.Module):
    def __init__(self, s, o):
        super().__init__()
        learns = not s["rank"]
        self.embed = nn.Parameter(torch.randn(s["vocab"], s["hidden"]) * 0.06, requires_grad=learns)
        self.layers = nn.ModuleList(Layer(s, o) for _ in range(s["layers"]))
        self.norm = Norm(s["hidden"], learns)
        hd, T = s["hidden"] // s["heads"], s["length"]
        angles = torch.outer(torch.arange(T), 1.0 / 10000 ** (torch.arange(0, hd, 2) / hd)).repeat(1, 2)
        self.cos, self.sin = angles.cos(), angles.sin()
        self.mask = torch.full((T, T), -1e9).triu(1)

    def forward(self, ids):
        x = F.embedding(ids, self.embed)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin, self.mask)
        return F.linear(self.norm(x), self.embed)


class Bench:
    def __init__(self, s, fuse=False, sdpa=True, optimizer="fused", loss="cross_entropy"):
        torch.manual_seed(1)
        self.model = Decoder(s, {"fuse": fuse, "sdpa": sdpa})
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        how = {"fused": {"fused": True}, "foreach": {"foreach": True}, "plain": {}}[optimizer]
        self.adam = torch.optim.AdamW(self.parameters, lr=1e-5, weight_decay=0.0, **how)
        self.loss = loss
        shape = (s["rows"], s["length"])
        self.ids = torch.randint(0, s["vocab"], shape)
        self.targets = torch.randint(0, s["vocab"], shape)
        self.old = torch.full(shape, -math.log(s["vocab"]))
        self.advantages = torch.where(torch.arange(shape[0]) % 2 == 0, 0.5, -0.5)[:, None].expand(shape)
        self.weights = torch.full(shape, 1.0 / self.ids.numel())

    def step(self):
        logits = self.model(self.ids)
        if self.loss == "cross_entropy":
            flat = F.cross_entropy(logits.flatten(0, 1), self.targets.flatten(), reduction="none")
            logprobs = -flat.view_as(self.old)
        else:
            logprobs = torch.log_softmax(logits, -1).gather(-1, self.targets[..., None]).squeeze(-1)
        ratio = torch.exp((logprobs - self.old).clamp(-20, 20))
        gain = torch.minimum(ratio * self.advantages, ratio.clamp(0.8, 1.28) * self.advantages)
        loss = -(gain * self.weights).sum()
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0, foreach=True)
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        return loss.item()


def timed(bench, n):
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(n):
        bench.step()
    return {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def variants(s, n=5):
    """Times each choice alone against the default, interleaved."""
    choices = [{}, {"fuse": True}, {"sdpa": False}, {"optimizer": "foreach"}, {"loss": "gather"}]
    benches = [(c, Bench(s, **c)) for c in choices]
    times = {str(c): [] for c in choices}
    for _, b in benches:
        b.step()
    for _ in range(n):
        for c, b in benches:
            times[str(c)].append(timed(b, 1))
    for c, list_ in times.items():
        wall = sorted(t["seconds"] for t in list_)[n // 2]
        cpu = sorted(t["cpu"] for t in list_)[n // 2]
        print(f"{c:32} {wall * 1000:8.0f} ms  {cpu * 1000:8.0f} ms of CPU", flush=True)


if sys.argv[1] == "--variants":
    variants(json.loads(sys.argv[2]))
else:
    bench = Bench(json.loads(sys.argv[1]))
    print(json.dumps({"version": torch.__version__}), flush=True)
    for line in sys.stdin:
        print(json.dumps(timed(bench, int(line.split()[1]))), flush=True)
