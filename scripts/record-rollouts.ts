import { appendFileSync } from "node:fs";
import { z } from "zod";
import { ConfigError } from "../core/errors.ts";
import type { PassThrough } from "../serve/proxy/pass-through.ts";
import { type OpenRollout, startProxy } from "../serve/proxy/proxy.ts";
import { parseBody } from "../serve/proxy/requests.ts";
import { storedLines } from "../serve/proxy/stored-line.ts";
import type { Output } from "./output.ts";

export interface Recorder {
  readonly out: string;
  readonly host: string;
  readonly port: number;
  readonly backend: PassThrough;
  readonly models: readonly string[];
}

const opening = z.strictObject({ id: z.string().min(1).optional(), question: z.string().optional() });

/** Serves until it is stopped; then every rollout that is open is closed and written. */
export async function record(
  { out, host, port, backend, models }: Recorder,
  output: Output,
  signal: AbortSignal,
) {
  const count = { rollouts: 0, written: 0, lines: 0, failed: 0 };
  const writing = new Set<Promise<void>>();
  const write = async (rollout: OpenRollout) => {
    const recorded = await rollout.finished;
    count.rollouts++;
    const lines = await storedLines(recorded, (ids) => backend.decode(ids));
    if (recorded.tally.unrecorded > 0 || lines.length === 0) {
      count.failed++;
      output.warn(
        `rollout ${recorded.id} is not written: ${lines.length === 0 ? "it has no calls" : "calls are missing"}`,
      );
      return;
    }
    appendTo(out, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    count.written++;
    count.lines += lines.length;
    const { reward } = recorded.posted ?? {};
    output.line(
      `${recorded.id}  calls ${recorded.tally.calls}  sequences ${lines.length}  reward ${reward ?? "none"}`,
    );
    output.event("rollout", {
      id: recorded.id,
      reward: reward ?? null,
      sequences: lines.length,
      ...recorded.tally,
    });
  };
  const proxy = await startProxy({
    ...{ host, port },
    create(body) {
      return { ...parseBody(opening, body), backend, endsWithReward: true };
    },
    onOpen(rollout) {
      const written = write(rollout).catch((error: Error) => {
        count.failed++;
        output.warn(`rollout ${rollout.id} is not written: ${error.message}`);
      });
      writing.add(written);
      void written.finally(() => writing.delete(written));
    },
  });
  if (!["127.0.0.1", "::1", "localhost"].includes(host))
    output.warn(`whoever reaches ${proxy.url} can use the server behind it: there is no API key`);
  output.line(usage(proxy.url, models, out));
  output.event("listening", { url: proxy.url, models });
  if (!signal.aborted)
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  await proxy.close();
  await Promise.all(writing);
  output.result({ url: proxy.url, out, ...count });
}

const usage = (
  url: string,
  models: readonly string[],
  out: string,
) => `recording at ${url}  (models: ${models.join(", ")})

  1. a rollout:   curl -X POST ${url}/rollouts -d '{"question": "…"}'   → {"id": "r1", "baseUrl": "…"}
  2. the agent:   OPENAI_BASE_URL=${url}/rollouts/r1/v1 OPENAI_API_KEY=any node agent.mjs
  3. its reward:  curl -X POST ${url}/rollouts/r1/reward -d '{"reward": 1}'

Each rollout that is over is appended to ${out}; \`curl -X POST ${url}/rollouts/r1/close\` ends one without a reward.
`;

/** @throws ConfigError */
export function appendTo(path: string, text: string): void {
  try {
    appendFileSync(path, text);
  } catch (cause) {
    throw new ConfigError({ what: "cannot write", where: path, got: (cause as Error).message, cause });
  }
}
