import { afterEach, describe, expect, test } from "vitest";
import { bytes, closeServed, complete, served } from "./api-toys.ts";
import { parseStubScript } from "./stub-script.ts";

afterEach(closeServed);

describe("completions through the official client", () => {
  test("text, ids, logprobs and counts of one completion", async () => {
    const { client } = await served();
    const { reply, choices } = await complete(client, {
      max_tokens: 64,
      logprobs: 0,
      return_token_ids: true,
    });
    expect(choices).toHaveLength(1);
    const [choice] = choices;
    expect(choice).toMatchObject({
      text: "It is Paris, of course.",
      finish_reason: "stop",
      stop_reason: null,
    });
    // The end-of-text id is among the ids and has a logprob; the text does not show it.
    expect(choice?.token_ids).toEqual([...bytes("It is Paris, of course."), 256]);
    expect(choice?.logprobs?.tokens?.at(-1)).toBe("<eos>");
    expect(choice?.logprobs?.token_logprobs).toHaveLength(24);
    expect(choice?.prompt_token_ids).toEqual(bytes("capital?"));
    expect(reply.usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 24, total_tokens: 32 });
  });

  test("16 tokens by default; clipped to the context without a word", async () => {
    const { client } = await served({ contextTokens: 20 });
    expect((await complete(client, {})).choices[0]?.text).toBe("It is Paris,");
    expect((await complete(client, { prompt: "abcdefg" })).reply.usage?.completion_tokens).toBe(13);
    const roomy = await served();
    const { choices } = await complete(roomy.client, {});
    expect(choices[0]).toMatchObject({ text: "It is Paris, of ", finish_reason: "length" });
  });

  test("several prompts of every kind, n samples each, in order", async () => {
    const { client } = await served();
    const ids = (await complete(client, { prompt: [65, 66], max_tokens: 3, return_token_ids: true })).choices;
    expect(ids[0]?.prompt_token_ids).toEqual([65, 66]);
    const { reply, choices } = await complete(client, {
      prompt: ["capital?", "other"],
      n: 3,
      seed: 5,
      max_tokens: 30,
      return_token_ids: true,
    });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(choices.map((each) => each.prompt_token_ids?.length)).toEqual([8, 8, 8, 5, 5, 5]);
    expect(reply.usage?.prompt_tokens).toBe(13);
    const lists = (
      await complete(client, { prompt: [[65], [66, 67]], max_tokens: 1, return_token_ids: true })
    ).choices;
    expect(lists.map((each) => each.prompt_token_ids)).toEqual([[65], [66, 67]]);
  });

  test("sample i of n is the sample of seed + i alone", async () => {
    const { client } = await served();
    const prompt = "tell me";
    const together = await complete(client, { prompt, n: 4, seed: 40, max_tokens: 30 });
    const texts = together.choices.map(({ text }) => text);
    expect(new Set(texts).size).toBeGreaterThan(1);
    for (const [i, text] of texts.entries())
      expect((await complete(client, { prompt, seed: 40 + i, max_tokens: 30 })).choices[0]?.text).toBe(text);
  });

  test("without a seed two requests differ; a server with the same seed repeats them", async () => {
    const asked = async () => {
      const { client } = await served({ seed: 9 });
      const said: (string | undefined)[] = [];
      for (let i = 0; i < 8; i++)
        said.push((await complete(client, { prompt: "tell me", max_tokens: 30 })).choices[0]?.text);
      return said;
    };
    const first = await asked();
    expect(new Set(first).size).toBeGreaterThan(1);
    expect(await asked()).toEqual(first);
  });

  test.each([
    [{ stop: "Paris" }, "It is ", "Paris"],
    [{ stop: ["course", "Paris"], include_stop_str_in_output: true }, "It is Paris", "Paris"],
    [{ stop_token_ids: [44] }, "It is Paris", 44],
    [{ stop_token_ids: [44], include_stop_str_in_output: true }, "It is Paris,", 44],
    [{ stop: ["s "], min_tokens: 6 }, "It is Paris, of course.", null],
  ])("%j cuts the text, never the ids", async (limits, text, reason) => {
    const { client } = await served();
    const { choices } = await complete(client, { max_tokens: 64, return_token_ids: true, ...limits });
    expect(choices[0]).toMatchObject({ text, stop_reason: reason, finish_reason: "stop" });
    const whole = Buffer.from((choices[0]?.token_ids ?? []).filter((id) => id < 256)).toString();
    expect(whole.startsWith(text)).toBe(true);
    if (typeof reason === "string") expect(whole.endsWith(reason)).toBe(true);
  });

  test("ignore_eos goes on; skip_special_tokens: false writes the end out", async () => {
    const { client } = await served();
    const { choices } = await complete(client, { max_tokens: 30, ignore_eos: true });
    expect(choices[0]).toMatchObject({ finish_reason: "length", text: "It is Paris, of course.It is " });
    const kept = await complete(client, { max_tokens: 30, ignore_eos: true, skip_special_tokens: false });
    expect(kept.choices[0]?.text).toBe("It is Paris, of course.<eos>It is ");
  });

  test("token ids as names, and the likeliest beside the sampled", async () => {
    const { client } = await served();
    const { choices } = await complete(client, {
      logprobs: 2,
      return_tokens_as_token_ids: true,
      max_tokens: 2,
    });
    expect(choices[0]?.logprobs?.tokens).toEqual(["token_id:73", "token_id:116"]);
    expect(Object.keys(choices[0]?.logprobs?.top_logprobs?.[0] ?? {})).toEqual(["token_id:73", "token_id:0"]);
    expect(choices[0]?.logprobs?.text_offset).toEqual([0, 11]);
  });

  test("a prompt's logprobs are those of the same tokens as a completion at temperature 1", async () => {
    const { client } = await served();
    const said = await complete(client, { max_tokens: 8, logprobs: 0 });
    const scored = await complete(client, { prompt: "capital?It is Pa", prompt_logprobs: 1, max_tokens: 1 });
    const entries = scored.choices[0]?.prompt_logprobs ?? [];
    expect(entries[0]).toBeNull();
    const logprobs = bytes("It is Pa").map((id, i) => entries[8 + i]?.[String(id)]?.logprob);
    expect(logprobs).toEqual(said.choices[0]?.logprobs?.token_logprobs);
  });

  test("echo puts the prompt before the completion, text and logprobs", async () => {
    const { client } = await served();
    const { choices } = await complete(client, { echo: true, logprobs: 0, max_tokens: 2 });
    expect(choices[0]?.text).toBe("capital?It");
    expect(choices[0]?.logprobs?.tokens?.join("")).toBe("capital?It");
    expect(choices[0]?.logprobs?.token_logprobs?.[0]).toBeNull();
  });

  test("a character cut in half is no part of the text", async () => {
    const { client } = await served({ script: parseStubScript({ lines: [{ say: "naïve €" }] }) });
    const cut = await complete(client, { max_tokens: 3, logprobs: 0 });
    expect(cut.choices[0]?.text).toBe("na");
    expect(cut.choices[0]?.logprobs?.tokens).toEqual(["n", "a", ""]);
    const whole = await complete(client, { max_tokens: 10, logprobs: 0 });
    expect(whole.choices[0]?.text).toBe("naïve €");
    expect(whole.choices[0]?.logprobs?.tokens?.slice(0, 5)).toEqual(["n", "a", "", "ï", "v"]);
    expect(whole.choices[0]?.logprobs?.text_offset?.slice(0, 5)).toEqual([0, 1, 2, 2, 3]);
  });
});
