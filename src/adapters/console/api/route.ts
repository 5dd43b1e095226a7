import type { IncomingMessage, ServerResponse } from "node:http";
import { z } from "zod";
import type { Act } from "../../../chat/roles.ts";
import type { Authenticated } from "../server/auth-guard.ts";
import { readJson, type Reply, replyProblem } from "../server/http.ts";
import type { Person } from "../server/person.ts";
import type { Services } from "../services.ts";

/** One address of the API. A segment of `path` that begins with a colon stands for any text. */
export interface Route {
  method: "GET" | "POST";
  path: string;
  needs: Act;
  /** For the reference. */
  summary: string;
  /** What the address may say behind a question mark: an object of texts. */
  query?: z.ZodType;
  /** What is sent: JSON of that shape, or the bytes of a file. */
  body?: z.ZodType | "bytes";
  answers: Answers;
  /** Default: 200. */
  status?: 201;
  /** Whether the header Idempotency-Key counts. */
  isIdempotent?: true;
  /** Null when the response is a stream that stays open. */
  answer(services: Services, call: ApiCall): Promise<Reply | null> | Reply | null;
}

/** JSON of that shape, nothing at all, a file to be saved, or Server-Sent Events by name, with JSON in each `data`. */
type Answers = z.ZodType | "nothing" | "file" | { events: Readonly<Record<string, z.ZodType>> };

export interface ApiCall {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  /** What the segments with a colon stood for, decoded, in their order. */
  parameters: readonly string[];
  /** Who asks, and what proves it. */
  person: Person;
  by: Extract<Authenticated, { ok: true }>["by"];
}

/** Who asks, and about what. */
export type Caller = Pick<ApiCall, "person" | "parameters">;

export function replyNotFound(): Reply {
  return replyProblem(404, "There is nothing at this address.");
}

/** What the segments with a colon stand for in this path; undefined for another route's path. */
export function matchRoute(route: Route, path: string): string[] | undefined {
  const [pattern, segments] = [route.path.split("/"), path.split("/")];
  if (pattern.length !== segments.length) return undefined;
  const parameters: string[] = [];
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index] ?? "";
    if (!expected.startsWith(":")) {
      if (segment !== expected) return undefined;
      continue;
    }
    try {
      parameters.push(decodeURIComponent(segment));
    } catch {
      return undefined;
    }
  }
  return parameters;
}

/** Reads a JSON body of that shape for `act`. `otherwise` begins the message that refuses any other. */
export async function withBody<Body>(
  { request }: ApiCall,
  shape: { schema: z.ZodType<Body>; maxBytes: number; otherwise: string },
  act: (body: Body) => Promise<Reply>,
): Promise<Reply> {
  const body = await readJson(request, shape.maxBytes);
  if (!body.ok) return body.reply;
  const parsed = shape.schema.safeParse(body.value);
  if (!parsed.success) return replyProblem(400, `${shape.otherwise}: ${z.prettifyError(parsed.error)}`);
  return await act(parsed.data);
}
