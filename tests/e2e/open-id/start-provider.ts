import { spawn } from "node:child_process";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";

/** What a provider is started with. */
export interface ProviderSettings {
  port: number;
  client: {
    client_id: string;
    client_secret: string;
    redirect_uris: string[];
    post_logout_redirect_uris: string[];
  };
  /** The claims of whoever signs in. */
  person: { sub: string } & Record<string, unknown>;
  /** How far its clock is ahead. */
  aheadMs?: number;
  /** In what it says of itself, instead of what is so. */
  metadata?: Record<string, string>;
}

/** Starts it at `http://localhost:<port>`, with keys that no earlier one had. */
export async function startProvider(settings: ProviderSettings): Promise<AsyncDisposable> {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const keys = [{ ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" }];
  const child = spawn(process.execPath, [join(import.meta.dirname, "provider-process.ts")], {
    env: { PATH: process.env["PATH"], OPEN_ID_PROVIDER: JSON.stringify({ ...settings, keys }) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => said.push(String(text)));
  const ended = once(child, "close");
  const listening = new Promise<void>((resolve) => {
    child.stdout.on("data", () => said.join("").includes("listening") && resolve());
  });
  await Promise.race([
    listening,
    ended.then(() => {
      throw new Error(`The provider ended:\n${said.join("")}`);
    }),
  ]);
  return {
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
