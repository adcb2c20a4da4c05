import type { Finish } from "../../env/environment.ts";

/**
 * A chat API's text with the stop string that ended it put back: APIs cut it off and most do not say which it was.
 * A server that says so (`stop_reason`) is believed; else a closing tag is missing where its opening tag stands open.
 * A server that knows no stop strings wrote on: what stands behind the first one is cut.
 * @param reason `finish_reason` of the reply @param stopReason vLLM's, where there is one
 */
export function withStop(
  text: string,
  stop: readonly string[],
  reason: "stop" | "length",
  stopReason: unknown,
): { text: string; finish: Finish } {
  const ends = stop.flatMap((each) =>
    each !== "" && text.includes(each) ? [text.indexOf(each) + each.length] : [],
  );
  if (ends.length > 0) return { text: text.slice(0, Math.min(...ends)), finish: "stop" };
  if (reason === "length") return { text, finish: "length" };
  const said = stop.find((each) => each === stopReason) ?? stop.find((each) => closesOpenTag(each, text));
  return said === undefined ? { text, finish: "eos" } : { text: text + said, finish: "stop" };
}

/** Is `stop` a closing tag whose opening tag stands last in the text, unclosed? */
function closesOpenTag(stop: string, text: string): boolean {
  const name = /^<\/([^<>/\s]+)>$/u.exec(stop)?.[1];
  if (name === undefined) return false;
  const open = text.lastIndexOf(`<${name}>`);
  return open >= 0 && open > text.lastIndexOf(stop);
}
