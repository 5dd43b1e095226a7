/**
 * The program that the conformance suite of the protocol starts for each scenario: Heddle's own pool, sign-in and
 * elicitation, used as a worker, `heddle mcp login` and a person in a thread use them.
 *
 * Arguments: the address of the suite's server. MCP_CONFORMANCE_SCENARIO names the scenario, and
 * MCP_CONFORMANCE_CONTEXT has what an operator would have configured for it
 * (https://github.com/modelcontextprotocol/conformance).
 */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createAnswerTool } from "../../../../src/agent/mcp/people/answer-tool.ts";
import type { Asker } from "../../../../src/agent/mcp/people/asker.ts";
import type { SignInSettings } from "../../../../src/agent/mcp/config.ts";
import { parseMcpConfig } from "../../../../src/agent/mcp/read-config.ts";
import { openMcpPool } from "../../../../src/agent/mcp/pool.ts";
import { beginSignIn } from "../../../../src/agent/mcp/sign-in/sign-in.ts";
import { type Account, type Accounts, listWanted } from "../../../../src/agent/contracts/mcp-account.ts";
import type { InputStore } from "../../../../src/agent/contracts/input-store.ts";
import { type InputAnswer, type InputRequest, parseForm } from "../../../../src/agent/server-input.ts";
import type { Tool } from "../../../../src/agent/tools/tool.ts";

const url = process.argv.at(-1) ?? "";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const given = z
  .object({
    client_id: z.string().optional(),
    client_secret: z.string().optional(),
    /** What a model would be told to call. */
    toolCalls: z
      .array(z.object({ name: z.string(), arguments: z.record(z.string(), z.unknown()) }))
      .default([]),
  })
  .parse(JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}"));

const signal = new AbortController().signal;
const asker: Asker = { person: "slack:T1:ada", name: "Ada", others: () => [] };

/** As the store in Redis keeps them, for this process alone. */
function createAccounts(): Accounts {
  const kept = new Map<string, Account>();
  const accounts: Accounts = {
    read: async (server) => kept.get(server),
    write: async (server, account) => void kept.set(server, account),
    remove: async (server) => kept.delete(server),
    async renewAlone(_server, work) {
      await work();
      return "done";
    },
    of: () => accounts,
    list: async () => [],
  };
  return accounts;
}

function createInputs(): InputStore {
  const asked = new Map<string, InputRequest>();
  const answers = new Map<string, InputAnswer>();
  return {
    keep: async (_person, id, request) => void asked.set(id, request),
    find: async (_person, id) => asked.get(id),
    answer: async (_person, id, answer) => void answers.set(id, answer),
    async take(_person, id) {
      const answer = answers.get(id);
      answers.delete(id);
      return answer;
    },
  };
}

const accounts = createAccounts();
const inputs = createInputs();
const name = "conformance";
const settings: SignInSettings = {
  ...(given.client_id !== undefined && { clientId: given.client_id }),
  ...(given.client_secret !== undefined && { clientSecret: given.client_secret }),
};
const signsIn = scenario.startsWith("auth/");
const entry = {
  url,
  type: "http",
  ...(signsIn && { signIn: Object.keys(settings).length ? settings : true }),
};
const config = parseMcpConfig(JSON.stringify({ mcpServers: { [name]: entry } }), process.env);
const pool = await openMcpPool({
  ...{ config, accounts, inputs, version: "0.0.0" },
  backoff: { baseMs: 1, capMs: 1 },
  log: ({ level, message }) => console.error(`${level}: ${message}`),
});

/** What a person does with a browser. */
async function signIn(): Promise<void> {
  const redirectUrl = new URL("http://127.0.0.1:8421/callback");
  const wanted = listWanted(await accounts.read(name));
  const clientMetadataUrl = new URL("https://conformance-test.local/client-metadata.json");
  const options = { redirectUrl, wanted, ...(!("clientId" in settings) && { clientMetadataUrl }) };
  const begin = () => beginSignIn({ name, url: new URL(url) }, { ...options, settings });
  // The suite's authorization server has a port of its own, which an operator would name.
  const begun = await begin().catch(async (error: unknown) => {
    const [, port, host] = /port (\d+) of (\S+) is closed/.exec(String(error)) ?? [];
    if (port === undefined) throw error;
    settings.hosts = [...(settings.hosts ?? []), `${host}:${port}`];
    return await begin();
  });
  const agreed = await fetch(begun.url, { redirect: "manual" });
  await accounts.write(name, await begun.finish(new URL(agreed.headers.get("location") ?? "about:blank")));
}

const context = {
  ...{ callId: "call-1", signal, now: Date.now, output: () => {} },
  notes: { add: fail, list: fail, update: fail, remove: fail },
};

function fail(): never {
  throw new Error("No notes are made here.");
}

/** Somebody sends a form off as it is: what it offers is the answer. */
async function answerQuestion(question: string): Promise<void> {
  const request = await inputs.find(asker.person, question);
  if (request?.mode !== "form") return;
  const form = parseForm(request.fields, "");
  if ("problem" in form) throw new Error(form.problem);
  const text = JSON.stringify({ action: "accept", content: form.content });
  const answer = { by: { id: "ada", name: "Ada" }, text };
  await createAnswerTool(inputs, asker).run({ question }, { ...context, answer });
}

/** Calls it as a model would that was told to try it, and answers what the server asks on the way. */
async function call(tool: Tool): Promise<string> {
  const told = given.toolCalls.find((each) => tool.name === `${name}__${each.name}`);
  const input = told?.arguments ?? {
    ...(scenario === "tools_call" && { a: 5, b: 3 }),
    ...(tool.name.endsWith("read_resource") && { uri: "file:///path/to/file%20name.txt" }),
    ...(scenario === "json-schema-2020-12-preservation" && { schema: tool.schema }),
  };
  const { text } = await tool.run(input, context);
  console.error(`${tool.name}: ${text}`);
  const [, question] = /\{"question":"([0-9a-f]{12})"\}/.exec(text) ?? [];
  if (question === undefined) return text;
  await answerQuestion(question);
  return (await tool.run(input, context)).text;
}

/** Waits for a server that could not be reached a moment ago: nobody waits in a turn for one that has failed before. */
async function offer(): Promise<readonly Tool[]> {
  for (let [failures, tries] = [0, 0]; ; await delay(20), tries += 1) {
    const { tools } = await pool.offer(signal, asker);
    const [status] = pool.status();
    if (status?.state === "failed") failures += 1;
    if (status?.state === "ready" || failures === 3 || tries === 250) return tools;
  }
}

// Whoever is told that an account is missing, has ended or lacks something signs in, a few times at most.
for (let signIns = 0; ; signIns += 1) {
  const tools = await offer();
  const said = [];
  for (const tool of tools) said.push(await call(tool));
  const isRefused = tools.length === 0 || said.some((text) => /heddle mcp login/.test(text));
  if (!signsIn || !isRefused || signIns === 3) break;
  await signIn();
}
await pool.close();
