import { fieldNames, type Payload } from "../../env/team/message.ts";
import { roleNames, roles } from "../../env/team/roles.ts";
import type { Normalizer } from "../normalize.ts";
import { hasWords } from "../process.ts";

/** Fields that one word does not fill. An answer, a step, a reason and a verdict may well be one word. */
const wordy = new Set(["summary", "steps", "forward", "backward"]);

/** What stands inside the fields of the forms that the roles are shown: a form sent back is not filled in. */
const templates = new Set(
  roleNames.flatMap((role) => fieldNames.flatMap((name) => inside(roles[role].prompt.system, name))),
);

/**
 * Is a well-formed message empty all the same? True when one of its fields holds no letter and no digit, its own name,
 * the words of the form that the role was shown, or, where a sentence belongs, a single word that is none of the
 * question's.
 */
export const isHollow = (payload: Payload, task: Spoken): boolean =>
  Object.entries(payload).some(([field, value]: [string, string | readonly string[] | undefined]) => {
    if (value === undefined || field === "verdict") return false;
    return (typeof value === "string" ? [value] : value).some((item) => isEmpty(field, item, task));
  });

/** What a text is about, and how texts are compared. */
interface Spoken {
  readonly question: string;
  readonly normalizer: Normalizer;
}

/** The same of one field's text. */
export function isEmpty(field: string, text: string, { question, normalizer }: Spoken): boolean {
  const item = text.trim();
  if (!/[\p{L}\p{N}]/u.test(item) || templates.has(item)) return true;
  const normal = normalizer.normalize(item);
  if (normal === field) return true;
  const short = normal.split(" ").length < 2;
  return wordy.has(field) && short && !hasWords(normalizer.normalize(question), normal);
}

/** Texts between a field's tags, and their items. */
function inside(text: string, name: string): string[] {
  return text
    .split(`<${name}>`)
    .slice(1)
    .flatMap((rest) => {
      const body = (rest.split(`</${name}>`)[0] ?? "").trim();
      return [body, ...body.split(";").map((item) => item.trim())];
    });
}
