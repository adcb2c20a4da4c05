/** What an agent is told when a call fails: a status and a body as the API has them. */
export class ApiError extends Error {
  readonly status: number;
  readonly body: unknown;
  /** False: the official clients do not try again by themselves. */
  readonly retry: boolean;

  constructor(
    status: number,
    message: string,
    o: { code?: string; body?: unknown; retry?: boolean; cause?: unknown } = {},
  ) {
    super(message, o.cause === undefined ? undefined : { cause: o.cause });
    this.name = "ApiError";
    this.status = status;
    this.retry = o.retry ?? false;
    this.body = o.body ?? {
      error: { message, type: types[status] ?? "BadRequestError", param: null, code: o.code ?? status },
    };
  }
}

const types: Readonly<Record<number, string>> = {
  401: "AuthenticationError",
  404: "NotFoundError",
  409: "ConflictError",
  410: "GoneError",
  413: "RequestTooLargeError",
  500: "InternalServerError",
  502: "BadGatewayError",
  503: "ServiceUnavailableError",
};
