import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import { packageRoot } from "../../core/package-root.ts";
import type { EpisodeOptions } from "../../rollout/episode.ts";
import { type Line, lines, scriptedSampler, unbatched } from "../../rollout/testing.ts";
import { type Agent, commandAgent } from "./agent.ts";
import { type RecordingProxy, startProxy } from "./proxy.ts";
import { tokenizer, toyEpisode } from "./testing.ts";

let proxy: RecordingProxy;
beforeAll(async () => {
  proxy = await startProxy();
});
afterAll(() => proxy.close());

const play = (agent: Agent, script: readonly Line[] = ["x"], over: Partial<EpisodeOptions> = {}) =>
  toyEpisode(proxy, agent, script, over);

describe("an agent that is a program", () => {
  it("a command that cannot be started", async () => {
    const agent = commandAgent({ command: ["no-such-program"] });
    await expect(play(agent)).rejects.toThrow(ConfigError);
    await expect(play(agent)).rejects.toThrow(/no-such-program.*on the PATH/);
  });

  const node = (code: string): Agent => commandAgent({ command: ["node", "-e", code], killAfterMs: 50 });
  const call = `fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body: JSON.stringify({
    messages: [{ role: "user", content: process.env.FORAGER_QUESTION_ID }] }) }).then((r) => r.json())`;

  it("the one in the docs works as it stands", async () => {
    const agent = commandAgent({ command: ["node", "docs/own-agent/agent.mjs"], cwd: packageRoot() });
    const { outcome, ending, sequences } = await play(agent, ["<search>mill</search>", "renn"]);
    expect([outcome, ending?.turns, ending?.agent]).toEqual(["answered", 2, { answer: "renn" }]);
    expect(sequences[0]?.segments.map(({ text }) => text)).toEqual([
      "who built the mill\n",
      "<search>mill</search>",
      "\nthe mill was built by renn\n",
      "renn",
    ]);
  });

  it("a non-zero exit is the agent's failure, with what it said last", async () => {
    const trajectory = await play(
      node(`${call}.then(() => { console.error("no memory"); process.exit(3); })`),
    );
    expect(trajectory.outcome).toBe("infra(agent)");
    expect(trajectory.failure).toMatch(/exit code 3.*no memory/s);
  });

  it("without a word on stdout there is no answer; the last line is one", async () => {
    expect((await play(node(call))).ending?.agent).toEqual({});
    const said = await play(
      node(`${call}.then((r) => console.log("log\\n " + r.choices[0].message.content + "\\n"))`),
    );
    expect(said.ending?.agent).toEqual({ answer: "x" });
  });

  it("one that hangs and will not end is killed, with what it began", async () => {
    const stubborn = `process.on("SIGTERM", () => {}); ${call}.then(() => {
      const child = require("node:child_process").spawn("sleep", ["60"]);
      console.error(process.pid, child.pid);
      return ${call}; })`;
    let ended: Promise<unknown> = Promise.resolve();
    const agent: Agent = (given) => {
      const running = node(stubborn)(given) as Promise<undefined>;
      ended = running.catch((error: Error) => error.message);
      return running;
    };
    const stop = new AbortController();
    const scripted = scriptedSampler(tokenizer, lines(["x"]));
    const sampler: EpisodeOptions["sampler"] = {
      ...unbatched(scripted),
      sample(request, signal) {
        if (scripted.requests.length === 0) return scripted.sample(request, signal);
        stop.abort(); // It has begun its child and asks again: it will wait for ever.
        return new Promise<never>(() => {});
      },
    };
    expect((await play(agent, [], { sampler, signal: stop.signal })).outcome).toBe("cancelled");
    const message = (await ended) as string;
    expect(message).toMatch(/SIGKILL/);
    const pids = (/(\d+) (\d+)/u.exec(message) ?? []).slice(1).map(Number);
    expect(pids).toHaveLength(2);
    await expect.poll(() => pids.filter(isAlive)).toEqual([]);
  });
});

/** A process that is dead may stay listed until somebody asks how it ended. */
function isAlive(pid: number): boolean {
  const { status, stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return status === 0 && !stdout.trim().startsWith("Z");
}
