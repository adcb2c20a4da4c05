import type { Connection } from "./connection.ts";
import type { Driver, DriverName } from "./driver.ts";
import { EndpointError } from "./error.ts";
import { llamacpp } from "./llamacpp.ts";
import { readModels } from "./reply.ts";
import { sglang } from "./sglang.ts";
import { vllm } from "./vllm.ts";

export const drivers: Readonly<Record<DriverName, Driver>> = { vllm, sglang, llamacpp };

/** How each make signs its list of models. */
const signatures: Readonly<Record<string, DriverName>> = {
  vllm: "vllm",
  forager: "vllm",
  sglang: "sglang",
  llamacpp: "llamacpp",
};

/** The driver of that name; `auto` asks the server who it is. @throws EndpointError when it does not say */
export async function openDriver(
  name: DriverName | "auto",
  at: Connection,
  signal: AbortSignal,
): Promise<Driver> {
  if (name !== "auto") return drivers[name];
  const owners = (await readModels(at, signal)).map(({ owned_by }) => owned_by ?? "nobody");
  const found = owners.map((owner) => signatures[owner]).find((each) => each !== undefined);
  if (found !== undefined) return drivers[found];
  throw new EndpointError("refused", {
    what: "the server does not say what it is",
    where: `GET ${at.url}/v1/models`,
    got: `owned_by ${owners.join(", ") || "nothing"}`,
    expected: Object.keys(signatures).join(", "),
    next: `Set endpoint.driver to one of ${Object.keys(drivers).join(", ")}.`,
  });
}
