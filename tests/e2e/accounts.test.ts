import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startHttpFixture } from "../agent/mcp/servers/http.ts";
import { codeOn, createBrowser } from "../fakes/browser.ts";
import { freePort } from "../fakes/free-port.ts";
import { startFakeOAuth } from "../fakes/oauth.ts";
import { useSetting } from "./hooks.ts";

const here = useSetting();

const script = `
steps:
  - calls:
      - tool: notes__connect_account
        input: {}
  - calls:
      - tool: call_tool
        input: { name: notes__whoami, arguments: {} }
  - text: "{{result:2}} You are {{result:1}}."
`;

interface Message {
  id: string;
  markdown?: string;
  actions?: { id: string; label: string }[];
}

/** A server with accounts of persons, and a gateway and a worker that can be killed. */
async function scene() {
  const whoami = { name: "whoami", inputSchema: { type: "object" as const } };
  const fixture = await startHttpFixture("http", 0, { more: [whoami] });
  onTestFinished(() => fixture.stop());
  const oauth = await startFakeOAuth({ upstream: fixture.url });
  onTestFinished(() => oauth.close());
  const [port, consolePort] = [await freePort(), await freePort()];
  const servers = { notes: { url: oauth.mcp, signIn: { accounts: "person" } } };
  const settings = [
    `hooks: { port: ${port}, address: "http://127.0.0.1:${port}" }`,
    "queue: { lockSeconds: 2, sweepSeconds: 1 }",
    "demo: { scripts: scripts }",
  ];
  await writeFile(join(here.place.folder, "mcp.json"), JSON.stringify({ mcpServers: servers }));
  await writeFile(join(here.place.folder, "heddle.yaml"), `${settings.join("\n")}\n`);
  await mkdir(join(here.place.folder, "scripts"));
  await writeFile(join(here.place.folder, "scripts", "who.yaml"), script);
  const env = {
    REDIS_URL: here.redis.path,
    HEDDLE_SEAL_KEY: "a secret of more than thirty-two letters",
    HEDDLE_PORT: String(consolePort),
  };
  const start = async (role: "gateway" | "worker") => {
    const program = here.place.start(["start", "--role", role], env);
    await program.line(/Heddle is ready/);
    return program;
  };
  const makeToken = async (name: string) => {
    const program = here.place.start(["tokens", "create", name, "--role", "member", "--json"], env);
    expect(await program.ended).toBe(0);
    return (JSON.parse(/\{.*\}/.exec(program.output())?.[0] ?? "{}") as { token: string }).token;
  };
  const thread = `http://127.0.0.1:${consolePort}/api/v1/threads/shared12345`;
  return { oauth, env, start, makeToken, thread };
}

/** Somebody at the console, in the thread that all share. */
function person(thread: string, token: string) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = async (path: string, body: object) => {
    const response = await fetch(`${thread}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return (await response.json()) as { kind: string; reply?: string };
  };
  return {
    says: (text: string, key: string) => post("/messages", { text, key }),
    press(message: Message, label: string, text?: string) {
      const action = message.actions?.find((each) => each.label === label)?.id ?? "";
      return post(`/messages/${message.id}/actions`, { action, ...(text !== undefined && { text }) });
    },
    async sees(isIt: (message: Message) => boolean): Promise<Message> {
      const response = await fetch(thread.replace("threads/", "events?thread="), { headers });
      let text = "";
      for await (const chunk of response.body ?? []) {
        text += Buffer.from(chunk).toString();
        for (const [, event, data] of text.matchAll(/^event: (conversation|message)\ndata: (.*)\n/gm)) {
          const value = JSON.parse(data ?? "") as Message & { messages: Message[] };
          const found = (event === "message" ? [value] : value.messages).find(isIt);
          if (found) return found;
        }
      }
      throw new Error("The stream ended.");
    },
  };
}

const asksFor = (name: string) => (message: Message) =>
  message.markdown?.includes(`**${name}, connect your account at notes**`) === true &&
  message.actions !== undefined;
const says = (text: string) => (message: Message) => message.markdown?.includes(text) === true;

test("two people connect their accounts in one thread, across the death of worker and gateway, and neither uses the other's", async () => {
  const { oauth, start, makeToken, thread } = await scene();
  const [ada, bob] = [person(thread, await makeToken("ada")), person(thread, await makeToken("bob"))];
  const browser = createBrowser();
  const [gateway, worker] = [await start("gateway"), await start("worker")];
  await ada.says("who am I", "12345678");
  const question = await ada.sees(asksFor("ada"));
  expect(question.actions?.map(({ label }) => label)).toEqual(["Connect", "Enter the code…", "Not now"]);
  worker.signal("SIGKILL");
  gateway.signal("SIGKILL");
  await Promise.all([worker.ended, gateway.ended]);

  const second = await start("gateway");
  expect(await bob.press(question, "Connect")).toEqual({
    kind: "refused",
    reply: "This is not for you to decide: ada was asked.",
  });
  const { reply = "" } = await ada.press(question, "Connect");
  const link = /http:\/\/\S+\/connect\/\S+/.exec(reply)?.[0] ?? "";
  const sent = await browser.submit(await browser.open(link));
  second.signal("SIGKILL");
  await second.ended;

  const third = await start("gateway");
  const code = codeOn(await browser.open(await oauth.agree(sent.location ?? "", "ada-there")));
  expect(await bob.press(question, "Enter the code…", code)).toMatchObject({ kind: "refused" });
  expect(await ada.press(question, "Enter the code…", "WRONG")).toMatchObject({ kind: "refused" });
  expect(await ada.press(question, "Enter the code…", code)).toMatchObject({ kind: "acted" });
  // Nobody was at work meanwhile.
  await start("worker");
  await ada.sees(says("You are ada-there."));
  await ada.sees(says("✅ **Connected** by ada."));

  await bob.says("who am I", "12345679");
  const bobs = await bob.sees(asksFor("bob"));
  const offered = await bob.press(bobs, "Connect");
  const bobsBrowser = createBrowser();
  const there = await bobsBrowser.submit(
    await bobsBrowser.open(/http:\/\/\S+\/connect\/\S+/.exec(offered.reply ?? "")?.[0] ?? ""),
  );
  const bobsCode = codeOn(await bobsBrowser.open(await oauth.agree(there.location ?? "", "bob-there")));
  expect(await bob.press(bobs, "Enter the code…", bobsCode)).toMatchObject({ kind: "acted" });
  await bob.sees(says("You are bob-there."));

  // From here on nobody is asked.
  await ada.says("Once more: who am I", "12345680");
  await ada.sees((message) => says("You are ada-there.")(message) && says("connected: ")(message));
  for (const { output } of [gateway, worker, second, third])
    for (const secret of [...oauth.tokens, code, link]) expect(output()).not.toContain(secret);
});

test("a stop ends the question, and what is signed in afterwards connects nothing", async () => {
  const { oauth, env, start, makeToken, thread } = await scene();
  const ada = person(thread, await makeToken("ada"));
  const browser = createBrowser();
  await Promise.all([start("gateway"), start("worker")]);
  await ada.says("who am I", "12345678");
  const question = await ada.sees(asksFor("ada"));
  const { reply = "" } = await ada.press(question, "Connect");
  const sent = await browser.submit(await browser.open(/http:\/\/\S+\/connect\/\S+/.exec(reply)?.[0] ?? ""));
  await ada.says("stop", "12345679");
  await ada.sees(
    ({ id, markdown }) => id === question.id && markdown?.includes("■ No longer needed.") === true,
  );
  const code = codeOn(await browser.open(await oauth.agree(sent.location ?? "", "ada-there")));
  expect((await ada.press(question, "Enter the code…", code)).kind).not.toBe("acted");
  const list = here.place.start(["mcp", "accounts"], env);
  await list.ended;
  expect(list.output()).toContain("Nobody has connected an account.");
});
