import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { accountSchema } from "../agent/contracts/mcp-account.ts";
import { begunSignInSchema } from "../agent/mcp/sign-in/begun.ts";
import { createSealedBox } from "../agent/secrets/sealed-box.ts";
import { keys } from "../queue/redis/keys.ts";

/** How far connecting an account has come; one record for each step, found by what only the next step knows. */

const bindingSchema = z.object({
  thread: z.string(),
  question: z.string(),
  /** `platform:workspace:id`. */
  person: z.string(),
  name: z.string(),
  server: z.string(),
  /** Address of the server when it was asked. */
  url: z.string(),
});

/** What every step is bound to. */
export type Binding = z.infer<typeof bindingSchema>;

const schemas = {
  /** A link was shown to the person; found by its ticket. */
  link: z.object({ bound: bindingSchema }),
  /** A browser was sent to sign in; found by the `state` that it brings back. `browser`: digest of its cookie. */
  begun: z.object({ bound: bindingSchema, signIn: begunSignInSchema, browser: z.string() }),
  /** Somebody has signed in, whom only the code shows to be the person; found by the question. */
  signedIn: z.object({ bound: bindingSchema, account: accountSchema, code: z.string() }),
};

type Step = keyof typeof schemas;
type Stored<Name extends Step> = z.infer<(typeof schemas)[Name]>;

/** How long each step stays open, seconds: somebody may have to find a password. */
export const stepSeconds = 15 * 60;

export interface ConnectingRecords {
  write<Name extends Step>(step: Name, id: string, record: Stored<Name>): Promise<void>;
  read<Name extends Step>(step: Name, id: string): Promise<Stored<Name> | undefined>;
  /** Reads and removes in one: of two that take it, one gets it. */
  take<Name extends Step>(step: Name, id: string): Promise<Stored<Name> | undefined>;
  remove(step: Step, id: string): Promise<void>;
  /** Counts an attempt at a record, which is forgotten with it. */
  countAttempt(step: Step, id: string): Promise<number>;
}

/** Keeps them in Redis, sealed: whoever reads Redis can neither use nor make one. Ids are stored as digests. */
export function createConnectingRecords(redis: Redis, secret: string): ConnectingRecords {
  const box = createSealedBox(secret, "heddle mcp connecting");
  const keyOf = (step: Step, id: string) => keys.mcpConnecting(step, digest(id));
  const open = <Name extends Step>(step: Name, key: string, sealed: string | null) => {
    if (sealed === null) return undefined;
    try {
      return schemas[step].parse(JSON.parse(box.open(sealed, key))) as Stored<Name>;
    } catch {
      // Sealed with another key, or by a Heddle that wrote it otherwise: the person begins again.
      return undefined;
    }
  };
  return {
    async write(step, id, record) {
      const key = keyOf(step, id);
      await redis
        .multi()
        .set(key, box.seal(JSON.stringify(record), key), "EX", stepSeconds)
        .del(`${key}:attempts`)
        .exec();
    },
    async read(step, id) {
      const key = keyOf(step, id);
      return open(step, key, await redis.get(key));
    },
    async take(step, id) {
      const key = keyOf(step, id);
      return open(step, key, await redis.getdel(key));
    },
    async remove(step, id) {
      await redis.del(keyOf(step, id));
    },
    async countAttempt(step, id) {
      const key = `${keyOf(step, id)}:attempts`;
      const count = await redis.incr(key);
      await redis.expire(key, stepSeconds);
      return count;
    },
  };
}

export function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
