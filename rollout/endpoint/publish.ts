import { type AdapterWorld, load, look, unload } from "./adapters.ts";
import { EndpointError, type EndpointFailure } from "./error.ts";
import { Leash } from "./leash.ts";
import type { Member } from "./member.ts";
import { awake, pause } from "./timers.ts";
import { isDeadline, isFolderMissing, isUnreachable, sayOf } from "./verdict.ts";

interface Adapter {
  readonly name: string;
  readonly path: string;
}

/** What a replica said to an adapter. `loaded`: it holds it all the same, or may. */
type Answer =
  | { readonly kind: "accepted"; readonly epoch: number }
  | {
      readonly kind: "refused" | "unreachable" | "calledOff";
      readonly loaded: boolean;
      readonly error: unknown;
    };

type Answers = Map<Member, Answer>;

/** See `Fleet.publish`. Where no replica can be reached, it waits for one to come back, until `signal`. */
export async function publish(world: AdapterWorld, adapter: Adapter, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  world.book.reserve(adapter.name);
  const rest = awake();
  const answers: Answers = new Map();
  try {
    do {
      await offerToAll(world, adapter, answers, signal);
      const calledOff = signal.aborted && !isDeadline(signal);
      if (calledOff || some(answers, "refused")) {
        await takeBack(world, adapter, answers);
        throw calledOff ? signal.reason : failure(adapter, answers);
      }
    } while (!some(answers, "accepted") && (await world.comesBack(signal)));
    if (!some(answers, "accepted")) throw isDeadline(signal) ? failure(adapter, answers) : signal.reason;
    commit(world, adapter, answers);
  } finally {
    world.book.giveUp(adapter.name);
    rest();
  }
}

function some(answers: Answers, kind: Answer["kind"]): boolean {
  return [...answers.values()].some((answer) => answer.kind === kind);
}

async function offerToAll(
  world: AdapterWorld,
  adapter: Adapter,
  answers: Answers,
  signal: AbortSignal,
): Promise<void> {
  // Once one has refused, nobody waits any longer for a file system.
  const hope = new Leash(signal);
  const reachable = world.members.filter(({ state }) => state !== "quarantined");
  await Promise.all(
    reachable.map(async (member) => {
      const answer = await offer(world, member, adapter, signal, hope.signal);
      answers.set(member, answer);
      if (answer.kind === "refused") hope.abort(undefined);
      if (answer.kind !== "unreachable") return;
      // The load may have gone through all the same.
      member.leftBehind.add(adapter.name);
      world.quarantine(member, answer.error);
    }),
  );
  hope.release();
}

async function offer(
  world: AdapterWorld,
  member: Member,
  adapter: Adapter,
  signal: AbortSignal,
  hope: AbortSignal,
): Promise<Answer> {
  for (;;) {
    let loaded = false;
    try {
      return await member.lock.alone(signal, async () => {
        const { epoch } = member;
        if (member.state === "quarantined") throw inQuarantine(member);
        await load(world, member, adapter, signal);
        loaded = true;
        await look(world, member, adapter.name, signal);
        return { kind: "accepted", epoch } as const;
      });
    } catch (error) {
      if (!loaded && isFolderMissing(error)) {
        if (await pause(world.after, world.loadRetryMs, hope)) continue;
        return { kind: "refused", loaded, error };
      }
      if (signal.aborted && !isDeadline(signal)) return { kind: "calledOff", loaded: true, error };
      if (signal.aborted || isUnreachable(error)) return { kind: "unreachable", loaded, error };
      return { kind: "refused", loaded, error };
    }
  }
}

/** Unloads it wherever it was loaded. It waits for no signal: each call has a time limit of its own. */
async function takeBack(world: AdapterWorld, { name }: Adapter, answers: Answers): Promise<void> {
  await Promise.all(
    [...answers].map(async ([member, answer]) => {
      if (answer.kind !== "accepted" && !answer.loaded) return;
      if (member.state === "quarantined") member.leftBehind.add(name);
      else {
        const never = new AbortController().signal;
        await member.lock.alone(never, () => unload(world, member, name, never));
      }
    }),
  );
}

function commit(world: AdapterWorld, { name, path }: Adapter, answers: Answers): void {
  world.book.publish(name, path);
  const holders = world.members.filter((member) => {
    const answer = answers.get(member);
    // A replica that fell out meanwhile may have lost it.
    return answer?.kind === "accepted" && answer.epoch === member.epoch;
  });
  for (const member of holders) member.holds(name);
  const others = world.members.filter((member) => !holders.includes(member));
  for (const member of others) if (member.state !== "quarantined") world.reload(member);
  const urls = (list: readonly Member[]) => list.map(({ url }) => url);
  world.tell({ event: "adapterPublished", name, replicas: urls(holders), without: urls(others) });
}

/** A canary's own error says that the adapter is not used; no error, that there was no replica to ask. */
function kindOf(cause: unknown): EndpointFailure {
  if (cause instanceof EndpointError) return cause.kind;
  if (cause === undefined) return "connection";
  return cause instanceof Error && cause.name === "TimeoutError" ? "timeout" : "malformed";
}

function inQuarantine({ url }: Member): EndpointError {
  return new EndpointError("connection", { what: "the replica is in quarantine", where: url });
}

function failure({ name, path }: Adapter, answers: Answers): EndpointError {
  const failed = [...answers.values()].flatMap((answer) => (answer.kind === "accepted" ? [] : [answer]));
  const first = failed.find(({ kind }) => kind === "refused") ?? failed[0];
  const cause = first?.error;
  const said = [...answers].map(
    ([{ url }, answer]) =>
      `${url}: ${answer.kind === "accepted" ? "accepted (and unloaded again)" : sayOf(answer.error)}`,
  );
  const next = isFolderMissing(cause)
    ? `Let every server see ${path} under that path.`
    : "Read what the servers say; nothing of it was published.";
  return new EndpointError(
    kindOf(cause),
    {
      what: `the adapter \`${name}\` was not published`,
      got: said.join("; ") || "no replica could be reached",
      expected: "every replica that can be reached to load it",
      next,
      cause,
    },
    cause instanceof EndpointError ? cause.status : undefined,
  );
}
