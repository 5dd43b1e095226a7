import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { FakeSlack } from "./fake-slack.ts";
import { closeServer, listen } from "../listen.ts";

/** One address for two workspaces, as Slack's is: the token or the code tells which is meant. */
export async function openFront(
  slacks: readonly FakeSlack[],
): Promise<{ url: string; close(): Promise<void> }> {
  const relay = async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request) body += String(chunk);
    const mentioned = `${request.headers.authorization} ${body}`;
    const meant = slacks.filter(({ botToken, oauth }) =>
      [botToken, ...oauth.codes].some((text) => mentioned.includes(text)),
    );
    // An organisation's workspaces have one token: there Slack finds the workspace by the ids of the call.
    const names = (ids: Iterable<string>) => [...ids].some((id) => body.includes(id));
    const slack =
      meant.find(({ teamId, workspace }) => names([teamId, ...workspace.channels.keys()])) ??
      meant.find(({ bot, workspace }) => names([...workspace.users.keys()].filter((id) => id !== bot.id))) ??
      meant[0];
    const { "content-type": type = "", authorization = "" } = request.headers;
    const answer = await fetch(new URL(`..${request.url}`, slack?.url ?? slacks[0]?.url), {
      method: "POST",
      headers: { "content-type": type, ...(authorization && { authorization }) },
      body,
    });
    const scopes = answer.headers.get("x-oauth-scopes") ?? "";
    const retryAfter = answer.headers.get("retry-after");
    const headers = {
      ...{ "content-type": "application/json", "x-oauth-scopes": scopes },
      ...(retryAfter !== null && { "retry-after": retryAfter }),
    };
    response.writeHead(answer.status, headers).end(await answer.text());
  };
  const server = createServer((request, response) => void relay(request, response));
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/api/`,
    async close() {
      await closeServer(server);
    },
  };
}
