import { createServer } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { Account, AccountStore } from "../../../src/agent/contracts/mcp-account.ts";
import { createSignedFetch } from "../../../src/agent/mcp/sign-in/token-source.ts";
import { closeServer, listen } from "../../fakes/listen.ts";

/** What an operator reads where an authorization server does not renew a token, in the forms that such servers answer in. */
test.each([
  [400, "application/json", '{"error":"invalid_grant","error_description":"Token revoked"}', "Token revoked"],
  // RFC 6749, 5.2: a description is optional.
  [401, "application/json", '{"error":"invalid_client"}', "invalid_client"],
  [502, "text/html", `<html>${"<p>Bad gateway</p>\n".repeat(500)}</html>`, "it answered with HTTP 502"],
  [200, "application/json", '{"ok":true}', "its answer has another form than the protocol's"],
])("A renewal that is answered with %i (%s) is told in one line", async (status, type, body, why) => {
  const { request, problems } = await scene({ status, type, body });
  await request();
  expect(problems[0]).toBe(
    `The token for the MCP server notes could not be renewed (${why}): run heddle mcp login notes again if this goes on.`,
  );
});

test.each(["", ', "expires_in": 0', ', "expires_in": null'])(
  "A token of which the authorization server does not say how long it lasts%s is not renewed with each request",
  async (lasts) => {
    const body = `{"access_token": "b", "token_type": "Bearer"${lasts}}`;
    const { request, asked } = await scene({ status: 200, type: "application/json", body });
    await request();
    await request();
    expect(asked.filter((path) => path === "/token")).toHaveLength(1);
  },
);

/** An account whose token is at its end, at an authorization server that answers everything with this. */
async function scene(answer: { status: number; type: string; body: string }) {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    request.resume();
    response.writeHead(answer.status, { "content-type": answer.type }).end(answer.body);
  });
  const origin = `http://127.0.0.1:${await listen(server, "127.0.0.1")}`;
  onTestFinished(() => closeServer(server));
  let account: Account | undefined = {
    ...{ version: 1, server: `${origin}/mcp`, issuer: origin, client: { client_id: "heddle" } },
    ...{ accessToken: "a", refreshToken: "r", expiresAt: Date.now() },
  };
  const store: AccountStore = {
    read: async () => account,
    write: async (_server, next) => void (account = next),
    remove: async () => true,
    renewAlone: async (_server, work) => {
      await work();
      return "done";
    },
  };
  const problems: string[] = [];
  const sign = createSignedFetch(fetch, {
    ...{ server: "notes", url: new URL(`${origin}/mcp`), store, onToken: () => {} },
    onProblem: (problem) => void problems.push(problem),
  });
  return { request: () => sign(`${origin}/mcp`, { method: "POST" }), asked, problems };
}
