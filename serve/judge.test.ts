import { expect, test } from "vitest";
import { openJudge } from "../reward/judge.ts";
import { judgeConfig } from "../reward/judge-config.ts";
import { judgePrompt } from "../reward/judge-prompt.ts";
import { toyTrajectory } from "../reward/testing.ts";
import { createApi } from "./api.ts";
import { listen } from "./listen.ts";
import { stubModel } from "./stub-model.ts";

test("a judge behind `forager serve`, which holds nobody to a schema, is told what to name instead", async () => {
  const server = await listen(createApi({ model: stubModel({ name: "m" }) }), { port: 0 });
  const config = judgeConfig.parse({ url: server.url, model: "m", retryDelayMs: 0 });
  const judge = openJudge(config);
  try {
    const prompt = judgePrompt(toyTrajectory(["x"]), "Ada", config);
    const failures = await judge.ask([prompt], AbortSignal.timeout(5_000));
    expect(failures.get(prompt.key)).toMatch(
      /answered 400.*response_format is not supported.*name one that can, such as vLLM.*reward\.judge\.url/s,
    );
    expect(judge.counters().requests).toBe(1);
  } finally {
    judge.close();
    await server.close();
  }
});
