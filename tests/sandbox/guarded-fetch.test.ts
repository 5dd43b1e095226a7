import { createServer, type RequestListener } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Dialer } from "../../src/sandbox/egress/dialer.ts";
import { AddressRefused, createGuardedFetch } from "../../src/sandbox/guarded-fetch.ts";
import { closeServer, listen } from "../fakes/listen.ts";

/** A server on this machine that stands for every address, and what was looked up, dialled and asked. */
async function scene(names: Record<string, string[][]> = {}, answer?: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers.host}${request.url}`);
    if (answer) answer(request, response);
    else response.end("here");
  });
  const port = await listen(server);
  onTestFinished(() => closeServer(server));
  const lookedUp: string[] = [];
  const dialled: string[] = [];
  const dialer: Dialer = {
    async resolve(host) {
      lookedUp.push(host);
      const answers = names[host];
      return answers ? ((answers.length > 1 ? answers.shift() : answers[0]) ?? []) : [host];
    },
    connect(to, at) {
      dialled.push(`${to}:${at}`);
      return connect(port, "127.0.0.1");
    },
    secure: (socket) => socket,
  };
  const open = (...named: string[]) =>
    createGuardedFetch({
      named: named.map((each) => (/^https?:/.test(each) ? new URL(each) : each)),
      dialer,
    });
  return { open, asked, lookedUp, dialled };
}

describe("An address that others have named", () => {
  test.each([
    "http://169.254.169.254/latest/meta-data",
    "http://127.0.0.1/",
    "http://10.0.0.7/token",
    "http://[::1]/",
    "http://[fd00:ec2::254]/",
    "http://[::ffff:169.254.169.254]/",
    "http://2852039166/",
    "http://inside.example/token",
    "http://tickets.example:6379/",
    "http://tickets.example:8443/",
  ])("%s is not dialled", async (address) => {
    const names = { "inside.example": [["192.168.1.4"]], "tickets.example": [["93.184.216.34"]] };
    const { open, dialled, asked } = await scene(names);
    const fetch = open("http://tickets.example:3333/mcp");
    await expect(fetch(address)).rejects.toThrow(AddressRefused);
    expect([dialled, asked]).toEqual([[], []]);
  });

  test("is looked up once, so that no second answer leads elsewhere", async () => {
    const { open, lookedUp, dialled } = await scene({
      "rebinding.example": [["93.184.216.34"], ["127.0.0.1"]],
    });
    const answer = await open()("http://rebinding.example/");
    expect(await answer.text()).toBe("here");
    expect([lookedUp, dialled]).toEqual([["rebinding.example"], ["93.184.216.34:80"]]);
  });

  test("is reached at those of its addresses that are public", async () => {
    const { open, dialled } = await scene({ "mixed.example": [["10.0.0.7", "93.184.216.34"]] });
    await (await open()("http://mixed.example/")).text();
    expect(dialled).toEqual(["93.184.216.34:80"]);
  });
});

describe("What the operator has named", () => {
  test("may be private and at any port, and nothing else of that host may", async () => {
    const { open, dialled } = await scene({ "tickets.internal": [["10.0.0.7"]], localhost: [["127.0.0.1"]] });
    const fetch = open("http://tickets.internal:3333/mcp", "localhost:9000");
    await (await fetch("http://tickets.internal:3333/other")).text();
    await (await fetch("http://localhost:9000/token")).text();
    expect(dialled).toEqual(["10.0.0.7:3333", "127.0.0.1:9000"]);
    for (const other of ["http://tickets.internal/", "http://localhost:9001/", "http://localhost/"])
      await expect(fetch(other)).rejects.toThrow(AddressRefused);
    expect(dialled).toHaveLength(2);
  });

  test("is not followed to where clouds keep their credentials, unless it is written", async () => {
    const { open, dialled } = await scene({ "tickets.example": [["169.254.169.254"], ["fe80::1"]] });
    const fetch = open("http://tickets.example/mcp", "http://169.254.10.1/mcp");
    await expect(fetch("http://tickets.example/mcp")).rejects.toThrow(/link-local/);
    await expect(fetch("http://tickets.example/mcp")).rejects.toThrow(/link-local/);
    expect(dialled).toEqual([]);
    await (await fetch("http://169.254.10.1/mcp")).text();
    expect(dialled).toEqual(["169.254.10.1:80"]);
  });
});

test("A redirect is handed back, or thrown, and not followed", async () => {
  const { open, asked } = await scene({}, (_, response) =>
    response.writeHead(307, { location: "http://127.0.0.1:3333/elsewhere" }).end(),
  );
  const fetch = open("http://127.0.0.1:3333/mcp");
  const answer = await fetch("http://127.0.0.1:3333/mcp", { method: "POST", body: "{}" });
  expect([answer.status, answer.headers.get("location")]).toEqual([307, "http://127.0.0.1:3333/elsewhere"]);
  await expect(fetch("http://127.0.0.1:3333/mcp", { redirect: "error" })).rejects.toThrow();
  expect(asked).toEqual(["POST 127.0.0.1:3333/mcp", "GET 127.0.0.1:3333/mcp"]);
});
