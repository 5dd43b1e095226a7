/** What a browser does, with every header in the test's hands. */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** The body's JSON. */
  json(): unknown;
}

interface Call {
  method?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string;
}

export async function call(url: string, path: string, options: Call = {}): Promise<Answer> {
  const response = await send(url, path, options);
  const body = await text(response);
  return { status: response.statusCode ?? 0, headers: response.headers, body, json: () => JSON.parse(body) };
}

async function send(url: string, path: string, options: Call): Promise<IncomingMessage> {
  const { method = "GET", json, body = json === undefined ? undefined : JSON.stringify(json) } = options;
  const type = json === undefined ? {} : { "content-type": "application/json" };
  const { hostname, port } = new URL(url);
  const outgoing = request({ hostname, port, path, method, headers: { ...type, ...options.headers } });
  outgoing.end(body);
  const [response]: [IncomingMessage] = await once(outgoing, "response").then(([first]) => [first]);
  return response;
}

interface LiveEvent {
  name: string;
  data: unknown;
}

/** A page's live stream. */
interface LivePage extends Disposable {
  status: number;
  /** The next event of this name; events of other names before it are skipped. Rejects when the stream ends. */
  next(name: string): Promise<unknown>;
}

export async function openStream(url: string, path: string): Promise<LivePage> {
  const response = await send(url, path, {});
  const events = eventsOf(response);
  return {
    status: response.statusCode ?? 0,
    async next(name) {
      for (;;) {
        const { value, done } = await events.next();
        if (done) throw new Error(`The stream ended before an event "${name}" came.`);
        if (value.name === name) return value.data;
      }
    },
    [Symbol.dispose]: () => response.destroy(),
  };
}

async function* eventsOf(response: IncomingMessage): AsyncGenerator<LiveEvent, undefined> {
  let rest = "";
  for await (const chunk of response.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    const blocks = `${rest}${String(chunk)}`.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
      if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
    }
  }
  return undefined;
}
