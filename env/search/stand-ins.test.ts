import { describe, expect, it } from "vitest";
import { ToolError } from "../../core/errors.ts";
import { memoryRetriever } from "./memory.ts";
import { oracleRetrievers } from "./oracle.ts";
import { episodeRetriever, type StandInResources, standIns } from "./stand-ins.ts";
import { toyCorpus } from "./toy-corpus.ts";

const { passages, queries } = toyCorpus(60);
const engine = memoryRetriever(passages);
const gold = passages.slice(3, 6);
const resources: StandInResources = {
  engine,
  pool: passages,
  gold: ({ id }) => (id === "q1" ? gold : undefined),
};
const q1 = { id: "q1", question: "?" };
const [first, second] = queries as [string, string];
const ids = (hits: readonly { id: string }[] | undefined) => hits?.map(({ id }) => id);

describe("stand-ins for the engine", () => {
  it("engine is the engine itself, empty finds nothing", async () => {
    expect(episodeRetriever({ retriever: "engine" }, resources, q1)).toBe(engine);
    expect(await episodeRetriever({ retriever: "empty" }, resources, q1).search([first], 3)).toEqual([[]]);
  });

  it("random draws k different passages, the same for one query and others for another", async () => {
    const random = episodeRetriever({ retriever: "random" }, resources, q1);
    const [one, other, again] = await random.search([first, second, first], 5);
    expect(new Set(ids(one)).size).toBe(5);
    expect(ids(again)).toEqual(ids(one));
    expect(ids(other)).not.toEqual(ids(one));
    const few = { ...resources, pool: passages.slice(0, 2) };
    const all = await episodeRetriever({ retriever: "random" }, few, q1).search([first], 5);
    expect(all[0]).toHaveLength(2);
  });

  it("oracle gives the question's gold, and a question without any is a failure, never nothing found", async () => {
    const oracle = episodeRetriever({ retriever: "oracle" }, resources, q1);
    expect(ids((await oracle.search([first], 4))[0])?.slice(0, 3)).toEqual(ids(gold));
    expect(() => episodeRetriever({ retriever: "oracle" }, resources, { ...q1, id: "q2" })).toThrow(
      ToolError,
    );
  });

  it("each is another version of the index, so that their records never meet", () => {
    const versions = Object.values(standIns).map(({ version }) => version(engine.version));
    expect(new Set(versions).size).toBe(versions.length);
  });

  it("a budget answers the first queries of an episode and no more; the next episode has its own", async () => {
    const episode = () => episodeRetriever({ retriever: "engine", budget: 2 }, resources, q1);
    const budgeted = episode();
    const [found] = await engine.search([first], 2);
    expect(await budgeted.search([first], 2)).toEqual([found]);
    const [last, beyond] = await budgeted.search([first, second], 2);
    expect(last).toEqual(found);
    expect(beyond).toEqual([]);
    expect(await budgeted.search([first], 2)).toEqual([[]]);
    expect(await episode().search([first], 2)).toEqual([found]);
    expect(budgeted.version).not.toBe(engine.version);
    const none = episodeRetriever({ retriever: "engine", budget: 0 }, resources, q1);
    expect(await none.search([first], 2)).toEqual([[]]);
    await expect(none.search([first], 0)).rejects.toThrow("search for k passages");
  });
});

describe("an oracle with less room than gold", () => {
  it("gives what the query asks for, in hop order, and the first ones to a query about nothing", async () => {
    const oracle = oracleRetrievers(new Map([["q1", gold]]), engine)("q1");
    const [, , third] = gold as [(typeof gold)[0], (typeof gold)[0], (typeof gold)[0]];
    expect(ids((await oracle.search([third.title], 1))[0])).toEqual([third.id]);
    const [two] = await oracle.search([third.title], 2);
    expect(ids(two)).toContain(third.id);
    expect(ids(two)).toEqual(ids(gold)?.filter((id) => ids(two)?.includes(id)));
    expect(ids((await oracle.search(["zzz"], 2))[0])).toEqual(ids(gold.slice(0, 2)));
  });
});
