import { fieldNames, intents } from "./message.ts";
import { roleNames } from "./roles.ts";

const pair = (name: string) => [`<${name}>`, `</${name}>`];

/** What a small vocabulary needs to speak the team's protocol: one token a tag. */
export const teamTokens: { readonly special: readonly string[]; readonly words: readonly string[] } = {
  special: [
    ...roleNames.map((role) => `<${role}>`),
    "<compressor>",
    ...intents.flatMap(pair),
    ...fieldNames.flatMap(pair),
    ...pair("draft"),
  ],
  words: ["pass", "fail", ";"],
};
