import { type AdapterWorld, unload } from "./adapters.ts";
import { EndpointError } from "./error.ts";

/**
 * See `Fleet.retire`. A replica in quarantine unloads it when it comes back, before its first request.
 * @throws EndpointError when a replica that can be reached refuses to unload it: its folder must stay then, for a server
 * may read it again. The name is forgotten all the same; another call tries again.
 */
export async function retire(world: AdapterWorld, name: string, signal: AbortSignal): Promise<void> {
  const { book, members } = world;
  const known = book.published.has(name);
  if (known) {
    await book.idle(name, signal);
    book.retire(name);
  }
  const refusals = await Promise.all(
    members.map(async (member) => {
      if (member.state === "quarantined") return undefined;
      return member.lock.alone(signal, async () => {
        if (!member.adapters.has(name) && !member.leftBehind.has(name)) return undefined;
        const error = await unload(world, member, name, signal);
        return error && member.state !== "quarantined" ? error : undefined;
      });
    }),
  );
  const [first] = refusals.flatMap((error) => error ?? []);
  if (first === undefined) {
    if (known) world.tell({ event: "adapterRetired", name });
    return;
  }
  throw new EndpointError(
    first.kind,
    {
      what: `the adapter \`${name}\` could not be unloaded everywhere`,
      got: members
        .flatMap(({ url }, i) => (refusals[i] ? [`${url}: ${refusals[i].message}`] : []))
        .join("; "),
      next: "Keep its folder as long as the server runs.",
      cause: first,
    },
    first.status,
  );
}
