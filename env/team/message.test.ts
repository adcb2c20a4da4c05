import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fieldNames, intents, readMessage, writeMessage } from "./message.ts";
import { roleNames } from "./roles.ts";
import { drafted, failed, passed, proposed } from "./testing.ts";

const word = fc.stringMatching(/^[a-z]{1,6}$/);
const phrase = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));

describe("readMessage", () => {
  it("reads back what writeMessage writes", () => {
    fc.assert(
      fc.property(
        fc.array(phrase, { minLength: 1, maxLength: 4 }),
        fc.array(phrase, { maxLength: 3 }),
        (path, constraints) => {
          const text = writeMessage("propose", { path, constraints });
          expect(readMessage("q", "planner", text)).toEqual({
            message: { task: "q", role: "planner", intent: "propose", payload: { path, constraints } },
            clean: true,
          });
        },
      ),
    );
  });

  it("never throws, and never reads a message out of a text without one of its tags", () => {
    const tags = [...intents, ...fieldNames].flatMap((name) => [`<${name}>`, `</${name}>`]);
    const soup = fc
      .array(fc.oneof(fc.constantFrom(...tags), phrase), { maxLength: 14 })
      .map((parts) => parts.join(" "));
    fc.assert(
      fc.property(fc.constantFrom(...roleNames), soup, (role, text) => {
        const reading = readMessage("q", role, text);
        if ("message" in reading) {
          expect(text).toContain(`<${reading.message.intent}>`);
          expect(text).toContain(`</${reading.message.intent}>`);
        } else expect(reading.detail).not.toBe("");
      }),
      { numRuns: 500 },
    );
  });

  it("a verdict that cannot be read is none", () => {
    const bad = [
      "pass",
      "<verdict> pass </verdict>",
      passed.replace("</verify>", ""),
      passed.replace("<verdict> pass </verdict>", "<verdict> passed </verdict>"),
      passed.replace("<verdict> pass </verdict>", ""),
      passed.replace("<forward> mayor </forward>", "<forward> </forward>"),
      passed.replace("<verdict> pass </verdict>", "<verdict> pass </verdict> <verdict> fail </verdict>"),
      `${failed()} ${passed}`,
    ];
    for (const text of bad) expect(readMessage("q", "verifier", text)).toHaveProperty("violation");
    expect(readMessage("q", "verifier", passed)).toMatchObject({ message: { payload: { verdict: "pass" } } });
  });

  it("says what is wrong", () => {
    const violations = [
      ["planner", "I think so", "noMessage"],
      ["planner", "<propose> <path> a </path>", "unclosed"],
      ["planner", passed, "illegalIntent"],
      ["drafter", proposed("a"), "badPayload"],
      ["drafter", "<propose> lida </propose>", "badPayload"],
      ["drafter", `${drafted("a")} ${drafted("b")}`, "severalMessages"],
    ] as const;
    for (const [role, text, violation] of violations)
      expect(readMessage("q", role, text)).toMatchObject({ violation });
    expect(readMessage("q", "planner", proposed("a"), ["revise"])).toMatchObject({
      violation: "illegalIntent",
    });
  });

  it("text around a message leaves it valid and not clean", () => {
    expect(readMessage("q", "drafter", `so: ${drafted("lida")}`)).toMatchObject({ clean: false });
    expect(readMessage("q", "drafter", `\n ${drafted("lida")} `)).toMatchObject({ clean: true });
  });
});
