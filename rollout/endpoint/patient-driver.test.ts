import { expect, test } from "vitest";
import { EndpointError, type EndpointFailure } from "./error.ts";
import { patientDriver } from "./patient-driver.ts";
import { fakeServer } from "./testing.ts";

const failure = (kind: EndpointFailure) => new EndpointError(kind, { what: kind });
const { signal } = new AbortController();

/** A server whose first `times` calls fail so. */
function failing(kind: EndpointFailure | "hang", times: number) {
  const server = fakeServer("http://10.0.0.1:8000");
  server.trouble = () => {
    if (server.calls.length > times) return undefined;
    return kind === "hang" ? "hang" : failure(kind);
  };
  const driver = patientDriver(server.driver, { timeoutMs: 30, attempts: 3, delayMs: 1 });
  return { server, models: (s = signal) => driver.models(server.connection, s) };
}

test.each(["connection", "overloaded", "server"] as const)(
  "what may pass is asked again: %s",
  async (kind) => {
    const passes = failing(kind, 2);
    expect(await passes.models()).toMatchObject([{ id: "base" }]);
    expect(passes.server.calls).toHaveLength(3);
    const stays = failing(kind, 3);
    await expect(stays.models()).rejects.toMatchObject({ kind });
    expect(stays.server.calls).toHaveLength(3);
  },
);

test.each(["malformed", "refused", "missingModel"] as const)(
  "what is found is told at once: %s",
  async (kind) => {
    const { server, models } = failing(kind, 1);
    await expect(models()).rejects.toMatchObject({ kind });
    expect(server.calls).toHaveLength(1);
  },
);

test("a server that never answers is given up, an abort is the caller's own", async () => {
  const { server, models } = failing("hang", 9);
  await expect(models()).rejects.toMatchObject({ kind: "timeout" });
  expect(server.calls).toHaveLength(1);
  const controller = new AbortController();
  const asked = models(controller.signal);
  controller.abort(new Error("enough"));
  await expect(asked).rejects.toThrow("enough");
});
