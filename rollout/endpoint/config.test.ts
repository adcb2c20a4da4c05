import { expect, test } from "vitest";
import { endpointConfig } from "./config.ts";

test.each([
  [{ servers: [] }, /at least one server/u],
  [{ servers: ["localhost:8000"] }, /not the address of a server/u],
  [{ servers: ["http://h:1", "http://h:1/v1/"] }, /named twice/u],
  [{ servers: ["http://h"], apiKeyEnv: "sk-123" }, /never the key/u],
  [{ servers: ["http://h"], attempts: 0 }, /attempts/u],
  [{ servers: ["http://h"], retries: 3 }, /retries/u],
  [{ servers: ["http://h"], driver: "tgi" }, /driver/u],
])("config %j is refused", (config, said) => {
  expect(() => endpointConfig.parse(config)).toThrow(said);
});

test("every setting has a default and says what it is", () => {
  const { servers, ...rest } = endpointConfig.parse({ servers: ["http://h"] });
  expect(servers).toEqual(["http://h"]);
  expect(rest).toMatchObject({ driver: "vllm", attempts: 6, retryShare: 0.5 });
  for (const field of Object.values(endpointConfig.shape)) expect(field.description).toMatch(/\.$/u);
});
