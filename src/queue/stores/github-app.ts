import { createHash } from "node:crypto";
import type { Redis } from "ioredis";
import { z } from "zod";
import { createSealedBox } from "../../agent/secrets/sealed-box.ts";
import { keys } from "../redis/keys.ts";

/** The GitHub App that was registered from the console, with what it signs in with. */
export interface StoredGithubApp {
  /** Where it was registered, e.g. `https://github.com`, and its API. */
  url: string;
  api: string;
  slug: string;
  name: string;
  owner: { login: string; isOrganization: boolean };
  page: string;
  clientId: string;
  privateKey: string;
  webhookSecret?: string | undefined;
  /** Milliseconds since the epoch. */
  at: number;
}

/** A registration that somebody has begun and GitHub has not come back from. */
export interface PendingRegistration {
  /** Who has begun it. */
  by: string;
  /** Milliseconds since the epoch. */
  until: number;
}

export interface GithubAppStore {
  /** @throws UnreadableApp where it was sealed with another key */
  read(): Promise<StoredGithubApp | undefined>;
  /** False where there is one already, which stays. */
  write(app: StoredGithubApp): Promise<boolean>;
  /** False where there is none. */
  remove(): Promise<boolean>;
  /** @param state unguessable; nothing that opens anything is stored of it */
  putPending(state: string, pending: PendingRegistration): Promise<void>;
  /** Once: whoever asks again gets nothing. */
  takePending(state: string): Promise<PendingRegistration | undefined>;
}

/** The App is there and cannot be read; the message says what to do. */
export class UnreadableApp extends Error {
  override readonly name = "UnreadableApp";
}

const stored = z.looseObject({
  ...{ url: z.string(), api: z.string(), slug: z.string(), name: z.string(), page: z.string() },
  owner: z.looseObject({ login: z.string(), isOrganization: z.boolean() }),
  ...{ clientId: z.string(), privateKey: z.string(), webhookSecret: z.string().optional(), at: z.number() },
});

const pendingSchema = z.looseObject({ by: z.string(), until: z.number() });

/** What the text is sealed for: it opens as nothing else. */
const owner = "github";

/** Keeps the App in Redis, sealed. @param secret the same for all processes; asked only where there is something to seal or open */
export function createGithubAppStore(redis: Redis, secret: () => Promise<string>): GithubAppStore {
  const openBox = async () => createSealedBox(await secret(), "heddle github app");
  return {
    async read() {
      const sealed = await redis.get(keys.githubApp);
      if (sealed === null) return undefined;
      const box = await openBox();
      try {
        return stored.parse(JSON.parse(box.open(sealed, owner)));
      } catch {
        // The cause could repeat what was read.
        throw new UnreadableApp(
          "The GitHub App cannot be read with this HEDDLE_SEAL_KEY: set the one it was stored with, or have it forgotten in the console, under Connect, and register another.",
        );
      }
    },
    async write(app) {
      const sealed = (await openBox()).seal(JSON.stringify(app), owner);
      return (await redis.set(keys.githubApp, sealed, "NX")) === "OK";
    },
    async remove() {
      return (await redis.del(keys.githubApp)) === 1;
    },
    async putPending(state, pending) {
      await redis.set(keyOf(state), JSON.stringify(pending), "PXAT", pending.until);
    },
    async takePending(state) {
      const json = await redis.getdel(keyOf(state));
      return json === null ? undefined : pendingSchema.safeParse(JSON.parse(json)).data;
    },
  };
}

function keyOf(state: string): string {
  return keys.githubAppPending(createHash("sha256").update(state).digest("hex"));
}
