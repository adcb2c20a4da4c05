// Forager's command line with three reward parts more: node train.mjs train my.yaml
import { pathToFileURL } from "node:url";

/** Every part is a pure function of the episode, and larger where the episode is better. */
export const rewards = {
  // 1 for an answer of one word, 1/2 for two, …: the shorter the better.
  brief: (_episode, { prediction }) =>
    prediction === undefined ? 0 : 1 / prediction.trim().split(/\s+/u).length,

  // 1 when the first search already showed a gold passage. Questions without `supporting_ids` have none.
  firstTry: ({ ending, task }) =>
    ending?.searches[0]?.passageIds.some((id) => task.supportingIds?.includes(id)) ? 1 : 0,

  // −1 when the right answer was known without a search.
  guessed: ({ ending }, { exactMatch }) =>
    exactMatch === 1 && (ending?.searches.length ?? 0) === 0 ? -1 : 0,
};

// As a program; a test may import the parts alone.
if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { defineForager } = await import("forager");
  await defineForager({ rewards }).run(process.argv);
}
