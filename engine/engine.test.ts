import * as tf from "@tensorflow/tfjs-core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ConfigError, EngineError } from "../core/errors.ts";
import type { Arr } from "./array.ts";
import { engineConfig } from "./config.ts";
import type { Engine } from "./engine.ts";
import { openEngine } from "./open.ts";
import { entropyOf, gatherRows, targetLogprobs } from "./ops.ts";
import { ProgramCache } from "./session.ts";
import { arr } from "./testing.ts";

type T = tf.Tensor;

const opened: Engine[] = [];
const open = async (settings: Parameters<typeof openEngine>[0] = {}) => {
  const engine = await openEngine({ threads: 2, ...settings });
  opened.push(engine);
  return engine;
};
afterEach(async () => {
  for (const engine of opened.splice(0)) await engine.dispose();
});

const vector = (...numbers: number[]): Arr => arr([numbers.length], (i) => numbers[i] as number);
const list = (x: unknown): number[] => [...(x as Arr).data];

describe("jit", () => {
  test("traces once per shape and dtype and never again", async () => {
    const engine = await open();
    const traced = vi.fn((x: T) => tf.mul(x, 2));
    const double = engine.jit("double", traced);
    for (let i = 0; i < 5; i++) expect(list(await double(vector(i, 1)))).toEqual([2 * i, 2]);
    expect(traced).toHaveBeenCalledTimes(1);
    expect(list(await double(vector(1, 2, 3)))).toEqual([2, 4, 6]);
    expect(list(await double(arr([2], (i) => i, "int32")))).toEqual([0, 2]);
    expect(traced).toHaveBeenCalledTimes(3);
    expect(engine.stats).toEqual({ compiles: 3, runs: 7, sessions: 3 });
  });

  test("two calls at once compile once, and each gets its own result", async () => {
    const engine = await open();
    const slow = engine.jit("slow", (x: T) =>
      tf.sum(tf.matMul(tf.reshape(x, [-1, 1]), tf.reshape(x, [1, -1]))),
    );
    const calls = Array.from({ length: 20 }, (_, i) => slow(arr([64], () => i)));
    expect((await Promise.all(calls)).map((x) => x.data[0])).toEqual(calls.map((_, i) => 64 * 64 * i * i));
    expect(engine.stats.compiles).toBe(1);
  });

  test("takes and gives trees, in insertion order", async () => {
    const engine = await open();
    const f = engine.jit("tree", (p: { b: T; a: T[] }, x: T) => ({
      z: [tf.add(p.b, x)],
      a: { y: tf.sub(p.a[1] as T, x) },
    }));
    const out = await f({ b: vector(1), a: [vector(10), vector(20)] }, vector(3));
    expect([out.z.map(list), list(out.a.y)]).toEqual([[[4]], [17]]);
    expect(Object.keys(out)).toEqual(["z", "a"]);
  });

  test("inputs that nothing needs, outputs that are inputs, constants or the same twice", async () => {
    const engine = await open();
    const f = engine.jit("odd", (a: T, _unused: T, c: T) => {
      const twice = tf.add(a, a);
      return [a, c, twice, twice, tf.tensor1d([7, 8]), tf.zeros([200]), tf.ones([3], "int32"), a];
    });
    const out = await f(
      vector(1, 2),
      vector(9),
      arr([2], (i) => i, "bool"),
    );
    expect(out.slice(0, 5).map(list)).toEqual([[1, 2], [0, 1], [2, 4], [2, 4], [7, 8]]); // biome-ignore format: rows
    expect(list(out[5] as Arr)).toEqual(new Array(200).fill(0));
    expect(out[6]).toEqual(arr([3], () => 1, "int32"));
    expect(list(out[7] as Arr)).toEqual([1, 2]);
    expect(out[1]?.data).toBeInstanceOf(Uint8Array);
  });

  test("an output is the next call's input", async () => {
    const engine = await open();
    const next = engine.jit("next", (x: T, rate: T) => tf.sub(x, tf.mul(x, rate)));
    let x = vector(1, 2);
    for (let i = 0; i < 3; i++)
      x = await next(
        x,
        arr([], () => 0.5),
      );
    expect(list(x)).toEqual([0.125, 0.25]);
  });

  test("leaves tfjs' own backend as it was, and no tensors behind", async () => {
    await import("@tensorflow/tfjs-backend-cpu");
    await tf.setBackend("cpu");
    const engine = await open();
    const before = tf.memory().numTensors;
    const kept = tf.tensor1d([1, 2, 3]);
    const f = engine.jit("uses a tensor of another backend", (x: T) => tf.add(x, kept));
    expect(list(await f(vector(1, 1, 1)))).toEqual([2, 3, 4]);
    expect(tf.getBackend()).toBe("cpu");
    expect([...kept.dataSync()]).toEqual([1, 2, 3]);
    kept.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  test("scalars and empty tensors", async () => {
    const engine = await open();
    const f = engine.jit("scalar", (x: T, none: T) => [tf.square(x), tf.concat([none, none])]);
    const [square, empty] = await f(
      arr([], () => 3),
      arr([0, 2], () => 0),
    );
    expect(square).toEqual(arr([], () => 9));
    expect(empty?.shape).toEqual([0, 2]);
  });
});

describe("what goes wrong is said", () => {
  test("an unknown kernel is named, with the line that called it", async () => {
    const engine = await open();
    const f = engine.jit("loss", (x: T) =>
      tf.image.flipLeftRight(tf.reshape(x, [1, 1, 2, 1]) as tf.Tensor4D),
    );
    await expect(f(vector(1, 2))).rejects.toThrow(
      /^loss, .*engine\.test\.ts:\d+:\d+: unknown kernel FlipLeftRight:.*add a row/,
    );
    await expect(f(vector(1, 2))).rejects.toBeInstanceOf(EngineError);
    expect(engine.stats.sessions).toBe(0);
  });

  test("reading numbers inside a traced function", async () => {
    const engine = await open();
    const f = engine.jit("peek", (x: T) => tf.scalar(x.dataSync()[0] as number));
    await expect(f(vector(1))).rejects.toThrow(
      /peek, .*engine\.test\.ts.*numbers of a recorded tensor were read/,
    );
    const constants = engine.jit("constants", (x: T) =>
      tf.add(x, tf.scalar(tf.range(0, 3).dataSync()[2] as number)),
    );
    expect(list(await constants(vector(1)))).toEqual([3]);
  });

  test("a tensor kept from another trace", async () => {
    const engine = await open();
    let leaked: T | undefined;
    const first = engine.jit("first", (x: T) => {
      leaked = tf.keep(tf.mul(x, 2));
      return tf.neg(x);
    });
    await first(vector(1));
    const second = engine.jit("second", (x: T) => tf.add(x, leaked as T));
    await expect(second(vector(1))).rejects.toThrow(/a tensor of another trace/);
    leaked?.dispose();
  });

  test("numbers that do not fill their shape, and a disposed engine", async () => {
    const engine = await open();
    const f = engine.jit("f", (x: T) => tf.neg(x));
    await expect(f({ shape: [3], dtype: "float32", data: Float32Array.of(1) })).rejects.toThrow(
      /input 0 of f .*expected float32 \[3\]/,
    );
    await expect(f({ shape: [1], dtype: "int32", data: Float32Array.of(1) })).rejects.toThrow(EngineError);
    await engine.dispose();
    await expect(f(vector(1))).rejects.toThrow(/after the engine was disposed/);
  });

  test("an index out of range fails the run, not the process", async () => {
    const engine = await open();
    const f = engine.jit("pick", (t: T, i: T) => tf.gather(t, i));
    await expect(
      f(
        vector(1, 2),
        arr([1], () => 5, "int32"),
      ),
    ).rejects.toThrow(/pick failed while running/);
    expect(
      list(
        await f(
          vector(1, 2),
          arr([1], () => 1, "int32"),
        ),
      ),
    ).toEqual([2]);
  });

  test("a device that is not there", async () => {
    await expect(openEngine({ backend: "cuda" })).rejects.toThrow(ConfigError);
    await expect(openEngine({ backend: "cuda" })).rejects.toThrow(/engine\.backend: .*cannot start on cuda/);
  });

  test("the config section: defaults, unknown keys", () => {
    expect(engineConfig.parse({})).toEqual({
      ...{
        backend: "cpu",
        threads: 0,
        maxSessions: 128,
        sessionMegabytes: 4096,
        keepMemory: true,
        spin: false,
      },
    });
    expect(engineConfig.safeParse({ thread: 1 }).success).toBe(false);
    expect(engineConfig.safeParse({ threads: -1 }).success).toBe(false);
  });
});

describe("the session cache", () => {
  test("keeps at most maxSessions and recompiles what went", async () => {
    const engine = await open({ maxSessions: 2 });
    const f = engine.jit("f", (x: T) => tf.neg(x));
    for (const n of [1, 2, 3, 1]) expect((await f(arr([n], () => 1))).data.length).toBe(n);
    expect(engine.stats).toEqual({ compiles: 4, runs: 4, sessions: 2 });
    await f(arr([1], () => 1));
    expect(engine.stats.compiles).toBe(4);
  });

  test("never releases a program under a running call; failures are forgotten", async () => {
    const released: string[] = [];
    const bounds = { programs: 1, bytes: 100, bytesOf: () => 1 };
    const cache = new ProgramCache<string>(bounds, async (program) => {
      released.push(program);
    });
    const a = await cache.lease("a", async () => "a");
    const again = await cache.lease("a", async () => "not made");
    const b = await cache.lease("b", async () => "b");
    await Promise.resolve();
    expect([a.program, again.program, b.program, released]).toEqual(["a", "a", "b", []]);
    a.done();
    again.done();
    await vi.waitFor(() => expect(released).toEqual(["a"]));
    await expect(cache.lease("c", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect((await cache.lease("c", async () => "c")).program).toBe("c");
    b.done();
    await cache.clear();
    expect(released).toEqual(["a", "b"]);
  });
});

test("over its bytes the cache lets the largest programs go first, never small ones nor the one just asked for", async () => {
  const released: string[] = [];
  const bounds = { programs: 10, bytes: 30, bytesOf: (program: string) => Number(program.slice(1)) };
  const cache = new ProgramCache<string>(bounds, async (program) => {
    released.push(program);
  });
  const use = async (name: string) => (await cache.lease(name, async () => name)).done();
  for (const name of ["a2", "b20", "c4", "d10"]) await use(name);
  expect([cache.size, released]).toEqual([3, ["b20"]]);
  await use("e40");
  expect([cache.size, released]).toEqual([2, ["b20", "d10", "c4"]]);
  await use("f1");
  expect([cache.size, released.at(-1)]).toEqual([2, "e40"]);
});

test("200 runs give the same bits: a step with repeated ids on two threads", async () => {
  const engine = await open();
  const [vocabulary, width, rows] = [1024, 32, 1500];
  const step = engine.jit("step", (table: T, ids: T, targets: T) => {
    const loss = (t: T) => {
      const z = tf.matMul(tf.tanh(gatherRows(t, ids)), t, false, true);
      return tf.add(
        tf.neg(tf.mean(targetLogprobs(z, targets).logprobs)),
        tf.mul(0.01, tf.mean(entropyOf(z))),
      ) as tf.Scalar;
    };
    const { value, grads } = tf.valueAndGrads(loss as never)([table]);
    return { value, gradient: grads[0] as T };
  });
  const table = arr([vocabulary, width], (i) => Math.sin(i * 1.3));
  // Half of all rows look up one of three ids.
  const ids = arr([rows], (i) => (i % 2 ? i % 3 : (i * 37) % vocabulary), "int32");
  const targets = arr([rows], (i) => (i * 11) % vocabulary, "int32");
  const first = await step(table, ids, targets);
  for (let i = 1; i < 200; i++) {
    const { value, gradient } = await step(table, ids, targets);
    expect(value.data).toEqual(first.value.data);
    expect(Buffer.compare(Buffer.from(gradient.data.buffer), Buffer.from(first.gradient.data.buffer))).toBe(
      0,
    );
  }
});
