import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { rewardConfig } from "../config.ts";
import { scoreAll } from "../score-all.ts";
import { makeScorer } from "../scorer.ts";
import { openAuditor } from "./audit.ts";
import { auditConfig } from "./config.ts";
import {
  account,
  atOnce,
  caught,
  draft,
  plan,
  rejected,
  teamScored,
  teamTrajectory,
  verdict,
} from "./testing.ts";

/** What the toy judge says to a user message: a text, or a status. */
let says: (user: string) => string | number;
const asked: string[] = [];
let server: http.Server;
let url: string;
let folder: string;
const mark = (yes: boolean) => JSON.stringify({ reason: "so it is", mark: yes ? 1 : 0 });

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "forager-audit-"));
  asked.length = 0;
  says = () => mark(true);
  server = http.createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => {
      text += chunk;
    });
    request.on("end", () => {
      const user = (JSON.parse(text) as { messages: { content: string }[] }).messages.at(-1)!.content;
      asked.push(user);
      const said = says(user);
      response.writeHead(typeof said === "number" ? said : 200, { "content-type": "application/json" });
      const choices = [{ message: { role: "assistant", content: said }, finish_reason: "stop" }];
      response.end(JSON.stringify(typeof said === "number" ? { error: { message: "no" } } : { choices }));
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
  rmSync(folder, { recursive: true });
});

const opened: { close(): void }[] = [];
function auditor(more: object = {}) {
  const made = openAuditor(
    auditConfig.parse({ url, model: "m", share: 1, retryDelayMs: 0, attempts: 1, ...more }),
    1,
  );
  opened.push(made);
  return made;
}
const signal = new AbortController().signal;
const stamped = () => account([[plan(["director"]), draft("Ona"), verdict("pass")]]);

test("asks about the plan, and about each draft without its verdict and with it", async () => {
  says = (user) => mark(!user.includes("Question to you: Is this plan"));
  const { metrics, episodes } = await auditor().audit([teamScored(atOnce())], 0, signal);
  expect(episodes).toMatchObject([
    {
      ...{ task: "toy:1", member: 0, failures: [] },
      answers: [
        { asks: "planComplete", yes: false, reason: "so it is" },
        { asks: "draftRight", verdict: 0, yes: true },
        { asks: "verdictSound", verdict: 0, yes: true },
      ],
    },
  ]);
  expect(metrics).toEqual({
    ...{ "audit/episodes": 1, "audit/answers": 3, "audit/failures": 0, "audit/agreement": 1 },
    ...{ "audit/plan_complete": 0, "audit/draft_right": 1, "audit/verdict_sound": 1 },
  });
  const blind = asked.find((user) => user.includes("Is this draft right"))!;
  expect(blind).not.toMatch(/Verdict:|Backward:/u);
  expect(asked.find((user) => user.includes("check of this draft sound"))).toContain("Verdict: pass");
});

test("agreement is of the verifier with the auditor's own mark of the draft", async () => {
  says = (user) => mark(!user.includes("Answer: Ona"));
  const of = async (team: ReturnType<typeof account>) =>
    (await auditor().audit([teamScored(team)], 0, signal)).metrics["audit/agreement"];
  expect(await of(caught())).toBe(1);
  expect(await of(stamped())).toBe(0);
  expect(await of(account([[plan(), draft()]]))).toBeUndefined();
});

test("the share is drawn by seed, step, task and member, and nothing else", async () => {
  says = () => mark(true);
  const members = Array.from({ length: 64 }, (_, member) => teamScored(atOnce(), { member }));
  const drawn = async (step: number, of = members) =>
    (await auditor({ share: 0.25 }).audit(of, step, signal)).episodes
      .map(({ member }) => member)
      .sort((a, b) => a - b);
  const first = await drawn(3);
  expect(first.length).toBeGreaterThan(4);
  expect(first.length).toBeLessThan(32);
  expect(await drawn(3, [...members].reverse())).toEqual(first);
  expect(await drawn(4)).not.toEqual(first);
  expect(asked.length).toBeLessThanOrEqual(4 * 3); // the same content is asked once by each auditor
});

describe("failures are typed, cost answers and never the run", () => {
  test("a judge that gives no verdict", async () => {
    says = (user) => (user.includes("Is this plan") ? "It seems fine." : mark(true));
    const { metrics, episodes } = await auditor().audit([teamScored(atOnce())], 0, signal);
    expect(metrics).toMatchObject({ "audit/answers": 2, "audit/failures": 1 });
    expect(metrics).not.toHaveProperty(["audit/plan_complete"]);
    expect(episodes[0]!.failures).toMatchObject([
      { kind: "judge", why: expect.stringContaining("reward.audit.url") },
    ]);
  });
  test("requests that are used up", async () => {
    const made = auditor({ maxRequests: 2, concurrency: 1 });
    const { metrics, episodes } = await made.audit([teamScored(atOnce())], 0, signal);
    expect(metrics).toMatchObject({ "audit/answers": 2, "audit/failures": 1 });
    expect(episodes[0]!.failures).toMatchObject([
      { kind: "budget", why: expect.stringContaining("reward.audit.maxRequests") },
    ]);
  });
  test("a key that is not set is the user's mistake, told of before", () => {
    expect(() => auditor({ apiKeyEnv: "FORAGER_NO_SUCH_KEY" })).toThrow(ConfigError);
    expect(() => auditor({ apiKeyEnv: "FORAGER_NO_SUCH_KEY" })).toThrow(/reward\.audit\.apiKeyEnv/u);
  });
  test("an abort ends it", async () => {
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    await expect(auditor().audit([teamScored(atOnce())], 0, controller.signal)).rejects.toThrow("enough");
  });
});

test("findings are kept in audit.jsonl, and asked for once", async () => {
  const first = auditor();
  first.keepIn(folder);
  await first.audit([teamScored(atOnce())], 0, signal);
  expect(readFileSync(join(folder, "audit.jsonl"), "utf8").trim().split("\n")).toHaveLength(3);
  const again = auditor();
  again.keepIn(folder);
  expect((await again.audit([teamScored(atOnce())], 7, signal)).metrics["audit/answers"]).toBe(3);
  expect(asked).toHaveLength(3);
});

test("the audit's section is strict, and its share 5 %", () => {
  expect(auditConfig.parse({ url, model: "m" })).toMatchObject({ share: 0.05 });
  expect(auditConfig.safeParse({ url, model: "m", marks: 3 }).success).toBe(false);
});

test("open tasks: the judge in the place of exact match, nothing past the rounds", async () => {
  says = () => '{"reason": "well argued", "mark": 8}';
  const weights = { judge: 0.5, teamProcess: 0.4, teamFormat: 0.1 };
  const score = makeScorer(
    rewardConfig.parse({ preset: "team", weights, judge: { url, model: "m", retryDelayMs: 0 } }),
  );
  opened.push({ close: () => score.close?.() });
  const late = teamTrajectory({ ...rejected(6), answer: "Mika" }, { member: 1 });
  const [good, past] = await scoreAll(score, [teamTrajectory(atOnce()), late]);
  expect(good).toMatchObject({ reward: expect.closeTo(0.9, 12) });
  expect(past).toMatchObject({ reward: 0, parts: { judge: 0.8 } });
});
