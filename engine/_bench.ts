import * as tf from "@tensorflow/tfjs-core";
import { openEngine } from "./open.ts";
import { gatherRows, targetLogprobs } from "./ops.ts";
import { arr } from "./testing.ts";

type T = tf.Tensor;
const [L, D, H, F, V, B, TT] = (process.env.SHAPE ?? "4,192,6,512,1024,40,64")
  .split(",")
  .map(Number) as number[] as [number, number, number, number, number, number, number];
const hd = D / H;
const engine = await openEngine({ threads: 2, spin: process.env.SPIN === "1" });
const P: Record<string, ReturnType<typeof arr>> = {};
let seed = 1;
const rnd = (s: number[], sc: number) =>
  arr(s, () => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return (seed / 2147483648 - 0.5) * 3.4 * sc;
  });
P.emb = rnd([V, D], 0.05);
P.ln = arr([D], () => 1);
for (let l = 0; l < L; l++) {
  P[`n1${l}`] = arr([D], () => 1);
  P[`n2${l}`] = arr([D], () => 1);
  for (const [n, s] of [
    ["q", [D, D]],
    ["k", [D, D]],
    ["v", [D, D]],
    ["o", [D, D]],
    ["g", [D, F]],
    ["u", [D, F]],
    ["d", [F, D]],
  ] as [string, number[]][])
    P[n + l] = rnd(s, 0.05);
}
const rms = (x: T, g: T) => tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), 1e-5))), g);
const mask = Float32Array.from({ length: TT * TT }, (_, i) => (i % TT > Math.floor(i / TT) ? -1e9 : 0));
const cs = rnd([1, 1, TT, hd], 1);
const fwd = (p: Record<string, T>, ids: T) => {
  const cos = tf.tensor(cs.data as Float32Array, [1, 1, TT, hd]);
  const rope = (x: T) => {
    const [a, b] = tf.split(x, 2, -1) as [T, T];
    return tf.add(tf.mul(x, cos), tf.mul(tf.concat([tf.neg(b), a], -1), cos));
  };
  const heads = (x: T) => tf.transpose(tf.reshape(x, [B, TT, H, hd]), [0, 2, 1, 3]);
  let x = gatherRows(p.emb!, tf.reshape(ids, [-1]));
  const m = tf.tensor(mask, [1, 1, TT, TT]);
  for (let l = 0; l < L; l++) {
    const h = rms(x, p[`n1${l}`]!);
    const q = rope(heads(tf.matMul(h, p[`q${l}`]!))),
      k = rope(heads(tf.matMul(h, p[`k${l}`]!))),
      v = heads(tf.matMul(h, p[`v${l}`]!));
    const a = tf.softmax(tf.add(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(hd)), m));
    x = tf.add(
      x,
      tf.matMul(tf.reshape(tf.transpose(tf.matMul(a, v), [0, 2, 1, 3]), [B * TT, D]), p[`o${l}`]!),
    );
    const h2 = rms(x, p[`n2${l}`]!);
    const g = tf.matMul(h2, p[`g${l}`]!);
    x = tf.add(x, tf.matMul(tf.mul(tf.mul(g, tf.sigmoid(g)), tf.matMul(h2, p[`u${l}`]!)), p[`d${l}`]!));
  }
  return tf.matMul(rms(x, p.ln!), p.emb!, false, true);
};
const names = Object.keys(P);
const step = engine.jit("grad", (p: Record<string, T>, ids: T, tg: T) => {
  const f = (...ws: T[]) =>
    tf.neg(
      tf.mean(targetLogprobs(fwd(Object.fromEntries(names.map((n, i) => [n, ws[i]!])), ids), tg).logprobs),
    ) as tf.Scalar;
  const { value, grads } = tf.valueAndGrads(f as never)(names.map((n) => p[n]!));
  return { value, grads: Object.fromEntries(names.map((n, i) => [n, grads[i]!])) };
});
const ids = arr([B, TT], (i) => (i * 7919) % V, "int32"),
  tg = arr([B * TT], (i) => (i * 104729) % V, "int32");
const t0 = performance.now();
let out = await step(P, ids, tg);
console.log(
  "first",
  (performance.now() - t0).toFixed(0),
  "ms loss",
  out.value.data[0],
  "params",
  names.reduce((n, k) => n + P[k]!.data.length, 0),
);
const n = Number(process.env.N ?? 12);
const times: number[] = [];
for (let i = 0; i < n; i++) {
  const t = performance.now();
  out = await step(P, ids, tg);
  times.push(performance.now() - t);
  if (i % Math.ceil(n / 8) === 0)
    console.log(
      i,
      "rss",
      (process.memoryUsage().rss / 1e6).toFixed(0),
      "heap",
      (process.memoryUsage().heapUsed / 1e6).toFixed(0),
      "ext",
      (process.memoryUsage().external / 1e6).toFixed(0),
      "ab",
      (process.memoryUsage().arrayBuffers / 1e6).toFixed(0),
    );
}
times.sort((a, b) => a - b);
console.log(
  "median ms",
  times[n >> 1]!.toFixed(1),
  "min",
  times[0]!.toFixed(1),
  "tok/s at min",
  (((B * TT) / times[0]!) * 1000).toFixed(0),
  "rss",
  (process.memoryUsage().rss / 1e6).toFixed(0),
);
