import { startHttpFixture } from "../../agent/mcp/servers/http.ts";
import { codeOn, createBrowser } from "../../fakes/browser.ts";
import { freePort } from "../../fakes/free-port.ts";
import { startFakeOAuth } from "../../fakes/oauth.ts";

/** An MCP server where each person has an account of their own, and where people sign in to it. */
export interface TicketServer {
  /** What `heddle.yaml` says of it. */
  settings: object;
  /** What `mcp.json` says of it. */
  servers: object;
  /** Plays a person in a browser of their own, from the link in that text on: the code that they are shown. */
  signIn(text: string, account: string): Promise<string>;
  close(): Promise<void>;
}

export async function startTicketServer(): Promise<TicketServer> {
  const whoami = { name: "whoami", inputSchema: { type: "object" as const } };
  const fixture = await startHttpFixture("http", 0, { more: [whoami] });
  const oauth = await startFakeOAuth({ upstream: fixture.url });
  const port = await freePort();
  return {
    settings: { hooks: { port, address: `http://127.0.0.1:${port}` } },
    servers: { tickets: { url: oauth.mcp, signIn: { accounts: "person" } } },
    async signIn(text, account) {
      const browser = createBrowser();
      const there = await browser.submit(await browser.open(linkIn(text)));
      return codeOn(await browser.open(await oauth.agree(there.location ?? "", account)));
    },
    async close() {
      await oauth.close();
      await fixture.stop();
    },
  };
}

function linkIn(text: string): string {
  const link = /http:\/\/[\w.:]+\/connect\/[\w-]+/.exec(text)?.[0];
  if (link === undefined) throw new Error(`There is no link in: ${text}`);
  return link;
}
