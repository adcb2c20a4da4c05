import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJudge } from "../../reward/judge.ts";
import { type JudgeConfig, judgeConfig } from "../../reward/judge-config.ts";
import { type JudgePrompt, judgePrompt } from "../../reward/judge-prompt.ts";
import { toyTask, toyTrajectory } from "../../reward/testing.ts";
import { judgeTriples } from "./judge-triples.ts";
import type { Report } from "./report.ts";

interface Asked {
  /** Why there is no verdict, one a content. */
  readonly failures: readonly string[];
  readonly verdicts: readonly { readonly value: number; readonly reason: string }[];
  readonly requests: number;
  readonly tokens: readonly [prompt: number, completion: number];
  /** What ended the asking, if anything did. */
  readonly error?: string;
}

const promptsOf = (config: JudgeConfig): JudgePrompt[] =>
  judgeTriples.map(([question, gold, prediction]) =>
    judgePrompt(
      toyTrajectory([], { task: { ...toyTask, question, goldenAnswers: [gold] } }),
      prediction,
      config,
    ),
  );

/** Asks a judge of its own about the first `n` triples. */
async function ask(over: Partial<JudgeConfig> & { url: string; model: string }, n: number): Promise<Asked> {
  const config = judgeConfig.parse({ retryDelayMs: 0, concurrency: 8, maxTokens: 200, ...over });
  const prompts = promptsOf(config).slice(0, n);
  const judge = openJudge(config);
  try {
    const { failures, error } = await judge.ask(prompts, AbortSignal.timeout(400_000)).then(
      (failures) => ({ failures: [...failures.values()], error: undefined }),
      (error: unknown) => ({ failures: [], error: String(error) }),
    );
    const { requests, promptTokens, completionTokens } = judge.counters();
    return {
      failures,
      verdicts: prompts.flatMap(({ key }) => judge.verdict(key) ?? []),
      requests,
      tokens: [promptTokens, completionTokens],
      ...(error === undefined ? {} : { error }),
    };
  } finally {
    judge.close();
  }
}

/** The same server without `response_format`: what a model says when nobody holds it to a schema. */
async function withoutSchema(url: string): Promise<{ url: string; close(): void }> {
  const relay = http.createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const { response_format: _, ...body } = JSON.parse(text) as Record<string, unknown>;
    const answer = await fetch(url + String(request.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(await answer.text());
  });
  await new Promise<void>((ready) => relay.listen(0, "127.0.0.1", ready));
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}`,
    close() {
      relay.closeAllConnections();
      relay.close();
    },
  };
}

/**
 * The judge against a model behind a server that keeps to JSON schemas: verdicts, cache, budget, and every way to fail.
 * What the marks are is not checked: a small model's are worth nothing.
 */
export async function checkJudge(url: string, model: string, report: Report): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "forager-judge-"));
  const at = { url, model };
  const n = judgeTriples.length;
  try {
    const cache = join(folder, "judge.jsonl");
    const began = performance.now();
    const all = await ask({ ...at, cache }, n);
    const seconds = (performance.now() - began) / 1e3;
    report.check(
      "judge verdicts",
      all.verdicts.length === n && all.requests === n,
      `${all.verdicts.length} of ${n} in ${all.requests} requests and ${seconds.toFixed(0)} s; marks ${all.verdicts.map(({ value }) => value).join(" ")}${all.failures[0] ? `; ${all.failures[0]}` : ""}`,
    );
    report.check("judge usage", all.tokens.every(Boolean), `${all.tokens.join(" and ")} tokens`);
    const lines = readFileSync(cache, "utf8").trim().split("\n");
    const again = await ask({ ...at, cache }, n);
    report.check(
      "judge cache",
      again.requests === 0 && again.verdicts.length === n && lines.every((line) => line.includes('"usage"')),
      `${lines.length} lines, ${again.requests} requests the second time`,
    );

    const paid = join(folder, "paid.jsonl");
    const poor = await ask({ ...at, cache: paid, maxRequests: 2, concurrency: 1 }, 4);
    const kept = readFileSync(paid, "utf8").trim().split("\n").length;
    report.check(
      "judge budget",
      /budget is used up/.test(poor.error ?? "") && kept === 2,
      `${kept} verdicts kept; ${poor.error}`,
    );

    const failsWith = async (
      name: string,
      over: Partial<JudgeConfig>,
      o: { says: RegExp; requests: number },
    ) => {
      const failed = await ask({ ...at, ...over }, 2);
      const [why = "no failure"] = failed.failures;
      const right = failed.failures.length === 2 && failed.failures.every((each) => o.says.test(each));
      report.check(
        `judge ${name}`,
        right && failed.requests === o.requests,
        `${failed.requests} requests; ${why}`,
      );
    };
    // Two contents each: what another attempt cannot mend costs one request.
    await failsWith("cut off", { maxTokens: 16 }, { says: /within 16 tokens.*maxTokens/s, requests: 2 });
    await failsWith("without its model", { model: "nobody" }, { says: /reward\.judge\.model/, requests: 2 });
    await failsWith("too late", { requestTimeoutMs: 5, attempts: 2 }, { says: /5 ms/, requests: 4 });
    const loose = await withoutSchema(url);
    await failsWith(
      "prose",
      { url: loose.url, maxTokens: 64, attempts: 1 },
      { says: /no verdict/, requests: 2 },
    ).finally(loose.close);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
