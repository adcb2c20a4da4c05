import { chatFormNames } from "../track/export/sft.ts";

/** The option --format, of commands that write chats. */
export const formatOption = {
  choices: chatFormNames,
  default: "openai",
  describe: "form of the messages",
} as const;

/** The option --ids, of commands that write rows which nobody sampled. */
export const idsOption = {
  type: "boolean",
  default: true,
  describe: "write the token ids beside the text (--no-ids leaves them out)",
} as const;
