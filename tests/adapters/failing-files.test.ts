import { createServer, type ServerResponse } from "node:http";
import { REST } from "discord.js";
import { pino } from "pino";
import { expect, test } from "vitest";
import { downloadAttachment } from "../../src/adapters/discord/surface/attachments.ts";
import { downloadFile } from "../../src/adapters/slack/surface/attachments.ts";
import { SurfaceError } from "../../src/chat/surface.ts";
import { listenForTest } from "../fakes/listen-for-test.ts";

/** Rule: a server of files that fails has refused nothing, and is asked again. */

const signal = AbortSignal.timeout(10_000);
const file = { name: "a.csv", mediaType: "text/csv", bytes: 3 };

const downloads = {
  Slack: (url: string) =>
    downloadFile(
      { botToken: "xoxb-1", apiUrl: url, log: pino({ level: "silent" }) },
      { ...file, handle: `T1 F1 ${url}/a.csv` },
      signal,
    ),
  Discord: (url: string) => downloadAttachment(new REST(), { ...file, handle: `${url}/a.csv` }, signal, url),
};

async function failure(platform: keyof typeof downloads, answer: (response: ServerResponse) => void) {
  const url = await listenForTest(createServer((_request, response) => answer(response)));
  const error = await Array.fromAsync(downloads[platform](url)).catch((thrown: unknown) => thrown);
  return error instanceof SurfaceError ? error : expect.unreachable(String(error));
}

test.each([
  ["Slack", 503, "Slack does not give the file (HTTP 503)."],
  ["Slack", 429, "Slack does not give the file (HTTP 429)."],
  ["Discord", 502, "Discord does not give the file a.csv (HTTP 502)."],
] as const)("%s that answers %d may give the file in a while", async (platform, status, message) => {
  const error = await failure(platform, (response) => response.writeHead(status).end("<html>"));
  expect(error).toMatchObject({ message, isPassing: true });
});

test.each([
  ["Slack", 403, "rejected"],
  ["Slack", 404, "gone"],
  ["Discord", 410, "gone"],
] as const)("%s that answers %d does not", async (platform, status, kind) => {
  const error = await failure(platform, (response) => response.writeHead(status).end());
  expect(error).toMatchObject({ kind, isPassing: false });
});

test.each(["Slack", "Discord"] as const)(
  "a connection to %s that breaks in the middle is told as one",
  async (platform) => {
    const error = await failure(platform, (response) => {
      response.writeHead(200, { "content-length": "3", "content-type": "text/csv" });
      response.write("1", () => response.destroy());
    });
    expect(error.isPassing).toBe(true);
    expect(error.message).toMatch(
      new RegExp(`^The connection to ${platform} broke while the file .*was fetched\\.$`),
    );
  },
);
