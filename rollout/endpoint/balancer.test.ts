import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Candidate, choose, notAvoided, spillAhead } from "./balancer.ts";

const idle = (url: string): Candidate => ({ url, inFlight: 0, room: true });
const urls = fc.uniqueArray(
  fc.integer({ min: 0, max: 99 }).map((n) => `http://10.0.0.${n}:8000`),
  { minLength: 2, maxLength: 8 },
);
const groups = fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 40 });
const candidates = fc.uniqueArray(
  fc.record({
    url: fc.integer({ min: 0, max: 20 }).map((n) => `http://10.0.0.${n}:8000`),
    inFlight: fc.integer({ min: 0, max: 40 }),
    room: fc.boolean(),
  }),
  { selector: ({ url }) => url, maxLength: 8 },
);

describe("choose", () => {
  test("a replica that goes takes only its own groups with it", () => {
    fc.assert(
      fc.property(urls, groups, fc.nat(), (all, names, at) => {
        const gone = all[at % all.length] as string;
        for (const group of names) {
          const before = choose(all.map(idle), { group, last: undefined })?.url;
          const after = choose(all.filter((url) => url !== gone).map(idle), { group, last: undefined })?.url;
          if (before === gone) expect(after).not.toBe(gone);
          else expect(after).toBe(before);
        }
      }),
    );
  });

  test("groups spread over the replicas", () => {
    const four = [1, 2, 3, 4].map((n) => idle(`http://10.0.0.${n}:8000`));
    const count = new Map<string, number>();
    for (let task = 0; task < 1000; task++) {
      const url = choose(four, { group: `3/task-${task}`, last: undefined })?.url ?? "none";
      count.set(url, (count.get(url) ?? 0) + 1);
    }
    expect(count.size).toBe(4);
    // Binomial(1000, 1/4): 250 ± 13.7; this is five standard deviations.
    for (const n of count.values()) expect(Math.abs(n - 250)).toBeLessThan(70);
  });

  test("a sequence stays where it was, whatever its group's home", () => {
    fc.assert(
      fc.property(urls, fc.string(), fc.nat(), (all, group, at) => {
        const last = all[at % all.length] as string;
        expect(choose(all.map(idle), { group, last })?.url).toBe(last);
      }),
    );
  });

  test("it has room, and is never more than the bound ahead of another with room", () => {
    fc.assert(
      fc.property(candidates, fc.string(), fc.option(fc.nat({ max: 20 })), (all, group, n) => {
        const last = n === null ? undefined : `http://10.0.0.${n}:8000`;
        const chosen = choose(all, { group, last });
        const free = all.filter(({ room }) => room);
        if (free.length === 0) {
          expect(chosen).toBeUndefined();
          return;
        }
        expect(chosen?.room).toBe(true);
        const least = Math.min(...free.map(({ inFlight }) => inFlight));
        expect(chosen?.inFlight).toBeLessThanOrEqual(least + spillAhead);
        const here = all.find(({ url }) => url === last);
        // And what is preferred is taken within the bound.
        if (here?.room && here.inFlight <= least + spillAhead) expect(chosen).toBe(here);
        // Spilling goes to the least loaded one.
        else if (here) expect(chosen?.inFlight).toBe(least);
      }),
    );
  });

  test("eight requests ahead is near enough, nine is not", () => {
    const least = idle("http://least");
    const ahead = (inFlight: number) => ({ url: "http://last", inFlight, room: true });
    const at = { group: "g", last: "http://last" };
    expect(choose([least, ahead(8)], at)?.url).toBe("http://last");
    expect(choose([least, ahead(9)], at)?.url).toBe("http://least");
  });

  test("the order of the candidates does not matter", () => {
    const shuffled = candidates.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, fc.string(), ([all, other], group) => {
        expect(choose(other, { group, last: undefined })).toBe(choose(all, { group, last: undefined }));
      }),
    );
  });
});

test("replicas that a request failed on are avoided while there is another", () => {
  const [a, b] = [idle("http://a"), idle("http://b")];
  expect(notAvoided([a, b], new Set(["http://a"]))).toEqual([b]);
  expect(notAvoided([a], new Set(["http://a"]))).toEqual([a]);
  expect(notAvoided([a, b], undefined)).toEqual([a, b]);
});
