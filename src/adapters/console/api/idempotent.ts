import { type Reply, replyProblem } from "../server/http.ts";
import type { ApiCall } from "./route.ts";
import type { Services } from "../services.ts";

/** The key by which a program says that it repeats a request: https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/ */
export function readIdempotencyKey({ request }: ApiCall): string | undefined {
  const key = request.headers["idempotency-key"];
  return typeof key === "string" && key.trim() !== "" ? key.trim() : undefined;
}

/** Why a request with this key is refused: it came with another request before. `request`: a text that tells which. */
export async function claimRequest(
  { claimKey }: Services,
  { person }: Pick<ApiCall, "person">,
  key: string,
  request: string,
): Promise<Reply | undefined> {
  if (await claimKey({ person: person.author.id, key, request })) return undefined;
  return replyProblem(422, "This Idempotency-Key came with another request before: use a new one for each.");
}
