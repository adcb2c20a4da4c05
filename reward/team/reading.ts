import type { TeamAccount, VerdictKind } from "../../env/team/account.ts";
import type { Draft, Path, Payload, Verdict } from "../../env/team/message.ts";

/** One verdict with what stood before the verifier when it gave it. */
export interface Judgement {
  readonly round: number;
  readonly kind: VerdictKind;
  /** What the verifier wrote; absent when it cannot be read. */
  readonly verdict?: Verdict;
  readonly draft?: Draft;
  /** The path in force; absent without a planner. */
  readonly path?: readonly string[];
}

export const isPath = (payload: Payload | undefined): payload is Path =>
  payload !== undefined && "path" in payload;
export const isDraft = (payload: Payload | undefined): payload is Draft =>
  payload !== undefined && "steps" in payload;
export const isVerdict = (payload: Payload | undefined): payload is Verdict =>
  payload !== undefined && "backward" in payload;

/** The planner's paths in order: the first, then each revision of it. */
export function pathsOf({ calls }: TeamAccount): { readonly round: number; readonly payload: Path }[] {
  return calls.flatMap(({ role, round, payload }) =>
    role === "planner" && isPath(payload) ? [{ round, payload }] : [],
  );
}

/** The account's verdicts in order, each with its text, the draft and the path of its round or, failing that, an earlier one. */
export function judgementsOf(account: TeamAccount): Judgement[] {
  const paths = pathsOf(account);
  return account.verdicts.map(({ round, kind }) => {
    const upToNow = account.calls.filter((call) => call.round <= round);
    const draft = upToNow.findLast(({ role, payload }) => role === "drafter" && isDraft(payload))?.payload;
    const verdict = upToNow.findLast(
      (call) => call.round === round && call.role === "verifier" && isVerdict(call.payload),
    )?.payload;
    const path = paths.findLast((each) => each.round <= round)?.payload.path;
    return {
      ...{ round, kind },
      ...(kind !== "unparsable" && isVerdict(verdict) && { verdict }),
      ...(isDraft(draft) && { draft }),
      ...(path && { path }),
    };
  });
}
