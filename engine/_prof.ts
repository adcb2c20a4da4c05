import { writeFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs-core";
import { InferenceSession, Tensor as OT } from "onnxruntime-node";
import { openEngine } from "./open.ts";
import { gatherRows, targetLogprobs } from "./ops.ts";
import { arr } from "./testing.ts";
import { trace } from "./trace.ts";
import { isArr, leavesOf } from "./tree.ts";

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
const body = (p: Record<string, T>, ids: T, tg: T) => {
  const f = (...ws: T[]) =>
    tf.neg(
      tf.mean(targetLogprobs(fwd(Object.fromEntries(names.map((n, i) => [n, ws[i]!])), ids), tg).logprobs),
    ) as tf.Scalar;
  const { value, grads } = tf.valueAndGrads(f as never)(names.map((n) => p[n]!));
  return { value, grads: Object.fromEntries(names.map((n, i) => [n, grads[i]!])) };
};
const ids = arr([B, TT], (i) => (i * 7919) % V, "int32"),
  tg = arr([B * TT], (i) => (i * 104729) % V, "int32");

const inputs = [P, ids, tg];
const { program } = trace("x", body as never, inputs);
console.log("nodes", program.nodes, "bytes", program.bytes.length);
const session = await InferenceSession.create(program.bytes, {
  intraOpNumThreads: 2,
  interOpNumThreads: 1,
  enableProfiling: true,
  profileFilePrefix: "/tmp/eng/prof",
  graphOptimizationLevel: "all",
  logSeverityLevel: 4,
  extra: { session: { intra_op: { allow_spinning: "0" } } },
});
const leaves = leavesOf(inputs as never, isArr);
const feeds: Record<string, OT> = {};
for (const i of program.inputs)
  feeds["i" + i] = new OT(leaves[i]!.dtype as "float32", leaves[i]!.data as Float32Array, leaves[i]!.shape);
const best: number[] = [];
for (let i = 0; i < 8; i++) {
  const c = process.cpuUsage();
  await session.run(feeds);
  const u = process.cpuUsage(c);
  best.push((u.user + u.system) / 1000);
}
session.endProfiling();
console.log("cpu ms per step: min", Math.min(...best).toFixed(0), best.map((x) => x.toFixed(0)).join(" "));
