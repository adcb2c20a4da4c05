import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { DataError } from "../core/errors.ts";
import { ServedError } from "./served-model.ts";

/** A request that is answered with vLLM's error body. */
export class ApiError extends Error {
  readonly status: ContentfulStatusCode;
  readonly type: string;
  readonly param: string | null;
  constructor(status: ContentfulStatusCode, type: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }

  get body() {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.status } };
  }
}

/** A value that no request may have. @param field named in the message, with what was sent */
export function badRequest(message: string, field?: { name: string; value: string | number }): ApiError {
  const told = field ? `${message} (parameter=${field.name}, value=${field.value})` : message;
  return new ApiError(400, "BadRequestError", told, field?.name ?? null);
}

/** The signature of an adapter that this server does not hold. */
export function unknownModel(model: string, aliases: readonly string[]): ApiError {
  const message = `The model \`${model}\` does not exist. Valid aliases: ${aliases.join(", ")}.`;
  return new ApiError(404, "NotFoundError", message, "model");
}

const fates: Readonly<Record<ServedError["kind"], readonly [ContentfulStatusCode, string]>> = {
  unknownModel: [404, "NotFoundError"],
  badRequest: [400, "BadRequestError"],
  adapterExists: [400, "InvalidUserInput"],
  adapterMissing: [404, "NotFoundError"],
  adapterInvalid: [500, "InternalServerError"],
  adapterUnknown: [404, "NotFoundError"],
  overloaded: [503, "ServiceUnavailableError"],
  broken: [500, "InternalServerError"],
};

/** Whatever a route threw, as an answer. */
export function apiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof ServedError) {
    const [status, type] = fates[error.kind];
    return new ApiError(status, type, error.message, error.kind === "unknownModel" ? "model" : null);
  }
  // What a tokenizer or a chat template refuses is the client's text.
  if (error instanceof DataError) return badRequest(error.message);
  if (isAbort(error)) return badRequest("Client disconnected");
  const message = error instanceof Error ? error.message : String(error);
  return new ApiError(500, "InternalServerError", message);
}

export function answerError(c: Context, error: unknown): Response {
  const answer = apiError(error);
  return c.json(answer.body, answer.status);
}

export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}

/** A float as Python writes it: -1.0. */
export const pythonFloat = (value: number): string => (Number.isInteger(value) ? `${value}.0` : `${value}`);
