import { expect, test } from "vitest";
import { EndpointError } from "./error.ts";
import { ConnectionError } from "./http-fetch.ts";
import { verdictOf } from "./verdict.ts";

const connection = (code?: string) =>
  new EndpointError("connection", {
    what: "the connection broke",
    cause: new ConnectionError("failed", Object.assign(new Error("failed"), { code })),
  });

test.each([
  ["ECONNREFUSED", "broke"],
  ["EHOSTUNREACH", "broke"],
  ["ECONNRESET", "failed"],
  ["EPIPE", "failed"],
  [undefined, "failed"],
] as const)("nobody there is the end, a connection that broke is one failure: %s", (code, verdict) => {
  expect(verdictOf(connection(code), "base")).toBe(verdict);
});

test("another model's answer is the end, another prompt's one failure, our own mistake nothing", () => {
  const malformed = (expected: string) => new EndpointError("malformed", { what: "wrong", expected });
  expect(verdictOf(malformed("v1"), "v1")).toBe("broke");
  expect(verdictOf(malformed("3 tokens"), "v1")).toBe("failed");
  expect(verdictOf(new EndpointError("refused", { what: "no" }), "v1")).toBeUndefined();
  expect(verdictOf(new Error("called off"), "v1")).toBeUndefined();
});
