import { describe, expect, it } from "vitest";
import { EnvError } from "../core/errors.ts";
import { envConfig } from "./config.ts";
import { researcher } from "./researcher.ts";
import { stepper } from "./stepper.ts";
import { tinyIndex } from "./testing.ts";

const index = tinyIndex([{ id: "a", title: "Blue Harbour", text: "Its director is Tom Vale" }]);
const environment = researcher({ retriever: index, config: envConfig.parse({ maxTurns: 3 }), seed: 1 });
const question = { id: "q", question: "Who?" };

describe("stepper", () => {
  it("plays an episode by reset and step", async () => {
    const steps = stepper(environment);
    const first = await steps.reset(question);
    expect(first).toMatchObject({ observation: "", terminated: false, truncated: false });
    expect(first.options?.stop).toEqual(["</search>"]);
    const second = await steps.step("<search>blue harbour</search> never read");
    expect(second.observation).toContain("Tom Vale");
    const third = await steps.step("<answer>Tom Vale</answer>");
    expect(third).toMatchObject({
      terminated: true,
      truncated: false,
      ending: { outcome: "answered", turns: 2 },
    });
    await expect(steps.step("more")).rejects.toThrow(EnvError);
  });

  it("calls limits truncation", async () => {
    const steps = stepper(environment);
    await steps.reset(question);
    const cut = await steps.step("<think>so", "length");
    expect(cut).toMatchObject({ terminated: false, truncated: true, ending: { outcome: "length" } });
  });

  it("starts anew in the middle of an episode, and closes", async () => {
    const steps = stepper(environment);
    await steps.reset(question);
    await steps.step("<search>blue</search>");
    expect((await steps.reset(question)).observation).toBe("");
    expect((await steps.step("<answer>x</answer>")).ending?.turns).toBe(1);
    await steps.reset(question);
    await steps.close();
    await expect(steps.step("more")).rejects.toThrow(/no episode is waiting/);
  });

  it("passes on what its tools throw, and refuses several seats", async () => {
    const failing = researcher({
      retriever: tinyIndex([], { failing: new Error("gone") }),
      config: envConfig.parse({}),
      seed: 1,
    });
    const steps = stepper(failing);
    await steps.reset(question);
    await expect(steps.step("<search>x</search>")).rejects.toThrow(/the search failed/);
    expect(() => stepper({ ...environment, seats: ["a", "b"] })).toThrow(EnvError);
  });
});
