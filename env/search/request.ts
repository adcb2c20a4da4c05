import { InvariantError, ToolError } from "../../core/errors.ts";

/**
 * Checks what every engine must hold to before it searches.
 * @throws InvariantError for a k that is no integer of 1 or more, ToolError after `close`, the signal's reason.
 */
export function checkRequest(k: number, closed: boolean, signal: AbortSignal | undefined): void {
  if (!Number.isSafeInteger(k) || k < 1)
    throw new InvariantError({
      what: "search for k passages",
      got: String(k),
      expected: "an integer of 1 or more",
    });
  if (closed) throw new ToolError({ what: "the search index is closed" });
  signal?.throwIfAborted();
}
