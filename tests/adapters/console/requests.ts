/** What a browser does, with every header in the test's hands. */
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { routes } from "../../../src/adapters/console/api/api.ts";
import { matchRoute } from "../../../src/adapters/console/api/route.ts";

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
  checkAnswer(options.method ?? "GET", path, response.statusCode ?? 0, body);
  return { status: response.statusCode ?? 0, headers: response.headers, body, json: () => JSON.parse(body) };
}

/** Addresses whose real answers fitted what the API says of them. */
export const checked = new Set<string>();

/** Whatever a test asks for: what is answered has to be what the API's description says. */
function checkAnswer(method: string, path: string, status: number, body: string): void {
  const { pathname } = new URL(path, "http://console");
  const current = pathname.replace(/^\/api\/(?!v1\/)/, "/api/v1/");
  const route = routes.find((one) => one.method === method && matchRoute(one, current));
  if (!route || status !== (route.status ?? 200) || !(route.answers instanceof z.ZodType)) return;
  const { error } = route.answers.safeParse(JSON.parse(body));
  if (error) throw new Error(`${method} ${path} answers otherwise than described: ${z.prettifyError(error)}`);
  checked.add(`${method} ${route.path}`);
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
  /** The next event of each of these names, in whatever order they come. */
  nextOfEach(names: readonly string[]): Promise<Record<string, unknown>>;
}

export async function openStream(
  url: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<LivePage> {
  const response = await send(url, path, { headers });
  const events = eventsOf(response);
  const nextOf = async (names: readonly string[]): Promise<LiveEvent> => {
    for (;;) {
      const { value, done } = await events.next();
      if (done) throw new Error(`The stream ended before an event "${names.join('" or "')}" came.`);
      if (names.includes(value.name)) return value;
    }
  };
  return {
    status: response.statusCode ?? 0,
    next: async (name) => (await nextOf([name])).data,
    async nextOfEach(names) {
      const told: Record<string, unknown> = {};
      for (let left = names; left.length > 0; left = left.filter((name) => !(name in told))) {
        const { name, data } = await nextOf(left);
        told[name] = data;
      }
      return told;
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
      const [, name, data] = /^event: (.*)\n(?:id: .*\n)?data: (.*)$/.exec(block) ?? [];
      if (name !== undefined && data !== undefined) yield { name, data: JSON.parse(data) };
    }
  }
  return undefined;
}
